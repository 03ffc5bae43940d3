/** Numbers of the sample that the emulator rejects, so that a chunk has to be split. */
export const SPOILED = ['01000001234', '01000004321', '01000007777'];

/** A fault that is injected once a share of the list was accepted. */
interface DemoFault {
  readonly after: number;
  /** Message on the terminal. */
  readonly message: string;
  readonly start: (url: string) => Promise<void>;
  /** Ends the fault after this many milliseconds; absent if it ends by itself. */
  readonly end?: { readonly afterMs: number; readonly run: (url: string) => Promise<void> };
}

const APP = 'emulator-access-key';

const FAULTS: readonly DemoFault[] = [
  {
    after: 0.15,
    message: 'the app loses its approval for 12 s: sending is on hold, and no retries are used up',
    start: (url) => post(url, 'apps', { accessKey: APP, approved: false }),
    end: {
      afterMs: 12_000,
      run: (url) => post(url, 'apps', { accessKey: APP, approved: true }),
    },
  },
  {
    after: 0.4,
    message: 'the service responds with 429: sending is on hold for its Retry-After',
    start: (url) => post(url, 'faults', { on: 'send', times: 1, status: 429, retryAfter: 5 }),
  },
  {
    after: 0.6,
    message:
      'three responses are lost after the service has accepted: unknown, for an operator to decide',
    start: (url) => post(url, 'faults', { on: 'send', times: 3, reset: 'after-acting' }),
  },
  {
    after: 0.8,
    message: 'the service responds with 503 three times: unknown whether it has accepted',
    start: (url) => post(url, 'faults', { on: 'send', times: 3, status: 503 }),
  },
];

async function post(url: string, path: string, body: unknown): Promise<void> {
  const response = await fetch(`${url}/control/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`the emulator answered ${response.status}`);
}

/** Injects the faults one after the other while the list is sent. */
export class FaultSchedule {
  readonly #url: string;
  readonly #write: (text: string) => void;
  #next = 0;
  #pendingEnd: { readonly at: number; readonly run: (url: string) => Promise<void> } | undefined;

  constructor(url: string, write: (text: string) => void) {
    this.#url = url;
    this.#write = write;
  }

  /**
   * Call it repeatedly while the list is sent.
   *
   * @param share of the list that has been accepted, 0 to 1
   * @param now milliseconds of a monotonic clock
   */
  async moved(share: number, now: number): Promise<void> {
    if (this.#pendingEnd !== undefined && now >= this.#pendingEnd.at) {
      await this.#pendingEnd.run(this.#url);
      this.#pendingEnd = undefined;
    }
    const fault = FAULTS[this.#next];
    if (fault === undefined || this.#pendingEnd !== undefined || share < fault.after) return;
    this.#next += 1;
    this.#write(`          ${fault.message}`);
    await fault.start(this.#url);
    const { end } = fault;
    if (end !== undefined) this.#pendingEnd = { at: now + end.afterMs, run: end.run };
  }
}
