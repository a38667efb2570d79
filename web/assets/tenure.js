// What pages with forms need: text.js keeps what was typed, lease.js says where the form stands, save.js sends it.

import { keepLease } from "./lease.js";
import { saveFrom } from "./save.js";
import { drop, erase, forget, keepText } from "./text.js";

const all = (selector) => [...document.querySelectorAll(selector)];

for (const form of all("form[data-tenure-form]")) {
	let lease;
	const formId = () => form.elements.form_id.value;
	// A page about a form has none of its text in fields: the drafts of that form are what it is about.
	const text = form.dataset.restore
		? keepText(form, () => lease?.begin())
		: { done: () => forget(formId()), drop: () => drop(formId()), close() {} };
	lease = keepLease(form);
	saveFrom(form, lease, text);
	// Leaving without saving, or taking what the others have: the text is dropped, and can be brought back for a while.
	for (const way of all("[data-tenure-drop]"))
		way.addEventListener(way.tagName === "FORM" ? "submit" : "click", () => {
			lease.leave();
			text.drop();
		});
}

// Signing out erases the drafts when the page is left: a person who stays, asked by the browser, has lost nothing.
let isLeaving = false;
for (const form of all("form[data-tenure-erase]")) form.addEventListener("submit", () => (isLeaving = true));
addEventListener("input", () => (isLeaving = false));
addEventListener("pagehide", () => isLeaving && erase());
