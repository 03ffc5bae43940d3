import type { BadNotices } from './stage.ts';

/** The kinds of notices that the service refuses for themselves. */
export const BAD = {
  foreign: {
    count: 30,
    senderKey: 'key-of-another-team',
    fault: { status: 403, code: 'SENDER_NOT_YOURS' },
  },
  page: {
    count: 1,
    fault: {
      status: 200,
      bodyText: '<html>Blocked</html>',
      headers: { 'content-type': 'text/html' },
    },
  },
  unknownSender: {
    count: 15,
    senderKey: 'key-of-no-team',
    fault: { status: 401, code: 'SENDER_UNKNOWN' },
  },
} as const satisfies Readonly<Record<string, BadNotices>>;
