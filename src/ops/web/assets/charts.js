// @ts-check
// The chart of the traffic. Without scripts the page shows only the figures.

const EVERY_MS = 15_000;
const HEIGHT = 180;

/** @param {number} value */
const words = (value) =>
  value > 0 && value < 10
    ? value.toFixed(value < 0.095 ? 2 : 1)
    : Math.round(value).toLocaleString('en');

/** The value of each line in a minute. @type {Readonly<Record<string, (minute: any) => number>>} */
const LINES = {
  requests: ({ notices, chunks }) => (notices.requests + chunks.requests) / 60,
  contacts: ({ notices, chunks }) => (notices.accepted + chunks.accepted) / 60,
};

/** @param {Element} element @param {'color' | 'backgroundColor'} name */
const colour = (element, name) => getComputedStyle(element)[name];

/** Label of the time axis. @param {number} at */
const clock = (at) =>
  new Date(at * 1_000).toLocaleString([], { hour: '2-digit', minute: '2-digit', hour12: false });

/** @param {HTMLElement} figure */
async function start(figure) {
  const { default: Plot } = await import(new URL('./uplot.js', import.meta.url).href);
  const place = figure.querySelector('.plot') ?? figure;
  const lines = [...figure.querySelectorAll('[data-line]')].map((line) => ({
    name: line.getAttribute('data-line') ?? '',
    dot: line.querySelector('.dot') ?? line,
    output: line.querySelector('output') ?? line,
  }));
  /** @type {number[][]} */
  let data = [];
  /** @type {any} */
  let plot;
  const show = (/** @type {any} */ drawn) => {
    const at = drawn.cursor.idx ?? drawn.data[0].length - 1;
    lines.forEach(({ output }, index) => {
      const value = drawn.data[index + 1]?.[at];
      output.textContent = typeof value === 'number' ? words(value) : '';
    });
  };
  const draw = () => {
    plot?.destroy();
    const ink = colour(figure, 'color');
    const axis = {
      stroke: ink,
      grid: { stroke: `color-mix(in srgb, ${ink} 15%, transparent)` },
      ticks: { show: false },
    };
    const labels =
      (/** @type {(value: number) => string} */ label) =>
      (/** @type {any} */ _plot, /** @type {number[]} */ ticks) =>
        ticks.map(label);
    const range = (
      /** @type {any} */ _plot,
      /** @type {number} */ _min,
      /** @type {number} */ max,
    ) => [0, (max || 10) * 1.1];
    plot = new Plot(
      {
        width: place.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { size: 6 } },
        scales: { y: { range } },
        axes: [
          { ...axis, values: labels(clock) },
          { ...axis, size: 64, values: labels(words) },
        ],
        series: [
          {},
          ...lines.map(({ dot }) => ({
            stroke: colour(dot, 'backgroundColor'),
            width: 2,
            points: { show: false },
          })),
        ],
        hooks: { setCursor: [show], setData: [show], ready: [show] },
      },
      data,
      place,
    );
  };
  const load = async () => {
    if (document.hidden && plot !== undefined) return;
    const answer = await fetch('/api/v1/traffic').catch(() => undefined);
    if (answer === undefined || !answer.ok) return;
    const { minutes } = await answer.json();
    // The last minute is not over yet.
    const over = minutes.slice(0, -1);
    data = [
      over.map((/** @type {any} */ { at }) => at / 1_000),
      ...lines.map(({ name }) =>
        over.map((/** @type {any} */ minute) => LINES[name]?.(minute) ?? 0),
      ),
    ];
    if (plot === undefined) {
      figure.hidden = false;
      draw();
    } else plot.setData(data);
  };
  await load();
  setInterval(() => void load(), EVERY_MS);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  new ResizeObserver(() => {
    const width = place.clientWidth;
    if (width > 0 && plot !== undefined && plot.width !== width) {
      plot.setSize({ width, height: HEIGHT });
    }
  }).observe(figure);
}

const figure = document.querySelector('[data-traffic]');
if (figure instanceof HTMLElement) void start(figure);
