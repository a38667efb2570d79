// Sends a form without leaving the page until there is an answer with the next address. Without a connection, or with a busy
// server, everything is kept and retried. Sending the same form twice saves once: the server recognises its form_id.
//
// Typing goes on meanwhile. If the fields differ from what was sent when it was saved, the page stays, as a new form on the new version.

import { WAIT_MS, adopt, bare, fields, go, hidden, isIn, near, pause, post, refresh, sentAs } from "./form.js";
import { RETRY_MS } from "./lease.js";
import { store, values } from "./text.js";

/** How the browser would send the form, or nothing if it does that itself: into a dialog, another window, an address. */
function way(form, submitter) {
	const of = (name) => {
		const own = `form${name[0].toUpperCase()}${name.slice(1)}`;
		return submitter?.hasAttribute(own) ? submitter[own] : form[name];
	};
	const isOurs = of("method") === "post" && /^(_self)?$/i.test(of("target")) && of("enctype") !== "text/plain";
	return isOurs && { url: of("action"), isMultipart: of("enctype") === "multipart/form-data" };
}

/** The body as the browser encodes it: a file as its name unless in parts; with the present token. */
function encoded(data, isMultipart, csrf, nth) {
	if (data.has("csrf")) data.set("csrf", csrf);
	data.set("nth", nth);
	if (isMultipart) return data;
	return new URLSearchParams(Array.from(data, (pair) => pair.map((value) => sentAs(value.name ?? value))));
}

const LEFT = "left";

export function saveFrom(element, lease, text) {
	const form = bare(element);
	const [check, stop] = ["check", "stop"].map((name) => near(form, name) ?? document.createElement("button"));
	let sending, isTyping, last, sentBefore = 0;

	/** Which text of this form the next one is, also after a reload: a request that is overtaken on its way must not replace a later one. */
	function count() {
		const key = `tenure sent ${hidden(form, "form_id")}`;
		sentBefore = 1 + Math.max(sentBefore, store(() => +sessionStorage[key]) || 0);
		store(() => (sessionStorage[key] = sentBefore));
		return sentBefore;
	}

	/** The outcome is not known yet: the person can ask now, or go on. */
	function wait(words) {
		lease.saving(words);
		check.hidden = stop.hidden = false;
	}

	/** Sends it until there is an answer; returns that, and what was sent; or whether it may have arrived, if it is stopped. */
	async function deliver(submitter, { url, isMultipart }, stopped) {
		let sent, data, nth, isUnknown;
		const saves = !submitter?.dataset.textSaving;
		const take = () => ([isTyping, sent, data, nth] = [false, values(form), new FormData(element, submitter), count()]);
		// A field that the page itself changes, such as a clock, is not typed.
		const isNewer = () => isTyping && JSON.stringify(values(form)) !== JSON.stringify(sent);
		take();
		for (let tries = 0; ; tries++) {
			const once = new AbortController();
			check.onclick = () => once.abort();
			// One that hangs is given up, and asked again.
			const signal = AbortSignal.any([once.signal, stopped, AbortSignal.timeout(2 * WAIT_MS)]);
			const slow = setTimeout(() => wait(saves ? lease.text.textUnknown : lease.text.textBusy), WAIT_MS);
			const isOnline = navigator.onLine;
			const answer = await post(form, url, "next", () => encoded(data, isMultipart, hidden(form, "csrf"), nth), signal);
			clearTimeout(slow);
			if (stopped.aborted) return { isUnknown: isUnknown || (saves && isOnline) };
			// What was typed meanwhile takes the place of what was refused.
			if (answer.next && !answer.done && isNewer()) take();
			else if (answer.status && !/^(429|502|503|504)$/.test(answer.status)) return { answer, sent, isNewer, isUnknown };
			else {
				// Without an answer it may have arrived all the same: only a request that was never sent is known not to.
				isUnknown ||= saves && (answer.status ? /50[24]/.test(answer.status) : isOnline);
				if (once.signal.aborted) continue;
				wait(isUnknown ? lease.text.textUnknown : answer.status ? lease.text.textBusy : lease.text.textUnsent);
				await pause(RETRY_MS[Math.min(tries, 3)], signal);
			}
			if (stopped.aborted) return { isUnknown };
		}
	}

	/** The page goes on. */
	function stay() {
		sending = null;
		const hadFocus = [check, stop].includes(document.activeElement);
		check.hidden = stop.hidden = true;
		if (hadFocus) (last ?? fields(form)[0])?.focus(); // The pressed button is gone.
		text.wait(false);
	}

	async function send(submitter, how) {
		const { signal } = (sending = new AbortController());
		text.wait(true);
		text.sending();
		lease.saving(submitter?.dataset.textSaving ?? lease.text.textSaving);
		const { answer, sent, isNewer, isUnknown } = await deliver(submitter, how, signal);
		const isNext = answer?.next && answer.done && isNewer();
		// Its page cannot become the next form: typed on, it stays the form that was saved, until the person goes on from there.
		const stays = isNext && !answer.version && answer.again;
		// From here on what is typed is the next change, also while the next page loads: that one offers it. What differs without having been
		// typed is no change.
		if (answer?.next && answer.done && !stays) text.rebase(isNext ? sent : values(form), answer.version);
		// Saved, and edited further. Without its new version the rest is a draft, which the next page offers.
		if (answer?.next && !stays && !(isNext && answer.version && (await refresh(form, ["csrf", "form_id", "lid"])))) {
			if (!answer.done) text.refused(true);
			lease.leave();
			return go(answer.next, () => {
				stay();
				lease.goOn(lease.text.textStopped);
			});
		}
		stay();
		if (isNext || isUnknown) text.unsay(); // What was refused before is saved, or may be.
		else text.refused();
		if (signal.reason === LEFT) return;
		if (stays) return lease.goOn(lease.text.textMore);
		const { textStopped, textFailed, textFreeSignedOut } = lease.text;
		const failed = answer?.status === 401 ? textFreeSignedOut : textFailed;
		// Who is not signed in any more learns nothing of the tries before.
		const isOpen = isUnknown && (!answer || answer.status === 401 || answer.code === "other-person");
		if (!isNext) return lease.goOn(isOpen ? textStopped : answer ? answer.detail || failed : "", answer);
		adopt(form, { version: answer.version });
		text.save();
		lease.restart();
	}

	stop.addEventListener("click", () => sending?.abort());
	addEventListener("input", ({ target }) => isIn(element, target) && ([isTyping, last] = [true, target]));
	// On the window: listeners of the application that cancel the submit run first.
	addEventListener("submit", (event) => {
		if (event.target !== element || event.defaultPrevented) return;
		const how = way(form, event.submitter);
		if (!how) return;
		event.preventDefault();
		if (!sending) send(event.submitter, how);
		else if (!check.hidden) check.click(); // It waits for an answer: now.
	});
	addEventListener("pageshow", (event) => {
		if (!event.persisted) return;
		sending?.abort();
		sending = null;
	});

	/** The form is left without saving: what waits for the connection is not sent any more. */
	return { stop: () => sending?.abort(LEFT) };
}
