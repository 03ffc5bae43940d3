/** One bar. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  /** Minimum and maximum of the rounds; no whisker without them. */
  readonly min?: number;
  readonly max?: number;
  /** Ours are drawn in another colour. */
  readonly ours: boolean;
}

const WIDTH = 870;
const LABEL_WIDTH = 310;
const VALUE_WIDTH = 110;
const BAR_HEIGHT = 22;
const GAP = 12;
const TOP = 64;
const BOTTOM = 20;
const FONT = 'font-family="system-ui, -apple-system, Segoe UI, sans-serif"';
const INK = '#1f2933';
const QUIET = '#616e7c';
/** Distinguishable by lightness, too. */
const OURS = '#1d5fa8';
const THEIRS = '#b8c4d0';

/**
 * Bars from zero with their values. It has its own background, so that it is readable on light and dark
 * pages, and a text description.
 */
export function barChart(
  title: string,
  subtitle: string,
  bars: readonly Bar[],
  show: (value: number) => string,
): string {
  const height = TOP + bars.length * (BAR_HEIGHT + GAP) + BOTTOM;
  const most = Math.max(...bars.map(({ value, max = value }) => Math.max(value, max)));
  const scale = (value: number) =>
    Math.round((value / most) * (WIDTH - LABEL_WIDTH - VALUE_WIDTH) * 10) / 10;
  const description = bars.map(({ label, value }) => `${label}: ${show(value)}`).join('; ');
  const rows = bars.map((bar, index) => {
    const y = TOP + index * (BAR_HEIGHT + GAP);
    const middle = y + BAR_HEIGHT / 2;
    const end = LABEL_WIDTH + scale(Math.max(bar.value, bar.max ?? 0));
    const weight = bar.ours ? ' font-weight="600"' : '';
    return [
      `<text x="${LABEL_WIDTH - 10}" y="${middle + 5}" text-anchor="end" fill="${INK}"${weight}>${escaped(bar.label)}</text>`,
      `<rect x="${LABEL_WIDTH}" y="${y}" width="${Math.max(1, scale(bar.value))}" height="${BAR_HEIGHT}" rx="2" fill="${bar.ours ? OURS : THEIRS}"/>`,
      ...whisker(bar, middle, scale),
      `<text x="${end + 8}" y="${middle + 5}" fill="${INK}"${weight}>${escaped(show(bar.value))}</text>`,
    ].join('\n');
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title description" ${FONT} font-size="14">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="description">${escaped(description)}</desc>`,
    `<rect width="${WIDTH}" height="${height}" rx="6" fill="#ffffff"/>`,
    `<text x="20" y="28" font-size="17" font-weight="600" fill="${INK}">${escaped(title)}</text>`,
    `<text x="20" y="48" font-size="13" fill="${QUIET}">${escaped(subtitle)}</text>`,
    ...rows,
    '</svg>',
    '',
  ].join('\n');
}

function whisker(
  { min, max }: Bar,
  middle: number,
  scale: (value: number) => number,
): readonly string[] {
  if (min === undefined || max === undefined || min === max) return [];
  const from = LABEL_WIDTH + scale(min);
  const to = LABEL_WIDTH + scale(max);
  const path = `M${from} ${middle - 4}v8M${from} ${middle}H${to}M${to} ${middle - 4}v8`;
  return [`<path d="${path}" stroke="${INK}" stroke-width="1.2" fill="none"/>`];
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
