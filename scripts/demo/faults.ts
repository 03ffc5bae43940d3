/** Numbers of the sample that the emulator refuses, so that a chunk has to be taken apart. */
export const SPOILED = ['01000001234', '01000004321', '01000007777'];

/** Something that goes wrong on purpose, once a share of the list was accepted. */
interface Mishap {
  readonly after: number;
  /** For the terminal, while it lasts. */
  readonly says: string;
  readonly begin: (url: string) => Promise<void>;
  /** What mends it, so many milliseconds later; left out where it passes by itself. */
  readonly end?: { readonly afterMs: number; readonly mend: (url: string) => Promise<void> };
}

const APP = 'emulator-access-key';

const MISHAPS: readonly Mishap[] = [
  {
    after: 0.15,
    says: 'the app has lost its approval for 12 s: the queue is held, and nothing is spent',
    begin: (url) => post(url, 'apps', { accessKey: APP, approved: false }),
    end: {
      afterMs: 12_000,
      mend: (url) => post(url, 'apps', { accessKey: APP, approved: true }),
    },
  },
  {
    after: 0.4,
    says: 'the service asks for a slower pace (429): held as long as it says',
    begin: (url) => post(url, 'faults', { on: 'send', times: 1, status: 429, retryAfter: 5 }),
  },
  {
    after: 0.6,
    says: 'three answers are lost after the service has acted: unknown, for a person to decide',
    begin: (url) => post(url, 'faults', { on: 'send', times: 3, reset: 'after-acting' }),
  },
  {
    after: 0.8,
    says: 'the service answers 503 three times: nobody knows whether it acted',
    begin: (url) => post(url, 'faults', { on: 'send', times: 3, status: 503 }),
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

/** Lets the mishaps happen one after the other as the list moves on. */
export class FaultPlay {
  readonly #url: string;
  readonly #say: (text: string) => void;
  #next = 0;
  #mend: { readonly at: number; readonly run: (url: string) => Promise<void> } | undefined;

  constructor(url: string, say: (text: string) => void) {
    this.#url = url;
    this.#say = say;
  }

  /**
   * To be called again and again while the list is sent.
   *
   * @param share of the list that has been accepted, 0 to 1
   * @param now milliseconds of a clock that only goes forward
   */
  async moved(share: number, now: number): Promise<void> {
    if (this.#mend !== undefined && now >= this.#mend.at) {
      await this.#mend.run(this.#url);
      this.#mend = undefined;
    }
    const mishap = MISHAPS[this.#next];
    if (mishap === undefined || this.#mend !== undefined || share < mishap.after) return;
    this.#next += 1;
    this.#say(`          ${mishap.says}`);
    await mishap.begin(this.#url);
    const { end } = mishap;
    if (end !== undefined) this.#mend = { at: now + end.afterMs, run: end.mend };
  }
}
