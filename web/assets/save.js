// Sends a form without leaving the page until there is an answer with the next address. Without a connection, or with a busy
// server, everything is kept and retried. Sending the same form twice saves once: the server recognises its form_id.

import { RETRY_MS, WAIT_MS } from "./lease.js";
import { near } from "./text.js";

export function saveFrom(form, lease, text) {
	const part = (name) => near(form, name) ?? document.createElement("button");
	const [check, stop] = ["check", "stop"].map(part);
	let sending;

	async function post(url, body, signal) {
		try {
			const response = await fetch(url, { method: "POST", body, signal, headers: { accept: "application/json" } });
			const answer = await response.json().catch(() => ({}));
			return { ...answer, status: response.status };
		} catch {
			return { status: 0 };
		}
	}

	/** Until another try makes sense: after a while, when the connection is back, or when the person asks for it. */
	const pause = (tries, signal) =>
		new Promise((go) => {
			const limit = setTimeout(go, RETRY_MS[Math.min(tries, 3)]);
			for (const [target, type] of [[globalThis, "online"], [check, "click"], [signal, "abort"]])
				target.addEventListener(type, () => (clearTimeout(limit), go()), { once: true });
		});

	async function send(submitter) {
		const body = new URLSearchParams(new FormData(form, submitter));
		const url = submitter?.getAttribute("formaction") ?? form.getAttribute("action");
		const label = submitter?.textContent;
		const all = (sending = new AbortController());
		lease.pause();
		lease.say(lease.text.textSaving);
		if (submitter) submitter.textContent = lease.text.textSaving;
		let said, code;
		for (let tries = 0; !all.signal.aborted; tries++) {
			const once = new AbortController();
			const again = () => once.abort();
			for (const [target, type] of [[check, "click"], [all.signal, "abort"]]) target.addEventListener(type, again, { once: true });
			// The outcome is unknown: it may be saved, or in flight. Keep waiting for the answer.
			const slow = setTimeout(() => (lease.say(lease.text.textUnknown), (check.hidden = stop.hidden = false)), WAIT_MS);
			const answer = await post(url, body, once.signal);
			clearTimeout(slow);
			if (all.signal.aborted) break;
			if (answer.next) {
				lease.leave();
				if (answer.done) text.done();
				else text.close();
				return location.assign(answer.next);
			}
			// A refusal that a retry would not change. The text stays.
			if (answer.status && !/^(429|502|503|504)$/.test(answer.status)) {
				said = answer.detail || lease.text.textFailed;
				code = answer.status;
				break;
			}
			lease.say(answer.status ? lease.text.textBusy : lease.text.textUnsent);
			check.hidden = stop.hidden = false;
			await pause(tries, all.signal);
		}
		sending = null;
		check.hidden = stop.hidden = true;
		if (submitter) submitter.textContent = label;
		lease.goOn(said ?? lease.text.textStopped, code);
	}

	stop.addEventListener("click", () => sending?.abort());
	// On the window: listeners of the application that cancel the submit run first.
	addEventListener("submit", (event) => {
		if (event.target !== form || event.defaultPrevented) return;
		event.preventDefault();
		if (!sending) send(event.submitter);
	});
	addEventListener("pageshow", (event) => {
		if (!event.persisted) return;
		sending?.abort();
		sending = null;
	});
}
