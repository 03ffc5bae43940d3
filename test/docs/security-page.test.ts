import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CONTROLS } from '../../scripts/controls/controls.ts';
import { tierOf } from '../support/tiers.ts';

const page = readFileSync('SECURITY.md', 'utf8');
const triedWithout = new Set(CONTROLS.map(({ test }) => `test/${test}`));
const section = (title: string) =>
  page.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? '';
const promises = section('What is promised').split(/^- /m).slice(1);
/** The test files that a promise names. */
const testsOf = (text: string) =>
  [...text.matchAll(/\]\((test\/[^)]+)\)/g)].map(([, file = '']) => file);

describe('SECURITY.md', () => {
  it('has a threat model, promises and how to report', () => {
    expect(section('Threat model')).toContain('Trusted');
    expect(section('Report a fault')).toContain('private vulnerability reporting');
    expect(promises.length).toBeGreaterThan(8);
  });

  it('names no address or person', () => {
    expect(page).not.toMatch(/\S@\S|mailto:|https?:/);
  });

  it.each(promises)('%s is shown by a test', (text) => {
    const files = testsOf(text);
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => tierOf(file) === undefined || !existsSync(file))).toEqual([]);
  });

  it.each(promises)('%s has a control that is tried without', (text) => {
    expect(testsOf(text).some((file) => triedWithout.has(file))).toBe(true);
  });
});
