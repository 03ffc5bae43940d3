/**
 * The least that a service can be: issues a token, answers every send at once, and looks at nothing
 * but the length of a request. It shows what a contestant can do where the emulator, which reads
 * every contact, would be the slowest of all. Told by its parent like the emulator (service.ts).
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { nowMs } from '../harness/clock.ts';
import type { ServiceOrder } from './service.ts';
import { tell } from './tell.ts';

const [contactsEach = '1'] = process.argv.slice(2);
const answerOf = (data: object) => {
  const body = JSON.stringify({ code: 'SUCCESS', data });
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
  return Buffer.from(`${head}\r\n\r\n${body}`);
};
const TOKEN = answerOf({ token: 'sink-token' });
const TAKEN = answerOf({ acceptedCount: Number(contactsEach), requestId: 'req-1' });
const END_OF_HEAD = Buffer.from('\r\n\r\n');

let taken = 0;
let goals: { readonly reach: number }[] = [];

function take(): void {
  taken += Number(contactsEach);
  const reached = goals.filter(({ reach }) => taken >= reach);
  if (reached.length === 0) return;
  goals = goals.filter((goal) => !reached.includes(goal));
  for (const { reach } of reached) tell({ reached: reach, atMs: nowMs() });
}

/** Follows one connection: a head up to its blank line, then as many bytes as it names. */
function serve(socket: Socket): void {
  let head: Buffer | undefined;
  let answer = TAKEN;
  let left = 0;
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', (piece: Buffer) => {
    let rest = head === undefined ? piece : Buffer.concat([head, piece]);
    head = undefined;
    while (rest.length > 0) {
      if (left === 0) {
        const end = rest.indexOf(END_OF_HEAD);
        if (end < 0) {
          head = rest;
          return;
        }
        const text = rest.toString('latin1', 0, end);
        answer = text.startsWith('POST /api/v2/token') ? TOKEN : TAKEN;
        left = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
        rest = rest.subarray(end + END_OF_HEAD.length);
      }
      const read = Math.min(left, rest.length);
      left -= read;
      rest = rest.subarray(read);
      if (left > 0) continue;
      if (answer === TAKEN) take();
      socket.write(answer);
    }
  });
}

process.on('message', (message) => {
  const { reach, clear } = message as ServiceOrder;
  if (clear === true) {
    taken = 0;
    goals = [];
  }
  if (reach !== undefined) goals.push({ reach });
});
const server = createServer(serve);
server.listen(0, '127.0.0.1', () => {
  tell({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
