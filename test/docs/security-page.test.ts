import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { tierOf } from '../support/tiers.ts';

const page = readFileSync('SECURITY.md', 'utf8');
const section = (title: string) =>
  page.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? '';
const promises = section('What is promised').split(/^- /m).slice(1);

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
    const files = [...text.matchAll(/\]\((test\/[^)]+)\)/g)].map(([, file = '']) => file);
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => tierOf(file) === undefined || !existsSync(file))).toEqual([]);
  });
});
