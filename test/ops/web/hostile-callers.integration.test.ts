import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { networkOf } from '../../../src/ops/web/access/network.ts';
import { SignInLimits } from '../../../src/ops/web/access/sign-in-limits.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { startOps, type OpsBench } from './support/ops-bench.ts';

const redis = testRedis();
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['2001:0DB8::5', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  // Some proxies add the port of the visitor.
  ['192.0.2.1:50123', '192.0.2.1'],
  ['[2001:db8:1:2::5]:50123', '2001:db8:1:2::/64'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

describe('the limits of a sign-in', () => {
  it('one password is checked at a time, and few wait', async () => {
    const limits = new SignInLimits();
    let [running, most] = [0, 0];
    const check = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      return true;
    };
    const checks = Array.from({ length: 60 }, () => limits.check('a', 'n', 0, check));
    const ended = await Promise.allSettled(checks);
    expect(most).toBe(1);
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
    expect(await limits.check('a', 'n', 0, check)).toBe(true);
  });

  const wrong = () => Promise.resolve(undefined);

  it('an account fails 20 times an hour from one network, and no other is blocked', async () => {
    const limits = new SignInLimits();
    const fail = (account: string, network: string, now: number) =>
      limits.check(account, network, now, wrong);
    for (let index = 0; index < 20; index += 1) await fail('a', 'n', index);
    await expect(fail('a', 'n', 20)).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' });
    for (const others of [fail('b', 'n', 21), fail('a', 'm', 22), fail('a', 'n', 3_600_001)]) {
      expect(await others).toBeUndefined();
    }
  });

  it('an account fails 100 times an hour from all networks; one that it has signed in from counts on', async () => {
    const limits = new SignInLimits();
    const right = (network: string) => limits.check('a', network, 0, () => Promise.resolve('kim'));
    await right('home');
    for (let index = 0; index < 100; index += 1) await limits.check('a', `n${index}`, 0, wrong);
    await expect(right('n100')).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' });
    expect(await right('home')).toBe('kim');
  });
});

describe('a connection', () => {
  async function open(bench: OpsBench, text: string): Promise<Socket> {
    const { port } = new URL(bench.url);
    const socket = connect(Number(port), '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  }

  it('with half a request is closed', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const head = 'POST /sign-in HTTP/1.1\r\nhost: 127.0.0.1\r\n';
    const type = 'content-type: application/x-www-form-urlencoded\r\ncontent-length: 100\r\n\r\n';
    const list = 'POST /api/v1/batches?templateCode=T HTTP/1.1\r\nhost: 127.0.0.1\r\n';
    const key = `authorization: ${bench.key('sender').headers['authorization'] ?? ''}\r\n`;
    const chunked = 'content-type: text/csv\r\ntransfer-encoding: chunked\r\n\r\n';
    const half = await Promise.all([
      open(bench, head),
      open(bench, `${head}${type}name=`),
      // A list may take any time, but not one that is refused for its caller, its type or its options.
      open(bench, list + chunked),
      open(bench, list + key + type),
      open(bench, list.replace('?', '?rate=x&') + key + chunked),
    ]);
    const allowed = await open(bench, list + key + chunked);
    // A caller that is silent is closed anyway: these send a byte of their body each second.
    const bytes = setInterval(() => {
      half[1]?.write('x');
      half[3]?.write('x');
      for (const slow of [half[2], half[4], allowed]) slow?.write('1\r\nx\r\n');
    }, 1_000);
    onTestFinished(() => clearInterval(bytes));
    const [headersAt = 0, bodyAt = 0] = await Promise.all(
      half.map(async (socket) => {
        if (!socket.resume().closed) await once(socket, 'close');
        return performance.now();
      }),
    );
    expect(half.every(({ closed }) => closed)).toBe(true);
    expect(allowed.closed).toBe(false);
    // Headers have a shorter time of their own.
    expect(headersAt).toBeLessThan(bodyAt - 5_000);
  }, 60_000);

  it('above the most of all is closed at once', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const many = await Promise.all(Array.from({ length: 520 }, () => open(bench, 'GET ')));
    await until(() => many.filter(({ closed, destroyed }) => closed || destroyed).length >= 8, {
      what: 'the surplus to be closed',
    });
    expect(many.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(512);
  });
});

describe('a Host name', () => {
  const host = (name: string) => ({ headers: { host: name } });

  it('that a page of another site chose is refused on a server of this machine', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const { port } = new URL(bench.url);
    for (const name of ['127.0.0.1', `localhost:${port}`, '[::1]:4011', 'LOCALHOST']) {
      expect([name, (await bench.ask('/sign-in', host(name))).status]).toEqual([name, 200]);
    }
    for (const name of ['rebound.example.test', `rebound.example.test:${port}`, 'localhost.evil']) {
      expect([name, (await bench.ask('/sign-in', host(name))).status]).toEqual([name, 403]);
    }
  });

  it('is one of OPS_HOST_NAMES, where they are set', async () => {
    const env = { OPS_HOST_NAMES: 'ops.example.test, other.example.test' };
    const bench = await startOps(redis.url, redis.freshPrefix(), env);
    expect((await bench.ask('/sign-in', host('ops.example.test'))).status).toBe(200);
    expect((await bench.ask('/sign-in', host('rebound.example.test'))).status).toBe(403);
  });
});

it('load balancers may ask for the health with HEAD', async () => {
  const ops = await startOps(redis.url, redis.freshPrefix());
  for (const path of ['/livez', '/readyz']) {
    const { status, text } = await ops.ask(path, { method: 'HEAD' });
    expect([path, status, text]).toEqual([path, 200, '']);
  }
});

it('a page of another site makes nobody behind a proxy download', async () => {
  const ops = await startOps(redis.url, redis.freshPrefix(), {
    OPS_TRUSTED_PROXY: '127.0.0.1',
    OPS_USER_HEADER: 'X-User',
    OPS_ROLE_HEADER: 'X-Role',
    OPS_HOST_NAMES: '127.0.0.1',
  });
  const by = { 'x-user': 'kim', 'x-role': 'operator', 'x-forwarded-proto': 'https' };
  const from = (site: string) => ({ headers: { ...by, 'sec-fetch-site': site } });
  for (const path of ['/api/v1/failures.csv', '/queues/api/queues']) {
    const { status, json } = await ops.ask(path, from('cross-site'));
    expect([path, status, json['code']]).toEqual([path, 403, 'CROSS_SITE']);
  }
  expect((await ops.ask('/api/v1/status', from('same-origin'))).status).toBe(200);
  expect((await ops.ask('/batches', from('cross-site'))).status).toBe(200);
});

it('a proxy may show it below a path: links, assets, forms and redirects have it, of that proxy only', async () => {
  const ops = await startOps(redis.url, redis.freshPrefix(), {
    OPS_TRUSTED_PROXY: '127.0.0.1',
    OPS_HOST_NAMES: '127.0.0.1',
  });
  const operator = await ops.operator();
  const below = (prefix: string) => ({ 'x-forwarded-prefix': prefix, accept: 'text/html' });
  const targets = async (path: string, prefix: string) => {
    const { text } = await operator.get(path, below(prefix));
    return [...text.matchAll(/\s(?:href|src|action)="([^"]*)"/g)].map(([, to = '']) => to);
  };
  for (const name of ['', 'waiting', 'notices', 'batches', 'find', 'audit', 'queues', 'none']) {
    const path = `/${name}`;
    const to = await targets(path, '/ops/one');
    expect(to.length).toBeGreaterThan(5);
    const others = to.filter((one) => !/^(\/ops\/one\/|#|\.\.\/|static\/)/.test(one));
    expect([path, others]).toEqual([path, []]);
  }
  const form = '_next=%2Fbatches&name=otto&password=x&next=%2Fbatches';
  const headers = { ...operator.headers, ...below('/ops/one') };
  const out = await ops.ask('/sign-out', {
    method: 'POST',
    headers,
    body: `_csrf=${operator.headers['x-csrf-token']}&${form}`,
  });
  expect([out.status, out.headers.location]).toEqual([303, '/ops/one/sign-in']);
  for (const evil of ['//evil.example', '/a"onload="', 'https://evil.example', '/a/'])
    expect(
      (await targets('/sign-in', evil)).filter((one) => /evil|onload|^\/a\//.test(one)),
    ).toEqual([]);
  const other = await startOps(redis.url, redis.freshPrefix());
  const { text } = await other.ask('/sign-in', { headers: below('/ops/one') });
  expect(text).not.toContain('/ops/one');
});
