import {
  addresses,
  certificates,
  choice,
  hosts,
  secret,
  text,
  url,
  variable,
} from '../variable.ts';

const name = () =>
  text(/^[A-Za-z0-9._-]{1,128}$/, '1 to 128 letters, digits, dots, hyphens and underscores');

const password = () => secret(/^\P{Cc}{1,1024}$/u, '1 to 1024 characters on one line');

/** How to reach Redis: one server, or servers found through Sentinels. */
export const redisVariables = {
  url: variable(
    'REDIS_URL',
    url(
      { protocols: ['redis:', 'rediss:'], userinfo: true, path: 'database' },
      'redis:// or rediss:// with a host and at most a database number, without query or fragment, special characters of the password percent-encoded',
    ).default('redis://127.0.0.1:6379'),
    {
      description:
        'URL of Redis; `rediss:` uses TLS, for Sentinels too. `redis:` is for this machine and INSECURE_HOSTS. With REDIS_SENTINELS its host is ignored.',
    },
  ),
  insecureHosts: variable('INSECURE_HOSTS', hosts().default([]), {
    description:
      'Hosts other than this machine that may be reached without TLS: Redis, Sentinels with what they in turn lead to, and the one of BASE_URL. Sentinels of this machine lead only to this machine and to these hosts.',
    note: 'Passwords, the key pair, the token, phone numbers and the content of messages then cross the network unencrypted.',
  }),
  username: variable(
    'REDIS_USERNAME',
    text(/^[^\s\p{Cc}]{1,128}$/u, '1 to 128 characters without spaces').exactOptional(),
    { description: 'Redis user name; takes precedence over the one in REDIS_URL.' },
  ),
  password: variable('REDIS_PASSWORD', password().exactOptional(), {
    description: 'Redis password; takes precedence over the one in REDIS_URL.',
  }),
  sentinels: variable('REDIS_SENTINELS', addresses().default([]), {
    description: 'The Sentinels that know the current master.',
  }),
  sentinelName: variable('REDIS_SENTINEL_NAME', name().exactOptional(), {
    description: 'Name of the master at the Sentinels.',
  }),
  sentinelPassword: variable('REDIS_SENTINEL_PASSWORD', password().exactOptional(), {
    description: 'Password of the Sentinels themselves.',
  }),
  tlsCa: variable('REDIS_TLS_CA_FILE', certificates().exactOptional(), {
    description: 'Path of the PEM certificates that verify Redis, for a private authority.',
  }),
  prefix: variable(
    'REDIS_PREFIX',
    text(
      /^[A-Za-z0-9_.-]{1,64}$/,
      '1 to 64 letters, digits, dots, hyphens and underscores',
    ).default('notices'),
    {
      description: 'Prefix of every key, so that installations can share one Redis.',
      note: 'Another prefix is another, empty queue: jobs that wait under the old one stay there.',
    },
  ),
};

/** What workers require of Redis, and how often they check it. */
export const redisWatchVariables = {
  persistence: variable(
    'REDIS_PERSISTENCE',
    choice(['require', 'warn', 'ignore']).default('warn'),
    {
      description:
        'What workers do when Redis keeps nothing on disk: refuse to start (`require`), log a warning (`warn`), or nothing (`ignore`). Snapshots without an append-only file only cause a warning. `require` also refuses a Redis that does not show what it keeps, or whose last write to disk failed.',
    },
  ),
};

/** How workers detect that Redis was restored from an old copy, and what they do then. */
export const restoreVariables = {
  guard: variable('RESTORE_GUARD', choice(['hold', 'warn', 'off']).default('hold'), {
    description:
      'What workers do when Redis holds, or may hold, an old copy of the queue: stop sending until an operator decides (`hold`), log a warning (`warn`), or no check at all (`off`).',
    note: 'Without the guard, notices that were sent after the copy was made are sent again.',
  }),
  stateFile: variable(
    'STATE_FILE',
    text(/^[^\s\p{Cc}]{1,1024}$/u, 'a path of 1 to 1024 characters without spaces').exactOptional(),
    {
      description:
        'Path of a file, on another disk than that of Redis, in which workers record the progress of Redis, so that an old copy is detected reliably even after all of them were restarted. Workers of one machine may share it.',
    },
  ),
};
