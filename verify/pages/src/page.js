// What a person sees: run in the page, with the selectors of what can be pressed, and of the fields.
const [selectors, names] = arguments;
const isSeen = (element) => element.checkVisibility({ visibilityProperty: true });
const main = document.querySelector("main");
const form = document.querySelector("form[data-tenure-form]");
const open = form && /^(shipping|edit)$/.test(form.id) ? form : null;
const fields = open ? names.map((name) => open.querySelector(name)).filter((field) => field && isSeen(field)) : [];
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
	writable: fields.length > 0 && fields.every((field) => !field.readOnly),
	flash: document.querySelector(".flash")?.innerText ?? "",
	fields: fields.map((field) => field.value),
	text: [document.body?.innerText ?? "", ...typed.filter(isSeen).map((field) => field.value)].join("\n"),
	drafts: main ? stored().sort() : [],
	controls: selectors.flatMap((css, at) => ([...document.querySelectorAll(css)].some(isSeen) ? [at] : [])),
};
