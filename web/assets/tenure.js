// The scripts of pages with forms: text.js keeps the typed text, lease.js tracks the state of the form, save.js sends it.

import { keepLease } from "./lease.js";
import { saveFrom } from "./save.js";
import { drop, erase, forget, keepText } from "./text.js";

const all = (selector) => [...document.querySelectorAll(selector)];

for (const form of all("form[data-tenure-form]")) {
	let lease;
	const formId = () => form.elements.form_id.value;
	// A page about a form without its text in fields: it is about the drafts of that form.
	const text = form.dataset.restore
		? keepText(form, () => lease?.begin())
		: { done: () => forget(formId()), drop: () => drop(formId()), close() {} };
	lease = keepLease(form);
	saveFrom(form, lease, text);
	// Leaving without saving, or taking the others' changes: the draft is dropped, and can be restored for a while.
	for (const way of all("[data-tenure-drop]"))
		way.addEventListener(way.tagName === "FORM" ? "submit" : "click", () => {
			lease.leave();
			text.drop();
		});
}

// Signing out erases the drafts when the page is left: a person who stays, when the browser asks, has lost nothing.
let isLeaving = false;
for (const form of all("form[data-tenure-erase]")) form.addEventListener("submit", () => (isLeaving = true));
addEventListener("input", () => (isLeaving = false));
addEventListener("pagehide", () => isLeaving && erase());
