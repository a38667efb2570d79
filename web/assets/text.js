// A form's text, and its two rules: text travels only with the version and the person for which it was typed; and this browser keeps what the
// server does not have. What the server was sent and keeps, it offers itself.
//
// A draft contains its person, its form and its version, the earlier values of the fields, and the typed text.
// It is restored into the fields only if person, form and version are the same. For another version it is sent to
// the server, which shows it beside the changes since.
//
// Drafts are in localStorage, so they survive a crash and a closed tab. They are deleted when the form was saved, when their person
// signs out, and after a day. A dropped one can be restored for ten minutes.

import { WAIT_MS, bare, clock, fields, go, hidden, isElsewhere, isIn, near, post, request, sentAs, spaced, tell } from "./form.js";

const KEY = "tenure draft ";
const ERASED = "tenure erased"; // When a person signed out: tells the other tabs.
export const SAVED = "tenure saved"; // The id of the form that was saved last: tells the other tabs.
const AGAIN = "tenure again"; // The page that this tab loads again in another language.
export const LEFT = "tenure left"; // The leases of the pages that this tab displayed before: see lease.js.
const DAY_MS = 24 * 60 * 60 * 1000;
const DROPPED_MS = 10 * 60 * 1000;
const MOST = 20; // Of all drafts in this browser: the oldest go first.
const BEGINNING = 80; // Characters of a draft that is offered.
const SETTLE_TRIES = 3;
const SETTLE_MS = 5000;

const isTick = ({ type }) => /checkbox|radio/.test(type);
const chosen = (field, is) => Array.from(field.options).filter((option) => option[is]).map(({ value }) => value);
const now = (field) => (field.options ? chosen(field, "selected") : isTick(field) ? field.checked : field.value);

/** What was saved from this page, by field. */
const saved = new WeakMap();
/** What an editor's hidden field had at first, because it forgets that. */
const first = new WeakMap();
for (const field of document.querySelectorAll("input[type=hidden][data-tenure-text]")) first.set(field, field.value);

const rendered = (field) =>
	first.get(field) ?? (field.options ? chosen(field, "defaultSelected") : isTick(field) ? field.defaultChecked : field.defaultValue);

/** Nobody typed here: the server has this text. */
const isAsRendered = (form) => fields(form).every((field) => `${now(field)}` === `${rendered(field)}`);

/** The aggregate's value: the rendered value, unless the page was rendered with other text (then data-base has it). */
function base(field) {
	if (saved.has(field)) return saved.get(field);
	if ("base" in field.dataset) return isTick(field) ? field.dataset.base === "true" : field.dataset.base;
	return rendered(field);
}

function read(form, of) {
	const values = Object.create(null);
	for (const field of fields(form)) (values[field.name] ??= []).push(of(field));
	return values;
}

/** Calls it with each field and its value, by name; names that the form does not have are ignored. */
function each(form, values, use) {
	const rest = Object.assign(Object.create(null), structuredClone(values));
	for (const field of fields(form)) {
		const value = rest[field.name]?.shift();
		if (value !== undefined) use(field, value);
	}
}

function write(field, value) {
	if (field.options) for (const option of field.options) option.selected = value.includes(option.value);
	else field[isTick(field) ? "checked" : "value"] = value;
	if (field.type === "hidden") field.dispatchEvent(new Event("change", { bubbles: true }));
}

export const values = (form) => read(form, now);

/** How a field is named where its text is shown without it. */
const label = ({ name, dataset, labels }) => dataset.label ?? labels?.[0]?.textContent.trim() ?? name;

/**
 * The typed text: only the fields that differ from the aggregate, or from what the page was rendered with. So a field that has the
 * aggregate's value again is part of it, if the page was rendered with other text.
 */
export function typed(form) {
	const [before, drawn, after] = [read(form, base), read(form, (field) => saved.get(field) ?? rendered(field)), values(form)];
	const changed = Object.entries(after).filter(([name, value]) => [before, drawn].some((at) => `${value}` !== `${at[name]}`));
	return changed.length > 0 && Object.fromEntries(changed);
}

// Storage may be full, or forbidden: then there are no drafts, and everything else works.
export function store(use) {
	try {
		return use();
	} catch {}
}

/** All drafts of this browser, the newest first. */
function drafts() {
	const found = [];
	for (const key of store(() => Object.keys(localStorage)) ?? []) {
		if (!key.startsWith(KEY)) continue;
		const draft = store(() => JSON.parse(localStorage[key]));
		// The clock may have been set back since.
		const age = Math.abs(Date.now() - (draft?.dropped ?? draft?.at));
		if (age < (draft?.dropped ? DROPPED_MS : DAY_MS)) found.push({ ...draft, key });
		else remove({ key });
	}
	found.sort((a, b) => b.at - a.at);
	found.splice(MOST).forEach(remove);
	return found;
}

// Not a secret, only a unique key of this page.
const fresh = () => `${KEY}${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;

const remove = ({ key }) => store(() => localStorage.removeItem(key));
const put = ({ key, ...draft }) => store(() => (localStorage[key] = JSON.stringify(draft)));

/** What the server was sent of a draft's text; not what its form was sent with after the page on which it was typed. */
const sentOf = ({ form_id, beside = "" }) => ({ form_id, beside });

/** Whether this draft has more of a text that the server keeps. */
export const hasMoreOf = ({ form_id, beside }, { tenureSent, kept }) => form_id === tenureSent && !beside?.endsWith(kept);

/** A draft whose text was dropped: it can be restored for a while. The server may keep it, too: it hears of it. */
export function drop(draft, url) {
	const dropped = { ...draft, dropped: Date.now() };
	put(dropped);
	if (draft.form_id) tell(url, sentOf(draft));
	return dropped;
}

/** Whether anything in it is other than before: not if a page was rendered with refused text, and that was taken back. */
const isOther = ({ typed, base = {} }) => Object.entries(typed).some(([name, values]) => `${values}` !== `${base[name]}`);

/** Its text in words, a line for each field that has another value than before; if none has, for each that has any. */
export function words({ typed, base = {}, labels = {}, empty = "–" }, shorten = (value) => value) {
	const all = Object.entries(typed).flatMap(([name, values]) => values.map((value, at) => ({ name, at, value, before: base[name]?.[at] ?? "" })));
	const other = all.filter(({ value, before }) => `${value}` !== `${before}`);
	const label = ({ name, at }) => labels[name]?.[at] ?? labels[name]?.at(-1) ?? name;
	const said = ({ value, before }) => (`${value || ""}`.trim() ? shorten(value, before) : empty);
	const line = (field) => (field.value === true ? label(field) : `${label(field)}: ${said(field)}`);
	return (other.length ? other : all.filter(({ value }) => value)).map(line);
}

/** A text from its first change on, if that comes late. */
function changed(value, before) {
	if (typeof value !== "string") return value;
	const [now, then] = [Array.from(value), Array.from(`${before}`)];
	const at = now.findIndex((letter, i) => letter !== then[i]);
	return at > BEGINNING / 4 ? `…${now.slice(at - BEGINNING / 8).join("")}` : value;
}

/** The beginning of it, in one line. */
export function beginning(draft) {
	const text = Array.from(words(draft, changed).join(", ") || "–");
	return text.length > BEGINNING ? `${text.slice(0, BEGINNING).join("")}…` : text.join("");
}

/** All drafts of a person; of all, if nobody is named. */
const draftsOf = (person) => drafts().filter((draft) => !person || draft.person === person);

const hasText = (draft) => draft.dropped || isOther(draft);

/** Those with text other than before, also what was dropped. */
export const textsOf = (person) => draftsOf(person).filter(hasText);

/** Those that are not dropped. */
export const openOf = (person) => textsOf(person).filter((draft) => !draft.dropped);

/** What was typed after a text of it was sent, and saved as this version: the next change. Nothing, if it is the same again. */
function rest({ sentText, ...draft }, version) {
	const [before, after] = [sentText, draft.typed].map((text) => ({ ...draft.base, ...text }));
	const typed = Object.entries(after).filter(([name, value]) => `${value}` !== `${before[name]}`);
	return typed.length > 0 && { ...draft, base: before, typed: Object.fromEntries(typed), version, form_id: "" };
}

/**
 * Text of this person that was sent may be saved without this browser knowing: its page was left before the answer, or it went on on another
 * device. A save may still be under way. Of text that was typed on, only the rest is unsaved then; the server says on which version, if it can
 * go on from there.
 */
export async function settle(person, tries = SETTLE_TRIES) {
	async function isUnderWay({ key, sent, sentText, question, form, form_id, version }) {
		if (!(sent || sentText) || !question) return false;
		const asked = new URLSearchParams({ form_id, ...(sentText && { form, version }) });
		const answer = await request(`${question}?${asked}`, "saved");
		if (!answer.saved) return true;
		// Typed on meanwhile, it is other text.
		const draft = drafts().find((draft) => draft.key === key && draft.form_id === form_id && Boolean(draft.sent) === Boolean(sent));
		if (!draft || (sentText && !answer.version)) return false;
		const left = sentText && rest(draft, answer.version);
		if (left) put(left);
		else remove({ key });
		dispatchEvent(new StorageEvent("storage", { key, newValue: left ? key : null }));
		return false;
	}
	const found = await Promise.all(draftsOf(person).map(isUnderWay));
	if (found.some(Boolean) && tries) setTimeout(settle, SETTLE_MS, person, tries - 1);
}

/** Whether this page was loaded by its own link to itself in another language. */
const isAgain = Boolean(store(() => sessionStorage[AGAIN] === location.pathname));
/** Whether it was loaded again in any way: by a reload and by Back, too. */
export const isReturn = isAgain || /reload|back_forward/.test(performance.getEntriesByType("navigation")[0]?.type);
store(() => sessionStorage.removeItem(AGAIN));
addEventListener("click", (event) => {
	const link = event.target.closest?.("a[hreflang]");
	if (link && !isElsewhere(event, link)) store(() => (sessionStorage[AGAIN] = link.pathname));
});

let erasedAt = 0; // 0: not.

export function erase(person) {
	erasedAt = Date.now();
	store(() => sessionStorage.removeItem(LEFT));
	store(() => (localStorage[ERASED] = Date.now())); // Before: the other tabs hear of both in this order.
	draftsOf(person).forEach(remove);
}

// Another tab signed out: this one does not write its text again, until there is a key, or its person is signed in again.
addEventListener("storage", ({ key }) => key === ERASED && (erasedAt = Date.now()));

/**
 * Keeps the text of this form, if it can be restored. `onWrite` is called after a draft was put into the fields, `onKeep` with whether the
 * browser has stored one, and `onSent` with the answer to a draft of another version.
 */
export function keepText(element, { onWrite, onKeep, onSent } = {}) {
	const form = bare(element);
	const { person, tenureForm: form_key, restore } = form.dataset;
	const [version, form_id, beside] = ["version", "form_id", "beside"].map((name) => () => hidden(form, name));
	const key = fresh();
	const [box, sentBox] = ["draft", "sent"].map((name) => near(form, name));
	const part = (name) => box?.querySelector(`[data-tenure-draft-${name}]`) ?? document.createElement("i");
	const here = location.pathname + location.search;
	let offer, shown, savedAs;
	let sent = {}; // The text that is on its way, and perhaps saved.
	let given; // The text that the server has answered with a page, and keeps.
	let used; // A form with which other text was sent before, and may be saved: that it was saved says nothing of what is typed now.
	let sentBefore = typed(form) && form_id(); // The form with which its text was sent, which may be another one by now.
	let isSaving = false;
	let isQuiet = false; // It was saved, or left: nothing more is kept until there is another key.
	let typedAt = Date.now();

	function draftOf(text) {
		// Typed on, it is other text; and the same again, once that is taken back.
		const isSent = sent.text === JSON.stringify(text);
		const sentText = !isSent && sent.of === form_id() && used !== form_id() && JSON.parse(sent.text);
		return {
			key, at: typedAt, page: here, person, form: form_key, form_id: isSent ? sent.of : form_id(), beside: beside(), version: version(),
			base: read(form, base), labels: read(form, label), empty: form.dataset.textEmpty, typed: text, question: used !== form_id() && form.dataset.text, sent: isSent, sentText,
			...(savedAs?.of === form_id() && savedAs.next),
		};
	}

	/** Text that does not go on in this form, whatever becomes of that: only this draft has it. */
	const apart = (text) => ({ ...draftOf(text), form_id: "", sent: undefined, sentText: undefined });

	function save() {
		if (!restore || erasedAt || isQuiet) return;
		const text = typed(form);
		if (text && !isAsRendered(form) && JSON.stringify(text) !== given) onKeep?.(Boolean(put(draftOf(text))));
		else remove({ key });
	}

	const mine = () => drafts().filter((draft) => draft.person === person && draft.form === form_key);

	function show(state, draft) {
		offer = draft;
		shown = state;
		if (!box) return;
		box.hidden = false;
		const time = clock(state === "dropped" ? offer.dropped : offer.at, box.dataset);
		const said = box.dataset[`text${state[0].toUpperCase()}${state.slice(1)}`];
		part("text").textContent = said?.replace("{time}", time).replace("{text}", () => beginning({ ...draft, labels: { ...draft.labels, ...read(form, label) }, empty: form.dataset.textEmpty }));
		part("restore").hidden = state === "back";
		part("discard").hidden = state === "dropped";
	}

	function wait(saves) {
		isSaving = saves;
		if (!box) return;
		const hadFocus = box.contains(document.activeElement);
		box.hidden = saves || !shown;
		if (box.hidden && hadFocus) fields(form)[0]?.focus();
	}
	/** What the server was sent of it goes on in this form. */
	const goesOn = (draft) => tell(form.dataset.text, { ...sentOf(draft), "next-form": form_id() });
	const isOfNow = (draft) => draft.version === version();
	const agrees = (draft, is) => Object.entries(draft.typed).every(([name, value]) => is(value, values(form)[name], name));
	/** Also in a hidden field: of a row that is gone from the form, which the server compares. */
	const isShown = (draft) => agrees(draft, (value, there, name) => `${value}` === `${there ?? hidden(form, name)}`);
	/** Whether there is a field for all of the typed text: rows may have been added to the form then. */
	const fits = (draft) => isOfNow(draft) && agrees(draft, (value, there) => value.length === there?.length);

	function fill(draft, isOfThisPage) {
		// Text that was typed here meanwhile is not lost: it is offered in turn, also after this form was saved.
		const own = !isOfThisPage && typed(form);
		const text = own && isOther({ typed: own, base: read(form, base) }) && own;
		const other = text && { ...apart(text), key: fresh() };
		each(form, draft.typed, write);
		// Only what was replaced: the rest is still here, and may be saved with this form.
		const there = values(form);
		if (other) other.typed = Object.fromEntries(Object.entries(text).filter(([name, value]) => `${value}` !== `${there[name]}`));
		for (const said of document.querySelectorAll("[data-tenure-drawn]")) said.hidden = true;
		remove(draft);
		if (!text) typedAt = draft.at;
		// Its save may still arrive, after the page from which it was sent was left: and be accepted, or refused.
		if (!text && draft.sent && draft.question) sent = { text: JSON.stringify(typed(form)), of: (sentBefore = draft.form_id) };
		save();
		if (draft.form_id && !(isOfThisPage && draft.form_id === form_id())) goesOn(draft);
		if (sentBox) sentBox.hidden ||= hasMoreOf(draft, sentBox.dataset); // It is here.
		if (!other || !isOther(other)) show("back", draft);
		else {
			put(other);
			show("replaced", other);
		}
		onWrite?.();
	}

	/** Text for a page of its own, which shows it: what is typed here is kept. Returns whether the server keeps it now. */
	async function send(body, isOfThisForm) {
		const own = typed(form);
		// The server has what this page was drawn with, until its form is saved.
		if (own && (isOfThisForm || !isAsRendered(form)) && !isQuiet && !erasedAt) put(apart(own));
		isQuiet = true;
		const answer = await post(form, restore, "next", body, AbortSignal.timeout(WAIT_MS));
		// What is saved meanwhile leads to its own page; the text is still offered.
		if (isSaving) return false;
		isQuiet &&= Boolean(answer.next);
		onSent?.(answer);
		if (answer.next) {
			go(answer.next, () => {
				isQuiet = false;
				onSent?.({ detail: "" });
			});
		}
		return Boolean(answer.next);
	}

	/** Typed on another version: the server shows it beside the current one. */
	async function compare(draft) {
		// The form in which it was typed, and the form in which it continues.
		const forms = { lid: [hidden(form, "lid")], form_id: [draft.form_id || form_id()], beside: [draft.beside ?? ""], "next-form": [form_id()], version: [draft.version], person: [person] };
		const all = { ...draft.base, ...draft.typed, ...forms, "edit-first": ["1"] };
		const ticked = (list) => list.flat().filter((value) => value !== false);
		const pairs = Object.entries(all).flatMap(([name, list]) => ticked(list).map((value) => [name, value === true ? "on" : sentAs(value)]));
		const isOfThisForm = ["", form_id()].includes(draft.form_id);
		if (await send(() => new URLSearchParams([["csrf", hidden(form, "csrf")], ...pairs]), isOfThisForm)) remove(draft);
	}

	/** What is offered, as it is now: another tab may have typed on. */
	const offered = () => (shown !== "back" && drafts().find(({ key }) => key === offer.key)) || offer;
	const propose = (draft) => show(draft.dropped ? "dropped" : isOfNow(draft) ? "found" : "older", draft);

	function restoreDraft() {
		const draft = { ...offered(), dropped: undefined };
		if (fits(draft)) return fill(draft);
		put(draft);
		compare(draft);
	}

	/** The text with which the page was drawn is not there any more, or saved: nothing is said about it. */
	function unsay() {
		for (const said of document.querySelectorAll("[data-tenure-drawn], [data-tenure-refused]")) said.hidden = true;
		for (const field of fields(form)) field.ariaInvalid = null;
	}

	function discard() {
		const draft = offered();
		const isHere = isShown(draft);
		const dropped = drop(draft, form.dataset.text);
		// What the fields had before is older than what there is now: that comes with the form itself.
		if (isHere && "outdated" in form.dataset) {
			isQuiet = true;
			onSent?.({ next: here });
			return location.replace(location.pathname);
		}
		// The restored text is removed again; other typed text stays.
		if (isHere) {
			const before = read(form, base);
			each(form, Object.fromEntries(Object.keys(draft.typed).map((name) => [name, before[name]])), write);
			unsay();
		}
		save();
		show("dropped", dropped);
	}

	/** What was typed into this form before: in this tab it is restored after a reload and Back, otherwise offered. */
	function look() {
		const own = store(() => sessionStorage[`tenure page ${form_key}`]);
		store(() => (sessionStorage[`tenure page ${form_key}`] = key));
		const others = mine().filter((draft) => draft.key !== key);
		// This page as it was left: the text with which it was drawn is older than that.
		const last = isReturn && others.find((draft) => draft.key === own);
		const isOfThisPage = last && (isAgain || last.page === here);
		if (isOfThisPage && (last.dropped || !isOther(last))) {
			each(form, read(form, base), write);
			unsay();
		}
		const open = others.filter((draft) => !isShown(draft) && hasText(draft));
		for (const draft of others.filter(isShown)) {
			typedAt = Math.min(typedAt, draft.at);
			remove(draft);
		}
		save();
		// Before what this page replaced, or another tab typed, which may be newer.
		const back = open.find((draft) => draft === last && fits(draft) && !draft.dropped && (isOfThisPage || !typed(form)));
		if (back) return fill(back, isOfThisPage);
		const found = open.find((draft) => !draft.dropped) ?? open[0];
		if (found) propose(found);
	}

	// While it is typed: a tab may be closed or crash at any time, and does not always say so.
	const keep = spaced(save);
	addEventListener("input", ({ target }) => {
		if (!isIn(element, target)) return;
		erasedAt = 0;
		isQuiet = false;
		typedAt = Date.now();
		// It is edited further: what came back is not there to be dropped any more.
		if (shown === "back") {
			shown = "";
			wait(false);
		}
		keep();
	});
	for (const type of ["pagehide", "visibilitychange"]) addEventListener(type, save, true);
	// Another tab has saved this form: the text here is the one that it was sent with. Or it saved what is offered here, or dropped it.
	addEventListener("storage", ({ key: changed, newValue }) => {
		if (changed === SAVED && newValue === form_id()) {
			isQuiet = true;
			remove({ key });
		}
		// Another tab has saved that text, or goes on with it: nothing is kept here until there is another key.
		const isOver = changed === key && !newValue;
		if (isOver) isQuiet ||= !erasedAt;
		if (!offer || (changed !== offer.key && !(isOver && shown === "back"))) return;
		if (newValue) return box?.hidden || shown === "back" || propose(offered());
		shown = "";
		wait(false);
	});
	// The page was left, and comes back out of the browser's memory: its text is kept again.
	addEventListener("pageshow", ({ persisted }) => persisted && ([isSaving, isQuiet, used] = [false, false, form_id()]));
	sentBox?.addEventListener("submit", (event) => {
		event.preventDefault();
		send(() => new URLSearchParams(new FormData(sentBox)));
	});
	// The pressed button is gone: the focus goes where the person goes on.
	part("restore").addEventListener("click", ({ detail }) => {
		if (detail > 1) return; // The second half of a double click on the button that was here before.
		const [name] = Object.keys(offer.typed);
		restoreDraft();
		fields(form).find((field) => field.name === name)?.focus();
	});
	part("discard").addEventListener("click", () => {
		discard();
		part("restore").focus();
	});
	if (restore) look();
	// The page was drawn with text of a form that has ended.
	const textOf = form.elements.namedItem("text-of");
	if ("ended" in (textOf?.dataset ?? {})) goesOn({ form_id: textOf.value, beside: beside() });

	return {
		/** It is on its way. */
		sending() {
			const text = JSON.stringify(typed(form));
			// One of the two may be saved, and nobody knows which.
			if (sent.of === form_id() && sent.text !== text) used = form_id();
			sent = { text, of: form_id() };
			save();
		},
		/** It is not saved: the page that answers has it, or it stays here. */
		refused(isGiven) {
			if (isGiven) given = JSON.stringify(typed(form));
			sent = {};
			save();
		},
		/** These values were saved: what differs from them is the next change, of another form. */
		rebase(values, next) {
			remove({ key });
			if (sentBefore && sentBefore !== form_id()) goesOn({ form_id: sentBefore, beside: beside() });
			sentBefore = "";
			store(() => (localStorage[SAVED] = form_id()));
			// Nor is the same text unsaved in another tab, or in a draft of before.
			for (const draft of mine()) {
				const there = Object.entries(draft.typed).filter(([name, value]) => `${value}` === `${values[name]}`);
				const next = { ...draft, base: { ...draft.base, ...Object.fromEntries(there) } };
				if (there.length === Object.keys(draft.typed).length) remove(draft);
				else if (there.length) put(next);
			}
			savedAs = { of: form_id(), next: { form_id: "", version: next || version() } };
			each(form, values, (field, value) => saved.set(field, value));
			// A field that the page itself changes is no change.
			isQuiet = !typed(form);
			sent = {};
			used = form_id();
			save();
		},
		/** It is another form from here on. */
		save,
		unsay,
		/** Its person was signed in when this was asked. */
		signedIn(askedAt) {
			if (!erasedAt || askedAt <= erasedAt) return;
			erasedAt = 0;
			save();
		},
		/** A save is in flight: no draft is offered meanwhile. */
		wait,
		/** It is left without saving. */
		drop() {
			save();
			isQuiet = true;
			for (const draft of drafts()) if (draft.key === key) drop(draft);
		},
	};
}
