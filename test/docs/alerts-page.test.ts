import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/redis/free-port.ts';
import { ALERTS } from '../../src/ops/alerts/alert-event.ts';
import { alertEvent } from '../../src/ops/alerts/alert-store.ts';
import { signatureOf, Webhook } from '../../src/ops/alerts/webhook.ts';
import { until } from '../support/wait.ts';

const page = readFileSync('docs/alerts.md', 'utf8');
const SECRET = 'a secret of sixteen';

describe('docs/alerts.md', () => {
  it('lists every alert with its meaning, and no other', () => {
    const rows = [...page.matchAll(/^\| `([a-z.]+)` +\| (.+?) +\|/gm)].map(([, name, meaning]) => [
      name,
      meaning,
    ]);
    expect(rows).toEqual(Object.entries(ALERTS).map(([name, { meaning }]) => [name, meaning]));
  });

  it('shows an alert as it is posted', () => {
    const shown = JSON.parse(/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '') as object;
    const draft = { event: 'hold.begun', title: '', remedy: '', data: {} } as const;
    expect(Object.keys(shown).sort()).toEqual(Object.keys(alertEvent(draft, 'q', 0)).sort());
  });

  it('has a receiver that takes ours once, and neither forged nor old ones', async () => {
    const code = /<!-- example -->\s*```js\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
    expect(code.trim().split('\n').length).toBeLessThanOrEqual(20);
    const folder = mkdtempSync(path.join(tmpdir(), 'notice-receiver-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = path.join(folder, 'receiver.mjs');
    writeFileSync(file, code);
    const port = await freePort();
    const child = spawn(process.execPath, [file], {
      env: { PORT: String(port), ALERT_WEBHOOK_SECRET: SECRET },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await once(child, 'close');
    });
    let printed = '';
    child.stdout.on('data', (text: Buffer) => (printed += text.toString()));
    const url = `http://127.0.0.1:${port}/`;
    await until(
      () =>
        fetch(url).then(
          () => true,
          () => false,
        ),
      { what: 'the receiver', deadlineMs: 20_000 },
    );

    const { meaning, remedy } = ALERTS.test;
    const alert = alertEvent({ event: 'test', title: meaning, remedy, data: {} }, 'q', Date.now());
    const post = { id: alert.id, body: JSON.stringify(alert) };
    const [ours, forged] = [
      new Webhook({ url, secret: SECRET }),
      new Webhook({ url, secret: 'x' }),
    ];
    onTestFinished(async () => {
      await ours.close();
      await forged.close();
    });
    expect(await forged.post(post)).toEqual({ taken: false, why: 'HTTP_401' });
    expect(await ours.post(post)).toEqual({ taken: true, status: 204 });
    expect(await ours.post(post)).toEqual({ taken: true, status: 204 });
    const old = await fetch(url, {
      method: 'POST',
      headers: { 'notices-signature': signatureOf(SECRET, post.body, Date.now() - 301_000) },
      body: post.body,
    });
    expect(old.status).toBe(401);
    const changed = await fetch(url, {
      method: 'POST',
      headers: { 'notices-signature': signatureOf(SECRET, post.body, Date.now()) },
      body: post.body.replace('test', 'else'),
    });
    expect(changed.status).toBe(401);
    await until(() => printed.includes('\n'), { what: 'the line of the alert' });
    expect(printed).toBe(`${meaning}. To do: ${remedy}\n`);
  });
});
