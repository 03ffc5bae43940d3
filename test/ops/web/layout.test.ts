import { describe, expect, it } from 'vitest';
import { problemOf, TooManyRequests } from '../../../src/ops/web/http/problem.ts';
import { html } from '../../../src/ops/web/http/html.ts';
import { layout } from '../../../src/ops/web/pages/layout.ts';
import { problemPage, signInPage } from '../../../src/ops/web/pages/public-pages.ts';
import type { Identity } from '../../../src/ops/web/access/identity.ts';
import {
  ERROR_CODES,
  InputError,
  NoticeQueueError,
  type ErrorCode,
} from '../../../src/contracts/errors.ts';

const WHO: Identity = {
  name: '<b>kim</b>',
  role: 'viewer',
  by: 'session',
  seed: '',
};

const place = { account: 'shop', name: 'production <1>' };
const viewer = { who: WHO, csrf: 'a"b', place };

describe('the frame of a page', () => {
  it('shows who is signed in, where he is, and how to leave', () => {
    const { text } = layout('Batches', html`<p>all</p>`, viewer, '/batches');
    expect(text).toContain('&lt;b&gt;kim&lt;/b&gt; (viewer)');
    expect(text).toMatch(/href="\/batches"\s+aria-current="page"/);
    expect(text.match(/aria-current/g)).toHaveLength(1);
    expect(text).toContain('action="/sign-out"');
    expect(text).toContain('name="_csrf" value="a&quot;b"');
    expect(text).toMatch(/<p class="tag">\s*<strong>production &lt;1&gt;<\/strong> shop/);
    expect(text).toContain('<title>Batches - production &lt;1&gt;</title>');
  });

  it('shows neither navigation nor sign-out to nobody, and no sign-out to who came otherwise', () => {
    expect(layout('x', '', {}).text).not.toMatch(/<nav|sign-out|csrf/);
    const byProxy = layout('x', '', { ...viewer, who: { ...WHO, by: 'proxy' } }).text;
    expect(byProxy).toContain('<nav');
    expect(byProxy).not.toContain('sign-out');
  });
});

it('the sign-in page names the product, the environment and the account', () => {
  const { text } = signInPage(place, '/');
  expect(text).toContain('<h1>Sign in to notice-queue: production &lt;1&gt;, account shop</h1>');
});

describe('a problem', () => {
  // The statuses of what callers meet are in the tests of the routes.
  it.each(Object.entries(ERROR_CODES) as [ErrorCode, { meaning: string; remedy: string }][])(
    '%s has its meaning, its remedy and a type of its own',
    (code, { meaning, remedy }) => {
      const problem = problemOf(new NoticeQueueError(code));
      expect(problem).toMatchObject({ code, title: meaning });
      expect(problem.detail).toContain(remedy);
      expect(problem.type).toMatch(/^urn:notice-queue:problem:[a-z-]+$/);
      expect(problem.status).toBeGreaterThanOrEqual(400);
    },
  );

  it('says what is wrong with Redis where it did not answer, and only there', () => {
    const trouble = 'Nothing listens at db:6379.';
    expect(problemOf(new NoticeQueueError('QUEUE_UNAVAILABLE'), trouble).detail).toBe(trouble);
    expect(problemOf(new NoticeQueueError('QUEUE_REFUSED'), trouble).detail).not.toBe(trouble);
    expect(problemOf(new NoticeQueueError('NOT_FOUND'), trouble).detail).not.toBe(trouble);
  });

  it('says when to try again', () => {
    expect(problemOf(new TooManyRequests(17)).retryAfter).toBe(17);
    expect(problemOf(new NoticeQueueError('QUEUE_UNAVAILABLE')).retryAfter).toBe(2);
    expect(problemOf(new NoticeQueueError('NOT_FOUND'))).not.toHaveProperty('retryAfter');
  });

  it('that nobody foresaw tells nothing of itself', () => {
    for (const error of [new TypeError('secret 01012345678'), 'secret', undefined, null, {}]) {
      const problem = problemOf(error);
      expect(problem).toMatchObject({ code: 'DEFECT', status: 500 });
      expect(JSON.stringify(problem)).not.toContain('secret');
    }
    const foreign = Object.assign(new Error('secret'), { statusCode: 413 });
    expect(problemOf(foreign)).toMatchObject({ status: 413, code: 'REQUEST_INVALID' });
    expect(JSON.stringify(problemOf(foreign))).not.toContain('secret');
  });

  it('is shown to a person with every field, escaped, and a page that tries again by itself', () => {
    const wrong = new InputError('REQUEST_INVALID', [{ field: 'why', problem: '<i>expected</i>' }]);
    const page = problemPage(problemOf(wrong), viewer, '/').text;
    expect(page).toContain('<code>why</code>: &lt;i&gt;expected&lt;/i&gt;');
    expect(page).not.toContain('data-retry');
    expect(page).toContain('<a href="/">To the overview</a>');
    const away = problemOf(new NoticeQueueError('QUEUE_UNAVAILABLE'));
    expect(problemPage(away, viewer, undefined).text).toContain('data-retry="2"');
  });
});
