/**
 * Replies of BullMQ's scripts that contain the next job. BullMQ parses its options at once, after Redis has
 * already made the job active: an error there leaves it active, and ends the job before it wrongly.
 */
const FETCHES: ReadonlySet<string> = new Set(['moveToActive', 'moveToFinished', 'moveToDelayed']);

/** No JSON: such data makes {@link SendWorker} create the job as unreadable. */
const NOT_JSON = '{';

/** BullMQ's commands, as far as they are changed here. */
interface Backend {
  execCommand: (client: never, command: string, args: never[]) => unknown;
}

/** Lets a worker get each job whose options cannot be read as one whose data cannot be read. */
export function fetchUnreadableOptions(backend: Backend): void {
  const run = backend.execCommand.bind(backend);
  backend.execCommand = (client, command, args) => {
    const reply = run(client, command, args);
    return FETCHES.has(command) && reply instanceof Promise ? reply.then(withReadable) : reply;
  };
}

/** @param reply the fields of the job and their values in turn, then what is not about it */
function withReadable(reply: unknown): unknown {
  const fields: unknown = Array.isArray(reply) ? reply[0] : undefined;
  if (!Array.isArray(fields)) return reply;
  const options = indexOfValue(fields, 'opts');
  if (options === undefined || areOptions(fields[options])) return reply;
  fields[options] = '{}';
  const data = indexOfValue(fields, 'data');
  if (data === undefined) fields.push('data', NOT_JSON);
  else fields[data] = NOT_JSON;
  return reply;
}

function indexOfValue(fields: readonly unknown[], name: string): number | undefined {
  for (let at = 0; at < fields.length; at += 2) if (fields[at] === name) return at + 1;
  return undefined;
}

/** Whether BullMQ can read the options of a job, as Redis stores them. */
export function areOptions(text: unknown): boolean {
  try {
    const options: unknown = JSON.parse(String(text));
    return typeof options === 'object' && options !== null && !Array.isArray(options);
  } catch {
    return text === '';
  }
}
