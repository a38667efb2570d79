// The state of an open form. The server decides, and provides the words; this asks it once a minute, and at once when the
// person comes back, and displays the answer.
//
// By itself it only makes the safe assumption: by our clock the lease may have expired, so input waits for an answer. Fields become
// read-only, never disabled: disabled ones are neither posted nor copied.

import { fields, LEFT, near, store, typed, values, write } from "./text.js";

export const RETRY_MS = [5000, 10000, 20000, 30000];
export const WAIT_MS = 15000; // For an answer.
const PARTING_MS = 10000; // What the server leaves of a lease after mode=parting.
const LEFT_MS = 60000; // For a page to load after another one in the same tab.
const SOON_MS = 5000; // What was answered that recently need not be asked again.
const SAID_S = [120, 60, 30]; // A countdown worries people: it starts late and is said only now and then.

// One clock may stop while the machine sleeps, the other may be set back: the later one is the safe one.
const clocks = () => [performance.now(), Date.now()];

export function keepLease(form) {
	const { acquire, beat, release, heartbeatMs = 60000, expiresInMs, person } = form.dataset;
	const main = form.closest("main") ?? document.body;
	const part = (name) => near(form, name) ?? document.createElement("p");
	const [banner, countdown, status, texts] = ["banner", "countdown", "status", "texts"].map(part);
	const signIn = part("signin");
	const text = texts.dataset;
	const fixed = fields(form).filter((field) => field.readOnly);
	let failures = 0;
	let isHeld = expiresInMs !== undefined;
	let hadLease = isHeld; // One that has ended may go on: when nobody took it, and somebody is there again.
	let told = status.textContent;
	let end, timer, flight, state, kept, last, hasAsked, hasBeaten, hasSpoken, answeredAt, generation, isRestored;
	let used = clocks(); // When the person last did something here: a beat alone does not say that somebody is there.

	const until = (ms, from = clocks()) => (end = from.map((at) => at + ms));
	const left = () => Math.min(...clocks().map((at, i) => end[i] - at));
	const idle = () => Math.max(0, ...clocks().map((at, i) => Math.round(at - used[i])));
	const buttons = () => [...main.querySelectorAll("[data-tenure-action]")];

	function body(facts) {
		const { lid, csrf, version, form_id } = form.elements;
		const of = { lid, csrf, version, form_id };
		for (const name in of) of[name] = of[name].value;
		return new URLSearchParams({ ...of, person, idle_ms: idle(), ...facts });
	}

	/** The page that this tab displayed before: the beacon with which it releases its lease may be late, or blocked. */
	function before() {
		const left = store(() => JSON.parse(sessionStorage[LEFT]));
		const isOurs = left?.person === person && left.lid !== form.elements.lid.value && Date.now() - left.at < LEFT_MS;
		return isOurs ? { left: left.lid } : {};
	}

	function quiet() {
		clearTimeout(timer);
		flight = flight?.abort();
	}

	/** One request at a time: a new one replaces one that may hang since before the machine slept. */
	async function ask(want = hadLease ? "keep" : "look", facts) {
		quiet();
		const mine = (flight = new AbortController());
		const limit = setTimeout(() => mine.abort(), WAIT_MS);
		const sent = clocks();
		let code, answer;
		try {
			const response = await fetch(beat, { method: "POST", body: body({ want, ...(want !== "keep" && before()), ...facts }), signal: mine.signal });
			answer = await response.json();
			code = response.status;
		} catch {} // Unreachable, or a page of somebody between us and the server.
		clearTimeout(limit);
		if (flight !== mine) return;
		// The page comes out of the browser's memory, and another person is signed in by now, or nobody: they must not see it.
		if (isRestored && (code === 401 || answer?.code === "other-person")) return location.reload();
		form.hidden = isRestored = false;
		if (code === 200) hear(answer, sent, want);
		else if (/40[0349]/.test(code)) close(answer);
		else doubt(code, want);
	}

	function hear(answer, sent, want) {
		answeredAt = Date.now();
		signIn.hidden = true;
		generation = answer.generation;
		isHeld = answer.expires_in_ms !== null;
		hadLease ||= isHeld;
		if (isHeld) until(answer.expires_in_ms, sent);
		// The page's own message, about a mistake or a conflict, stays until the state changes.
		if (answer.state !== form.dataset.state) main.dataset.state = form.dataset.state = answer.state;
		const wasThere = buttons().includes(document.activeElement);
		for (const button of buttons()) {
			button.hidden = !answer.actions.includes(button.dataset.tenureAction);
			if (answer.next && button.href) button.href = answer.next;
		}
		show(isHeld && left() <= 0 ? "checking" : answer.mode);
		if (wasThere && !buttons().some((button) => button === document.activeElement && !button.hidden)) last?.focus();
		// Announced once: people need no reminder every minute that they are editing.
		if (answer.said !== told || (hasSpoken && want !== "look")) say((told = answer.said));
		hasSpoken = failures = 0;
		next();
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

	/** Nothing can be done here any more: it was deleted, a permission is gone, another person is signed in. */
	function close({ detail, code }) {
		show("lost");
		main.dataset.state = form.dataset.state = code;
		for (const button of buttons()) button.hidden = true;
		say(detail);
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
		const time = new Intl.DateTimeFormat(document.documentElement.lang || [], {
			hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: text.timeZone,
		}).format(at);
		status.textContent = words.replace("{time}", time);
		banner.toggleAttribute("data-tenure-urgent", words !== told); // What only this page knows, and just now.
		banner.hidden = false;
		if (banner.role === "alert" && banner.getBoundingClientRect().bottom < 1) banner.scrollIntoView();
		return (hasSpoken = true);
	}

	function show(next) {
		form.dataset.tenureState = banner.dataset.tenureState = state = next;
		form.ariaBusy = /checking|saving/.test(state);
		const isAlarming = /lost|refused/.test(state);
		[banner.role, status.role] = isAlarming ? ["alert", null] : [null, "status"]; // One voice.
		const isFrozen = !/held|offline|free|moved/.test(state);
		kept = isFrozen ? kept || values(form) : null;
		for (const field of fields(form).filter((field) => !fixed.includes(field))) {
			field.toggleAttribute("readonly", isFrozen);
			if (field.options || field.type === "checkbox") field.ariaReadOnly = isFrozen;
		}
		tick();
	}

	function tick() {
		const seconds = Math.ceil(left() / 1000);
		countdown.hidden = !isHeld || !!kept || seconds > SAID_S[0];
		if (countdown.hidden) return;
		countdown.textContent = new Date(seconds * 1000).toISOString().slice(15, 19);
		if (SAID_S.includes(seconds)) hasSpoken = say(text.textWarn) && failures;
		if (seconds > 0) return;
		say(text.textExpired);
		wake();
	}

	/** Away, asleep or expired: the state is unknown, so the fields of a form with a lease wait for an answer. */
	function wake({ persisted, type } = {}) {
		if (document.hidden || state === "saving" || state === "leaving") return;
		if (type === "focus" && Date.now() - answeredAt < SOON_MS) return;
		if ((isHeld && type !== "focus") || persisted) show("checking");
		ask(!isHeld && hasAsked && acquire && state === "free" ? "take" : undefined);
	}

	const warn = (event) => event.preventDefault();
	const arm = () => (!/saving|leaving|saved/.test(state) && typed(form) ? addEventListener : removeEventListener)("beforeunload", warn);

	function edit({ target, isTrusted }) {
		if (target.form !== form) return;
		if (kept && isTrusted) write(form, kept); // `readonly` does not hold selects and ticks.
		arm();
		last = target;
		if (!hasAsked) begin();
	}

	for (const type of ["input", "change"]) document.addEventListener(type, edit);
	for (const type of ["keydown", "pointerdown", "wheel", "visibilitychange"])
		document.addEventListener(type, () => (used = clocks()), { capture: true, passive: true });
	for (const type of ["visibilitychange", "resume"]) document.addEventListener(type, wake);
	for (const type of ["online", "focus"]) addEventListener(type, wake);
	addEventListener("pageshow", (event) => {
		if (!event.persisted) return;
		form.hidden = isRestored = true;
		state = "checking";
		wake(event);
	});
	addEventListener("pagehide", () => {
		// After an answer there is nothing to keep, and without a request nothing was acquired. Otherwise a short time is left:
		// a reload or Back may come next.
		if (/lost|saving|leaving|refused|saved/.test(state) || (!isHeld && !hasAsked)) return;
		quiet();
		navigator.sendBeacon(release, body({ mode: "parting" }));
		store(() => (sessionStorage[LEFT] = JSON.stringify({ lid: form.elements.lid.value, person, at: Date.now() })));
		until(Math.min(left(), PARTING_MS));
	});
	for (const button of buttons()) {
		const action = button.dataset.tenureAction;
		if (action === "retry") button.addEventListener("click", () => ask(acquire ? "take" : undefined));
		if (action === "move") button.addEventListener("click", () => ask("take", { instead_of: generation }));
	}

	until(+expiresInMs || 0, [0, performance.timeOrigin]);
	show(isHeld ? "held" : form.dataset.mode ?? "free");
	setInterval(tick, 1000);
	if (acquire === "open" || (acquire && typed(form))) begin();
	else if (isHeld || state !== "free") ask();
	else next();

	return {
		text,
		say,
		/** Text was put into the fields. */
		begin() {
			arm();
			if (!hasAsked) begin();
		},
		/** The form is being sent: its fields wait, and it sends no heartbeats meanwhile. */
		pause() {
			quiet();
			show("saving");
			arm();
		},
		/** It was not sent after all, or refused: the form continues, and asks for its state. */
		goOn(words, code) {
			signIn.hidden = code !== 401;
			show(isHeld ? "held" : "free");
			arm();
			if (words) say(words);
			timer = setTimeout(ask, RETRY_MS[0]);
		},
		/** The page is left after an answer. */
		leave() {
			quiet();
			show("leaving");
			arm();
		},
	};
}
