// Keeps the lease of an open edit form alive, and says so when it is lost. A form with data-acquire has none yet: it asks
// for one there with the first change, or with data-acquire-on=open at once.
//
// The server decides. By itself this file concludes only what is careful: by our clock the lease may be over, so input
// waits for an answer. Nothing typed is lost: fields turn read-only, never disabled (those are neither posted nor
// copied), and the tab keeps a draft until a page says that the form was saved.

const RETRY_MS = [5000, 10000, 20000, 30000];
const WAIT_MS = 15000; // For an answer, and for a submit that leads nowhere.
const PARTING_MS = 10000; // What the server leaves of a lease after mode=parting.
const SAID_S = [120, 60, 30]; // A countdown worries people: it starts late and is said only now and then.
const REFUSALS = { "already-locked": "textHeld", "locked-elsewhere": "textElsewhere", "version-conflict": "textMoved" };

const all = (selector) => [...document.querySelectorAll(selector)];
const format = (date, style) => new Intl.DateTimeFormat(document.documentElement.lang || [], style).format(date);
// What belongs to a form: the first one in the smallest element around the form that has any.
const near = (box, part) => box && (box.querySelector(`[data-tenure-${part}]`) ?? near(box.parentElement, part));

// One may stand still while the machine sleeps, the other may be set back: the one further on is the careful one.
const clocks = () => [performance.now(), Date.now()];

const fields = (form) =>
	[...form.elements].filter(({ name, type }) => name && !/hidden|button|submit|image|file|set|output|password/.test(type));
const isTick = ({ type }) => /checkbox|radio/.test(type);

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

// Only what is in both: rows may have been added or removed since.
const differ = (a, b) =>
	Object.keys(a).some((name) => a[name].some((value, i) => i in (b[name] ?? []) && `${value}` !== `${b[name][i]}`));

/** What was typed since the server sent the form, if anything; some of it may have been put back by the browser. */
function typed(form) {
	const sent = form.cloneNode(true);
	sent.reset();
	return differ(read(sent), read(form)) && read(form);
}

function keepLease(form) {
	const { acquireOn, keepAlive, check, release, heartbeatMs, expiresInMs } = form.dataset;
	const part = (name) => near(form, name) ?? document.createElement("p");
	const [banner, countdown, status, texts] = ["banner", "countdown", "status", "texts"].map(part);
	const [retry, move] = ["retry", "move"].map(part);
	const text = texts.dataset;
	const fixed = fields(form).filter((field) => field.readOnly);
	let failures = 0;
	let met = form.dataset.others ?? "";
	let { acquire } = form.dataset; // Only as long as there is no lease.
	let end, timer, flight, state, kept, last, elsewhere, hasAsked, hasBeaten, hasSpoken;
	let used = clocks(); // When the person last did something here: a beat alone does not say that somebody is there.

	const until = (ms, from = clocks()) => (end = from.map((at) => at + ms));
	const idle = () => Math.max(0, ...clocks().map((at, i) => Math.round(at - used[i])));
	const left = () => Math.min(...clocks().map((at, i) => end[i] - at));
	const body = (mode) => {
		const { lid, csrf } = form.elements;
		return new URLSearchParams({ lid: lid.value, csrf: csrf.value, ...mode });
	};

	function quiet() {
		clearTimeout(timer);
		flight = flight?.abort();
	}

	/** One question at a time: a new one replaces one that may hang since before the machine slept. */
	async function ask(url, facts = { idle_ms: idle() }) {
		quiet();
		const mine = (flight = new AbortController());
		const limit = setTimeout(() => mine.abort(), WAIT_MS);
		const sent = clocks();
		let code, answer;
		try {
			const response = await fetch(url, { method: "POST", body: body(facts), signal: mine.signal });
			answer = await response.json();
			code = response.status;
		} catch {} // Unreachable, or a page of somebody between us and the server.
		clearTimeout(limit);
		if (flight !== mine) return;
		if (code === 410) return lose(answer);
		if (acquire && REFUSALS[answer?.code]) return refuse(answer);
		const isHeld = code === 200 && answer.expires_in_ms > 0;
		if (isHeld) until(answer.expires_in_ms, sent);
		if (isHeld && left() > 0) {
			if (acquire) take();
			hold();
			meet(answer.others);
		} else if (acquire) miss(code);
		else doubt((code === 401 && text.textSignedOut) || (/40[13]/.test(code) && answer.detail));
	}

	/** Asks for the lease. Typing does not wait for the answer, and saving does not need it. */
	function begin({ currentTarget } = {}) {
		if (!acquire) return;
		hasAsked = true;
		const { version } = form.elements;
		ask(acquire, { version: version.value, ...(currentTarget === move && { instead_of: elsewhere }) });
	}

	/** From here on it is a form like any other that has a lease. */
	function take() {
		acquire = null;
		say(text.textGranted);
		hasSpoken = false; // Nothing was wrong, so nothing is over.
	}

	/** Somebody holds it, so typing on would be in vain; or has saved since, and then the save compares. */
	function refuse({ code, by, held_now: holder, generation }) {
		elsewhere = generation;
		show(code === "version-conflict" ? "moved" : "refused");
		say(text[REFUSALS[code]], (by ?? holder?.owner)?.name, "", holder?.since_ms);
	}

	/** No answer, or none about the lease: so there is none, and the version decides when it is saved. */
	function miss(code) {
		show("free");
		if (code || failures || !navigator.onLine) say(code === 401 ? text.textFreeSignedOut : text.textFree);
		timer = setTimeout(begin, RETRY_MS[Math.min(failures++, 3)]);
	}

	function hold() {
		if (hasSpoken) say(text.textResumed);
		hasSpoken = failures = 0;
		show("held");
		const jitter = heartbeatMs < 30000 ? 0 : Math.random() * 10000 - 5000;
		// After a reload the farewell of the page before may come later than our first beat: so the second comes soon.
		const soon = hasBeaten ? left() / 2 : PARTING_MS / 2;
		hasBeaten = true;
		timer = setTimeout(ask, Math.max(500, Math.min(+heartbeatMs + jitter, soon)), keepAlive);
	}

	/** Where everybody may edit, everybody is told of those who came since. */
	function meet(others = []) {
		const names = others.map(({ name }) => name).join(", ");
		if (names === met) return;
		met = names;
		say(names && text.textOthers, names);
		hasSpoken = false; // Nothing was wrong, so nothing is over.
	}

	/** No answer, or none about the lease (signed out, database away): it lives on, by our clock. */
	function doubt(detail) {
		const isAlive = left() > 0;
		show(isAlive ? "offline" : "checking");
		// One lost beat is nothing to alarm a person with.
		const isAlarming = !isAlive || detail || failures || !navigator.onLine;
		if (isAlarming) say(isAlive ? detail || text.textOffline : text.textExpired);
		timer = setTimeout(ask, RETRY_MS[Math.min(failures++, 3)], isAlive ? keepAlive : check);
	}

	function lose({ code, by, reason, held_now: heir, detail }) {
		show("lost");
		if (code === "lock-broken") say(text.textBroken, by?.name, reason);
		else say((heir && text.textTaken) || text.textLost || detail, heir?.owner.name);
		const mine = (name) => all(`[data-tenure-${name}]`).filter((button) => button.form === form);
		for (const again of mine("again")) again.hidden = false;
		for (const save of mine("save")) save.hidden = true;
	}

	function say(words = "", name = "", reason = "", at = Date.now() + left()) {
		const clock = (date, timeStyle) => format(date, { timeStyle, timeZone: text.timeZone });
		const facts = { name, reason, time: clock(at, "short"), now: clock(Date.now(), "medium") };
		status.textContent = words.replace(/\{(\w+)\}/g, (_, fact) => facts[fact]);
		banner.hidden = false;
		if (banner.role && banner.getBoundingClientRect().bottom < 1) banner.scrollIntoView(); // Not every page keeps it in sight.
		return (hasSpoken = true);
	}

	function show(next) {
		form.dataset.tenureState = banner.dataset.tenureState = state = next;
		form.ariaBusy = /checking|saving/.test(state);
		const isAlarming = /lost|refused/.test(state);
		[banner.role, status.role] = isAlarming ? ["alert", null] : [null, "status"]; // One voice.
		if (state !== "refused" && [retry, move].includes(document.activeElement)) last?.focus();
		retry.hidden = state !== "refused";
		move.hidden = retry.hidden || !elsewhere;
		const isFrozen = !/held|offline|free|moved/.test(state);
		kept = isFrozen ? kept || read(form) : null;
		for (const field of fields(form).filter((field) => !fixed.includes(field))) {
			field.toggleAttribute("readonly", isFrozen);
			if (field.options || field.type === "checkbox") field.ariaReadOnly = isFrozen;
		}
		tick();
	}

	function tick() {
		const seconds = Math.ceil(left() / 1000);
		countdown.hidden = !!acquire || !!kept || seconds > SAID_S[0];
		if (countdown.hidden) return;
		countdown.textContent = new Date(seconds * 1000).toISOString().slice(15, 19);
		if (SAID_S.includes(seconds)) hasSpoken = say(text.textWarn) && failures;
		if (seconds > 0) return;
		say(text.textExpired);
		wake();
	}

	/** Away, asleep or out of time: nobody knows, so the fields wait for an answer. */
	function wake() {
		if (document.hidden || /lost|saving|refused|moved/.test(state)) return;
		if (acquire) return hasAsked && begin();
		show("checking");
		ask(check);
	}

	/** Not left after all: the page came back, or the submit was stopped. */
	function stay() {
		if (state === "saving") show(acquire ? "free" : "held");
		wake();
	}

	const warn = (event) => event.preventDefault();
	const arm = () => (state !== "saving" && typed(form) ? addEventListener : removeEventListener)("beforeunload", warn);

	function edit({ target, isTrusted }) {
		if (target.form !== form) return;
		// `readonly` does not hold selects and ticks; a restored draft is let in.
		if (kept && isTrusted) write(form, kept);
		else if (kept) kept = read(form);
		arm();
		last = target;
		if (!hasAsked) begin();
	}

	for (const type of ["input", "change"]) document.addEventListener(type, edit);
	for (const type of ["keydown", "pointerdown", "wheel", "visibilitychange"])
		document.addEventListener(type, () => (used = clocks()), { capture: true, passive: true });
	for (const type of ["visibilitychange", "resume"]) document.addEventListener(type, wake);
	addEventListener("online", wake);
	addEventListener("pageshow", (event) => event.persisted && stay());
	addEventListener("pagehide", () => {
		// After a submit the answer decides, and what was not asked for was not taken. Otherwise a little time is left: a
		// reload or Back may come next.
		if (/lost|saving|refused|moved/.test(state) || (acquire && !hasAsked)) return;
		quiet();
		navigator.sendBeacon(release, body({ mode: "parting" }));
		until(Math.min(left(), PARTING_MS));
	});
	// At the window, so that whoever else may stop the submit has done so. A form to leave by has the same lock id.
	addEventListener("submit", (event) => {
		if (event.defaultPrevented || event.target.elements.lid?.value !== form.elements.lid.value) return;
		if (state === "saving") return event.preventDefault();
		quiet();
		show("saving");
		arm();
		setTimeout(stay, WAIT_MS);
	});

	for (const button of [retry, move]) button.addEventListener("click", begin);
	until(+expiresInMs || 0, [0, performance.timeOrigin]);
	show(acquire ? "free" : "held");
	setInterval(tick, 1000);
	if (!acquire) ask(keepAlive);
	else if (acquireOn === "open") begin();
}

function keepDraft(form) {
	const key = `tenure ${form.dataset.draftKey}`;
	const found = JSON.parse(sessionStorage[key] ?? "[]");
	let offer = found.find((draft) => differ(draft, read(form)));
	// A save that was refused brings the draft back in the fields themselves.
	const isDraft = found.some((draft) => !differ(draft, read(form)));
	let timer;

	const show = () => near(form, "draft")?.toggleAttribute("hidden", !offer);

	function save() {
		// Both, until the person has chosen.
		const drafts = [isDraft ? read(form) : typed(form), offer].filter(Boolean);
		if (drafts.length) sessionStorage[key] = JSON.stringify(drafts);
		else delete sessionStorage[key];
		show();
	}

	function choose(other) {
		offer = other;
		save();
	}

	near(form, "draft-discard")?.addEventListener("click", () => choose(null));
	near(form, "draft-restore")?.addEventListener("click", () => {
		// An exchange: what was typed meanwhile is offered in turn.
		const other = typed(form);
		write(form, offer);
		choose(other);
		for (const field of fields(form)) field.dispatchEvent(new Event("change", { bubbles: true }));
	});
	form.addEventListener("input", () => {
		clearTimeout(timer);
		timer = setTimeout(save, 500);
	});
	addEventListener("pagehide", save);
	show();
}

for (const form of all("form[data-tenure-lease]")) keepLease(form);
for (const { dataset } of all("[data-tenure-saved]")) delete sessionStorage[`tenure ${dataset.tenureSaved}`];
for (const form of all("form[data-draft-key]")) keepDraft(form);
for (const time of all("time[data-tenure-local]")) {
	time.textContent = format(new Date(time.dateTime), { dateStyle: "medium", timeStyle: "short" });
}
