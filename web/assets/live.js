// What is new on a visible page: the light question, asked every few seconds. It writes and renews nothing. The server sends the pieces of
// the page in its own words; this puts those that changed into their places, and says when the connection is lost.

import { HEADERS, clock, request } from "./form.js";

const FIRST_MS = 1000;
const QUIET_MS = 3000; // Between two questions,
const QUICK_MS = 2000; // or this, if something changed within the last minute.
const AWHILE_MS = 60000;
const JITTER_MS = 500; // Pages that were opened together do not ask together.
const WAIT_MS = 10000; // For an answer.
export const NEWS = "tenure-news"; // An event on the window: there is another answer.
const ALARM = 2; // One question without an answer need not alarm a person.

/** Asks what is new about an element with `data-now`, and tells each other answer. */
export function watch(element, hear = () => {}) {
	const { now, left, person } = element.dataset;
	if (!now) return;
	// The page is this person's: its server answers nobody else.
	const asked = person ? `${now}${now.includes("?") ? "&" : "?"}${new URLSearchParams({ person })}` : now;
	const main = element.closest("main") ?? document.body;
	const strip = main.querySelector("[data-tenure-live]");
	const part = (name) => strip?.querySelector(`[data-tenure-live-${name}]`) ?? document.createElement("i");
	const rendered = { state: main.dataset.state, title: document.title };
	let timer, tag, page, failures = 0, changedAt = -Infinity, isOver = false;
	// By the server's clock: the one here may be wrong.
	let heardAt = Date.parse(main.querySelector("[data-tenure-as-of] time")?.dateTime) || Date.now();

	const slots = () => main.querySelectorAll("[data-tenure-slot]");

	// What has the focus is not taken from under the hand: the newest piece for its place waits until the focus leaves.
	const waiting = new Map();
	function late(slot) {
		const html = waiting.get(slot);
		if (waiting.delete(slot)) put(slot, html);
	}

	function put(slot, html) {
		const isWaiting = waiting.delete(slot);
		if (slot.contains(document.activeElement)) {
			waiting.set(slot, html);
			if (!isWaiting) slot.addEventListener("focusout", () => setTimeout(late, 0, slot), { once: true });
			return;
		}
		const fresh = Object.assign(document.createElement("template"), { innerHTML: html });
		if (slot.innerHTML === fresh.innerHTML) return;
		// A place does not become lower: what is below it stays where a finger may be.
		slot.style.minHeight = `${slot.getBoundingClientRect().height}px`;
		slot.replaceChildren(fresh.content);
	}

	/** The state of the page, and of the connection: paused, signed out, or over, when there is nothing to see any more. */
	function show(live, words = "") {
		const { pausedState, textAsOf } = strip?.dataset ?? {};
		const state = live === "paused" ? pausedState : live === "over" ? strip?.dataset.overState : page?.state;
		document.title = page?.title ?? rendered.title;
		if (!strip) return; // A form says it in its own banner.
		main.dataset.state = state || rendered.state;
		main.dataset.live = live;
		strip.hidden = !words;
		if (part("status").textContent !== words) part("status").textContent = words;
		part("retry").hidden = live !== "paused";
		part("signin").hidden = live !== "signed-out";
		const asOf = live !== "on" && textAsOf.replace("{time}", clock(heardAt, strip.dataset));
		for (const place of main.querySelectorAll("[data-tenure-as-of]")) place.textContent = asOf || place.dataset.textLive;
	}

	const say = (live) => show(live, strip?.dataset[`text-${live}`.replace(/-./g, ([, c]) => c.toUpperCase())]?.replace("{time}", clock(heardAt, strip.dataset)));

	function answered({ status, headers, ...answer }) {
		const isOurs = /200|304|401/.test(status) || (/40[34]/.test(status) && answer.code);
		if (!isOurs) {
			if (++failures >= ALARM || !navigator.onLine) say("paused");
			return;
		}
		failures = 0;
		heardAt = Date.parse(headers?.get("date")) || heardAt;
		if (status === 304) return show("on");
		if (status === 401) say("signed-out");
		else if (status !== 200) {
			isOver = Boolean(strip);
			show("over", answer.detail ?? answer.title);
		} else {
			if (tag) changedAt = performance.now();
			tag = headers.get("etag");
			page = answer.page;
			for (const slot of slots()) if (slot.dataset.tenureSlot in (answer.slots ?? {})) put(slot, answer.slots[slot.dataset.tenureSlot]);
			show("on");
		}
		if (status === 200) dispatchEvent(new Event(NEWS));
		hear(status === 200 ? JSON.stringify([answer.version, answer.state, answer.holders]) : `${status}`);
	}

	async function look() {
		clearTimeout(timer);
		if (document.hidden || isOver) return;
		const headers = { ...HEADERS, ...(tag && { "if-none-match": tag }) };
		answered(await request(asked, "holders", { headers, cache: "no-store", signal: AbortSignal.timeout(WAIT_MS) }));
		clearTimeout(timer);
		const pause = performance.now() - changedAt < AWHILE_MS ? QUICK_MS : QUIET_MS;
		timer = setTimeout(look, pause + Math.random() * JITTER_MS);
	}

	part("retry").addEventListener("click", look);
	for (const type of ["online", "focus"]) addEventListener(type, look);
	addEventListener("pageshow", ({ persisted }) => persisted && look());
	for (const type of ["visibilitychange", "resume"]) document.addEventListener(type, look);
	addEventListener("pagehide", () => {
		clearTimeout(timer);
		// Nobody looks here any more. A page that comes back asks, and so says that somebody does.
		if (left) navigator.sendBeacon(left, new URLSearchParams({ csrf: document.querySelector("[name=csrf]")?.value ?? "" }));
	});
	// Not at once: the page is newer than what the server may answer.
	timer = setTimeout(look, FIRST_MS + Math.random() * JITTER_MS);
}
