// The scripts of pages with forms: form.js has what they share, text.js keeps the typed text, lease.js tracks the state of the form,
// save.js sends it.

import { bare, hidden } from "./form.js";
import { keepLease } from "./lease.js";
import { saveFrom } from "./save.js";
import { begin, drop, erase, forget, keepText } from "./text.js";

const all = (selector) => [...document.querySelectorAll(selector)];

for (const element of all("form[data-tenure-form]")) {
	let lease;
	const form = bare(element);
	const id = () => hidden(form, "form_id");
	begin(form);
	// A page about a form without its text in fields: it is about the drafts of that form.
	const text = form.dataset.restore
		? keepText(element, () => lease?.begin())
		: { done: () => forget(id()), rebase: () => forget(id()), drop: () => drop(id()), close() {}, wait() {} };
	lease = keepLease(element);
	saveFrom(element, lease, text);
	// Leaving without saving, or taking the others' changes: the draft is dropped, and can be restored for a while.
	for (const way of all("[data-tenure-drop]"))
		way.addEventListener(way.tagName === "FORM" ? "submit" : "click", (event) => {
			// A link that is opened in another tab leaves nothing.
			if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
			lease.leave(true);
			text.drop();
		});
}

// Signing out erases the drafts when the page is left: a person who stays, when the browser asks, has lost nothing.
let isLeaving = false;
for (const form of all("form[data-tenure-erase]")) form.addEventListener("submit", () => (isLeaving = true));
addEventListener("input", () => (isLeaving = false));
addEventListener("pagehide", () => isLeaving && erase());
