// The state of an open form. The server decides, and provides the words; this asks it once a minute, and at once when the
// person comes back or the light question says that something changed, and displays the answer.
//
// No state makes a field read-only: what cannot be saved now is said beside the form, and the server guards the save.

import { WAIT_MS, bare, clock, hidden, isIn, near, post, refresh, tell } from "./form.js";
import { watch } from "./live.js";
import { LEFT, isReturn, store, typed } from "./text.js";

export const RETRY_MS = [5000, 10000, 20000, 30000];
const PARTING_MS = 10000; // What the server leaves of a lease after mode=parting.
const LEFT_MS = 60000; // Between two pages in the same tab.
const MOST_LEFT = 8; // More than one if pages are left before their first answer.
const SOON_MS = 5000; // What was answered that recently need not be asked again.
const CLAIMS = 10; // The previous page of this tab may let go of its form a moment after this one has loaded: so it is asked for again,
const CLAIM_MS = 100; // after this time. A slow machine is slow at both, so no single time is waited for.
const IDLE_MS = 120000; // An idle person is asked this long before the end.

// One clock may stop while the machine sleeps, the other may be set back: the later one is the safe one.
const clocks = () => [performance.now(), Date.now()];
const since = (then) => Math.max(0, ...clocks().map((at, i) => at - then[i]));

/** `onAnswer` is called with the time of each request that the server answered: its person is signed in. */
export function keepLease(element, onAnswer) {
	const form = bare(element);
	const { acquire, beat, release, heartbeatMs = 60000, expiresInMs, idleInMs = Infinity, person } = form.dataset;
	const main = form.closest("main") ?? document.body;
	const part = (name) => near(form, name) ?? document.createElement("p");
	const [banner, status, texts, signIn] = ["banner", "status", "texts", "signin"].map(part);
	const text = texts.dataset;
	banner.tabIndex = -1;
	const buttons = () => [...main.querySelectorAll("[data-tenure-action]")];
	let state = form.dataset.mode ?? "free";
	let isHeld = expiresInMs !== undefined;
	let hadLease = isHeld; // One that has ended may go on: when nobody took it, and somebody is there again.
	let lease = { ms: +expiresInMs || 0, at: [0, performance.timeOrigin] };
	let idleLimit = +idleInMs;
	let used = clocks(); // When the person last did something here: a beat alone does not say that somebody is there.
	let failures = 0;
	let beats = 0;
	let timer, flight, facts, last, hasAsked, isRegaining, isOwed, regainedAt, answeredAt, generation, isRestored, isPending, isUnsure, isMine, isDropped, isPinned, isPressed, letGo;

	const left = () => lease.ms - since(lease.at);
	const isAt = (states) => states.split(" ").includes(state);

	// One line speaks, about what is most urgent: a save, the connection, an idle person, text of which there is no copy, how a save ended,
	// and the server's words.
	const said = { save: "", trouble: "", idle: "", unkept: "", note: "", server: status.textContent };

	function say(about, words = "", at = Date.now() + left()) {
		said[about] = words.replace("{time}", clock(at, text));
		const line = Object.values(said).find(Boolean) ?? "";
		banner.toggleAttribute("data-tenure-urgent", line !== said.server); // What only this page knows, and just now.
		if (line === status.textContent) return; // Announced once.
		status.textContent = line;
		banner.hidden = !line;
	}

	/** How a save ended. */
	function note(words) {
		isPinned = true;
		say("note", words);
		say("save");
	}

	function show(next) {
		form.dataset.tenureState = banner.dataset.tenureState = state = next;
		form.ariaBusy = state === "saving";
		[banner.role, status.role] = isAt("lost refused") ? ["alert", null] : [null, "status"]; // One voice.
	}

	function body(facts) {
		const of = Object.fromEntries(["lid", "csrf", "version", "form_id"].map((name) => [name, hidden(form, name)]));
		return new URLSearchParams({ ...of, person, idle_ms: Math.round(since(used)), ...facts });
	}

	/** The pages that this tab displayed before: the beacon with which one releases its lease may be late, or blocked. */
	const before = () => store(() => JSON.parse(sessionStorage[LEFT]));
	function lidsBefore() {
		const left = before();
		const isOurs = left?.person === person && performance.timeOrigin - left.at < LEFT_MS;
		return isOurs ? left.lids.filter((lid) => lid !== hidden(form, "lid")) : [];
	}

	function quiet() {
		clearTimeout(timer);
		flight = flight?.abort();
	}

	/** What is typed is to be locked. A lease that has ended is resumed, not acquired again. */
	const wanted = () => (hadLease ? "keep" : hasAsked && acquire && typed(form) ? "take" : "look");

	/** One request at a time: a new one replaces one that may hang since before the machine slept. */
	async function ask(want = wanted(), facts) {
		quiet();
		// Who has it is known: only what was pressed here is late.
		const late = isAt("refused") ? isPressed && text.textBusy : text.textFree;
		const slow = want === "take" && late && setTimeout(() => flight === mine && say("trouble", late), SOON_MS);
		const mine = (flight = new AbortController());
		const signal = AbortSignal.any([mine.signal, AbortSignal.timeout(WAIT_MS)]);
		const [sent, idleMs] = [clocks(), since(used)];
		const left = want === "keep" ? [] : lidsBefore();
		const pages = left.length && { left, again: !before().isOver };
		isPending ||= want === "take";
		const answer = await post(form, beat, "actions", () => body({ want, ...pages, ...facts }), signal);
		clearTimeout(slow);
		if (flight !== mine) return;
		flight = undefined;
		const { status, code } = answer;
		// The page comes out of the browser's memory, and another person is signed in by now, or nobody: they must not see it.
		if (isRestored && (status === 401 || code === "other-person")) return location.reload();
		main.hidden = isRestored = false;
		if (status === 200) {
			onAnswer(sent[1]);
			hear(answer, sent, idleMs);
			return true;
		}
		// Nothing can be done here any more: it was deleted, a permission is gone, another person is signed in.
		if (/40[0349]/.test(status) && code) {
			const actions = (answer.actions ?? []).map(({ rel }) => rel);
			hear({ mode: "lost", state: code, said: answer.detail ?? answer.title, actions }, sent, idleMs);
		} else doubt(status, want, facts);
	}

	function hear(answer, sent, idleMs) {
		const focused = document.activeElement;
		answeredAt = Date.now();
		failures = 0;
		signIn.hidden = !answer.actions.includes("sign-in");
		generation = answer.generation;
		isUnsure = isPending = false;
		isHeld = typeof answer.expires_in_ms === "number";
		hadLease ||= isHeld;
		lease = { ms: answer.expires_in_ms ?? 0, at: sent };
		idleLimit = (answer.idle_in_ms ?? Infinity) + idleMs;
		// The page's own message, about a mistake or a conflict, stays until the state changes.
		if (answer.state !== form.dataset.state) main.dataset.state = form.dataset.state = answer.state;
		for (const button of buttons()) {
			button.hidden = !answer.actions.includes(button.dataset.tenureAction);
			if (answer.next && button.href) button.href = answer.next;
		}
		// Who pressed a button, or signed in, goes on in the field. A key that was meant for a button that is gone by itself goes nowhere: in a
		// field it would be typed, or send the form.
		if (focused.hidden && (focused === signIn || buttons().includes(focused))) ((isPressed || focused === signIn) && last ? last : banner).focus();
		isPressed = false;
		// What was said about a save stays until the person goes on, or something else has to be said.
		if (!isPinned || answer.mode !== state) say("note");
		show(answer.mode);
		say("trouble");
		say("idle");
		// The server does not know that something is typed here.
		say("server", (state === "free" && acquire && hasAsked && typed(form) && text.textOwed) || answer.said);
		tick();
		next();
	}

	function next() {
		// Typed since the lease has ended: at once, and then not with each key.
		if (isOwed && !isHeld && state === "free") return (timer = setTimeout(regain, regainedAt ? SOON_MS - since(regainedAt) : 0));
		// Without a lease there is nothing to keep alive; the page asks again when it becomes visible.
		if (!isHeld && document.hidden) return;
		// After a reload the release of the previous page may arrive after our first heartbeat: so the second comes soon.
		const soon = !isHeld ? Infinity : beats++ ? left() / 2 : PARTING_MS / 2;
		timer = setTimeout(ask, Math.max(500, Math.min(heartbeatMs * (0.9 + Math.random() / 5), soon)));
	}

	/** The light question has another answer. Its first may differ from what the page was made of; who holds the lease soon asks anyway. */
	function notice(found) {
		// What is answered to a request on its way, perhaps one of the person, may be older than this.
		if (!facts && flight) return setTimeout(() => facts || notice(found), SOON_MS);
		// While its person signs out, the session may have ended long before the next page comes.
		const isAway = isAt("saving") || (isAt("leaving") && found !== "401");
		if (found !== facts && (facts || !isHeld || found === "401") && !isAway) ask();
		facts = found;
	}

	/** No answer, or none about the form (signed out, database unavailable): a lease continues, by our clock. */
	function doubt(code, want, facts) {
		const isSignedOut = code === 401;
		signIn.hidden = !isSignedOut;
		const isSettled = !isHeld && isAt("saved lost refused");
		const isOver = isHeld && left() <= 0;
		if (!isSettled) show(isOver ? "checking" : isHeld ? "offline" : "free");
		// One lost heartbeat need not alarm a person; nor need one of a form in which nothing was typed.
		const isSure = isSignedOut || isOver || failures || !navigator.onLine || want === "take" || (!isHeld && code);
		const words = isHeld && !isUnsure ? [text.textOffline, text.textSignedOut] : [text.textFree, text.textFreeSignedOut];
		if (isSure && (isHeld || hasAsked) && (isSignedOut || !isSettled)) say("trouble", isOver ? text.textExpired : words[+isSignedOut]);
		timer = setTimeout(ask, RETRY_MS[Math.min(failures++, 3)], hadLease ? "keep" : want, facts);
	}

	function tick() {
		if (!isHeld || isAt("saving leaving checking")) return;
		const idleLeft = idleLimit - since(used);
		if (idleLeft <= IDLE_MS && !said.idle) say("idle", text.textIdle, Date.now() + idleLeft);
		if (left() <= 0) {
			show("checking");
			say("trouble", text.textExpired);
			ask();
		} else if (idleLeft <= 0 && Date.now() - answeredAt > SOON_MS) ask();
	}

	/** The person did something here. After the warning, any key continues. */
	function use() {
		used = clocks();
		if (!said.idle) return;
		say("idle");
		ask();
	}

	/** Away or asleep: much may have happened. The fields stay as they are, and take every key. */
	function wake({ type } = {}) {
		if (document.hidden || isAt("saving leaving")) return;
		if (type !== "focus" || Date.now() - answeredAt >= SOON_MS) ask();
	}

	/** One page per form id. If this tab was duplicated, another page has it: this one gets a new id, and no lease. */
	function claim(tries = CLAIMS) {
		letGo?.();
		isMine = !navigator.locks || !form.dataset.fresh;
		if (isMine) return;
		// One that shares its id waits for its turn: the last of them lets go of the lease.
		navigator.locks.request(`tenure form ${hidden(form, "form_id")}`, { ifAvailable: !("sharesId" in form.dataset) }, (lock) => {
			isMine = Boolean(lock);
			if (lock) return new Promise((go) => (letGo = go));
			if (tries) setTimeout(claim, CLAIM_MS, tries - 1);
			else rename();
		});
	}

	async function rename(want) {
		store(() => sessionStorage.removeItem(LEFT));
		const before = hidden(form, "form_id");
		if (!(await refresh(form, ["form_id", "lid"]))) return want ?? setTimeout(rename, RETRY_MS[0]);
		if (want) tell(form.dataset.text, { form_id: before, "next-form": hidden(form, "form_id") });
		isHeld = hadLease = false;
		claim();
		return ask(want);
	}

	/** Its lease has ended, and typing on acquires one at once: the same, or that of a new form if it was released. */
	async function regain() {
		if (isRegaining) return;
		isRegaining = true;
		regainedAt = clocks();
		isOwed = false;
		const had = hadLease;
		if ((await ask()) && had && !isHeld && state === "free") await rename("take");
		isRegaining = false;
	}

	/** There is text: it is to be locked. Typing does not wait for the answer, and saving does not need it. */
	function begin() {
		if (hasAsked) return;
		hasAsked = true;
		addEventListener("beforeunload", (event) => !isAt("saving leaving saved") && typed(form) && event.preventDefault());
		// While it is saved, that may be the next form.
		if (!isHeld && acquire && !isAt("saving leaving")) ask("take");
	}

	function edit({ target, type, isTrusted }) {
		// A `change` of the browser comes when the field loses the focus, long after its keys; an editor's own is all that there is of its keys.
		if (isTrusted && type === "change") return;
		if (isTrusted) use();
		if (!isIn(element, target)) return;
		last = target;
		isPinned = false;
		if (said.note === text.textMore && !typed(form)) say("note"); // It was taken back.
		if (isDropped) isDropped = goOn();
		begin();
		// Its lease has ended, or the lock became free while nobody was here.
		isOwed = !isHeld && (hadLease || (Boolean(acquire) && !flight));
		if (!isOwed || state !== "free") return;
		clearTimeout(timer);
		next();
	}

	/** It was not sent after all, or refused: the form continues, and asks for its state. */
	function goOn(words, { status, code } = {}) {
		signIn.hidden = status !== 401 && code !== "other-person";
		show(isHeld ? "held" : "free");
		note(status === 0 ? "" : words);
		// Until there is a connection.
		if (status === 0) say("trouble", words);
		timer = setTimeout(ask, RETRY_MS[0]);
	}

	for (const type of ["input", "change"]) document.addEventListener(type, edit);
	for (const type of ["keydown", "pointerdown", "pointermove", "wheel", "paste", "drop"])
		document.addEventListener(type, use, { capture: true, passive: true });
	for (const type of ["visibilitychange", "resume"]) document.addEventListener(type, wake);
	for (const type of ["online", "focus"]) addEventListener(type, wake);
	addEventListener("pageshow", (event) => {
		if (!event.persisted) return;
		claim();
		main.hidden = isRestored = true;
		show(isHeld ? "held" : "free");
		wake(event);
	});
	addEventListener("pagehide", () => {
		// A page that sends again what was sent before has the lease of that, unless an answer has said otherwise.
		const mayHold = isHeld || hasAsked || ("sharesId" in form.dataset && !answeredAt);
		const isOver = !isMine || !mayHold || (isAt("lost leaving refused saved") && !isDropped && !isPending);
		letGo?.();
		// A page that never had a lease may not know what became of those before it.
		const lids = [hidden(form, "lid"), ...(hadLease ? [] : lidsBefore())].slice(0, MOST_LEFT);
		const leaves = () => store(() => (sessionStorage[LEFT] = JSON.stringify({ lids, person, at: Date.now() })));
		if (isMine && isAt("lost") && !isDropped) leaves();
		// After an answer there is nothing to keep, and without a request nothing was acquired. Otherwise a short time is left:
		// a reload or Back may come next.
		if (isOver) return;
		quiet();
		navigator.sendBeacon(release, body({ mode: isDropped ? "final" : "parting" }));
		leaves();
		lease = { ms: Math.min(left(), PARTING_MS), at: clocks() };
	});
	for (const [action, facts] of [["retry", () => ({})], ["move", () => ({ instead_of: generation })]])
		for (const button of buttons().filter(({ dataset }) => dataset.tenureAction === action))
			button.addEventListener("click", () => {
				isPressed = true;
				ask(acquire ? "take" : undefined, facts());
			});

	// A form that is opened again is a new one: how those before it ended, only the reload of their own pages says.
	if (!isReturn) store(() => (sessionStorage[LEFT] = JSON.stringify({ ...before(), isOver: true })));
	// The page was rendered while the one before still had the lease, and may not know how that ended.
	if (lidsBefore().length && (isReturn || isAt("refused"))) say("server");
	show(isHeld ? "held" : state);
	setInterval(tick, 1000);
	claim();
	watch(form, notice);
	if (!isHeld && (acquire === "open" || (acquire && typed(form)))) begin();
	else if (isHeld || state !== "free" || (isReturn && lidsBefore().length)) ask();
	else next();

	return {
		text,
		begin,
		goOn,
		/** Whether the browser has stored what is typed. */
		keeps: (isKept) => say("unkept", isKept ? "" : text.textUnkept),
		/** The form is being sent: it sends no heartbeats meanwhile. */
		saving(words) {
			quiet();
			isUnsure = true; // Until the server says how the form stands: a save that arrived has ended its lease.
			show("saving");
			say("save", words);
		},
		/** It was saved, and is another form from here on: with text that is not saved yet. */
		restart() {
			isHeld = hadLease = false;
			claim();
			show("held");
			note(text.textMore);
			ask("take");
		},
		/** The page is left after an answer; or without saving, which ends its lease; or for another form, so that its lease has to be released. */
		leave(dropped, forAnother) {
			isDropped = dropped;
			isPending ||= forAnother;
			quiet();
			show("leaving");
		},
	};
}
