// @ts-check
// Keeps pages up to date in the browser; they also work without this script.

const REFRESH_MS = 2_000;
/** How long an answer may take. */
const PATIENCE_MS = 10_000;
/** The title of the page as the server made it. */
const TITLE = document.title;
/** In place of what a page of ours says: of a proxy in front of the server, or where nothing answers. */
const AWAY = 'Ops server away';
const FAILS = 'The ops server does not answer as it should; this page retries by itself.';
let said = '';
let freshAt = new Date();

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

/** Says the state of the queue as a page has it: the overview all of it, others a hold. @param {Document} page */
function sayState(page) {
  const state = page.querySelector('#state');
  const { held = '' } = page.body.dataset;
  if (state === null) say(held, held === '');
  else say(textOf(page, '#state h2'), state.classList.contains('good'));
}

/** The first words of an element. @param {Document} page @param {string} place */
function textOf(page, place) {
  return page.querySelector(place)?.firstChild?.textContent ?? '';
}

/** Shows a problem above the page, or removes it where there is no text. @param {string} [text] */
function showTrouble(text = '') {
  const box = document.getElementById('trouble');
  if (box === null || box.textContent === text) return;
  box.textContent = text;
  box.hidden = text === '';
}

/** What the page shows is no longer confirmed. @param {string} title @param {string} cause */
function stale(title, cause) {
  showTrouble(cause);
  say(title, false);
  if (document.body.classList.contains('stale')) return;
  document.body.classList.add('stale');
  const heading = document.querySelector('#state h2');
  if (heading === null) return;
  const before = `Last known at ${freshAt.toLocaleTimeString('sv')}: ${heading.textContent}`;
  heading.textContent = title;
  const text = heading.parentElement?.querySelector('p');
  if (text !== null && text !== undefined) text.textContent = before;
}

/** Whether the user is working in a section: it is then not replaced. @param {Element} section */
function inUse(section) {
  if (section.contains(document.activeElement)) return true;
  return section.querySelector('details[open], input:checked') !== null;
}

/** A section without the time at which its forms were made. @param {Element} section */
function shown(section) {
  return section.outerHTML.replaceAll(/name="before" value="\d+"/g, '');
}

/**
 * Replaces the sections of the page with new ones of the server, so that only the server renders them. A page that failed
 * is loaded anew once it no longer does, and where the session has ended, here or at a proxy, which shows the sign-in form.
 *
 * @returns whether the page stays
 */
async function refresh() {
  // Without a person: it is no use of the session.
  const headers = { 'x-refresh': '1', accept: 'text/html' };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const answer = await fetch(location.href, { headers, signal, redirect: 'manual' });
  const found = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const hasFailed = document.querySelector('[data-retry]') !== null;
  const isElsewhere = answer.type === 'opaqueredirect' || answer.status === 401;
  if (isElsewhere || (answer.ok && (hasFailed || found.getElementById('main') === null))) {
    location.reload();
    return false;
  }
  if (!answer.ok) {
    if (!hasFailed) stale(textOf(found, 'h1') || AWAY, textOf(found, '.problem p') || FAILS);
    return true;
  }
  freshAt = new Date();
  showTrouble();
  sayState(found);
  document.body.classList.remove('stale');
  localise(found);
  for (const section of document.querySelectorAll('[data-refresh]')) {
    const newer = found.getElementById(section.id);
    if (newer !== null && !inUse(section) && shown(section) !== shown(newer)) {
      section.replaceWith(document.adoptNode(newer));
    }
  }
  return true;
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

/** Adds the zone of the browser to a time that was typed without one. @param {Event} event */
function addZone({ target }) {
  if (!(target instanceof HTMLInputElement) || !['since', 'before'].includes(target.name)) return;
  const [, day, clock = '00:00'] =
    /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?))?$/.exec(target.value.trim()) ?? [];
  const ahead = -new Date(`${day}T${clock}`).getTimezoneOffset();
  if (Number.isNaN(ahead)) return;
  const zone = new Date(Math.abs(ahead) * 60_000).toISOString().slice(11, 16);
  target.value = `${day}T${clock}${ahead < 0 ? '-' : '+'}${zone}`;
}

/**
 * Repeats an action on many until all that match were tried, or a person stops it: one request does what it can in its
 * time. What needs a single request leads to its page, which says what was done.
 *
 * @param {SubmitEvent} event
 */
async function inParts(event) {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.dataset['parts'] === undefined) return;
  event.preventDefault();
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string') body.append(name, value);
  }
  const button = form.querySelector('button');
  const stop = Object.assign(document.createElement('button'), { type: 'button' });
  stop.textContent = 'Stop';
  const progress = document.createElement('p');
  progress.setAttribute('role', 'status');
  form.querySelector('[role=status]')?.remove();
  form.append(progress, stop);
  if (button !== null) button.disabled = true;
  stop.addEventListener('click', () => (stop.disabled = true));
  let done = 0;
  let says = '';
  try {
    for (let goesOn = true; goesOn;) {
      progress.textContent = `${done} done so far.`;
      const headers = { accept: 'application/json', 'x-done': String(done) };
      const answer = await fetch(form.action, {
        method: 'POST',
        body,
        headers,
        redirect: 'manual',
      });
      if (answer.type === 'opaqueredirect') return location.assign(body.get('_next') ?? '/');
      const { cancelled, contacts, complete, waitMs, detail, issues } = await answer.json();
      const some = answer.ok ? (cancelled ?? contacts) : 0;
      done += some;
      goesOn = some > 0 && !complete && !stop.disabled;
      says = answer.ok
        ? `${done} done${complete ? '' : '; not all that match were tried'}.`
        : [detail, ...(issues ?? []).map((/** @type {any} */ one) => one.problem)].join(' ');
      if (goesOn) await new Promise((resolve) => setTimeout(resolve, waitMs ?? 0));
    }
  } catch {
    says = `${done} done; the ops server does not answer.`;
  }
  progress.textContent = says;
  stop.remove();
  if (button !== null) button.disabled = false;
}

async function watch() {
  let stays = true;
  try {
    if (!document.hidden) stays = await refresh();
  } catch {
    stale(AWAY, FAILS);
  } finally {
    if (stays) setTimeout(() => void watch(), REFRESH_MS);
  }
}

sayState(document);
localise(document);
document.addEventListener('change', addZone);
// Without this script a time is one of UTC, as the label says.
for (const input of document.querySelectorAll('[name=since], [name=before]')) {
  const label = input.parentElement?.firstChild;
  if (label instanceof Text) label.data = label.data.replace(' (UTC)', '');
}
document.addEventListener('submit', (event) => void inParts(event));
if (document.querySelector('[data-refresh], [data-retry]') !== null) {
  setTimeout(() => void watch(), REFRESH_MS);
}
