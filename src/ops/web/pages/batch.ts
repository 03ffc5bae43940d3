import { z } from 'zod';
import { whyNotRedrive, type FailureGroup } from '../../../batch/failures/failures.ts';
import { countOf, formatCount, formatRate } from '../../../format/format.ts';
import { readBatch, type BatchAnswer } from '../../answers/batch.ts';
import { cancelBatch, changeBatchRate, pauseBatch, resumeBatch } from '../../operations/batches.ts';
import { batchId } from '../../operations/fields.ts';
import { redisNow } from '../../operations/operation.ts';
import { html, type Html, type Part } from '../http/html.ts';
import type { RouteCall } from '../http/route.ts';
import type { OpsContext } from '../ops-context.ts';
import { stateBar } from './batches.ts';
import { decision } from './decide.ts';
import * as ui from './elements.ts';
import { page } from './layout.ts';
import { groupTable } from './not-accepted.ts';

/** One batch: its progress, what was not accepted and why, and the possible actions. */
export const BATCH = page({
  path: '/batches/:id',
  title: ({ id }) => `Batch ${id}`,
  nav: '/batches',
  summary: 'One batch: progress, failures and possible actions.',
  input: z.object({ id: batchId }),
  view: async (call, context) => {
    const data = await read(call, context);
    const { batch, failures } = data;
    return [
      html`<p class="crumbs">${ui.link('/batches', 'Batches')}</p>`,
      ui.card('progress', undefined, progress(data, call)),
      ui.card('failures', 'Not accepted', [
        failures.length === 0 ? ui.quiet('Nothing so far.') : failureTable(data, call),
      ]),
      ui.mayAct(call) && downloads(batch),
      ui.card('details', 'Details', details(batch, call)),
    ];
  },
});

type BatchPageData = Awaited<ReturnType<typeof read>>;

async function read({ input: { id }, who, now }: RouteCall<{ id: string }>, context: OpsContext) {
  // Before it is read: a decision leaves out what failed later.
  const at = await redisNow(context.redis);
  const found = await readBatch(context, id, who?.role ?? '');
  const { batch } = found;
  return {
    ...found,
    at,
    /** Why nothing can be sent again now; undefined where it can. */
    noResend: whyNotRedrive({ ...batch, expiresAt: batch.expiresAt ?? 0 }, now),
  };
}

/** States with their meaning; together they add up to the total. */
const STATES = [
  ['pending', 'not settled yet'],
  ['accepted', 'the service accepted it'],
  ['rejected', 'the service rejected it'],
  ['unknown', 'the service may have accepted it'],
  ['expired', 'its deadline passed before it was sent'],
  ['cancelled', 'the batch was cancelled before it was sent'],
  ['suppressed', 'its number is on the do-not-send list'],
] as const;

function progress(data: BatchPageData, view: ui.PageView): Part {
  const { batch, standstill, continueImport } = data;
  const { phase, paused, counts, stalled, perSecond, restMs, lossNear } = batch;
  const { now } = view;
  const { possiblySentTwice: twice } = counts;
  const isMoving = phase === 'sending' && standstill === null;
  const rest = restMs !== null && ui.moment(now + restMs, now, (span) => `about ${span} left`);
  const done = `${formatCount(counts.total - counts.pending)} of ${countOf(counts.total, 'contact')} are done.`;
  return [
    html`<p class="states">
      ${ui.tag(phase)} ${stalled && ui.tag('stalled')}
      ${isMoving && html`<span>${formatRate(perSecond)} contacts a second</span>`} ${rest}
    </p>`,
    stateBar(counts),
    standstill !== null && ui.note(`Not sending: ${standstill}.`),
    paused !== undefined &&
      ui.note([
        `Paused by ${paused.who} `,
        ui.moment(paused.at, now),
        `${paused.why === '' ? '' : `: ${paused.why}`}. ${done}`,
      ]),
    continueImport !== null &&
      ui.note([
        `The import stopped after ${countOf(batch.rows, 'row')}; run the same import again to continue it: `,
        ui.code(continueImport),
        '.',
      ]),
    lossNear !== undefined &&
      html`<p class="note bad">
        ${countOf(lossNear.contacts, 'contact')} that ${lossNear.contacts === 1 ? 'was' : 'were'}
        not accepted will be deleted ${ui.moment(lossNear.keptUntil, now)}: download them or send
        them again before then.
      </p>`,
    ui.tiles([
      ['contacts', formatCount(counts.total)],
      ...STATES.map(
        ([state, meaning]) =>
          [
            html`<span title="${meaning}">${ui.dot(state)}</span>`,
            formatCount(counts[state]),
          ] as const,
      ),
    ]),
    twice > 0 && ui.quiet(`${countOf(twice, 'message')} at most may have arrived twice.`),
    controls(batch, view),
  ];
}

function controls({ id, phase, counts }: BatchAnswer, view: ui.PageView): Part {
  const given = { id };
  const isOver = phase === 'finished' || phase === 'cancelled';
  return ui.acts(
    (phase === 'sending' || phase === 'importing') &&
      ui.action(view, pauseBatch, { given, button: 'Pause' }),
    phase === 'paused' && ui.action(view, resumeBatch, { given, button: 'Resume' }),
    !isOver &&
      ui.action(view, changeBatchRate, {
        given,
        opens: 'Rate...',
        asks: { rate: 'Contacts a second, or off for no limit' },
        button: 'Change the rate',
      }),
    !isOver &&
      cancelForm(
        view,
        id,
        `The ${countOf(counts.pending, 'pending contact')} will not be sent. This cannot be undone. Requests in flight finish.`,
      ),
  );
}

export const cancelForm = (view: ui.PageView, id: string, says: string) =>
  ui.action(view, cancelBatch, {
    given: { id },
    opens: 'Cancel...',
    says,
    button: 'Cancel the batch',
    danger: true,
  });

function failureTable({ batch, failures, at, noResend }: BatchPageData, view: ui.PageView): Part {
  const decide = ({ state, code, contacts }: FailureGroup) =>
    state !== 'cancelled' &&
    decision(view, {
      what: countOf(contacts, 'contact'),
      given: { batch: batch.id, state, code, before: at },
      noResend,
    });
  return [
    groupTable(failures, decide),
    noResend !== undefined && ui.quiet(`These contacts cannot be sent again now: ${noResend}.`),
  ];
}

function downloads({ id, counts }: BatchAnswer): Html | false {
  const states = (['rejected', 'unknown', 'expired', 'cancelled'] as const).filter(
    (state) => counts[state] > 0,
  );
  return (
    states.length > 0 &&
    ui.card('download', 'Download', [
      ui.para(
        'CSV lists with unmasked phone numbers, ready to be imported again. Each download is recorded in the audit stream.',
      ),
      html`<ul class="plain">
        ${states.map((state) => html`<li>${ui.link(ui.linkWith('/api/v1/failures.csv', { batch: id, state }), `${formatCount(counts[state])} ${state}`)}</li>`)}
      </ul>`,
    ])
  );
}

function details(batch: BatchAnswer, { now }: ui.PageView): Html {
  const { templateCode, delivery, chunkSize, rate: limit, chunks, rows } = batch;
  const { refusedRows, duplicateRows, begunAt, finishedAt, keptUntil, expiresAt } = batch;
  const time = (at: number | null) => at !== null && ui.moment(at, now);
  return ui.facts([
    ['Template', templateCode],
    ['Delivery', delivery],
    ['Rows read', formatCount(rows)],
    ['Rows refused', formatCount(refusedRows)],
    ['Duplicates left out', formatCount(duplicateRows)],
    ['Chunks', `${formatCount(chunks)} of up to ${countOf(chunkSize, 'contact')}`],
    ['Limit', limit === 0 ? 'none of its own' : `${countOf(limit, 'contact')} a second`],
    ['Started', ui.moment(begunAt, now)],
    ['Ended', time(finishedAt)],
    ['Not sent after', time(expiresAt)],
    ['Deleted', time(keptUntil)],
  ]);
}
