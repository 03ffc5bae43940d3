import type { Page } from 'playwright-core';

/** The number of a tile. */
export async function tile(page: Page, name: string): Promise<number> {
  const found = page.locator('.tiles > div').filter({ has: page.getByText(name, { exact: true }) });
  const text = await found.locator('dd').first().textContent();
  return Number((text ?? '').replaceAll(',', ''));
}

/** Waits until the overview says how it stands. */
export async function headline(page: Page, text: string): Promise<void> {
  await page.locator('#state h2', { hasText: text }).waitFor();
}

const MARK = 'nobodyElsesMark';

/** Leaves a mark that is gone when the page is loaded again. */
export async function markPage(page: Page): Promise<void> {
  await page.evaluate((mark) => Object.assign(window, { [mark]: true }), MARK);
}

/** Whether the page is still the one that was marked. */
export async function isSamePage(page: Page): Promise<boolean> {
  return page.evaluate((mark) => mark in window, MARK);
}
