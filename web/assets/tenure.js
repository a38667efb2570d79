// Keeps the lease of an open edit form alive, and says so when it is lost.
//
// The server decides. By itself this file concludes only what is careful: by our clock the lease may be over, so input
// waits for an answer. Nothing typed is lost: fields become read-only, never disabled (those are neither posted nor
// copied), and the tab keeps a draft until a page says that the form was saved.

const RETRY_MS = [5_000, 10_000, 20_000, 30_000];
const WAIT_MS = 15_000; // For an answer, and for a submit that leads nowhere.
const PARTING_MS = 10_000; // What the server leaves of a lease after mode=parting.
const SAID_S = [120, 60, 30]; // A countdown worries people and is noise: it starts late and is said only now and then.

const all = (selector) => document.querySelectorAll(selector);
const format = (date, style) => new Intl.DateTimeFormat(document.documentElement.lang || [], style).format(date);
// A form's own banner: the first in the smallest element around the form that has one.
const near = (box, part) => box && (box.querySelector(`[data-tenure-${part}]`) ?? near(box.parentElement, part));

// The first may stand still while the machine sleeps, the second may be set back: the one further on is the careful one.
const clocks = () => [performance.now(), Date.now()];

const isTick = (field) => /checkbox|radio/.test(field.type);
const fields = (form) =>
  [...form.elements].filter(({ name, type }) => name && !/hidden|button|submit|reset|image|file|set|output/.test(type));

function read(form) {
  const values = {};
  for (const field of fields(form)) {
    const value = field.options ? Array.from(field.selectedOptions, (option) => option.value) : field.value;
    (values[field.name] ??= []).push(isTick(field) ? field.checked : value);
  }
  return values;
}

function write(form, values) {
  const rest = structuredClone(values);
  for (const field of fields(form)) {
    const value = rest[field.name]?.shift();
    if (value === undefined) continue;
    if (field.options) for (const option of field.options) option.selected = value.includes(option.value);
    else field[isTick(field) ? "checked" : "value"] = value;
  }
}

const differ = (a, b) => Object.keys(a).some((name) => name in b && `${a[name]}` !== `${b[name]}`);

/** What was typed since the server sent the form, or nothing. A reset copy, as browsers put old input back. */
function typed(form) {
  const sent = form.cloneNode(true);
  sent.reset();
  return differ(read(sent), read(form)) ? read(form) : null;
}

function keepLease(form) {
  const { keepAlive, check, release, heartbeatMs, expiresInMs } = form.dataset;
  const part = (name) => near(form, name) ?? document.createElement("p");
  const [banner, countdown, status] = ["banner", "countdown", "status"].map(part);
  const text = part("texts").dataset;
  const fixed = fields(form).filter((field) => field.readOnly);
  let failures = 0;
  let beats = 0;
  let end, timer, flight, state, kept, isTold;

  const until = (ms, from = clocks()) => (end = from.map((at) => at + ms));
  const left = () => Math.min(...clocks().map((at, i) => end[i] - at));
  const body = (mode) => {
    const { lid, csrf } = form.elements;
    return new URLSearchParams({ lid: lid.value, csrf: csrf.value, ...mode });
  };

  /** One question at a time: a new one replaces one that may hang since before the machine slept. */
  async function ask(url) {
    clearTimeout(timer);
    flight?.abort();
    const mine = (flight = new AbortController());
    const limit = setTimeout(() => mine.abort(), WAIT_MS);
    const sent = clocks();
    let code, answer;
    try {
      const response = await fetch(url, { method: "POST", body: body(), signal: mine.signal });
      answer = await response.json();
      code = response.status;
    } catch {} // Unreachable, or a page of somebody between us and the server.
    clearTimeout(limit);
    if (flight !== mine) return;
    if (code === 410) return lose(answer);
    if (code === 200) until(answer.expires_in_ms, sent);
    if (code === 200 && left() > 0) hold();
    else doubt(answer?.detail);
  }

  function hold() {
    if (isTold) say(text.textResumed);
    isTold = false;
    failures = 0;
    show("held");
    const jitter = heartbeatMs < 30_000 ? 0 : Math.random() * 10_000 - 5_000;
    // After a reload the farewell of the page before may come later than our first beat: so the second comes soon.
    const soon = beats++ ? left() / 2 : PARTING_MS / 2;
    timer = setTimeout(ask, Math.max(500, Math.min(+heartbeatMs + jitter, soon)), keepAlive);
  }

  /** No answer, or none about the lease (signed out, database away): it lives on, by our clock. */
  function doubt(detail) {
    const isAlive = left() > 0;
    show(isAlive ? "offline" : "checking");
    // One lost beat is nothing to alarm a person with.
    if (!isAlive) say(text.textExpired);
    else if (detail || failures || !navigator.onLine) say(detail ?? text.textOffline);
    timer = setTimeout(ask, RETRY_MS[Math.min(failures++, 3)], isAlive ? keepAlive : check);
  }

  function lose({ code, by, reason, held_now: heir, detail }) {
    show("lost");
    status.role = null; // One voice: the banner's.
    banner.role = "alert";
    if (code === "lock-broken") say(text.textBroken, by?.name, reason);
    else if (heir) say(text.textTaken, heir.owner.name);
    else say((code === "lock-expired" && text.textExpired) || text.textLost || detail);
    const again = [...form.elements].find((button) => "tenureAgain" in button.dataset);
    if (again) again.hidden = false;
    for (const button of form.elements) {
      if (!("tenureSave" in button.dataset)) continue;
      if (button === document.activeElement) again?.focus();
      button.hidden = true;
    }
  }

  function say(words = "", name = "", reason = "") {
    const facts = { name, reason, time: format(Date.now() + left(), { timeStyle: "short" }) };
    status.textContent = words.replace(/\{(\w+)\}/g, (_, fact) => facts[fact]);
    banner.hidden = false;
    isTold = true;
  }

  function show(next) {
    form.dataset.tenureState = banner.dataset.tenureState = state = next;
    form.ariaBusy = /checking|saving/.test(state);
    const isFrozen = !/held|offline/.test(state);
    kept = isFrozen ? (kept ?? read(form)) : null;
    for (const field of fields(form)) if (!fixed.includes(field)) field.toggleAttribute("readonly", isFrozen);
    tick();
  }

  function tick() {
    const seconds = Math.ceil(left() / 1000);
    countdown.hidden = kept || seconds > SAID_S[0];
    if (countdown.hidden) return;
    if (seconds <= 0) return wake();
    countdown.textContent = new Date(seconds * 1000).toISOString().slice(15, 19);
    if (SAID_S.includes(seconds)) say(text.textWarn);
  }

  /** Away, asleep or out of time: nobody knows, so the fields wait for an answer. */
  function wake() {
    if (document.hidden || /lost|saving/.test(state)) return;
    show("checking");
    ask(check);
  }

  /** Not left after all: the page came back, or the submit was stopped. */
  function stay() {
    if (state === "saving") state = "held";
    wake();
  }

  function edit({ target, isTrusted }) {
    if (target.form !== form) return;
    // `readonly` does not hold back selects and ticks; a draft may be restored all the same.
    if (kept && isTrusted) write(form, kept);
    else if (kept) kept = read(form);
    arm();
  }

  const warn = (event) => event.preventDefault();
  const arm = () => (state !== "saving" && typed(form) ? addEventListener : removeEventListener)("beforeunload", warn);

  for (const type of ["input", "change"]) document.addEventListener(type, edit);
  for (const type of ["visibilitychange", "resume"]) document.addEventListener(type, wake);
  addEventListener("online", wake);
  addEventListener("pageshow", (event) => event.persisted && stay());
  addEventListener("pagehide", () => {
    // After a submit the answer decides. Otherwise a little time is left, as a reload or Back may come next.
    if (/lost|saving/.test(state)) return;
    navigator.sendBeacon(release, body({ mode: "parting" }));
    until(Math.min(left(), PARTING_MS));
  });
  // At the window, so that whoever else may stop the submit has done so. A second one is stopped here.
  addEventListener("submit", (event) => {
    if (event.target !== form || event.defaultPrevented) return;
    if (state === "saving") return event.preventDefault();
    clearTimeout(timer);
    flight = flight?.abort();
    show("saving");
    arm();
    setTimeout(stay, WAIT_MS);
  });

  until(+expiresInMs, [0, performance.timeOrigin]);
  show("held");
  setInterval(tick, 1000);
  ask(keepAlive);
}

function keepDraft(form) {
  const key = `tenure ${form.dataset.draftKey}`;
  let offer = JSON.parse(sessionStorage.getItem(key))?.find((draft) => draft && differ(draft, read(form)));
  let timer;

  function save() {
    clearTimeout(timer);
    // Both, until the person has chosen.
    const drafts = [typed(form), offer].filter(Boolean);
    if (drafts.length) sessionStorage.setItem(key, JSON.stringify(drafts));
    else sessionStorage.removeItem(key);
    near(form, "draft")?.toggleAttribute("hidden", !offer);
  }

  function on(button, act) {
    near(form, `draft-${button}`)?.addEventListener("click", () => save(act()));
  }

  on("discard", () => (offer = null));
  // An exchange: what was typed meanwhile is offered in turn.
  on("restore", () => {
    const other = typed(form);
    write(form, offer);
    offer = other;
    for (const field of fields(form)) field.dispatchEvent(new Event("change", { bubbles: true }));
  });
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(save, 500);
  });
  addEventListener("pagehide", save);
  save();
}

for (const { dataset } of all("[data-tenure-saved]")) sessionStorage.removeItem(`tenure ${dataset.tenureSaved}`);
for (const form of all("form[data-tenure-lease]")) keepLease(form);
for (const form of all("form[data-draft-key]")) keepDraft(form);
for (const time of all("time[data-tenure-local]")) {
  time.textContent = format(new Date(time.dateTime), { dateStyle: "medium", timeStyle: "short" });
}
