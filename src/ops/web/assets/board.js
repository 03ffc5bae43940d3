// @ts-check
// Names the buttons of the queue board that have only a picture.

function nameButtons() {
  const inHeader = [...document.querySelectorAll('header button')].reverse();
  for (const button of document.querySelectorAll('button:not([aria-label])')) {
    if (button.textContent !== '') continue;
    const name = ['Pages', 'Settings', 'Full screen', 'Side bar'][inHeader.indexOf(button)];
    button.setAttribute('aria-label', name ?? 'More');
  }
}

new MutationObserver(nameButtons).observe(document, { childList: true, subtree: true });
nameButtons();
