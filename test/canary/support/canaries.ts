import { createHash, scryptSync } from 'node:crypto';
import type { Canary } from './forms.ts';

/** A key of 32 bytes. */
const key = (text: string) => Buffer.from(text.padEnd(32, '.')).toString('base64');

/** Secrets of the installation: passwords with characters that each form escapes in its own way. */
export const SECRETS = {
  accessKey: 'canary-access-key+7Qx2',
  secretKey: 'canary-secret-key/%9Z"&k',
  redisPassword: 'canary-redis/password%+"&1',
  wrongRedisPassword: 'canary-wrong/redis%password',
  viewerPassword: 'canary password of the "viewer" & more',
  operatorPassword: 'canary password of the <operator> 100%',
  wrongPassword: 'canary password that is wrong',
  sessionKey: 'canary-session-key-0123456789-abcdef',
  viewerKey: 'nq_canary-api-key-of-the-viewer-0123456789ab',
  operatorKey: 'nq_canary-api-key-of-the-operator-0123456789',
  senderKey: 'nq_canary-api-key-of-the-sender-0123456789ab',
  payloadKey: 'canary payload key, all 32 bytes',
  payloadKeyPrevious: 'canary payload key from before..',
  findKey: 'canary key of the search index..',
  eventSecret: 'canary-secret-of-the-event-webhook',
  webhookAddress: 'CANARY-of-an-address',
  proxyPassword: 'canary-proxy-password-41',
} as const;

const number = (index: number) => `0100739${String(1_840 + index * 7)}`;

/** What happens to each notice, and its number. No number of these exists. */
export const NUMBERS = {
  accepted: number(1),
  keyed: number(2),
  echoedWith200: number(3),
  echoedWith400: number(4),
  echoedWith422: number(5),
  rejected: number(6),
  unknown: number(7),
  unknownToo: number(8),
  delayed: number(9),
  killed: number(10),
  byCommand: number(11),
  byFile: number(12),
  byApi: number(13),
  heldBack: number(14),
  whileAway: number(15),
  renewed: number(16),
  heldByService: number(17),
  pageInstead: number(18),
  writesRefused: number(19),
  inList: number(20),
  inListRejected: number(21),
  inListUnknown: number(22),
  inListEchoed: number(23),
  onlyOne: number(24),
  searched: number(25),
  lostReply: number(26),
  killedInList: number(27),
  inWebList: number(28),
  ofPerson: number(29),
  badRow: `${number(30)}x`,
  badNotice: `${number(31)}x`,
  cancelledById: number(32),
  cancelledByKey: number(33),
  refusedByRedis: number(34),
  echoedWith404: number(35),
  badAnswers: number(36),
  refused: number(37),
  outOfMemory: number(38),
  readOnly: number(39),
  unencrypted: number(40),
  unencryptedInList: number(41),
  copied: number(42),
  malformed: number(43),
  notJson: number(44),
  optedOut: number(45),
} as const;

/** Values of template variables. */
export const VALUES = {
  value: 'canary "Kim" & 카나리아 <b> 100%',
  listValue: 'canary of a list, 이름 "Lee" & <i>',
  badRowValue: 'canary of a bad row, 이름 "Park"',
  openValue: 'canary that is not encrypted, "Choi"',
  malformedValue: 'canary of a malformed job, "Jung"',
} as const;

const texts = (values: Readonly<Record<string, string>>): Canary[] =>
  Object.entries(values).map(([name, value]) => ({ name, value }));

/** All of them but those that the program makes itself. */
export const CANARIES: readonly Canary[] = [
  ...texts(SECRETS),
  ...texts(VALUES),
  ...Object.entries(NUMBERS).map(([name, value]) => ({ name, value, kind: 'number' as const })),
];

const apiKey = (name: string, role: string, secret: string) =>
  `${name}:${role}:sha256.${createHash('sha256').update(secret).digest('base64url')}`;

/** An entry of OPS_USERS, of the least cost that is taken. */
function user(name: string, role: string, password: string): string {
  const salt = Buffer.from('salt of a canary');
  const hash = scryptSync(password, salt, 32, { N: 1_024, r: 8, p: 1 }).toString('base64url');
  return `${name}:${role}:scrypt.10.8.1.${salt.toString('base64url')}.${hash}`;
}

/** Variables with secrets, for every program. */
export const SECRET_VARIABLES = {
  REDIS_PASSWORD: SECRETS.redisPassword,
  ACCESS_KEY: SECRETS.accessKey,
  SECRET_KEY: SECRETS.secretKey,
  PAYLOAD_KEY: key(SECRETS.payloadKey),
  PAYLOAD_KEY_PREVIOUS: key(SECRETS.payloadKeyPrevious),
  FIND_KEY: key(SECRETS.findKey),
  EVENT_WEBHOOK_SECRET: SECRETS.eventSecret,
} as const;

/** Further ones of the ops server. */
export const OPS_VARIABLES = {
  OPS_USERS: [
    user('vera', 'viewer', SECRETS.viewerPassword),
    user('otto', 'operator', SECRETS.operatorPassword),
  ].join(','),
  OPS_API_KEYS: [
    apiKey('watch', 'viewer', SECRETS.viewerKey),
    apiKey('robot', 'operator', SECRETS.operatorKey),
    apiKey('shop', 'sender', SECRETS.senderKey),
  ].join(','),
  OPS_SESSION_KEY: SECRETS.sessionKey,
} as const;
