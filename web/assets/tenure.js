// The scripts of pages with forms: form.js has what they share, text.js keeps the typed text, lease.js tracks the state of the form,
// save.js sends it, kept.js is about text whose form is gone; live.js shows what is new on a page, with or without a form.

import { WAIT_MS, bare, fields, go, hidden, isElsewhere, post } from "./form.js";
import { choices, count, followSent, linkDrafts, markDraft, showKept } from "./kept.js";
import { keepLease } from "./lease.js";
import { watch } from "./live.js";
import { saveFrom } from "./save.js";
import { erase, keepText, openOf, settle, store, typed } from "./text.js";

const all = (selector) => [...document.querySelectorAll(selector)];
const open = [];

/** It was not sent: the page stays, and says why. */
function stay(lease, answer) {
	const { textUnleft, textFreeSignedOut, textFailed } = lease.text;
	lease.goOn({ 0: textUnleft, 401: textFreeSignedOut }[answer.status] ?? answer.detail ?? textFailed, answer);
}

for (const form of all("form[data-tenure-form]")) {
	let lease;
	const text = keepText(form, {
		onWrite: () => lease?.begin(),
		onKeep: (isKept) => lease?.keeps(isKept),
		onSent: (answer) => (answer.next ? lease.leave(false, true) : stay(lease, answer)),
	});
	lease = keepLease(form, text.signedIn);
	open.push({ form, lease, text, save: saveFrom(form, lease, text) });
}

// Leaving without saving, or taking the others' changes: the draft is dropped, and can be restored for a while.
for (const way of open.length ? all("[data-tenure-drop]") : []) {
	const isForm = way.tagName === "FORM";
	way.addEventListener(isForm ? "submit" : "click", async (event) => {
		if (isElsewhere(event, way)) return;
		for (const { lease, save } of open) {
			save.stop();
			lease.leave(true);
		}
		if (!isForm) return open.forEach(({ text }) => text.drop());
		// Sent from a page that stays until there is an answer, as a save is.
		event.preventDefault();
		const body = () => new URLSearchParams(new FormData(way));
		const answer = await post(bare(open[0].form), bare(way).action, "next", body, AbortSignal.timeout(WAIT_MS));
		const stays = (answer) => open.forEach(({ lease }) => stay(lease, answer));
		if (!answer.next) return stays(answer);
		for (const { text } of open) text.drop();
		go(answer.next, () => stays({ detail: "" }));
	});
}

// A form without drafts: the browser asks before typed text is lost. What is typed while it is sent goes into the page that answers.
for (const form of all("form[data-tenure-asks]")) {
	let sent;
	const kept = `tenure newer ${hidden(form, "person")}`; // What this person typed while it was sent, by the ids of the fields.
	const texts = () => fields(form).map(({ id, value }) => [id, value]);
	const newer = () => texts().filter(([id, value]) => id && value !== sent[id]);
	addEventListener("submit", ({ target }) => target === form && (sent = Object.fromEntries(texts())));
	addEventListener("beforeunload", (event) => (sent ? newer().length : typed(bare(form))) && event.preventDefault());
	addEventListener("pagehide", () => sent && store(() => (sessionStorage[kept] = JSON.stringify(newer()))));
	addEventListener("pageshow", () => (sent = null));
	for (const [id, value] of store(() => JSON.parse(sessionStorage[kept])) ?? []) {
		const field = document.getElementById(id);
		if (field?.form === form) field.value = value;
	}
	store(() => sessionStorage.removeItem(kept));
}

for (const page of all("[data-now]:not([data-tenure-form])")) watch(page);
for (const box of all("[data-tenure-kept]")) showKept(box);
for (const place of all("[data-tenure-draft-of]")) markDraft(place);
for (const place of all("[data-tenure-sent]")) followSent(place);
for (const link of all("[data-tenure-drafts]")) linkDrafts(link);
for (const field of all("[data-tenure-count]")) count(field);
for (const box of all("[data-tenure-choices]")) choices(box);
const person = document.querySelector("[data-person]")?.dataset.person;
if (person) addEventListener("pageshow", () => settle(person));

// Signing out erases the drafts when the page is left, and says so before: a person who stays has lost nothing.
let leaving;
for (const form of all("form[data-tenure-erase]"))
	form.addEventListener("submit", (event) => {
		const { textErases, person } = form.dataset;
		if (textErases && openOf(person).length && !confirm(textErases)) return event.preventDefault();
		leaving = { person };
		// What is open here ends with the session: the server releases it, because a beacon comes too late for that.
		for (const { value } of all("form[data-tenure-form] input[name=lid]"))
			form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "lid", value }));
		if (textErases) for (const { lease } of open) lease.leave(true);
	});
addEventListener("input", () => (leaving = null));
addEventListener("pagehide", () => leaving && erase(leaving.person));
