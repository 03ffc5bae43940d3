import { z } from 'zod';
import { csvLine, writePieces } from '../../batch/failures/csv-line.ts';
import { openChunks } from '../../batch/failures/failures.ts';
import { BATCH_PHASES, type Batch } from '../../batch/ledger/batch-record.ts';
import { readEpoch } from '../../fleet/restore/epoch-store.ts';
import type { RestoreEvent, Suspicion } from '../../fleet/restore/epoch.ts';
import { countOf, formatDuration, table } from '../../format/format.ts';
import { writeInstant, writeTime } from '../../format/time.ts';
import { count, time } from '../../contracts/answer.ts';
import { appendAudit } from '../audit.ts';
import { contactsOfPart, type EntrySource } from '../entries.ts';
import { parkNotice } from '../../notices/cancel.ts';
import type { NoticeSource } from '../../notices/read-job.ts';
import { waitingNotices, type WaitingNotice } from '../../notices/waiting.ts';
import { contactsOfJob } from '../../payload/sealed-job.ts';
import { readHold } from '../../fleet/hold/holds.ts';
import { translated } from '../../redis/failure.ts';
import { operation, type Answer, type OperationContext } from './operation.ts';

export const NEVER_RESTORED = 'No old copy of the queue has been detected in this Redis.';

/** Why Redis seems to hold an old copy. */
const WHY: Readonly<Record<Suspicion, string>> = {
  'went-back': 'it lacks what a worker has recorded: heartbeats, or where they began',
  gap: 'it restarted long after the last heartbeat, and no worker has a record: it may be up to date',
};

const restoredOutput = z.object({
  event: z
    .looseObject({
      at: time,
      why: z.enum(['went-back', 'gap']),
      copyAt: time.describe('the copy was made then or shortly after'),
      missingMs: z.number().describe('at most so much is missing'),
      verdict: z.enum(['held', 'warned']),
    })
    .nullable()
    .describe('when Redis was last found to be an old copy; null where it never was'),
  held: z.boolean().describe('whether sending is on hold for it'),
  notices: z.object({ jobs: count, contacts: count }),
  batches: z.array(
    z.object({
      batch: z.string(),
      template: z.string(),
      phase: z.enum(BATCH_PHASES),
      importing: z.boolean().describe('its import had not ended in the copy'),
      contacts: count,
    }),
  ),
});

/**
 * Counts what was enqueued before Redis was found to be an older copy and is not settled in it. Some of it may have been
 * sent after the copy was made; the copy does not show which.
 */
async function report(context: OperationContext): Promise<z.output<typeof restoredOutput>> {
  const event = await translated(lastRestoreEvent(context));
  const notices = { jobs: 0, contacts: 0 };
  const batches: z.output<typeof restoredOutput>['batches'] = [];
  if (event === undefined) return { event: null, held: false, notices, batches };
  for await (const notice of restoredNotices(context, event)) {
    notices.jobs += 1;
    notices.contacts += notice.contacts;
  }
  for await (const batch of unsettledBatches(context, event)) {
    const { id, templateCode: template, phase, importedAt, counts } = batch;
    const importing = importedAt === 0;
    batches.push({ batch: id, template, phase, importing, contacts: counts.pending });
  }
  const hold = await translated(readHold(context.redis, context.keys));
  return { event: { ...event }, held: hold?.kind === 'restored', notices, batches };
}

export const showRestored = operation({
  name: 'restored show',
  help: { group: 'Account', example: 'notices restored show --csv' },
  summary: 'What might be sent again because Redis holds an old copy of the queue.',
  answers: 'What was enqueued before the copy was made and is not settled in it.',
  needs: 'viewer',
  path: '/api/v1/restored',
  perMinute: 30,
  input: z.object({}),
  output: restoredOutput,
  run: report,
  text: describeRestored,
  csv: {
    summary:
      'The contacts that might be sent again, as CSV. It contains phone numbers; each download is recorded in the audit stream.',
    open: (context) =>
      Promise.resolve({
        entry: { what: 'download', target: 'restored notices', as: 'restored' },
        fileName: 'restored.csv',
        produce: async (write) => ({ contacts: await exportRestored(context, write) }),
      }),
  },
});

export const parkRestored = operation({
  name: 'restored park',
  summary: 'Sets the single notices of an old copy aside as unknown, while sending is on hold.',
  answers: 'What was set aside.',
  needs: 'operator',
  why: 'may',
  path: '/api/v1/restored/park',
  input: z.object({}),
  output: z.object({
    jobs: count,
    contacts: count,
    notHeld: z.boolean().describe('sending is not on hold for an old copy, or no longer'),
    stopped: z.boolean().describe('it took too long: repeat it'),
  }),
  preview: async (context, input) => {
    const { held, notices } = await report(context);
    const { jobs, contacts } = notices;
    return {
      lines: [],
      question:
        held && jobs > 0
          ? `Set ${countOf(contacts, 'contact')} in ${countOf(jobs, 'job')} aside? They are not sent until they are decided: "notices failures --state unknown" says how.`
          : undefined,
      input,
    };
  },
  run: async (context, _input, call) => {
    const { redis, keys } = context;
    const sum = { jobs: 0, contacts: 0, notHeld: false, stopped: false };
    const hold = await translated(readHold(redis, keys));
    const event =
      hold?.kind === 'restored' ? await translated(lastRestoreEvent(context)) : undefined;
    if (event === undefined) return { ...sum, notHeld: true };
    try {
      for await (const notice of restoredNotices(context, event)) {
        if (call.signal?.aborted === true) return { ...sum, stopped: true };
        if (notice.contacts === 0) continue;
        const result = await parkNotice(redis, keys, notice.id);
        if (result === 'not-held') return { ...sum, notHeld: true };
        if (result === 'changed') continue;
        sum.jobs += 1;
        sum.contacts += notice.contacts;
      }
      return sum;
    } finally {
      if (sum.jobs > 0) {
        const { contacts } = sum;
        const entry = { what: 'park', target: 'restored notices', as: 'unknown' } as const;
        await appendAudit(context, call, { ...entry, contacts });
      }
    }
  },
  text: ({ jobs, contacts, notHeld }) => [
    notHeld && jobs === 0
      ? 'Nothing was done: sending is not on hold for an old copy.'
      : `${countOf(contacts, 'contact')} in ${countOf(jobs, 'job')} set aside. "notices failures --state unknown" lists them.`,
    ...(notHeld && jobs > 0 ? ['Stopped: the hold was lifted meanwhile.'] : []),
  ],
  isDone: ({ notHeld, stopped }) => !notHeld && !stopped,
});

function describeRestored(report: Answer<z.output<typeof restoredOutput>>, now: number): string[] {
  const { event, held, notices, batches } = report;
  if (event === null) return [NEVER_RESTORED];
  const total = batches.reduce((sum, { contacts }) => sum + contacts, notices.contacts);
  const over = event.verdict === 'held' ? 'lifted manually' : 'none: warning only';
  const hold = held ? 'active' : over;
  return [
    `An old copy of the queue was detected ${writeTime(event.at, now)}: ${WHY[event.why]}.`,
    ...table([
      ['  copy made', `${writeInstant(event.copyAt)} or shortly after`],
      ['  missing', `at most ${formatDuration(event.missingMs)}`],
      ['  hold', hold],
      ['  notices', `${countOf(notices.contacts, 'contact')} in ${countOf(notices.jobs, 'job')}`],
      ...batches.map(({ batch, contacts, phase, importing }) => [
        `  batch ${batch}`,
        `${countOf(contacts, 'contact')}, ${phase}${importing ? ', import not finished' : ''}`,
      ]),
    ]),
    `${countOf(total, 'contact')} might be sent again: the copy does not contain their outcome.`,
    ...(total === 0 ? [] : ['"notices restored --csv" lists their phone numbers.']),
    ...(held ? whatToDo(report) : []),
    'Notices that were enqueued after the copy was made are missing from it, and so are their idempotency keys:',
    'enqueuing them again may send them twice.',
  ];
}

function whatToDo({ notices, batches }: Answer<z.output<typeof restoredOutput>>): string[] {
  return [
    'What you can do while sending is on hold:',
    ...table([
      ...(notices.jobs > 0
        ? [
            [
              '  check the notices first',
              '"notices restored park", and then "notices failures --state unknown"',
            ],
          ]
        : []),
      ...(batches.length > 0
        ? [['  stop a batch', '"notices pause BATCH", or permanently "notices cancel BATCH"']]
        : []),
      ...(batches.some(({ importing }) => importing)
        ? [['  an unfinished import', 'do not run it again: it would enqueue again what was sent']]
        : []),
      ['  send the rest', '"notices hold lift"'],
    ]),
  ];
}

/** Allowance for producers' clocks: listing a newer notice is better than missing one that was sent. */
const CLOCK_SLACK_MS = 120_000;

const COLUMNS = ['contact', 'template', 'notice', 'batch', 'chunk', 'state', 'handed_over_at'];

/** When Redis was last found to be an older copy; undefined where it never was. */
const lastRestoreEvent = async ({ redis, keys }: EntrySource): Promise<RestoreEvent | undefined> =>
  (await readEpoch(redis, keys)).epoch?.event;

/**
 * The single notices that were enqueued before Redis was found to be an older copy and that wait in it: they may have
 * been sent after the copy was made. One that was not due by then cannot have been sent and is left out.
 */
export async function* restoredNotices(
  { redis, keys }: NoticeSource,
  { at }: Pick<RestoreEvent, 'at'>,
): AsyncGenerator<WaitingNotice> {
  const until = at + CLOCK_SLACK_MS;
  const filter = { before: until + 1, dueBefore: until, withActive: true };
  for await (const page of waitingNotices(redis, keys, filter)) yield* page;
}

/** Batches created before the event that are not over. A cancelled batch sends nothing more. */
async function* unsettledBatches(
  { ledger }: EntrySource,
  { at }: RestoreEvent,
): AsyncGenerator<Batch> {
  for await (const batch of ledger.all({ before: at + 1 })) {
    const { phase, counts } = batch;
    if (counts.pending > 0 && phase !== 'cancelled' && phase !== 'finished') yield batch;
  }
}

/**
 * Writes the contacts that might be sent again as CSV with a header.
 *
 * @param write gets a piece of the text; returns false to stop
 * @returns the number of contacts written
 * @throws NoticeQueueError PAYLOAD_UNREADABLE
 */
export async function exportRestored(
  source: EntrySource,
  write: (text: string) => Promise<boolean>,
): Promise<number> {
  const event = await lastRestoreEvent(source);
  if (event === undefined) return 0;
  let contacts = 0;
  const lines = async function* () {
    yield csvLine(COLUMNS);
    for await (const cells of rows(source, event)) {
      contacts += 1;
      yield csvLine(cells);
    }
  };
  await writePieces(lines(), write);
  return contacts;
}

async function* rows(source: EntrySource, event: RestoreEvent): AsyncGenerator<string[]> {
  for await (const { id, template, state, queuedAt, data } of restoredNotices(source, event)) {
    for (const { contact } of contactsOfJob(data, id, source.sealing)) {
      yield [contact, template, id, '', '', state, new Date(queuedAt).toISOString()];
    }
  }
  for await (const batch of unsettledBatches(source, event)) {
    const { id, templateCode, begunAt } = batch;
    const at = new Date(begunAt).toISOString();
    for await (const { name, state } of openChunks(source.ledger, batch)) {
      // None where the chunk was settled between the two reads.
      for (const { contact } of (await contactsOfPart(source, batch, name)) ?? []) {
        yield [contact, templateCode, '', id, name, state, at];
      }
    }
  }
}
