// @ts-check
// Charts of the traffic. Without scripts the page shows only the figures.

const EVERY_MS = 15_000;
const HEIGHT = 180;

/** Formats the numbers of each chart. @type {Readonly<Record<string, (value: number) => string>>} */
const WORDS = {
  rates: (value) =>
    value > 0 && value < 10
      ? value.toFixed(value < 0.095 ? 2 : 1)
      : Math.round(value).toLocaleString('en'),
  answers: (value) =>
    value < 1_000 ? `${Math.round(value)} ms` : `${(value / 1_000).toLocaleString('en')} s`,
};

/** @param {any} point @param {number} sum */
const perSecond = (point, sum) => (sum * 1_000) / Math.max(1, point.spanMs);

/** The value of each line at a point. @type {Readonly<Record<string, (point: any) => number | null>>} */
const LINES = {
  requests: (point) => perSecond(point, point.requests),
  contacts: (point) => perSecond(point, point.contacts.accepted),
  p50: (point) => point.answerMs?.p50 ?? null,
  p95: (point) => point.answerMs?.p95 ?? null,
  p99: (point) => point.answerMs?.p99 ?? null,
};

/** @param {Element} element @param {'color' | 'backgroundColor'} name */
const colour = (element, name) => getComputedStyle(element)[name];

/** @param {Element} figure */
function linesOf(figure) {
  return [...figure.querySelectorAll('[data-line]')].map((line) => ({
    name: line.getAttribute('data-line') ?? '',
    dot: line.querySelector('.dot') ?? line,
    output: line.querySelector('output') ?? line,
  }));
}

/** Label of the time axis; with the day if it covers more than one. @param {number} at @param {number[]} times */
function clock(at, times) {
  const days = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 86_400;
  return new Date(at * 1_000).toLocaleString([], {
    hour: '2-digit',
    minute: '2-digit',
    hour12: false,
    ...(days > 1 ? { weekday: 'short' } : {}),
  });
}

/** Creates the chart of a figure. @param {any} Plot @param {HTMLElement} figure @param {any[]} data */
function draw(Plot, figure, data) {
  const place = figure.querySelector('.plot');
  if (place === null) return undefined;
  const lines = linesOf(figure);
  const words = WORDS[figure.dataset['chart'] ?? ''] ?? String;
  const ink = colour(figure, 'color');
  const axis = { stroke: ink, grid: { stroke: `color-mix(in srgb, ${ink} 15%, transparent)` } };
  const show = (/** @type {any} */ plot) => {
    const at = plot.cursor.idx ?? plot.data[0].length - 1;
    lines.forEach(({ output }, index) => {
      const value = plot.data[index + 1]?.[at];
      output.textContent = typeof value === 'number' ? words(value) : '';
    });
  };
  return new Plot(
    {
      width: place.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { size: 6 } },
      scales: {
        y: {
          range: (
            /** @type {any} */ _plot,
            /** @type {number} */ _min,
            /** @type {number} */ max,
          ) => [0, (max || 10) * 1.1],
        },
      },
      axes: [
        {
          ...axis,
          ticks: { show: false },
          values: (/** @type {any} */ _plot, /** @type {number[]} */ ticks) =>
            ticks.map((at) => clock(at, data[0])),
        },
        {
          ...axis,
          size: 64,
          ticks: { show: false },
          values: (/** @type {any} */ _plot, /** @type {number[]} */ ticks) => ticks.map(words),
        },
      ],
      series: [
        {},
        ...lines.map(({ dot }) => ({
          stroke: colour(dot, 'backgroundColor'),
          width: 2,
          // A point without neighbours has no line.
          points: { show: true, size: 4, fill: colour(dot, 'backgroundColor') },
          spanGaps: false,
        })),
      ],
      hooks: { setCursor: [show], setData: [show], ready: [show] },
    },
    data,
    place,
  );
}

/** @param {HTMLElement} box */
async function start(box) {
  const { default: Plot } = await import(new URL('./uplot.js', import.meta.url).href);
  /** @type {HTMLElement[]} */
  const figures = [...box.querySelectorAll('figure')];
  /** @type {any[]} */
  let series = [];
  /** @type {any[]} */
  let plots = [];
  const dataOf = (/** @type {HTMLElement} */ figure) => [
    series.map(({ at }) => at / 1_000),
    ...linesOf(figure).map(({ name }) => series.map((point) => LINES[name]?.(point) ?? null)),
  ];
  const redraw = () => {
    for (const plot of plots) plot?.destroy();
    plots = figures.map((figure) => draw(Plot, figure, dataOf(figure)));
  };
  const load = async () => {
    if (document.hidden && plots.length > 0) return;
    const answer = await fetch(`/api/v1/traffic?minutes=${box.dataset['traffic']}`).catch(
      () => undefined,
    );
    if (answer === undefined || !answer.ok) return;
    const { recent, series: minutes } = await answer.json();
    series = Number(box.dataset['traffic']) <= 10 ? recent.slice(0, -1) : minutes;
    if (plots.length === 0) {
      box.hidden = false;
      redraw();
    } else plots.forEach((plot, index) => plot?.setData(dataOf(figures[index] ?? box)));
  };
  await load();
  setInterval(() => void load(), EVERY_MS);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  new ResizeObserver(() => {
    plots.forEach((plot, index) => {
      const width = figures[index]?.querySelector('.plot')?.clientWidth ?? 0;
      if (width > 0 && plot?.width !== width) plot?.setSize({ width, height: HEIGHT });
    });
  }).observe(box);
}

const box = document.querySelector('[data-traffic]');
if (box instanceof HTMLElement) void start(box);
