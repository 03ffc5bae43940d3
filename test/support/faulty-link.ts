import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { resetConnection } from '../../src/emulator/exchange.ts';

/**
 * What goes wrong between a client and its server; `up` is towards the server.
 *
 * - `refuse`: nobody listens any more. Connections that stand are left alone.
 * - `black-hole`: connections are accepted, and every byte of either side is swallowed, also of those
 *   that stand. When it is over, connections that swallowed something are reset, or stay `dead`:
 *   what comes is swallowed for good, as by a firewall that has forgotten them.
 * - `cut`: a connection ends once so many bytes went one way since the fault began; the byte after
 *   is not handed on. By a reset, or in good order. With `when`, bytes count from the end of that text
 *   in what goes up; other bytes pass.
 * - `stale`: the connections that stand are dead: the next byte upwards is answered by a reset, or by
 *   silence. New ones are whole.
 * - `half-close`: with the first byte upwards the connection is closed downwards; what comes up is
 *   handed on all the same.
 * - `delay`: every byte of either side comes so much later.
 * - `drop-reply`: the next bytes downwards are swallowed and their connection is reset; with `when`,
 *   only where that text went up before.
 */
export type LinkFault =
  | { readonly kind: 'refuse' }
  | { readonly kind: 'black-hole'; readonly after?: 'reset' | 'dead' }
  | {
      readonly kind: 'cut';
      readonly direction: 'up' | 'down';
      readonly bytes: number;
      readonly when?: string;
      readonly by?: 'reset' | 'end';
      /** Connections it strikes, then it is over. Default: all. */
      readonly times?: number;
    }
  | { readonly kind: 'stale'; readonly by: 'reset' | 'silence' }
  | { readonly kind: 'half-close'; readonly times?: number }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'drop-reply'; readonly when?: string; readonly times: number };

/** What the links of a proxy share. */
export interface LinkState {
  target: number;
  fault: LinkFault | undefined;
  /** Grows with each fault, so that bytes are counted anew. */
  epoch: number;
  struck: number;
  /** Stale connections among those that had carried something downwards before. */
  struckKept: number;
  /** Connections that the fault may still strike. */
  left: number;
}

type Direction = 'up' | 'down';

/**
 * One connection through a proxy. `whole` -> `swallowing` (a black hole, a stale connection) or
 * half-closed -> ended; a link that swallows never becomes whole again, for bytes are missing.
 */
export class FaultyLink {
  /** What the next byte upwards meets. */
  stale: 'reset' | 'silence' | undefined;
  readonly closed: Promise<void>;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #state: LinkState;
  #epoch: number;
  #bytes = { up: 0, down: 0 };
  #swallowing = false;
  /** Something came down: who sends on it now has kept it. */
  #kept = false;
  /** The text that a `drop-reply` waits for went up. */
  #asked = false;

  constructor(client: Socket, state: LinkState) {
    this.#client = client;
    this.#state = state;
    this.#epoch = state.epoch;
    this.#server = connect({ port: state.target, host: '127.0.0.1', allowHalfOpen: true });
    this.closed = new Promise((resolve) => {
      client.once('close', () => resolve());
    });
    client.setNoDelay(true);
    this.#server.setNoDelay(true);
    this.#lead(client, this.#server, 'up');
    this.#lead(this.#server, client, 'down');
  }

  reset(): void {
    resetConnection(this.#client);
    resetConnection(this.#server);
  }

  /** Ends both connections now; a reset waits for what was written. */
  destroy(): void {
    this.#client.destroy();
    this.#server.destroy();
  }

  /** The fault in force is over. */
  healed(): void {
    const { fault } = this.#state;
    if (fault?.kind === 'black-hole' && fault.after !== 'dead' && this.#swallowing) this.reset();
  }

  #lead(from: Socket, to: Socket, direction: Direction): void {
    let turn: Promise<void> = Promise.resolve();
    // One after the other, so that a delay keeps their order.
    const inTurn = (act: () => void) => {
      const { fault } = this.#state;
      if (fault?.kind !== 'delay') {
        turn = turn.then(act);
        return;
      }
      this.#state.struck += 1;
      const dueAt = performance.now() + fault.ms;
      turn = turn.then(() => pause(Math.max(0, dueAt - performance.now()))).then(act);
    };
    from.on('data', (bytes: Buffer) => inTurn(() => this.#pass(bytes, from, to, direction)));
    from.on('end', () => inTurn(() => this.#end(to)));
    from.on('error', () => this.reset());
    from.on('close', () => inTurn(() => to.destroySoon()));
  }

  #end(to: Socket): void {
    if (!this.#swallowing) to.end();
  }

  /** Hands bytes on, as far as the fault in force lets them through. */
  #pass(bytes: Buffer, from: Socket, to: Socket, direction: Direction): void {
    if (this.#epoch !== this.#state.epoch) {
      this.#epoch = this.#state.epoch;
      this.#bytes = { up: 0, down: 0 };
      this.#asked = false;
    }
    if (this.#swallowing || this.#isStruck(bytes, to, direction)) return;
    this.#kept ||= direction === 'down';
    this.#bytes[direction] += bytes.length;
    if (to.writableEnded || to.write(bytes)) return;
    from.pause();
    to.once('drain', () => from.resume());
  }

  /** Whether the bytes met a fault that keeps them, wholly or in part. */
  #isStruck(bytes: Buffer, to: Socket, direction: Direction): boolean {
    const { fault, left } = this.#state;
    if (direction === 'up' && this.stale !== undefined) {
      this.#strike();
      if (this.#kept) this.#state.struckKept += 1;
      if (this.stale === 'reset') this.reset();
      this.#swallowing = true;
      return true;
    }
    switch (fault?.kind) {
      case 'black-hole':
        this.#strike();
        this.#swallowing = true;
        return true;
      case 'cut': {
        if (fault.direction !== direction || left === 0) return false;
        const room = this.#roomOf(fault, bytes);
        if (bytes.length <= room) return false;
        this.#strike();
        to.write(bytes.subarray(0, room), () => this.#cut(fault.by ?? 'reset'));
        return true;
      }
      case 'half-close':
        if (direction === 'down') return this.#client.writableEnded;
        if (left === 0 || this.#client.writableEnded) return false;
        this.#strike();
        this.#client.end();
        return false;
      case 'drop-reply':
        if (direction === 'up') {
          this.#asked ||= bytes.includes(fault.when ?? '');
          return false;
        }
        if (left === 0 || !this.#asked) return false;
        this.#strike();
        this.reset();
        return true;
      case 'refuse':
      case 'stale':
      case 'delay':
      case undefined:
        return false;
    }
  }

  /** How many of the bytes still pass before a cut. */
  #roomOf(fault: Extract<LinkFault, { kind: 'cut' }>, bytes: Buffer): number {
    if (fault.when === undefined) return fault.bytes - this.#bytes[fault.direction];
    const at = bytes.indexOf(fault.when);
    return at < 0 ? Infinity : at + fault.when.length + fault.bytes;
  }

  #cut(by: 'reset' | 'end'): void {
    if (by === 'reset') {
      this.reset();
    } else {
      this.#client.destroySoon();
      this.#server.destroySoon();
    }
  }

  #strike(): void {
    this.#state.struck += 1;
    this.#state.left -= 1;
  }
}
