import { countOf, formatCount, formatRate } from '../../../format/format.ts';
import { readTraffic, type Traffic } from '../../../traffic/traffic.ts';
import { LANES } from '../../../contracts/outcome.ts';
import { isProbed } from '../../../contracts/hold.ts';
import { sentPerSecond } from '../../answers/headline.ts';
import type { ExplainedHold } from '../../answers/account-schemas.ts';
import { liftHold, placeHold } from '../../operations/hold.ts';
import type { Status } from '../../status.ts';
import { html, type Html, type Part } from '../http/html.ts';
import { rateLimitCard, redisCard, tokenCard, workersCard } from './fleet-cards.ts';
import * as ui from './elements.ts';
import { page } from './layout.ts';

export const OVERVIEW = page({
  path: '/',
  title: 'Overview',
  summary: 'Overview: the state of the queue, what waits, and why the queue is held.',
  view: async (call, context) => {
    const { redis, keys } = context;
    const [status, traffic] = await Promise.all([context.status(), readTraffic(redis, keys)]);
    return overviewPage({ status, traffic }, call);
  },
});

export interface OverviewData {
  readonly status: Status;
  readonly traffic: Traffic;
}

/** The worst thing that is true and what to do about it, what needs a person, what waits, and the fleet. */
export function overviewPage({ status, traffic }: OverviewData, view: ui.PageView): Html {
  const { jobs, batches, unknown, workers, oldestWaitingMs: oldest } = status;
  const below =
    oldest !== undefined &&
    ui.moment(view.now - oldest, view.now, (span) => `the oldest for ${span}`);
  const figures = ui.tiles([
    ['waiting', ui.link('/waiting', formatCount(jobs.waiting)), below],
    ['in flight', formatCount(jobs.active)],
    ['delayed', formatCount(jobs.delayed)],
    ['contacts per second', formatRate(sentPerSecond(workers))],
    ['contacts of lists', ui.link('/batches', formatCount(batches.pending))],
    ['unknown', ui.link('/notices', formatCount(unknown.notices + unknown.contacts))],
  ]);
  return html`${stateCard(status, view)} ${attentionCard(status)}
    ${ui.card('jobs', 'Queue', [figures, sentSoFar(status, traffic)])} ${workersCard(workers, view)}
    <div class="columns">
      ${rateLimitCard(status, view)} ${tokenCard(status, view)} ${redisCard(status)}
    </div>`;
}

function stateCard({ headline, hold }: Status, view: ui.PageView): Html {
  const { tone, title, text, until, fault, command, section, batch } = headline;
  return html`<section class="card state ${tone}" id="state" data-refresh>
    <h2>${title}${until !== undefined && ['; resumes ', ui.moment(until, view.now)]}</h2>
    <p>${text}</p>
    ${ui.facts([
      ['Whose fault', fault],
      ['Begin with', ui.code(command)],
      [
        'Read',
        section !== undefined && ui.link(`/help#${section}`, 'what it means, and what to do'),
      ],
      ['List', batch !== undefined && ui.batchLink(batch)],
      [
        'Decide',
        hold?.kind === 'restored' &&
          ui.link('/restored', 'what might be sent again, and what to do'),
      ],
      ...(hold === undefined ? [] : holdFacts(hold, view.now)),
    ])}
    <div class="acts">${holdAction(hold, view)}</div>
  </section>`;
}

function holdFacts(hold: ExplainedHold, now: number): readonly (readonly [string, Part])[] {
  const { kind, since, nextProbeAt } = hold;
  const isAsked = isProbed(kind) && kind !== 'throttled';
  return [
    ['Since', ui.moment(since, now)],
    ['Next probe', isAsked && (nextProbeAt <= now ? 'now' : ui.moment(nextProbeAt, now))],
    [kind === 'manual' ? 'Reason given' : 'Code', hold.code !== '' && ui.code(hold.code)],
  ];
}

/** What happens when a hold is lifted that does not come back by itself. */
const LIFT_EFFECTS: Partial<Record<ExplainedHold['kind'], string>> = {
  manual: 'Sending resumes at once.',
  restored:
    'Sending resumes at once. Notices that were sent after the copy was made and are not parked are sent a second time.',
};

function holdAction(hold: ExplainedHold | undefined, view: ui.PageView): Html | false {
  if (hold === undefined) {
    return ui.action(view, placeHold, {
      opens: 'Hold the queue...',
      says: 'No more requests are sent until the hold is lifted; requests in flight finish.',
      button: 'Hold the queue',
      danger: true,
    });
  }
  const { kind } = hold;
  return ui.action(view, liftHold, {
    opens: 'Lift the hold...',
    says:
      LIFT_EFFECTS[kind] ??
      'A token is asked for and sending resumes at once. If the cause persists, the hold comes back by itself.',
    given: { kind },
    button: 'Lift the hold',
  });
}

/** What a person has to decide or repair; nothing where there is nothing. */
function attentionCard({ unknown, jobs, batches, differing, redis, now }: Status): Html | false {
  const { failed } = jobs;
  const undecided = [
    unknown.notices > 0 ? countOf(unknown.notices, 'single notice') : '',
    unknown.contacts > 0 ? `${countOf(unknown.contacts, 'contact')} of lists` : '',
  ].filter((part) => part !== '');
  const items: readonly Part[] = [
    unknown.notices + unknown.contacts > 0 && [
      ui.link('/notices', undecided.join(' and ')),
      ' with an unknown outcome: the service may have accepted them. Decide what they count as.',
    ],
    failed > 0 && [
      ui.link('/notices', countOf(failed, 'single notice')),
      ` failed and ${failed === 1 ? 'is' : 'are'} kept for a while.`,
    ],
    ...batches.refused.map(({ id, total, rejected, code: of }) => {
      const part = rejected === total ? 'all ' : `${formatCount(rejected)} of `;
      return [
        'List ',
        ui.batchLink(id),
        `: ${part}${countOf(total, 'contact')} rejected, `,
        ui.code(of),
        '.',
      ];
    }),
    ...batches.openBatches.flatMap(
      ({ id, total, continueImport, stalled, pending, waits, paused }) => [
        paused !== undefined && [
          'List ',
          ui.batchLink(id),
          ` was paused by ${paused.who} `,
          ui.moment(paused.at, now),
          `${paused.why === '' ? '' : `: ${paused.why}`}.`,
        ],
        continueImport !== undefined && [
          'The import of ',
          ui.batchLink(id),
          ` stopped after ${countOf(total, 'contact')}: run the same import again; it continues where it stopped: `,
          ui.code(continueImport),
          '.',
        ],
        stalled && [
          ui.tag('stalled'),
          ' ',
          ui.batchLink(id),
          `, ${countOf(pending, 'contact')} pending: ${waits}.`,
        ],
      ],
    ),
    ...differing.map(({ variable, groups }) => [
      'Workers differ in ',
      ui.code(variable),
      `: ${groups.map((group) => group.join(', ')).join(' | ')}.`,
    ]),
    ...redis.findings.map(({ words, remedy }) => `Redis: ${words}; ${remedy}`),
  ].filter((item) => item !== false);
  if (items.length === 0) return false;
  return ui.card(
    'attention',
    'Needs attention',
    html`<ul>
      ${items.map((item) => html`<li>${item}</li>`)}
    </ul>`,
  );
}

/** Contacts accepted in each of the last minutes, and their sums: what was sent, and when it stopped. */
function sentSoFar({ possiblySentTwice: twice }: Status, { minutes, total }: Traffic): Part {
  const sumOf = (of: Traffic['total'], what: 'accepted' | 'requests') =>
    LANES.reduce((sum, lane) => sum + of[lane][what], 0);
  const repeated = twice.notices + twice.chunks;
  // The last minute is not over yet.
  const values = minutes.slice(-61, -1).map((minute) => sumOf(minute, 'accepted'));
  const most = Math.max(...values, 1);
  const title = `Contacts accepted in each minute of the last hour, ${formatCount(most)} at most, ${formatCount(values.at(-1) ?? 0)} in the last one`;
  const isAny = values.some((value) => value > 0);
  const bar = (value: number, at: number) => {
    const height = Math.round((value / most) * 200) / 10;
    return html`<rect x="${at}" y="${20 - height}" width="0.8" height="${height}" />`;
  };
  return [
    isAny &&
      html`<svg class="spark" viewBox="0 0 60 20" preserveAspectRatio="none" role="img">
        <title>${title}</title>
        ${values.map(bar)}
      </svg>`,
    html`<p class="quiet small">
      Last 3 hours: ${countOf(sumOf(total, 'accepted'), 'contact')} accepted with
      ${countOf(sumOf(total, 'requests'), 'request')}.${isAny && ` ${title}.`}
      ${repeated > 0 && `At most ${countOf(repeated, 'contact')} possibly sent twice since the account exists.`}
    </p>`,
  ];
}
