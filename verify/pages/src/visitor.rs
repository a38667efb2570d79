//! A browser that may fail at any time: every step returns whether it could be done, within a limit.

use std::fs;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use thirtyfour::{By, WebDriver, WindowHandle};
use tokio::time::{sleep, timeout};

use super::Result;
use super::gesture::Side;
use super::marker::Field;
use super::page::{Control, Page};
use browser::Driver;

/// The longest step. Pages are given up earlier.
const STEP: Duration = Duration::from_secs(12);
/// How long a page may load.
const LOAD: Duration = Duration::from_secs(6);

/// A browser with its tabs, and the person who is signed in.
pub(super) struct Visitor {
    /// The number of the browser.
    pub(super) browser: usize,
    pub(super) person: String,
    base: String,
    web: Option<WebDriver>,
    tabs: Vec<WindowHandle>,
    tab: usize,
    has_memory: bool,
    driver: Driver,
    // Last, because the browser writes into it until it is closed.
    profile: TempDir,
}

impl Visitor {
    /// A new browser; `has_memory` as for [`Driver::browser`].
    pub(super) async fn new(browser: usize, person: &str, base: String, has_memory: bool) -> Result<Self> {
        let (driver, profile) = (Driver::start(), tempfile::tempdir()?);
        let mut visitor = Visitor {
            browser,
            person: person.to_owned(),
            base,
            web: None,
            tabs: Vec::new(),
            tab: 0,
            has_memory,
            driver,
            profile,
        };
        visitor.starts().await?;
        Ok(visitor)
    }

    /// Starts the browser with its profile.
    async fn starts(&mut self) -> Result<()> {
        let web = self.driver.browser(self.profile.path(), "en", self.has_memory).await;
        web.set_page_load_timeout(LOAD).await?;
        web.set_script_timeout(LOAD).await?;
        self.tabs = vec![web.window().await?];
        (self.tab, self.web) = (0, Some(web));
        Ok(())
    }

    fn web(&self) -> Result<&WebDriver> {
        self.web.as_ref().ok_or_else(|| "the browser is closed".into())
    }

    /// What is on the page.
    pub(super) async fn looks(&self) -> Result<Page> {
        let (script, arguments) = Page::script();
        let found = within(async { Ok(self.web()?.execute(script, arguments).await?.json().clone()) }).await?;
        Ok(Page::read(found)?)
    }

    pub(super) async fn goes_to(&self, path: &str) -> Result<()> {
        within(async { Ok(self.web()?.goto(format!("{}{path}", self.base)).await?) }).await
    }

    /// Leaves the shop in this tab.
    pub(super) async fn goes_away(&self) -> Result<()> {
        within(async { Ok(self.web()?.goto("about:blank").await?) }).await
    }

    pub(super) async fn reloads(&self) -> Result<()> {
        within(async { Ok(self.web()?.refresh().await?) }).await
    }

    pub(super) async fn goes_back(&self) -> Result<()> {
        within(async { Ok(self.web()?.back().await?) }).await
    }

    pub(super) async fn goes_forward(&self) -> Result<()> {
        within(async { Ok(self.web()?.forward().await?) }).await
    }

    /// Presses what can be pressed now.
    pub(super) async fn presses(&self, control: Control) -> Result<()> {
        self.clicks(control.css()).await
    }

    /// Presses it twice, faster than the first press can be answered.
    pub(super) async fn presses_twice(&self, control: Control) -> Result<()> {
        let script = "const [css] = arguments;
            const button = [...document.querySelectorAll(css)].find((button) => button.checkVisibility());
            button.click(); button.click();";
        let pressed =
            async { self.web()?.execute(script, vec![json!(control.css())]).await.map(drop).map_err(Into::into) };
        within(pressed).await
    }

    async fn clicks(&self, css: &str) -> Result<()> {
        within(async {
            for element in self.web()?.find_all(By::Css(css)).await? {
                if element.is_displayed().await? {
                    return Ok(element.click().await?);
                }
            }
            Err(format!("there is no {css}").into())
        })
        .await
    }

    /// Replaces the content of a field.
    pub(super) async fn types(&self, field: Field, text: &str) -> Result<()> {
        if field == Field::Product {
            let is_new = !text.is_empty();
            self.types_into("input[name=new-price]", if is_new { "1000" } else { "" }).await?;
            self.types_into("input[name=new-quantity]", if is_new { "1" } else { "" }).await?;
        }
        self.types_into(field.css(), text).await
    }

    async fn types_into(&self, css: &str, text: &str) -> Result<()> {
        within(async {
            let field = self.web()?.find(By::Css(css)).await?;
            field.clear().await?;
            Ok(field.send_keys(text).await?)
        })
        .await
    }

    /// Types what the field had when the page was rendered without text of the person.
    pub(super) async fn takes_back(&self, field: Field) -> Result<()> {
        let script =
            "const field = document.querySelector(arguments[0]); return field.dataset.base ?? field.defaultValue;";
        let before = within(async { Ok(self.web()?.execute(script, vec![json!(field.css())]).await?.convert()?) });
        let before: String = before.await?;
        self.types(field, &before).await
    }

    /// Marks the first product as removed, or none.
    pub(super) async fn removes(&self, removes: bool) -> Result<()> {
        let script = "const [css] = arguments; for (const tick of document.querySelectorAll(css)) tick.click();";
        let css = if removes { "#edit li:first-child [name^=remove-]" } else { "#edit [name^=remove-]:checked" };
        within(async { Ok(self.web()?.execute(script, vec![json!(css)]).await.map(drop)?) }).await
    }

    /// Chooses this side for each field of a comparison that is still open.
    pub(super) async fn chooses(&self, side: Side) -> Result<()> {
        let css = match side {
            Side::Mine => ".own input[type=radio]",
            Side::Theirs => ".theirs input[type=radio]",
        };
        let script = "for (const radio of document.querySelectorAll(arguments[0]))
            if (!radio.closest('.meet').querySelector(':checked')) radio.click();";
        within(async { Ok(self.web()?.execute(script, vec![json!(css)]).await.map(drop)?) }).await
    }

    /// The next save of this page arrives, and its answer is lost.
    pub(super) async fn loses_the_next_answer(&self) -> Result<()> {
        let script = "const send = fetch;
            window.fetch = (url, options) => {
                if (options?.method !== 'POST' || /(beat|text|left|release)(\\?|$)/.test(url)) return send(url, options);
                window.fetch = send;
                return send(url, options).then(() => { throw new TypeError(); });
            };";
        within(async { Ok(self.web()?.execute(script, Vec::new()).await.map(drop)?) }).await
    }

    /// Presses the link to the same page in the other language.
    pub(super) async fn switches_the_language(&self) -> Result<()> {
        let script = "document.querySelector('a[hreflang], form button.language').click();";
        within(async { Ok(self.web()?.execute(script, Vec::new()).await.map(drop)?) }).await
    }

    /// Signs in. The session of the person before ends without signing out, as when it has expired.
    pub(super) async fn signs_in(&mut self, person: &str) -> Result<()> {
        within(async {
            let web = self.web()?;
            let _ = web.delete_cookie("shop").await;
            web.goto(format!("{}/sign-in", self.base)).await?;
            web.find(By::Css("#login")).await?.send_keys(person).await?;
            web.find(By::Css("#password")).await?.send_keys(shop::seed::DEMO_PASSWORD).await?;
            Ok(web.find(By::Css("main form .main")).await?.click().await?)
        })
        .await?;
        let page = self.looks().await?;
        if page.path == "/sign-in" || page.is_error() {
            return Err(format!("{person} could not sign in: {}", page.text).into());
        }
        person.clone_into(&mut self.person);
        Ok(())
    }

    /// Signs out with the button of the page.
    pub(super) async fn signs_out(&self) -> Result<()> {
        self.clicks("form[action='/sign-out'] button").await
    }

    pub(super) fn tabs(&self) -> usize {
        self.tabs.len()
    }

    /// Opens another tab, and goes on in it.
    pub(super) async fn opens_a_tab(&mut self) -> Result<()> {
        let tab = within(async {
            let web = self.web()?;
            let tab = web.new_tab().await?;
            web.switch_to_window(tab.clone()).await?;
            Ok(tab)
        })
        .await?;
        self.tabs.push(tab);
        self.tab = self.tabs.len() - 1;
        Ok(())
    }

    /// Goes on in another tab.
    pub(super) async fn goes_to_tab(&mut self, tab: usize) -> Result<()> {
        let handle = self.tabs.get(tab).ok_or("there is no such tab")?.clone();
        within(async { Ok(self.web()?.switch_to_window(handle).await?) }).await?;
        self.tab = tab;
        Ok(())
    }

    pub(super) async fn goes_to_the_other_tab(&mut self) -> Result<()> {
        self.goes_to_tab((self.tab + 1) % self.tabs.len()).await
    }

    /// Opens a new tab, and closes this one.
    pub(super) async fn closes_this_tab(&mut self) -> Result<()> {
        let old = self.tab;
        self.opens_a_tab().await?;
        self.goes_to_tab(old).await?;
        within(async { Ok(self.web()?.close_window().await?) }).await?;
        self.tabs.remove(old);
        self.goes_to_tab(self.tabs.len() - 1).await
    }

    /// Closes all tabs but this one.
    pub(super) async fn closes_other_tabs(&mut self) -> Result<()> {
        let here = self.tabs.get(self.tab).ok_or("there is no such tab")?.clone();
        for other in self.tabs.iter().filter(|tab| **tab != here) {
            within(async {
                self.web()?.switch_to_window(other.clone()).await?;
                Ok(self.web()?.close_window().await?)
            })
            .await?;
        }
        self.tabs = vec![here];
        self.goes_to_tab(0).await
    }

    /// This tab crashes; the person goes on in a new one.
    pub(super) async fn crashes(&mut self) -> Result<()> {
        let old = self.tab;
        self.opens_a_tab().await?;
        self.goes_to_tab(old).await?;
        // The command has no response, because its page is gone.
        let tools = self.web()?.cdp();
        drop(timeout(Duration::from_secs(1), tools.send_raw("Page.crash", json!({}))).await);
        self.tabs.remove(old);
        self.goes_to_tab(self.tabs.len() - 1).await
    }

    /// Loses the connection of this tab, or restores it.
    pub(super) async fn is_online(&self, online: bool) -> Result<()> {
        let conditions = json!({ "offline": !online, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
        within(async {
            let tools = self.web()?.cdp();
            tools.send_raw("Network.enable", json!({})).await?;
            tools.send_raw("Network.emulateNetworkConditions", conditions).await.map(drop).map_err(Into::into)
        })
        .await
    }

    /// Deletes the draft of this page when it is left, after its own script has stored it: so that the form offers the next one.
    /// The drafts of other forms that were open in this tab stay.
    pub(super) async fn forgets_the_draft(&self) -> Result<()> {
        let script = "const form = document.querySelector('form[data-tenure-form]')?.dataset.tenureForm;
            const forget = () => localStorage.removeItem(sessionStorage[`tenure page ${form}`]);
            addEventListener('pagehide', forget);
            document.addEventListener('visibilitychange', forget);";
        within(async { Ok(self.web()?.execute(script, Vec::new()).await.map(drop)?) }).await
    }

    /// All processes of the browser stand still for this long.
    pub(super) async fn sleeps(&self, time: Duration) -> Result<()> {
        let id = self.process()?;
        testkit::stop_tree(id);
        sleep(time).await;
        testkit::continue_tree(id);
        Ok(())
    }

    /// All processes of the browser are killed.
    pub(super) fn dies(&mut self) -> Result<()> {
        // There is no session to end any more.
        if let Some(web) = self.web.take() {
            let _ = web.leak();
        }
        testkit::kill_tree(self.process()?);
        Ok(())
    }

    /// Starts the browser again after it was killed, with the same profile, and signs in.
    pub(super) async fn comes_back_to_life(&mut self) -> Result<()> {
        self.starts().await
    }

    pub(super) async fn leaves(mut self) {
        if let Some(web) = self.web.take() {
            let _ = timeout(STEP, web.quit()).await;
        }
    }

    /// The first process of the browser: the one with this profile that is no helper of another one.
    fn process(&self) -> Result<u32> {
        let profile = format!("--user-data-dir={}", self.profile.path().display());
        let is_it = |line: &str| line.split('\0').any(|word| word == profile) && !line.contains("--type=");
        let ids = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let mut found = ids.filter(|id| {
            fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| is_it(&String::from_utf8_lossy(&line)))
        });
        found.next().ok_or_else(|| "the browser has no process".into())
    }
}

/// A step, within its limit.
async fn within<T>(step: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(STEP, step).await.map_err(|_| "a step took too long")?
}

/// Whether a failed step means that the browser itself is gone.
pub(super) fn is_gone(error: &(dyn std::error::Error + 'static)) -> bool {
    let text = error.to_string().to_lowercase();
    ["invalid session", "disconnected", "not reachable", "no such window", "browser is closed", "tab crashed"]
        .iter()
        .any(|sign| text.contains(sign))
}
