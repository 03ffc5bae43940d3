import { setTimeout } from 'node:timers/promises';
import { Command } from 'commander';
import type { NoticeView } from '../../notices/notice-state.ts';
import { countOf, formatCount, table } from '../../format/format.ts';
import { writeTime } from '../../format/time.ts';
import { describeNotKept, describePending, nextStep } from '../../ops/notice-words.ts';
import { apiKeyOption, keyOf } from '../arguments.ts';
import { untilStopped, type CommandContext } from '../command-context.ts';
import { withLedger } from '../open-queue.ts';
import { print } from '../output.ts';
import { UsageError } from '../usage-error.ts';

interface ShowFlags {
  key?: string;
  apiKey?: string;
  wait?: boolean;
}

/** Pause between two looks with `--wait`, in milliseconds. */
const LOOK_MS = 500;

/** `notices show ID`: what is known of a single notice; exits with 1 where nothing is kept. */
export function showCommand(context: CommandContext): Command {
  return new Command('show')
    .argument('[id]', 'id of the notice')
    .option('--key <idempotency key>', 'the notice that was sent with this idempotency key')
    .addOption(apiKeyOption())
    .option('--wait', 'wait until it has ended, or until Ctrl-C')
    .action(async (id: string | undefined, { key, apiKey, wait }: ShowFlags, command: Command) => {
      if ((id === undefined) === (key === undefined))
        throw new UsageError('use either an id or --key');
      const byKey = await keyOf(key, apiKey);
      await withLedger(context, async (open) => {
        const { lookUpNotice } = await import('../../notices/look-up.ts');
        const look = () => lookUpNotice(open, id ?? byKey);
        const view =
          wait === true
            ? await untilStopped(context, (signal) => ended(look, signal))
            : await look();
        print(context, command, view, () => describeNotice(view, Date.now()));
        if (view.state === 'not-kept') context.end(1);
      });
    });
}

/** Looks again and again until the notice has ended or the signal aborts. */
async function ended(look: () => Promise<NoticeView>, signal: AbortSignal): Promise<NoticeView> {
  for (;;) {
    const view = await look();
    const moves = view.state === 'pending' || view.state === 'sending';
    if (!moves || signal.aborted) return view;
    await setTimeout(LOOK_MS, undefined, { signal }).catch(() => {});
  }
}

/** Describes a notice in lines of text. It shows no phone number in full. */
export function describeNotice(view: NoticeView, now: number): string[] {
  const { id, state, kept, contactStates = [] } = view;
  if (state === 'not-kept') {
    return [
      ...table([
        ['notice', id],
        ['state', state],
      ]),
      describeNotKept(kept),
    ];
  }
  const step = nextStep(view);
  return [
    ...table([['notice', id], ['state', stateText(view, now)], ...rowsOf(view, now)]),
    ...(contactStates.length === 0
      ? []
      : [
          '',
          ...table([['CONTACT', 'STATE'], ...contactStates.map((one) => [one.contact, one.state])]),
        ]),
    ...(step === undefined ? [] : [step]),
  ];
}

function stateText({ state, pending, confirmed }: NoticeView, now: number): string {
  if (pending !== undefined) return `${state}, ${describePending(pending, now)}`;
  return confirmed === false ? `${state}, but the answer could not be read completely` : state;
}

function rowsOf(view: NoticeView, now: number): string[][] {
  const { template, contacts, attempts, possiblySent, delivery, code, message, remedy } = view;
  const { traceIds } = view;
  const { enqueuedAt, startedAt, endedAt, expiresAt } = view;
  const text = (name: string, value: string | undefined) =>
    value === undefined ? [] : [[name, value]];
  const time = (name: string, at: number | undefined) =>
    at === undefined ? [] : [[name, writeTime(at, now)]];
  return [
    ...text('template', template),
    ['contacts', formatCount(contacts)],
    ...text('delivery', delivery),
    ['attempts', formatCount(attempts)],
    ...(possiblySent === 0 ? [] : [['possibly sent', countOf(possiblySent, 'time')]]),
    ...text('trace ids', traceIds?.join(' ')),
    ...text('code', code),
    ...text('message', message),
    ...text('remedy', remedy),
    ...time('queued', enqueuedAt),
    ...time('started', startedAt),
    ...time('ended', endedAt),
    ...time('expires', expiresAt),
  ];
}
