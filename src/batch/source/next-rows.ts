import { NoticeQueueError } from '../../contracts/errors.ts';
import type { SourceReader, SourcePart } from './source-row.ts';

/**
 * The next rows of a list; undefined after the last.
 *
 * @throws NoticeQueueError IMPORT_STOPPED as soon as the signal comes, however long the list takes
 */
export async function nextRows(
  rows: SourceReader['rows'],
  signal: AbortSignal | undefined,
): Promise<readonly SourcePart[] | undefined> {
  let stop = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(new NoticeQueueError('IMPORT_STOPPED'));
  });
  // Without a race it would be nobody's failure.
  stopped.catch(() => {});
  if (signal?.aborted === true) stop();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const next = await Promise.race([stopped, rows.next()]);
    return next.done === true ? undefined : next.value;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}
