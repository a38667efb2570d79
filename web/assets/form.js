// What the other scripts share: a form, its fields, and requests about it.

/**
 * A form whose fields may be named like its properties (`dataset`, `action`): a field hides the property of the element, so the
 * prototype is asked.
 */
export const bare = (form) =>
	new Proxy(form, {
		get(_, name) {
			const value = Reflect.get(HTMLFormElement.prototype, name, form);
			return typeof value === "function" ? value.bind(form) : value;
		},
		set: (_, name, value) => Reflect.set(HTMLFormElement.prototype, name, value, form),
	});

export const near = (box, part) =>
	box && (box.querySelector(`[data-tenure-${part}]`) ?? near(box.parentElement, part));

/** The fields with text of the person. A hidden field has some if it says so: a rich-text editor writes into it. */
export const fields = (form) =>
	[...form.elements].filter(
		({ name, type, dataset }) =>
			name && ("tenureText" in dataset || !/hidden|button|submit|reset|image|file|set|output|password/.test(type)),
	);

/** Whether an event is about this form: of one of its fields, or of an editor inside it. */
export const isIn = (form, target) => target.form === form || Node.prototype.contains.call(form, target);

/** Whether a link or a form leads to another tab, and leaves this page as it is. */
export const isElsewhere = (event, { target }) =>
	(target && target !== "_self") || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;

/** Runs it at once, and while it is called again and again, only twice a second: a key must not cost more in a longer text. */
export function spaced(run) {
	let timer, isDue;
	const go = () => {
		run();
		isDue = false;
		timer = setTimeout(() => ((timer = 0), isDue && go()), 500);
	};
	return () => (timer ? (isDue = true) : go());
}

/** The time of day, as the page writes it: `data-time-zone` and `data-hour-cycle` of the element with the text. */
export function clock(at, { timeZone, hourCycle = "h23" }) {
	const hour = hourCycle === "h23" ? "2-digit" : "numeric";
	return new Intl.DateTimeFormat(document.documentElement.lang || [], { hour, minute: "2-digit", hourCycle, timeZone }).format(at);
}

/** The value of a hidden field. */
export const hidden = (form, name) => form.elements.namedItem(name)?.value ?? "";

/** Changes hidden fields, also in the other forms of the page that had the same value: the one that leaves, the one that signs out. */
export function adopt(form, values) {
	for (const [name, value] of Object.entries(values)) {
		const before = hidden(form, name);
		for (const field of document.querySelectorAll("input[type=hidden]"))
			if (field.name === name && field.value === before) field.value = value;
	}
}

const { lang } = document.documentElement;

/** Of each request: its answer is in the language of this page, also if another one was chosen elsewhere since. */
export const HEADERS = { accept: "application/json", ...(lang && { "accept-language": lang }) };

/** A text as the browser sends it: lines end with CR LF. */
export const sentAs = (text) => text.replace(/\r\n?|\n/g, "\r\n");

export const WAIT_MS = 15000; // For an answer.

/** Until another try makes sense: after a while, when the connection is back, or when it is ended. */
export const pause = (ms, signal = globalThis) =>
	new Promise((go) => {
		setTimeout(go, ms);
		for (const [target, type] of [[globalThis, "online"], [signal, "abort"]]) target.addEventListener(type, go, { once: true });
	});

/**
 * Tells the server, if it has an address for that, also while the page is left: nobody hears the answer. Until it arrives: an error of a
 * server that fails is no answer.
 */
export async function tell(url, values) {
	const body = new URLSearchParams({ csrf: document.querySelector("[name=csrf]")?.value ?? "", ...values });
	const options = { method: "POST", keepalive: true, redirect: "manual", headers: HEADERS, body };
	const send = () => fetch(url, options).then(({ status }) => status < 500, () => false);
	while (url && !(await send())) await pause(5000);
}

/**
 * The answer, with its status. 0: none, or one of somebody between us and the server, which has no `part`. 401 also if a gateway's own
 * session has ended: it redirects to its sign-in page, or refuses with a page of its own.
 */
export async function request(url, part, options) {
	try {
		const response = await fetch(url, { redirect: "manual", headers: HEADERS, ...options });
		const answer = await response.json().catch(() => null);
		if (response.type === "opaqueredirect" || (!answer && /40[13]/.test(response.status))) return { status: 401 };
		return { ...answer, headers: response.headers, status: response.ok && !answer?.[part] ? 0 : response.status };
	} catch {
		return { status: 0 };
	}
}

/** Posts the body; once more, made again, with the token of the browser's new session, if the cookies were cleared. */
export async function post(form, url, part, body, signal) {
	const send = () => request(url, part, { method: "POST", body: body(), signal });
	const answer = await send();
	return answer.code === "csrf-failed" && (await refresh(form, ["csrf"])) ? send() : answer;
}

/**
 * Goes to an address as after a form: also to this page at another fragment, which alone would load nothing. `onStop` is called if its person
 * stops that while it loads, in a browser that says so: the page is still here then.
 */
export function go(next, onStop) {
	const to = new URL(next, document.baseURI);
	const isHere = to.hash && to.href.split("#")[0] === location.href.split("#")[0];
	if (isHere) history.replaceState(history.state, "", to); // A navigation, too, which nobody stops.
	globalThis.navigation?.addEventListener("navigate", ({ signal }) => signal.addEventListener("abort", onStop), { once: true });
	if (isHere) location.reload();
	else location.assign(to);
}

/** Requests new hidden fields of the server, and takes over those with these names. Returns whether it did. */
export async function refresh(form, names) {
	const { fresh, person } = form.dataset;
	if (!fresh) return false;
	const signal = AbortSignal.timeout(WAIT_MS);
	const { status, fields } = await request(`${fresh}?${new URLSearchParams({ person })}`, "fields", { signal });
	// An application whose forms have no token has none to give.
	const given = names.filter((name) => fields?.[name]).map((name) => [name, fields[name]]);
	if (status === 200) adopt(form, Object.fromEntries(given));
	return status === 200;
}
