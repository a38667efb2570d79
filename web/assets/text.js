// A form's text, and its one rule: text travels only with the version and the person for which it was typed.
//
// A draft contains its person, its form and its version, the earlier values of the fields, and the typed text.
// It is restored into the fields only if person, form and version are the same. For another version it is sent to
// the server, which shows it beside the changes since. Text that the browser itself restores is removed again.
//
// Drafts are in localStorage, so they survive a crash and a closed tab. They are deleted when the form was saved, at sign-out,
// and after a day. A dropped one can be restored for ten minutes.

import { bare, clock, fields, hidden, isIn, near } from "./form.js";

const KEY = "tenure draft ";
const ERASED = "tenure erased"; // When the person signed out: tells the other tabs.
export const LEFT = "tenure left"; // The lease of the page that this tab displayed before: see lease.js.
const DAY_MS = 24 * 60 * 60 * 1000;
const DROPPED_MS = 10 * 60 * 1000;
const MOST = 20; // Of all drafts in this browser: the oldest go first.

const isTick = ({ type }) => /checkbox|radio/.test(type);
const chosen = (field, is) => Array.from(field.options, (option) => option[is] && option.value).filter((value) => value !== false);
const now = (field) => (field.options ? chosen(field, "selected") : isTick(field) ? field.checked : field.value);

/** What was saved from this page, by field; and what an editor's hidden field had at first, because it forgets that. */
const saved = new WeakMap();

/** To be called first: a hidden field forgets the value that it was rendered with. */
export function begin(form) {
	for (const field of fields(form)) if (field.type === "hidden" && !("base" in field.dataset)) saved.set(field, field.value);
}

/** The aggregate's value: the rendered value, unless the page was rendered with other text (then data-base has it). */
function base(field) {
	if (saved.has(field)) return saved.get(field);
	if ("base" in field.dataset) return isTick(field) ? field.dataset.base === "true" : field.dataset.base;
	return field.options ? chosen(field, "defaultSelected") : isTick(field) ? field.defaultChecked : field.defaultValue;
}

function read(form, of) {
	const values = Object.create(null);
	for (const field of fields(form)) (values[field.name] ??= []).push(of(field));
	return values;
}

/** Puts values into fields, by name; names that the form does not have are ignored. */
export function write(form, values) {
	const rest = Object.assign(Object.create(null), structuredClone(values));
	for (const field of fields(form)) {
		const value = rest[field.name]?.shift();
		if (value === undefined) continue;
		if (field.options) for (const option of field.options) option.selected = value.includes(option.value);
		else field[isTick(field) ? "checked" : "value"] = value;
		if (field.type === "hidden") field.dispatchEvent(new Event("change", { bubbles: true }));
	}
}

export const values = (form) => read(form, now);

/** The typed text: only the fields that differ from the aggregate. */
export function typed(form) {
	const [before, after] = [read(form, base), read(form, now)];
	const changed = Object.entries(after).filter(([name, value]) => `${value}` !== `${before[name]}`);
	return changed.length > 0 && Object.fromEntries(changed);
}

// Storage may be full, or forbidden: then there are no drafts, and everything else works.
export function store(use) {
	try {
		return use();
	} catch {}
}

/** All drafts of this browser, the newest first. */
export function drafts() {
	const found = [];
	for (const key of store(() => Object.keys(localStorage)) ?? []) {
		if (!key.startsWith(KEY)) continue;
		const draft = store(() => JSON.parse(localStorage[key]));
		const age = Date.now() - (draft?.dropped ?? draft?.at);
		if (age >= 0 && age < (draft.dropped ? DROPPED_MS : DAY_MS)) found.push({ ...draft, key });
		else store(() => localStorage.removeItem(key));
	}
	found.sort((a, b) => b.at - a.at);
	for (const { key } of found.splice(MOST)) store(() => localStorage.removeItem(key));
	return found;
}

// Not a secret, only a unique key of this page.
const fresh = () => `${KEY}${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;

const remove = ({ key }) => store(() => localStorage.removeItem(key));
const put = ({ key, ...draft }) => store(() => (localStorage[key] = JSON.stringify(draft)));

let isErased = false;

/** Signing out erases the drafts of all persons in this browser. */
export function erase() {
	isErased = true;
	store(() => sessionStorage.removeItem(LEFT));
	for (const key of store(() => Object.keys(localStorage)) ?? []) if (key.startsWith(KEY)) remove({ key });
	store(() => (localStorage[ERASED] = Date.now()));
}

// Another tab signed out: this one does not write its text again, until there is a key.
addEventListener("storage", ({ key }) => (isErased ||= key === ERASED));

/** The drafts of a form, once it was saved. */
export function forget(formId) {
	for (const draft of drafts()) if (draft.form_id === formId) remove(draft);
}

/** A draft whose text was dropped: it can be restored for a while. */
export const drop = (draft) => put({ ...draft, dropped: Date.now() });

/** All drafts of a form, as one. */
export function dropAll(formId) {
	for (const draft of drafts()) if (draft.form_id === formId) drop(draft);
}

/** Keeps the text of this form. `onWrite` is called after a draft was put into the fields. */
export function keepText(element, onWrite) {
	const form = bare(element);
	const { person, tenureForm: form_key, restore } = form.dataset;
	const [version, form_id] = ["version", "form_id"].map((name) => () => hidden(form, name));
	const key = fresh();
	const box = near(form, "draft");
	const part = (name) => box?.querySelector(`[data-tenure-draft-${name}]`) ?? document.createElement("i");
	const touched = new Set();
	const here = location.pathname + location.search;
	let offer, shown, closed, isSent;

	// The browser restores fields after a reload and Back only. In another page they have what was typed before this script had loaded.
	const isReturn = () => /reload|back_forward/.test(performance.getEntriesByType("navigation")[0]?.type);

	/** The browser restores fields by itself, on any version of the page: only text that a person typed here stays. */
	function settle() {
		if (!isReturn()) return;
		const drawn = (field) => (field.options ? chosen(field, "defaultSelected") : isTick(field) ? field.defaultChecked : field.defaultValue);
		const own = fields(form).filter((field) => !touched.has(field) && `${now(field)}` !== `${drawn(field)}`);
		for (const field of own) {
			if (field.options) for (const option of field.options) option.selected = option.defaultSelected;
			else if (isTick(field)) field.checked = field.defaultChecked;
			else field.value = field.defaultValue;
		}
	}

	const draftOf = (text) => ({
		key, at: Date.now(), page: here, person, form: form_key, form_id: form_id(), version: version(),
		base: read(form, base), typed: text, sent: isSent,
	});

	function save() {
		if (isErased || closed) return;
		const text = typed(form);
		if (text) put(draftOf(text));
		else remove({ key });
	}

	function show(state) {
		if (!box) return;
		shown = state;
		box.hidden = false;
		const time = clock(state === "dropped" ? offer.dropped : offer.at, box.dataset);
		part("text").textContent = box.dataset[`text${state[0].toUpperCase()}${state.slice(1)}`].replace("{time}", time);
		part("restore").hidden = state === "back";
		part("discard").hidden = state === "dropped";
	}

	const isOfNow = (draft) => draft.version === version();
	const isShown = (draft) => Object.entries(draft.typed).every(([name, value]) => `${value}` === `${values(form)[name]}`);
	/** Whether there is a field for all of the typed text: rows may have been added to the form then. */
	const fits = (draft) =>
		isOfNow(draft) && Object.entries(draft.typed).every(([name, value]) => value.length === values(form)[name]?.length);

	function fill(draft, isOfThisPage) {
		// Text that was typed here meanwhile is not lost: it is offered in turn, also after this form was saved.
		const other = !isOfThisPage && typed(form);
		if (other) put({ ...draftOf(other), key: fresh(), form_id: "" });
		write(form, draft.typed);
		for (const field of fields(form)) if (field.name in draft.typed) touched.add(field);
		remove(draft);
		offer = draft;
		save();
		show("back");
		onWrite?.();
	}

	/** Typed on another version: the server shows it beside the current one. */
	function send(draft) {
		const post = Object.assign(document.createElement("form"), { method: "post", hidden: true });
		post.setAttribute("action", restore);
		const add = (name, value) => post.append(Object.assign(document.createElement("input"), { name, value }));
		const all = { ...draft.base, ...draft.typed };
		for (const [name, list] of Object.entries(all))
			for (const value of list) if (value !== false) add(name, value === true ? "on" : value);
		for (const name of ["csrf", "lid"]) add(name, hidden(form, name));
		// The form in which it was typed, and the form in which it continues.
		add("form_id", draft.form_id || form_id());
		add("next-form", form_id());
		add("version", draft.version);
		add("person", person);
		add("edit-first", "1");
		save();
		closed = true;
		document.body.append(post);
		// The draft stays until the next page has the text in its fields.
		post.submit();
	}

	function restoreDraft() {
		const draft = { ...offer, dropped: undefined };
		if (fits(draft)) return fill(draft);
		put(draft);
		send(draft);
	}

	function discard() {
		// The restored text is removed again; other typed text stays.
		const before = read(form, base);
		if (values(form) && isShown(offer)) write(form, Object.fromEntries(Object.keys(offer.typed).map((name) => [name, before[name]])));
		offer = { ...offer, dropped: Date.now() };
		put(offer);
		save();
		show("dropped");
	}

	function look() {
		const own = store(() => sessionStorage[`tenure page ${form_key}`]);
		store(() => (sessionStorage[`tenure page ${form_key}`] = key));
		const mine = drafts().filter((draft) => draft.person === person && draft.form === form_key && draft.key !== key);
		// This page as it was left: the text with which it was drawn is older than that.
		const last = isReturn() && mine.find((draft) => draft.key === own);
		const isOfThisPage = last && last.page === here;
		if (isOfThisPage && last.dropped) {
			write(form, read(form, base));
			for (const field of fields(form)) touched.add(field);
		}
		save();
		// The server answered it with this page, which was rendered with the text.
		const isAnswer = (draft) => draft.key === own && draft.sent && !isReturn() && typed(form);
		// In the fields already: the page restored it, or it was saved.
		const isHere = (draft) => isAnswer(draft) || isShown(draft);
		const open = mine.filter((draft) => !isHere(draft));
		for (const draft of mine.filter(isHere)) remove(draft);
		offer = open.find((draft) => !draft.dropped) ?? open[0];
		if (!offer) return;
		if (offer === last && fits(offer) && !offer.dropped && (isOfThisPage || !typed(form))) fill(offer, isOfThisPage);
		else show(offer.dropped ? "dropped" : isOfNow(offer) ? "found" : "older");
	}

	// With each key: a tab may be closed or crash at any time, and does not always say so.
	addEventListener("input", ({ target, isTrusted }) => {
		if (!isIn(form, target)) return;
		if (isTrusted) touched.add(target);
		isErased = isSent = false;
		save();
	});
	part("restore").addEventListener("click", restoreDraft);
	part("discard").addEventListener("click", discard);
	addEventListener("pagehide", save);
	document.addEventListener("visibilitychange", save);
	addEventListener("pageshow", (event) => event.persisted || settle());
	settle();
	look();

	return {
		/** It was saved, or left: nothing is to be kept any more. */
		done() {
			closed = true;
			forget(form_id());
			remove({ key });
		},
		/** The page is left after an answer (then it was sent), or is another form from here on: the next page, or that form, has the text. */
		close(sent) {
			isSent = sent;
			save();
		},
		/** These values were saved: what differs from them is the next change. */
		rebase(values) {
			forget(form_id());
			remove({ key });
			if (shown === "back") shown = "";
			const rest = structuredClone(values);
			for (const field of fields(form)) saved.set(field, rest[field.name].shift());
			save();
		},
		/** A save is in flight: no draft is offered meanwhile. */
		wait: (isSaving) => box && (box.hidden = isSaving || !shown),
		drop() {
			save();
			closed = true;
			dropAll(form_id());
		},
	};
}
