//! The actions of a person in a browser, and their observations.

use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs, thread};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use thirtyfour::error::WebDriverResult;
use thirtyfour::extensions::query::ElementQueryable;
use thirtyfour::{By, Key, WebDriver, WebElement};
use tokio::time::{Instant, sleep};

use crate::{EDIT, ORDER, PATIENCE};

/// A person with their own browser.
///
/// Elements are named by CSS selectors. A step that cannot be done panics, with the content of the page.
pub struct Person {
    web: WebDriver,
    base: String,
    // After the browser, which writes into it until it is closed.
    _profile: TempDir,
}

impl Person {
    pub(crate) fn new(web: WebDriver, base: String, profile: TempDir) -> Person {
        Person { web, base, _profile: profile }
    }

    /// Goes to a page of the shop.
    pub async fn goes_to(&self, path: &str) {
        self.done("goes to a page", self.web.goto(format!("{}{path}", self.base)).await).await;
    }

    /// Goes to a page of another application.
    pub async fn visits(&self, url: &str) {
        self.done("goes to a page", self.web.goto(url).await).await;
    }

    /// Opens this tab's address in another tab, as browsers duplicate one, and continues there.
    pub async fn duplicates_the_tab(&self) {
        let address: String = self.finds("location.href").await;
        self.opens_a_tab().await;
        self.done("goes to a page", self.web.goto(address).await).await;
    }

    /// Closes this tab, and continues in the first one.
    pub async fn closes_this_tab(&self) {
        self.done("closes the tab", self.web.close_window().await).await;
        let tabs = self.done("looks at its tabs", self.web.windows().await).await;
        self.done("goes to the first tab", self.web.switch_to_window(tabs[0].clone()).await).await;
    }

    /// Continues in the tab with this number, counted from 0.
    pub async fn turns_to_tab(&self, at: usize) {
        let tabs = self.done("looks at its tabs", self.web.windows().await).await;
        self.done("goes to the tab", self.web.switch_to_window(tabs[at].clone()).await).await;
    }

    /// Signs in, as the page of the demo accounts explains.
    pub async fn sign_in(&self, login: &str) {
        self.goes_to("/sign-in").await;
        self.types("#login", login).await;
        self.types("#password", shop::seed::DEMO_PASSWORD).await;
        self.clicks("main form .main").await;
        self.sees("main[data-state]:not([data-state=sign-in])").await;
    }

    /// Opens [`ORDER`] for editing, with the button on its page, and waits for the form.
    pub async fn edits_the_order(&self) {
        self.goes_to(&format!("/orders/{ORDER}")).await;
        self.clicks(EDIT).await;
        self.sees("main[data-state=OE-1] form[data-tenure-state=held]").await;
    }

    /// Sets this heartbeat interval for forms that are opened from now on, instead of a minute.
    pub async fn has_a_quick_heart(&self) {
        // The attribute is changed as soon as the form exists: before any module runs.
        let source = "new MutationObserver(() => document.querySelectorAll('[data-heartbeat-ms]')
            .forEach((form) => (form.dataset.heartbeatMs = 500))).observe(document, { childList: true, subtree: true })";
        self.runs_before_each_page(source).await;
    }

    /// Pages that are opened from now on run this before any script of theirs.
    pub async fn runs_before_each_page(&self, source: &str) {
        self.browser_is_told("Page.addScriptToEvaluateOnNewDocument", json!({ "source": source })).await;
    }

    /// Loses the connection, or restores it.
    pub async fn is_online(&self, online: bool) {
        let conditions = json!({ "offline": !online, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
        self.browser_is_told("Network.enable", json!({})).await;
        self.browser_is_told("Network.emulateNetworkConditions", conditions).await;
    }

    /// Blocks heartbeats, and nothing else; or unblocks them.
    pub async fn gets_heartbeats_through(&self, through: bool) {
        self.gets_nothing_from(if through { &[] } else { &["*/beat?*"] }).await;
    }

    /// Uses a screen of this size, in CSS pixels, with this many real pixels to each of them.
    pub async fn has_a_screen_of(&self, width: u32, height: u32, scale: u32) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": scale, "mobile": false });
        self.browser_is_told("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// Has a medium or a setting that the browser emulates: paper, forced colours.
    pub async fn emulates(&self, command: &str, parameters: Value) {
        self.browser_is_told(command, parameters).await;
    }

    /// Clicks on an element, as soon as it exists.
    pub async fn clicks(&self, css: &str) {
        let element = self.sees(css).await;
        self.done(&format!("clicks {css}"), element.click().await).await;
    }

    /// Clicks twice at the same place, as fast as a double click.
    pub async fn double_clicks(&self, css: &str) {
        let element = self.sees(css).await;
        let clicked = self.web.action_chain().double_click_element(&element).perform().await;
        self.done(&format!("double clicks {css}"), clicked).await;
    }

    /// Opens the menu with their name, if it is not open.
    pub async fn opens_the_menu(&self) {
        if !self.finds::<bool>("document.querySelector('#me').matches(':popover-open')").await {
            self.clicks("header .me").await;
        }
    }

    /// Presses *Sign out* in their menu.
    pub async fn signs_out(&self) {
        self.opens_the_menu().await;
        self.clicks("form[action='/sign-out'] button").await;
    }

    /// Replaces the content of a field.
    pub async fn types(&self, css: &str, text: &str) {
        let field = self.sees(css).await;
        let typed = async {
            field.clear().await?;
            field.send_keys(text).await
        };
        self.done(&format!("types into {css}"), typed.await).await;
    }

    /// Presses keys at the current focus.
    pub async fn presses(&self, keys: impl Into<thirtyfour::TypingData>) {
        let pressed = async { self.web.active_element().await?.send_keys(keys).await };
        self.done("presses keys", pressed.await).await;
    }

    /// Copies this text elsewhere and pastes it at the current focus, with the keyboard.
    pub async fn pastes(&self, text: &str) {
        let copied = format!(
            "((here, box) => (document.body.append(box), box.value = {}, box.select(), document.execCommand('copy'), box.remove(),
                here.focus()))(document.activeElement, document.createElement('textarea'))",
            quoted(text)
        );
        self.finds::<()>(&copied).await;
        let key = |kind: &str| json!({ "type": kind, "key": "v", "code": "KeyV", "windowsVirtualKeyCode": 86, "modifiers": 2, "commands": ["paste"] });
        self.browser_is_told("Input.dispatchKeyEvent", key("keyDown")).await;
        self.browser_is_told("Input.dispatchKeyEvent", key("keyUp")).await;
    }

    /// Composes this text at the current focus letter by letter, as an input method for Korean does.
    pub async fn composes(&self, text: &str) {
        for (at, _) in text.char_indices().skip(1).chain([(text.len(), ' ')]) {
            let end = text[..at].chars().count();
            let composed = json!({ "text": &text[..at], "selectionStart": end, "selectionEnd": end });
            self.browser_is_told("Input.imeSetComposition", composed).await;
        }
        self.browser_is_told("Input.insertText", json!({ "text": text })).await;
    }

    /// Answers the browser's question.
    pub async fn answers(&self, yes: bool) {
        let answered = if yes { self.web.accept_alert().await } else { self.web.dismiss_alert().await };
        self.done("answers the question", answered).await;
    }

    /// Presses Tab until the focus is on that element, as people without a mouse do.
    pub async fn tabs_to(&self, css: &str) {
        self.sees(css).await;
        let is_there = format!("document.activeElement.matches({})", quoted(css));
        for _ in 0..100 {
            self.presses(Key::Tab).await;
            if self.finds(&is_there).await {
                return;
            }
        }
        self.fails(&format!("never gets to {css} with the Tab key")).await;
    }

    /// Is no longer signed in, without having left the page.
    pub async fn loses_the_session(&self) {
        self.done("loses the session", self.web.delete_cookie("shop").await).await;
    }

    /// Clears the cookies of this browser, as its settings offer.
    pub async fn clears_all_cookies(&self) {
        self.done("clears the cookies", self.web.delete_all_cookies().await).await;
    }

    /// Signs in in another tab of the same browser, and returns to this one.
    pub async fn signs_in_in_another_tab(&self, login: &str) {
        let here = self.done("looks at its tabs", self.web.window().await).await;
        let there = self.done("opens a tab", self.web.new_tab().await).await;
        self.done("goes to the new tab", self.web.switch_to_window(there).await).await;
        self.sign_in(login).await;
        self.done("closes the tab", self.web.close_window().await).await;
        self.done("comes back", self.web.switch_to_window(here).await).await;
    }

    /// Opens another tab, and continues in it.
    pub async fn opens_a_tab(&self) {
        let there = self.done("opens a tab", self.web.new_tab().await).await;
        self.done("goes to the new tab", self.web.switch_to_window(there).await).await;
    }

    /// Closes this tab, and continues in a new one.
    pub async fn closes_this_tab_and_opens_another(&self) {
        let old = self.done("looks at its tabs", self.web.window().await).await;
        self.opens_a_tab().await;
        let new = self.done("looks at its tabs", self.web.window().await).await;
        self.done("goes to the first tab", self.web.switch_to_window(old).await).await;
        self.done("closes the tab", self.web.close_window().await).await;
        self.done("goes to the new tab", self.web.switch_to_window(new).await).await;
    }

    /// The page crashes, like a tab that runs out of memory, and is loaded again.
    pub async fn crashes_and_comes_back(&self) {
        let address: String = self.finds("location.href").await;
        self.opens_a_tab().await;
        let tabs = self.done("looks at its tabs", self.web.windows().await).await;
        self.done("goes to the first tab", self.web.switch_to_window(tabs[0].clone()).await).await;
        // The command has no response, because its page is gone.
        let tools = self.web.cdp();
        drop(tokio::time::timeout(Duration::from_secs(2), tools.send_raw("Page.crash", json!({}))).await);
        self.done("goes to the other tab", self.web.switch_to_window(tabs[1].clone()).await).await;
        self.done("opens the page again", self.web.goto(address).await).await;
    }

    /// Switches scripts off, or on again.
    pub async fn has_scripts(&self, has: bool) {
        self.browser_is_told("Emulation.setScriptExecutionDisabled", json!({ "value": !has })).await;
    }

    /// Requests with a matching address get no response, as on a broken line; an empty list ends that.
    pub async fn gets_nothing_from(&self, addresses: &[&str]) {
        self.browser_is_told("Network.enable", json!({})).await;
        self.browser_is_told("Network.setBlockedURLs", json!({ "urls": addresses })).await;
    }

    /// The number of drafts in this browser.
    pub async fn drafts(&self) -> usize {
        self.finds("Object.keys(localStorage).filter((key) => key.startsWith('tenure draft')).length").await
    }

    /// The path of the page.
    pub async fn path(&self) -> String {
        self.finds("location.pathname").await
    }

    /// Loads the page again.
    pub async fn reloads(&self) {
        self.done("reloads", self.web.refresh().await).await;
    }

    /// Goes one page back.
    pub async fn goes_back(&self) {
        self.done("goes back", self.web.back().await).await;
    }

    /// Goes one page forward.
    pub async fn goes_forward(&self) {
        self.done("goes forward", self.web.forward().await).await;
    }

    /// Switches to another tab for a moment, and returns to this one.
    pub async fn looks_away_and_back(&self) {
        let looked = self.web.in_new_tab(|| async { Ok(()) }).await;
        self.done("looks at another tab", looked).await;
    }

    /// Does something that leaves the page, and returns whether the browser asked first. (WebDriver accepts
    /// that question by itself.)
    pub async fn is_asked_before(&self, leaving: impl Future<Output = ()>) -> bool {
        let note =
            "(addEventListener('beforeunload', (event) => (sessionStorage.asked = event.defaultPrevented)), null)";
        self.finds::<()>(note).await;
        leaving.await;
        self.waits_until("sessionStorage.asked").await;
        self.finds("[sessionStorage.asked === 'true', delete sessionStorage.asked][0]").await
    }

    /// Waits until an element is visible.
    pub async fn sees(&self, css: &str) -> WebElement {
        let end = Instant::now() + PATIENCE;
        loop {
            let query = self.web.query(By::Css(css)).wait(PATIENCE, Duration::from_millis(20));
            match query.and_displayed().first().await {
                // The page has changed meanwhile.
                Err(error)
                    if ["stale", "does not belong to the document"]
                        .iter()
                        .any(|said| error.to_string().contains(said))
                        && Instant::now() < end => {}
                found => return self.done(&format!("looks for {css}"), found).await,
            }
        }
    }

    /// Waits until this JavaScript expression is true on the page.
    pub async fn waits_until(&self, expression: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.finds::<bool>(&format!("Boolean({expression})")).await {
            if Instant::now() > end {
                self.fails(&format!("waited in vain for {expression}")).await;
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until the status line of the form says this.
    pub async fn sees_status(&self, words: &str) {
        let said = "document.querySelector('[data-tenure-status]')?.textContent";
        self.waits_until(&format!("{said}.includes({})", quoted(words))).await;
    }

    /// The value of a JavaScript expression on this page.
    pub async fn finds<T: DeserializeOwned>(&self, expression: &str) -> T {
        let found = async { self.web.execute(format!("return {expression}"), Vec::new()).await?.convert::<T>() };
        self.done(&format!("looks at {expression}"), found.await).await
    }

    /// The displayed text of an element.
    pub async fn reads(&self, css: &str) -> String {
        let element = self.sees(css).await;
        self.done(&format!("reads {css}"), element.text().await).await
    }

    /// The value of a field.
    pub async fn value(&self, css: &str) -> String {
        self.finds(&format!("document.querySelector({}).value", quoted(css))).await
    }

    /// Takes a screenshot, if screenshots are enabled.
    pub async fn photo(&self, name: &str) {
        let Some(directory) = env::var_os("TENURE_SCREENSHOTS").map(PathBuf::from) else { return };
        // A failed screenshot is no reason to fail; the next step may contain more information.
        let Ok(png) = self.web.screenshot_as_png().await else { return };
        fs::create_dir_all(&directory).expect("the directory for pictures");
        fs::write(directory.join(format!("{name}.png")), png).expect("a picture is written");
    }

    /// The errors in the browser's log: failed scripts, and violations of the page's content policy. Responses with an error status are
    /// left out, because many stories are about refusals.
    pub async fn complaints(&self) -> Vec<String> {
        let log = self.done("reads the browser's log", self.web.browser_log().await).await;
        let severe = log.into_iter().filter(|entry| entry.level == "SEVERE").map(|entry| entry.message);
        severe.filter(|message| !message.contains("Failed to load resource")).collect()
    }

    pub(crate) async fn browser_is_told(&self, command: &str, parameters: Value) {
        self.done(command, self.web.cdp().send_raw(command, parameters).await).await;
    }

    async fn done<T>(&self, what: &str, result: WebDriverResult<T>) -> T {
        match result {
            Ok(value) => value,
            Err(error) => self.fails_with(what, error).await,
        }
    }

    async fn fails(&self, what: &str) {
        self.fails_with(what, "it did not happen").await
    }

    async fn fails_with(&self, what: &str, why: impl Display) -> ! {
        // The thread has the name of the test.
        let story = thread::current().name().unwrap_or_default().replace("::", "-");
        self.photo(&format!("failed-{story}")).await;
        let address = self.web.current_url().await.map(|url| url.to_string()).unwrap_or_default();
        let page = self.web.execute("return document.body.innerText", Vec::new()).await;
        let page = page.and_then(|text| text.convert::<String>()).unwrap_or_default();
        panic!("{what}: {why}\n--- {address}\n{page}\n---");
    }
}

/// As a JavaScript string.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
