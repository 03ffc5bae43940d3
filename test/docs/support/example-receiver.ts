import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { freePort } from '../../../scripts/redis/free-port.ts';
import type { AccountEvent } from '../../../src/events/event.ts';
import { signatureOf, Webhook } from '../../../src/events/webhook.ts';
import { until } from '../../support/wait.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const SECRET = 'a secret of sixteen';

/** Starts the receiver that a page shows. @param secretName the variable with its secret */
async function startExample(page: string, secretName: string) {
  const text = readFileSync(page, 'utf8');
  const code = /<!-- example -->\s*```js\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
  expect(code.trim().split('\n').length).toBeLessThanOrEqual(20);
  const folder = temporaryFolder();
  const file = path.join(folder, 'receiver.mjs');
  writeFileSync(file, code);
  const port = await freePort();
  const child = spawn(process.execPath, [file], {
    env: { PORT: String(port), [secretName]: SECRET },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'close');
  });
  let printed = '';
  child.stdout.on('data', (bytes: Buffer) => (printed += bytes.toString()));
  const url = `http://127.0.0.1:${port}/`;
  await until(
    () =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    { what: 'the receiver', deadlineMs: 20_000 },
  );
  return { url, printed: () => printed };
}

function webhook(url: string, secret: string): Webhook {
  const made = new Webhook({ url, secret, format: 'json' }, 'q');
  onTestFinished(() => made.close());
  return made;
}

/**
 * Posts events of ours twice to the receiver of a page, and expects that it takes these, and neither forged,
 * changed nor old ones.
 *
 * @returns all that it prints
 */
export async function printedByReceiver(
  page: string,
  secretName: string,
  events: readonly AccountEvent[],
): Promise<string> {
  const { url, printed } = await startExample(page, secretName);
  const post = { events, missed: false };
  const body = JSON.stringify({ version: 1, queue: 'q', events });
  const ours = webhook(url, SECRET);
  expect(await webhook(url, 'x').post(post)).toEqual({ taken: false, why: 'HTTP_401' });
  expect(await ours.post(post)).toEqual({ taken: true, status: 204 });
  expect(await ours.post(post)).toEqual({ taken: true, status: 204 });
  const raw = async (signedAt: number, sent: string) => {
    const headers = { 'notices-signature': signatureOf(SECRET, body, signedAt) };
    return (await fetch(url, { method: 'POST', headers, body: sent })).status;
  };
  expect(await raw(Date.now() - 301_000, body)).toBe(401);
  expect(await raw(Date.now(), body.replace('accepted', 'rejected'))).toBe(401);
  await until(() => printed().includes('\n'), { what: 'what it prints' });
  return printed();
}
