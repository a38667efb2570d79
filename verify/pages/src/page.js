// What a person sees: run in the page, with the selectors of what can be pressed, and of the fields.
const [selectors, names] = arguments;
const isSeen = (element) => element.checkVisibility({ visibilityProperty: true });
const main = document.querySelector("main");
const form = document.querySelector("form[data-tenure-form]");
const open = form && /^(shipping|edit|note)$/.test(form.id) ? form : null;
const fields = open ? names.map((name) => open.querySelector(name)).filter((field) => field && isSeen(field)) : [];
// The text of a place in which the differences to the text of before are marked.
const plain = (place) => {
	const copy = place.cloneNode(true);
	for (const part of copy.querySelectorAll("del, .unseen")) part.remove();
	return copy.textContent;
};
const marked = [...document.querySelectorAll(":is(p, td, label):has(> ins, > del, span > ins, span > del)")].filter(isSeen).map(plain);
// What the form of a comparison would send of the person's own text: not where the other side is chosen.
const rows = form?.id === "conflict" ? [...form.querySelectorAll(".meet, tr")] : [];
const mine = rows.filter((row) => !row.querySelector(".theirs input:checked")).map((row) => [...row.querySelectorAll(".own")].map(plain).join("\n"));
const ticks = [...(open?.querySelectorAll("[name^=remove-]") ?? [])];
const radios = rows.flatMap((row) => [...row.querySelectorAll("input[type=radio]")]);
const unsaved = [...document.querySelectorAll("[data-tenure-draft-of], [data-tenure-sent]")].filter(isSeen);
const typed = [...document.querySelectorAll("textarea, input:not([type=hidden], [type=radio], [type=checkbox])")];
// For the history only: what is stored is no promise, what is offered is.
const stored = () =>
	Object.keys(localStorage)
		.filter((key) => key.startsWith("tenure draft "))
		.map((key) => {
			const { form, person, version, typed, dropped } = JSON.parse(localStorage[key]);
			return `${form} of ${person} on ${version.split(".")[0]}${dropped ? " dropped" : ""}: ${Object.values(typed).flat().join(" ")}`;
		});
return {
	loaded: performance.timeOrigin,
	path: location.pathname,
	address: location.pathname + location.search,
	state: main?.dataset.state ?? "",
	form: form?.id ?? "",
	mode: form?.dataset.tenureState ?? "",
	complete: document.readyState === "complete",
	version: form?.elements.version?.value ?? "",
	present: fields.map((field) => names.findIndex((name) => field.matches(name))),
	writable: fields.length > 0 && fields.every((field) => !field.readOnly),
	flash: document.querySelector(".flash")?.innerText ?? "",
	isNote: /^note /.test(form?.dataset.tenureForm),
	removed: ticks.filter(({ checked }) => checked).length,
	lines: ticks.length,
	choices: radios.length / 2 - radios.filter(({ checked }) => checked).length,
	mine: mine.join("\n"),
	unsaved: unsaved.map(({ innerText }) => innerText).join("\n"),
	refused: unsaved.map((place) => place.querySelector("a")?.getAttribute("href")).find(Boolean) ?? "",
	fields: fields.map((field) => field.value),
	changed: fields.filter((field) => field.value !== (field.dataset.base ?? field.defaultValue)).map(({ value }) => value),
	text: [document.body?.innerText ?? "", ...marked, ...typed.filter(isSeen).map((field) => field.value)].join("\n"),
	drafts: main ? stored().sort() : [],
	controls: selectors.flatMap((css, at) => ([...document.querySelectorAll(css)].some(isSeen) ? [at] : [])),
};
