//! The log of sign-ins. A separate program, because the log is configured once for all threads of a process.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "stories/support.rs"]
mod support;

use std::io::Write;
use std::sync::{Arc, Mutex};

use shop::Settings;
use support::{Browser, Form, Page, Server};
use tracing_subscriber::fmt::MakeWriter;

/// Sends the form from this address, by the header of a proxy.
async fn from(browser: &Browser, address: &str, form: &Form) -> Page {
    let fields: Vec<_> = form.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    browser.post("/sign-in", &fields, &[("x-forwarded-for", address)]).await
}

/// The log output.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

#[tokio::test]
async fn every_sign_in_is_logged_escaped_and_without_secrets() {
    let log = Log::default();
    let subscriber =
        tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).with_env_filter("shop=trace,tenure=trace");
    let _guard = tracing::subscriber::set_default(subscriber.finish());
    let settings = Settings { behind_proxy: true, ..Settings::default() };
    let server = Server::start_with(settings, |shop| shop).await;
    let browser = server.browser();
    let form = browser.get("/sign-in").await.form("/sign-in").with("login", "minji").with("password", "guessed");
    from(&browser, "203.0.113.7", &form.clone().with("password", "guessed-secret")).await.is(422);
    let forged = "lee\r\n2026-11-22T00:00:00Z  INFO shop: signed in account=\"park\"\u{1b}[31m";
    from(&browser, "203.0.113.7", &form.clone().with("login", forged)).await.is(422);
    for _ in 0..8 {
        from(&browser, "203.0.113.7", &form).await;
    }
    from(&browser, "203.0.113.8", &form.with("password", "tenure-demo")).await.is(200);
    browser.submit(browser.get("/account").await.form("/account/sign-out-everywhere")).await.is(200);
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let lines = |what: &str| log.lines().filter(|line| line.contains(what)).count();
    assert_eq!(lines("sign-in refused: the name and the password do not match"), 9, "{log}");
    assert_eq!(lines("sign-in refused: too many guesses"), 1, "{log}");
    assert_eq!(lines("signed in account=\"minji\" address=203.0.113.8"), 1, "{log}");
    assert_eq!(lines("signed out everywhere account=\"minji\""), 1, "{log}");
    assert!(log.lines().all(|line| !line.starts_with("2026-11-22T00:00:00Z  INFO shop: signed in account=\"park\"")));
    assert!(!log.contains('\u{1b}') && !log.contains("guessed") && !log.contains("tenure-demo"), "{log}");
}
