// The state of an open form. The server decides, and provides the words; this asks it once a minute, and at once when the
// person comes back or the light question says that something changed, and displays the answer.
//
// No state makes a field read-only: what cannot be saved now is said beside the form, and the server guards the save.

import { bare, clock, hidden, isIn, near, refresh, request } from "./form.js";
import { LEFT, store, typed } from "./text.js";

export const RETRY_MS = [5000, 10000, 20000, 30000];
export const WAIT_MS = 15000; // For an answer.
const PARTING_MS = 10000; // What the server leaves of a lease after mode=parting.
const LEFT_MS = 60000; // For a page to load after another one in the same tab.
const SOON_MS = 5000; // What was answered that recently need not be asked again.
const LOOK_MS = 4000; // Between two light questions of a visible page.
const RELOAD_MS = 1000; // The previous page of this tab may let go of its form a moment after this one has loaded.
const SAID_S = [120, 60, 30]; // A countdown worries people: it starts late and is said only now and then.

// One clock may stop while the machine sleeps, the other may be set back: the later one is the safe one.
const clocks = () => [performance.now(), Date.now()];

export function keepLease(element) {
	const form = bare(element);
	const { acquire, beat, now, release, heartbeatMs = 60000, expiresInMs, idleInMs = Infinity, person } = form.dataset;
	const main = form.closest("main") ?? document.body;
	const part = (name) => near(form, name) ?? document.createElement("p");
	const [banner, countdown, status, texts] = ["banner", "countdown", "status", "texts"].map(part);
	const signIn = part("signin");
	const text = texts.dataset;
	let failures = 0;
	let isHeld = expiresInMs !== undefined;
	let hadLease = isHeld; // One that has ended may go on: when nobody took it, and somebody is there again.
	let told = status.textContent;
	let idleLimit = +idleInMs;
	let end, timer, looking, flight, state, last, hasAsked, hasBeaten, hasSpoken, answeredAt, generation, isRestored, isIdle, isMine, isDropped, isPinned, letGo, tag;
	let used = clocks(); // When the person last did something here: a beat alone does not say that somebody is there.

	const until = (ms, from = clocks()) => (end = from.map((at) => at + ms));
	const left = () => Math.min(...clocks().map((at, i) => end[i] - at));
	const idle = () => Math.max(0, ...clocks().map((at, i) => Math.round(at - used[i])));
	const buttons = () => [...main.querySelectorAll("[data-tenure-action]")];

	function body(facts) {
		const of = Object.fromEntries(["lid", "csrf", "version", "form_id"].map((name) => [name, hidden(form, name)]));
		return new URLSearchParams({ ...of, person, idle_ms: idle(), ...facts });
	}

	/** The page that this tab displayed before: the beacon with which it releases its lease may be late, or blocked. */
	function before() {
		const left = store(() => JSON.parse(sessionStorage[LEFT]));
		const isOurs = left?.person === person && left.lid !== hidden(form, "lid") && Date.now() - left.at < LEFT_MS;
		return isOurs ? { left: left.lid } : {};
	}

	function quiet() {
		clearTimeout(timer);
		flight = flight?.abort();
	}

	/** One request at a time: a new one replaces one that may hang since before the machine slept. */
	async function ask(want = wanted(), facts) {
		quiet();
		const mine = (flight = new AbortController());
		const limit = setTimeout(() => mine.abort(), WAIT_MS);
		const [sent, idleMs] = [clocks(), idle()];
		const answer = await request(beat, { method: "POST", body: body({ want, ...(want !== "keep" && before()), ...facts }), signal: mine.signal });
		clearTimeout(limit);
		if (flight !== mine) return;
		const { status: code } = answer;
		// The page comes out of the browser's memory, and another person is signed in by now, or nobody: they must not see it.
		if (isRestored && (code === 401 || answer.code === "other-person")) return location.reload();
		form.hidden = isRestored = false;
		if (code === 200) hear(answer, sent, idleMs, want);
		// The cookies were cleared: once with a token of the browser's new session.
		else if (answer.code === "csrf-failed" && !facts?.csrf && (await refresh(form, ["csrf"]))) ask(want, { ...facts, csrf: hidden(form, "csrf") });
		else if (/40[0349]/.test(code) && answer.code) close(answer);
		else doubt(code, want);
	}

	/** What is typed is to be locked. A lease that has ended is resumed, not acquired again. */
	const wanted = () => (hadLease ? "keep" : hasAsked && acquire && typed(form) ? "take" : "look");

	function hear(answer, sent, idleMs, want) {
		answeredAt = Date.now();
		signIn.hidden = true;
		generation = answer.generation;
		isHeld = answer.expires_in_ms !== null;
		hadLease ||= isHeld;
		if (isHeld) until(answer.expires_in_ms, sent);
		idleLimit = (answer.idle_in_ms ?? Infinity) + idleMs;
		// The page's own message, about a mistake or a conflict, stays until the state changes.
		if (answer.state !== form.dataset.state) main.dataset.state = form.dataset.state = answer.state;
		const wasThere = buttons().includes(document.activeElement);
		for (const button of buttons()) {
			button.hidden = !answer.actions.includes(button.dataset.tenureAction);
			if (answer.next && button.href) button.href = answer.next;
		}
		const was = state;
		show(isHeld && left() <= 0 ? "checking" : answer.mode);
		if (wasThere && !buttons().some((button) => button === document.activeElement && !button.hidden)) last?.focus();
		// Announced once: people need no reminder every minute that they are editing.
		const isNews = answer.said !== told || (hasSpoken && want !== "look");
		told = answer.said;
		// What was said about a save stays until the person goes on, or something else has to be said.
		if (isNews && !(isPinned && answer.mode === was)) say(told);
		hasSpoken = failures = 0;
		isIdle = false;
		tick();
		next();
		// It is free, and there is text to be locked: the person asked before, and was refused.
		if (answer.mode === "free" && want === "look" && wanted() === "take") ask();
	}

	function next() {
		// Without a lease there is nothing to keep alive; the page asks again when it becomes visible.
		if (!isHeld && document.hidden) return;
		const jitter = heartbeatMs < 30000 ? 0 : Math.random() * 10000 - 5000;
		// After a reload the release of the previous page may arrive after our first heartbeat: so the second comes soon.
		const soon = !isHeld ? Infinity : hasBeaten ? left() / 2 : PARTING_MS / 2;
		hasBeaten = true;
		timer = setTimeout(ask, Math.max(500, Math.min(+heartbeatMs + jitter, soon)));
	}

	/** The light question: did anything change? It writes and renews nothing, so it may be asked every few seconds. */
	async function look() {
		clearTimeout(looking);
		if (!now || document.hidden || state === "leaving") return;
		const headers = { accept: "application/json", ...(tag && { "if-none-match": tag }) };
		const options = { headers, cache: "no-store", redirect: "manual", signal: AbortSignal.timeout(WAIT_MS) };
		const response = await fetch(now, options).catch(() => null);
		const found = response?.headers.get("etag") ?? `${response?.status}`;
		if (response && response.status !== 304 && found !== tag) {
			if (tag && !/saving|leaving/.test(state)) ask();
			tag = found;
		}
		clearTimeout(looking);
		looking = setTimeout(look, LOOK_MS + Math.random() * 500);
	}

	/** Nothing can be done here any more: it was deleted, a permission is gone, another person is signed in. */
	function close({ detail, title, code }) {
		show("lost");
		main.dataset.state = form.dataset.state = code;
		for (const button of buttons()) button.hidden = true;
		say(detail ?? title);
		timer = setTimeout(ask, heartbeatMs);
	}

	/** No answer, or none about the form (signed out, database unavailable): a lease continues, by our clock. */
	function doubt(code, want) {
		const isAlive = left() > 0;
		const signedOut = code === 401;
		signIn.hidden = !signedOut;
		if (isHeld) show(isAlive ? "offline" : "checking");
		else show(/saved|lost|refused/.test(state) ? state : "free");
		// One lost heartbeat need not alarm a person; nor need one of a form in which nothing was typed.
		const isAlarming = isHeld ? !isAlive || signedOut || failures || !navigator.onLine : hasAsked && (code || failures || !navigator.onLine);
		if (isAlarming && isHeld) say(!isAlive ? text.textExpired : signedOut ? text.textSignedOut : text.textOffline);
		else if (isAlarming) say(signedOut ? text.textFreeSignedOut : text.textFree);
		timer = setTimeout(ask, RETRY_MS[Math.min(failures++, 3)], hadLease ? "keep" : want);
	}

	/** Requests the lease. Typing does not wait for the answer, and saving does not need it. */
	function begin() {
		hasAsked = true;
		if (!isHeld && acquire) ask("take");
	}

	function say(words = "", at = Date.now() + left()) {
		status.textContent = words.replace("{time}", clock(at, text));
		banner.toggleAttribute("data-tenure-urgent", words !== told); // What only this page knows, and just now.
		banner.hidden = !words;
		return (hasSpoken = true);
	}

	function show(next) {
		form.dataset.tenureState = banner.dataset.tenureState = state = next;
		form.ariaBusy = state === "saving";
		const isAlarming = /lost|refused/.test(state);
		[banner.role, status.role] = isAlarming ? ["alert", null] : [null, "status"]; // One voice.
		tick();
	}

	function tick() {
		const quietly = !isHeld || /saving|leaving|checking/.test(state);
		const [seconds, idleSeconds] = [left(), idleLimit - idle()].map((ms) => Math.ceil(ms / 1000));
		if (!quietly && !isIdle && idleSeconds <= SAID_S[0]) {
			isIdle = say(text.textIdle, Date.now() + idleSeconds * 1000);
			hasSpoken = failures;
		}
		countdown.hidden = quietly || Math.min(seconds, idleSeconds) > SAID_S[0];
		if (countdown.hidden) return;
		countdown.textContent = new Date(Math.max(0, Math.min(seconds, idleSeconds)) * 1000).toISOString().slice(15, 19);
		if (SAID_S.includes(seconds) && !isIdle) hasSpoken = say(text.textWarn) && failures;
		if (idleSeconds <= 0 && Date.now() - answeredAt > SOON_MS) ask();
		if (seconds > 0) return;
		show("checking");
		say(text.textExpired);
		wake();
	}

	/** The person did something here. After the warning, any key continues. */
	function use() {
		used = clocks();
		if (!isIdle) return;
		isIdle = false;
		hasSpoken = true;
		ask();
	}

	/** Away or asleep: much may have happened. The fields stay as they are, and take every key. */
	function wake({ type } = {}) {
		if (document.hidden || /saving|leaving/.test(state)) return;
		look();
		if (type !== "focus" || Date.now() - answeredAt >= SOON_MS) ask();
	}

	/** One page per form id. If this tab was duplicated, another page has it: this one gets a new id, and no lease. */
	function claim() {
		isMine = !navigator.locks || !form.dataset.fresh;
		if (isMine) return;
		const held = new Promise((go) => (letGo = go));
		const mine = () => ((isMine = true), held);
		const other = ({ name }) => name === "TimeoutError" && rename();
		navigator.locks.request(`tenure form ${hidden(form, "form_id")}`, { signal: AbortSignal.timeout(RELOAD_MS) }, mine).catch(other);
	}

	async function rename() {
		store(() => sessionStorage.removeItem(LEFT));
		if (!(await refresh(form, ["form_id", "lid"]))) return setTimeout(rename, RETRY_MS[0]);
		isHeld = hadLease = false;
		claim();
		ask();
	}

	const warn = (event) => event.preventDefault();
	const arm = () => (!/saving|leaving|saved/.test(state) && typed(form) ? addEventListener : removeEventListener)("beforeunload", warn);

	function edit({ target, isTrusted }) {
		if (isTrusted) use();
		if (!isIn(form, target)) return;
		last = target;
		isPinned = false;
		if (isDropped) isDropped = goOn();
		arm();
		if (!hasAsked) begin();
	}

	for (const type of ["input", "change"]) document.addEventListener(type, edit);
	for (const type of ["keydown", "pointerdown", "pointermove", "wheel", "paste", "drop"])
		document.addEventListener(type, use, { capture: true, passive: true });
	for (const type of ["visibilitychange", "resume"]) document.addEventListener(type, wake);
	for (const type of ["online", "focus"]) addEventListener(type, wake);
	document.addEventListener("visibilitychange", () => document.hidden || use());
	addEventListener("pageshow", (event) => {
		if (!event.persisted) return;
		claim();
		form.hidden = isRestored = true;
		show(isHeld ? "held" : "free");
		wake(event);
	});
	addEventListener("pagehide", () => {
		const isOver = !isMine || (!isHeld && !hasAsked) || (/lost|saving|leaving|refused|saved/.test(state) && !isDropped);
		letGo?.();
		clearTimeout(looking);
		// After an answer there is nothing to keep, and without a request nothing was acquired. Otherwise a short time is left:
		// a reload or Back may come next.
		if (isOver) return;
		quiet();
		navigator.sendBeacon(release, body({ mode: isDropped ? "final" : "parting" }));
		store(() => (sessionStorage[LEFT] = JSON.stringify({ lid: hidden(form, "lid"), person, at: Date.now() })));
		until(Math.min(left(), PARTING_MS));
	});
	for (const button of buttons()) {
		const action = button.dataset.tenureAction;
		if (action === "retry") button.addEventListener("click", () => ask(acquire ? "take" : undefined));
		if (action === "move") button.addEventListener("click", () => ask("take", { instead_of: generation }));
	}

	until(+expiresInMs || 0, [0, performance.timeOrigin]);
	// This page has come back: its tab does not hold it as the one before.
	if (store(() => JSON.parse(sessionStorage[LEFT]).lid) === hidden(form, "lid")) store(() => sessionStorage.removeItem(LEFT));
	show(isHeld ? "held" : form.dataset.mode ?? "free");
	setInterval(tick, 1000);
	claim();
	look();
	if (!isHeld && (acquire === "open" || (acquire && typed(form)))) begin();
	else if (isHeld || state !== "free") ask();
	else next();

	function goOn(words, code) {
		signIn.hidden = code !== 401;
		show(isHeld ? "held" : "free");
		arm();
		if (words) isPinned = say(words);
		timer = setTimeout(ask, RETRY_MS[0]);
	}

	return {
		text,
		say,
		/** Text was put into the fields. */
		begin() {
			arm();
			if (!hasAsked) begin();
		},
		/** The form is being sent: it sends no heartbeats meanwhile. */
		pause() {
			quiet();
			show("saving");
			arm();
		},
		/** It was not sent after all, or refused: the form continues, and asks for its state. */
		goOn,
		/** It was saved, and is another form from here on: with text that is not saved yet. */
		restart() {
			isHeld = hadLease = false;
			hasAsked = true;
			letGo?.();
			claim();
			show("held");
			arm();
			isPinned = say(text.textMore);
			ask("take");
		},
		/** The page is left after an answer; or without saving, which ends its lease. */
		leave(dropped) {
			isDropped = dropped;
			quiet();
			show("leaving");
			arm();
		},
	};
}
