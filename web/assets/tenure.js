// The scripts of pages with forms: form.js has what they share, text.js keeps the typed text, lease.js tracks the state of the form,
// save.js sends it, kept.js is about text whose form is gone.

import { count, showKept } from "./kept.js";
import { keepLease } from "./lease.js";
import { saveFrom } from "./save.js";
import { draftsOf, erase, keepText } from "./text.js";

const all = (selector) => [...document.querySelectorAll(selector)];
const leases = [];

for (const form of all("form[data-tenure-form]")) {
	let lease;
	const text = keepText(form, () => lease?.begin());
	leases.push((lease = keepLease(form)));
	saveFrom(form, lease, text);
	// Leaving without saving, or taking the others' changes: the draft is dropped, and can be restored for a while.
	for (const way of all("[data-tenure-drop]"))
		way.addEventListener(way.tagName === "FORM" ? "submit" : "click", (event) => {
			// A link that is opened in another tab leaves nothing.
			const isElsewhere = way.target && way.target !== "_self";
			if (isElsewhere || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
			lease.leave(true);
			text.drop();
		});
}

for (const box of all("[data-tenure-kept]")) showKept(box);
for (const field of all("[data-tenure-count]")) count(field);

// Signing out erases the drafts when the page is left, and says so before: a person who stays has lost nothing.
let leaving;
for (const form of all("form[data-tenure-erase]"))
	form.addEventListener("submit", (event) => {
		const { textErases, person } = form.dataset;
		if (textErases && draftsOf(person).some(({ dropped }) => !dropped) && !confirm(textErases)) return event.preventDefault();
		leaving = { person };
		// What is open here ends with the session: the server releases it, because a beacon comes too late for that.
		for (const { value } of all("form[data-tenure-form] input[name=lid]"))
			form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "lid", value }));
		if (textErases) for (const lease of leases) lease.leave(true);
	});
addEventListener("input", () => (leaving = null));
addEventListener("pagehide", () => leaving && erase(leaving.person));
