// @ts-check
// Keeps pages up to date in the browser; they also work without this script.

/**
 * Listens to the events of the server while the page is visible. The browser reconnects by itself; when
 * the session has ended, the page is reloaded and shows the sign-in form.
 *
 * @param {Readonly<Record<string, (data: any) => void>>} handlers by name of the event
 */
function listen(handlers) {
  /** @type {EventSource | undefined} */
  let source;
  const open = () => {
    source = new EventSource('/api/v1/events');
    for (const [name, handle] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    }
    source.addEventListener('error', () => {
      if (source?.readyState === EventSource.CLOSED) void checkSession();
      else
        stale('Ops server away', 'The ops server does not respond; this page retries by itself.');
    });
  };
  const follow = () => {
    if (document.hidden) {
      source?.close();
      source = undefined;
    } else if (source === undefined) open();
  };
  document.addEventListener('visibilitychange', follow);
  follow();
}

/** Shows a problem above the page, or removes it where there is no text. @param {string} [text] */
function showTrouble(text = '') {
  const box = document.getElementById('trouble');
  if (box === null || box.textContent === text) return;
  box.textContent = text;
  box.hidden = text === '';
}

/** The title of the page as the server made it. */
const TITLE = document.title;
let said = '';

/**
 * Says the worst thing that is true in the title of the tab and, where it changes, to screen readers: what they are to
 * read must not be replaced.
 *
 * @param {string} text @param {boolean} isGood
 */
function say(text, isGood) {
  document.title = isGood ? TITLE : `${text} - ${TITLE}`;
  const box = document.getElementById('said');
  if (box !== null && said !== '' && said !== text) box.textContent = text;
  said = text;
}

let freshAt = new Date();

/** What the page shows is no longer confirmed. @param {string} title @param {string} cause */
function stale(title, cause) {
  showTrouble(cause);
  say(title, false);
  if (document.body.classList.contains('stale')) return;
  document.body.classList.add('stale');
  const heading = document.querySelector('#state h2');
  if (heading === null) return;
  const before = `Last known at ${freshAt.toLocaleTimeString()}: ${heading.textContent}`;
  heading.textContent = title;
  const text = heading.parentElement?.querySelector('p');
  if (text !== null && text !== undefined) text.textContent = before;
}

/** What the page shows is true again. @param {{ title: string, tone: string }} headline */
function fresh({ title, tone }) {
  showTrouble();
  freshAt = new Date();
  const isNews = said !== title;
  say(title, tone === 'good');
  const wasStale = document.body.classList.contains('stale');
  if (isNews || wasStale) refreshedAt = -Infinity;
  // Until then it stays grey.
  void refresh().then((done) => done && document.body.classList.remove('stale'));
}

/** Asks the server without a person: it is no use of the session. @param {string} url */
function ask(url) {
  return fetch(url, { headers: { 'x-refresh': '1' } }).catch(() => undefined);
}

/** Reloads the page after a refused stream: at once where the session has ended, else after a delay. */
async function checkSession() {
  const answer = await ask('/api/v1/session');
  if (answer?.status === 401) location.reload();
  else setTimeout(() => location.reload(), 5_000);
}

/** Reloads a page that failed once the server is ready again. */
function retry() {
  const seconds = Number(document.querySelector('[data-retry]')?.getAttribute('data-retry') ?? 0);
  if (seconds <= 0) return;
  const check = async () => {
    const answer = await ask('/readyz');
    if (answer?.ok === true) location.reload();
    else setTimeout(() => void check(), seconds * 1_000);
  };
  void check();
}

/** Interval between refreshes of sections, in milliseconds. */
const REFRESH_MS = 2_000;
let refreshedAt = performance.now();

/** Whether the user is working in a section: it is then not replaced. @param {Element} section */
function inUse(section) {
  if (section.contains(document.activeElement)) return true;
  if (section.querySelector('details[open], input:checked') !== null) return true;
  return [...section.querySelectorAll('input[name="why"]')].some(
    (field) => field instanceof HTMLInputElement && field.value !== '',
  );
}

/**
 * Replaces the sections of the page with new ones of the server, so that only the server renders them.
 *
 * @returns whether it did
 */
async function refresh() {
  if (performance.now() - refreshedAt < REFRESH_MS) return false;
  refreshedAt = performance.now();
  const answer = await ask(location.href);
  if (answer === undefined || !answer.ok || answer.redirected) return false;
  const found = new DOMParser().parseFromString(await answer.text(), 'text/html');
  localise(found);
  for (const section of document.querySelectorAll('[data-refresh]')) {
    const newer = found.getElementById(section.id);
    if (newer !== null && !inUse(section) && shown(section) !== shown(newer)) {
      section.replaceWith(document.adoptNode(newer));
      offerAll(newer);
    }
  }
  return true;
}

/** A section without the time at which its forms were made. @param {Element} section */
function shown(section) {
  return section.outerHTML.replaceAll(/name="before" value="\d+"/g, '');
}

/** Makes the checkboxes work that check all others of a name. @param {ParentNode} place */
function offerAll(place) {
  for (const box of place.querySelectorAll('[data-choose]')) {
    if (!(box instanceof HTMLInputElement)) continue;
    box.hidden = false;
    box.addEventListener('change', () => {
      const name = box.getAttribute('data-choose') ?? '';
      for (const one of box.form?.querySelectorAll(`[name="${name}"]`) ?? []) {
        if (one instanceof HTMLInputElement) one.checked = box.checked;
      }
    });
  }
}

/** Times of day in the zone of the browser; the tooltip has UTC. @param {ParentNode} place */
function localise(place) {
  for (const time of place.querySelectorAll('time[datetime]')) {
    const clock = time.querySelector('.clock');
    if (clock === null) continue;
    const at = new Date(time.getAttribute('datetime') ?? '');
    const isToday = at.toDateString() === new Date().toDateString();
    const day = isToday ? '' : `${at.toLocaleDateString('sv')} `;
    /** @type {Intl.DateTimeFormatOptions} */
    const style = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short' };
    clock.textContent = `${day}${at.toLocaleTimeString('en-GB', style)}`;
  }
}

retry();
localise(document);
offerAll(document);
if (document.querySelector('[data-refresh]') !== null) {
  listen({
    status: ({ headline }) => fresh(headline),
    trouble: ({ cause }) => stale('Redis is away', cause),
  });
}
