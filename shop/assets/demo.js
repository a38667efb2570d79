// Makes the steps of the demo without loading the page again. Without this script each button is a form, and works as well.

const live = document.createElement('p');
live.className = 'unseen';
live.setAttribute('role', 'status');
document.querySelector('main').after(live);

addEventListener('submit', async (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.getAttribute('action') !== '/demo') return;
  event.preventDefault();
  const main = document.querySelector('main');
  if (main.ariaBusy === 'true') return;
  main.ariaBusy = 'true';
  const began = form.elements.namedItem('story') !== null;
  try {
    const body = new URLSearchParams(new FormData(form, event.submitter));
    const answer = await fetch('/demo', { method: 'POST', body });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const next = page.querySelector('main');
    if (!answer.ok || !next) throw new Error(answer.statusText);
    document.title = page.title;
    main.replaceChildren(...next.childNodes);
    history.replaceState(null, '', new URL(answer.url).search ? answer.url : '/demo');
    show(began);
  } catch {
    // The browser sends it, and shows what the answer is.
    form.submit();
  } finally {
    main.ariaBusy = null;
  }
});

/** The next button is in view and has the focus; what happened is said to those who do not see it. */
function show(began) {
  const next = document.querySelector('#next button');
  const first = document.querySelector(began ? 'main h1' : '#now');
  first?.scrollIntoView({ block: 'start' });
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: 'nearest' });
  live.textContent = (document.querySelector('.verdict h2') ?? document.querySelector('.happened li.last p'))?.textContent ?? '';
}
