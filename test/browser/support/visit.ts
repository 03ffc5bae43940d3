import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type Browser, type Page } from 'playwright-core';
import { expect, inject, onTestFinished } from 'vitest';

/** Nothing but what the pages ask for: no GPU, no sandbox (tests may run as root), no calls home. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** How long a page may take to show something, on a machine that has much else to do. */
export const PATIENCE_MS = 60_000;

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** How a visitor looks at the pages. */
export interface VisitOptions {
  readonly colorScheme?: 'light' | 'dark';
  readonly viewport?: { readonly width: number; readonly height: number };
  /** Name and value of a session's cookie; without one nobody is signed in. */
  readonly cookie?: string;
  /** Loads axe-core with every page. */
  readonly withAxe?: boolean;
  readonly javaScript?: boolean;
  /** Zone of the browser. Default: that of the machine. */
  readonly timezoneId?: string;
}

/** The ways in which pages are looked at. */
export const LOOKS: readonly (readonly [name: string, options: VisitOptions])[] = [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['phone', { viewport: { width: 375, height: 812 } }],
  ['phone-dark', { viewport: { width: 375, height: 812 }, colorScheme: 'dark' }],
];

const PICTURES = 'test-output/pages';
mkdirSync(PICTURES, { recursive: true });

/**
 * Keeps a picture of a page in test-output/pages. On a busy machine Chromium now and then refuses one and takes it when it
 * is asked again; the page is not the cause.
 */
export async function picture(page: Page, name: string): Promise<void> {
  const take = () => page.screenshot({ path: `${PICTURES}/${name}.png`, fullPage: true });
  await take().catch((error: unknown) => {
    if (!String(error).includes('Unable to capture screenshot')) throw error;
    return take();
  });
}

/**
 * Opens a window on an ops server. When the test ends, it must have met no fault.
 *
 * @param url of the server, without a path
 */
export async function visit(url: string, options: VisitOptions = {}) {
  const browser = await launch();
  const { colorScheme = 'light', viewport = { width: 1_280, height: 900 }, cookie } = options;
  const context = await browser.newContext({
    baseURL: url,
    colorScheme,
    viewport: { ...viewport },
    javaScriptEnabled: options.javaScript ?? true,
    reducedMotion: 'reduce',
    ...(options.timezoneId === undefined ? {} : { timezoneId: options.timezoneId }),
  });
  context.setDefaultTimeout(PATIENCE_MS);
  if (cookie !== undefined) {
    const at = cookie.indexOf('=');
    await context.addCookies([{ name: cookie.slice(0, at), value: cookie.slice(at + 1), url }]);
  }
  if (options.withAxe === true) await context.addInitScript({ path: AXE });
  const page = await context.newPage();
  const faults: string[] = [];
  const forgiven: RegExp[] = [];
  const found = (fault: string) => faults.push(fault);
  page.on('pageerror', ({ message }) => found(`exception: ${message}`));
  page.on('console', (message) => {
    // What the browser says of the policy, too, comes as an error.
    if (message.type() === 'error') found(`console: ${message.text()} ${message.location().url}`);
  });
  context.on('request', (request) => {
    const asked = new URL(request.url());
    if (asked.protocol !== 'data:' && asked.origin !== url) found(`elsewhere: ${asked.origin}`);
  });
  onTestFinished(async () => {
    await browser.close();
    const left = faults.filter((fault) => !forgiven.some((pattern) => pattern.test(fault)));
    expect(left).toEqual([]);
  });
  return {
    page,
    context,
    /** Errors on the console, violations of the policy, exceptions, requests to other hosts. */
    faults: faults as readonly string[],
    /** Lets a fault pass that the test makes on purpose. */
    forgive: (pattern: RegExp) => forgiven.push(pattern),
  };
}

async function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: inject('chromium'),
    args: FLAGS,
    timeout: PATIENCE_MS,
  });
}
