import { countOf, formatCount, formatDuration } from '../../../format/format.ts';
import { pauseBatch } from '../../operations/batches.ts';
import type { OperationOutput } from '../../operations/operations.ts';
import { NEVER_RESTORED, parkRestored, showRestored } from '../../operations/restored.ts';
import { cancelForm } from './batch.ts';
import * as ui from './elements.ts';
import { page } from './layout.ts';

type Restored = OperationOutput<'restored show'>;

/** What might be sent again from an old copy of Redis, and the forms that decide on it. Read once: it reads all that waits. */
export const RESTORED = page({
  path: '/restored',
  title: 'Old copy of Redis',
  nav: '/',
  summary:
    'What might be sent again because Redis holds an old copy, and the forms that decide on it.',
  perMinute: 30,
  view: async (call, context) => {
    const { event, held, notices, batches } = await showRestored.run(
      context,
      {},
      { who: call.name, why: '', bounded: true },
    );
    if (event === null) return ui.empty('restored', ui.para(NEVER_RESTORED));
    const single = `${countOf(notices.contacts, 'contact')} in ${countOf(notices.jobs, 'job')}`;
    const park =
      held &&
      notices.jobs > 0 &&
      ui.action(call, parkRestored, {
        opens: 'Set the single notices aside...',
        says: `${single}: they are not sent, but listed as unknown until they are decided.`,
        button: 'Set them aside',
        danger: true,
      });
    return ui.card(
      'restored',
      undefined,
      [
        ui.para('The copy does not show what was sent after it was made; this may be sent again.'),
        ui.facts([
          ['Detected', ui.moment(event.at, call.now)],
          ['Copy made', [ui.moment(event.copyAt, call.now), ' or shortly after']],
          ['Missing', `at most ${formatDuration(event.missingMs)}`],
          [
            'Sending',
            held ? 'on hold' : event.verdict === 'held' ? 'resumed by a person' : 'goes on',
          ],
          ['Single notices', single],
        ]),
        ui.acts(park),
        batches.length > 0 && listTable(batches, call),
        ui.mayAct(call) &&
          ui.para([
            ui.link(`${showRestored.path}.csv`, 'Download all of their contacts'),
            ' (recorded in the audit stream)',
          ]),
        held &&
          ui.quiet([
            'What is neither set aside nor stopped is sent once ',
            ui.link('/', 'the hold is lifted'),
            '.',
          ]),
      ],
      false,
    );
  },
});

const listTable = (batches: Restored['batches'], view: ui.PageView) =>
  ui.table<Restored['batches'][number]>(
    'Lists that are not finished',
    [
      ['Batch', ({ batch }) => ui.batchLink(batch)],
      ['Template', ({ template }) => template],
      [
        'State',
        ({ phase, importing }) => [
          ui.tag(phase),
          importing && ' import not finished: do not run it again',
        ],
      ],
      ['Contacts', ({ contacts }) => formatCount(contacts), 'number'],
    ],
    batches,
    ({ batch: id, phase }) =>
      ui.acts(
        phase !== 'paused' && ui.action(view, pauseBatch, { given: { id }, button: 'Pause' }),
        cancelForm(view, id, 'Its pending contacts will not be sent. This cannot be undone.'),
      ),
  );
