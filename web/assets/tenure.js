// What pages with forms need: text.js keeps what was typed, lease.js says where the form stands, save.js sends it.

import { keepLease } from "./lease.js";
import { saveFrom } from "./save.js";
import { drop, erase, keepText } from "./text.js";

const all = (selector) => [...document.querySelectorAll(selector)];

for (const form of all("form[data-tenure-form]")) {
	let lease;
	const text = form.dataset.restore && keepText(form, () => lease?.begin());
	lease = keepLease(form);
	saveFrom(form, lease, text);
	// Leaving without saving, or taking what the others have: the text is dropped, and can be brought back for a while.
	for (const way of all("[data-tenure-drop]"))
		way.addEventListener(way.tagName === "FORM" ? "submit" : "click", () => {
			lease.leave();
			if (text) text.drop();
			else drop(form.elements.form_id.value);
		});
}

for (const form of all("form[data-tenure-erase]")) form.addEventListener("submit", erase);
