// Typed text whose form is gone, or about to be: drafts on the page of what was edited, the question of signing out, counters.

import { clock, hidden, request, spaced, tell } from "./form.js";
import { NEWS } from "./live.js";
import { SAVED, beginning, drop, hasMoreOf, isReturn, openOf, store, textsOf, words } from "./text.js";

/** The drafts of forms that cannot be opened any more, one after the other, to be read and copied. */
export function showKept(box) {
	const { person, forms, text: address, textAt, textCopied, textDiscarded } = box.dataset;
	const [status, text, copy, discard] = ["status", "text", "copy", "discard"].map((name) => box.querySelector(`[data-tenure-kept-${name}]`));
	let draft;

	function next() {
		draft = openOf(person).find(({ form }) => forms.split("|").includes(form));
		for (const part of [text, copy, discard]) part.hidden = !draft;
		if (!draft) return;
		box.hidden = false;
		status.textContent = textAt.replace("{time}", clock(draft.at, box.dataset));
		text.value = words(draft).join("\n");
	}

	copy.addEventListener("click", () => {
		text.select();
		// Pages over plain HTTP have no clipboard of their own.
		if (document.execCommand("copy")) status.textContent = textCopied;
	});
	discard.addEventListener("click", () => {
		drop(draft, address);
		next();
		if (draft) return;
		status.textContent = textDiscarded;
		status.tabIndex = -1;
		status.focus(); // The pressed button is gone.
	});
	addEventListener("storage", ({ key, newValue }) => {
		if (key !== draft?.key || newValue) return;
		next();
		box.hidden = !draft;
	});
	next();
}

/** The characters of a field, once the limit is near. The field takes more: a text that is too long is shortened, not cut. */
export function count(field) {
	const counter = field.closest(".field, label, form")?.querySelector("[data-tenure-counter]");
	const most = +field.dataset.tenureCount;
	const say = spaced(() => {
		const count = [...field.value].length;
		const numbers = { count, max: most, over: count - most };
		const words = count > most ? counter.dataset.textOver : counter.dataset.textCount;
		counter.hidden = count < most * 0.8;
		counter.toggleAttribute("data-tenure-over", count > most);
		counter.textContent = words.replace(/{(\w+)}/g, (_, name) => numbers[name].toLocaleString(document.documentElement.lang || []));
	});
	field.addEventListener("input", say);
	say();
}

/**
 * Says how many of a form's choices are still open. Without scripts, the page says how many there are. A page that is loaded again on the
 * same version has what was chosen before.
 */
export function choices(box) {
	const form = box.closest("form");
	const radios = [...form.querySelectorAll("input[type=radio]")];
	const chosen = `tenure chosen ${location.pathname} ${hidden(form, "version")}`;
	const before = isReturn && store(() => JSON.parse(sessionStorage[chosen]));
	if (before?.length === radios.length) radios.forEach((radio, at) => (radio.checked = before[at]));
	const names = new Set(Array.from(form.querySelectorAll("input[type=radio][required]"), ({ name }) => CSS.escape(name)));
	const show = () => {
		const left = [...names].filter((name) => !form.querySelector(`[name=${name}]:checked`)).length;
		const words = left ? box.dataset.textLeft : box.dataset.textDone;
		box.textContent = words.replace("{left}", left).replace("{all}", names.size);
		box.toggleAttribute("data-tenure-done", !left);
	};
	form.addEventListener("change", () => {
		show();
		store(() => (sessionStorage[chosen] = JSON.stringify(radios.map(({ checked }) => checked))));
	});
	show();
}

const about = ({ form }) => form.slice(form.indexOf(" ") + 1);

/** Now, and when another tab types, or saves. */
function follow(show) {
	show();
	for (const type of ["storage", "pageshow"]) addEventListener(type, show);
}

/** A place that is visible while there is a draft about this, and may say which. */
export function markDraft(place) {
	const { person, tenureDraftOf: of, textTyped } = place.dataset;
	const said = place.querySelector("[data-tenure-draft-said]");
	follow(() => {
		const form = (draft) => place.getAttribute(`data-form-${draft.form.split(" ")[0]}`);
		const draft = openOf(person).find((draft) => about(draft) === of && (!said || form(draft)));
		place.hidden = !draft;
		if (draft && said) said.textContent = textTyped.replace("{form}", () => form(draft)).replace("{text}", () => beginning(draft));
	});
}

/** Text that the server was sent and keeps: not shown any more once a draft has more of it, or it was saved or dropped elsewhere. */
export function followSent(place) {
	const { person, kept, question, text: address, textDropped } = place.dataset;
	const discard = place.querySelector("[data-tenure-sent-discard]");
	follow(() => (place.hidden ||= textsOf(person).some((draft) => hasMoreOf(draft, place.dataset))));
	const ask = async () => (place.hidden ||= Boolean((await request(question, "saved")).saved));
	addEventListener("storage", ({ key }) => key === SAVED && ask());
	addEventListener(NEWS, ask);
	discard?.addEventListener("click", async (event) => {
		event.preventDefault();
		const [form_id, beside] = ["form_id", "beside"].map((name) => hidden(place, name));
		await tell(address, { form_id, beside, kept });
		place.querySelector("[data-tenure-sent-text]").textContent = textDropped;
		// The pressed button is gone. Who types by now goes on there.
		if (document.activeElement === discard) place.querySelector("button").focus();
		discard.hidden = true;
	});
}

/** The link to all of them, which names them. */
export function linkDrafts(link) {
	const { person, tenureDrafts: name } = link.dataset;
	const rest = new URLSearchParams(link.search);
	follow(() => {
		const ids = [...new Set(openOf(person).map(about))].sort();
		const named = (all) => new URLSearchParams([...[...all].filter(([key]) => key !== name), ...ids.map((id) => [name, id])]);
		if (!link.ariaCurrent) return (link.search = named(rest));
		// The page that the link leads to: opened by its address, or while drafts come and go.
		const [here, there] = [new URLSearchParams(location.search), named(new URLSearchParams(location.search))];
		if (`${here}` !== `${there}`) location.replace(`?${there}`);
	});
}
