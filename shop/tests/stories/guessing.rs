//! Guessing passwords: it is limited after a few tries, and does not lock out a known browser.

use std::time::Duration;

use shop::Settings;
use tenure::clock::ManualClock;

use super::support::{Browser, Form, Page, Server};

async fn behind_a_proxy() -> (Server, ManualClock) {
    let clock = ManualClock::new();
    let own = clock.clone();
    let settings = Settings { behind_proxy: true, ..Settings::default() };
    (Server::start_with(settings, move |shop| shop.clock(own)).await, clock)
}

/// Sends the form from this address, by the header of a proxy.
async fn from(browser: &Browser, address: &str, form: &Form) -> Page {
    let fields: Vec<_> = form.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    browser.post("/sign-in", &fields, &[("x-forwarded-for", address)]).await
}

async fn form_of(browser: &Browser, login: &str) -> Form {
    browser.get("/sign-in").await.form("/sign-in").with("login", login).with("password", "guessed")
}

fn wait_of(page: &Page) -> u64 {
    page.headers["retry-after"].to_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn after_eight_wrong_passwords_the_right_one_waits() {
    let (server, clock) = behind_a_proxy().await;
    let thief = server.browser();
    let form = form_of(&thief, "minji").await;
    for _ in 0..8 {
        from(&thief, "203.0.113.7", &form).await.is(422);
    }
    for password in ["guessed", "tenure-demo"] {
        let page = from(&thief, "203.0.113.7", &form.clone().with("password", password)).await;
        assert_eq!(wait_of(page.is(429).says("Too many tries")), 121);
    }
    clock.advance(Duration::from_secs(120));
    from(&thief, "203.0.113.7", &form.with("password", "tenure-demo")).await.is(200);
}

#[tokio::test]
async fn unknown_account_is_limited_alike() {
    let (server, _clock) = behind_a_proxy().await;
    let thief = server.browser();
    let mut answers = Vec::new();
    for (login, address) in [("sujin", "203.0.113.7"), ("nobody", "203.0.113.8")] {
        let form = form_of(&thief, login).await;
        let mut of_login = Vec::new();
        for _ in 0..10 {
            let page = from(&thief, address, &form).await;
            of_login.push((page.status.as_u16(), page.text().replace(login, "-")));
        }
        answers.push(of_login);
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn address_is_limited_over_all_accounts_without_others() {
    let (server, _clock) = behind_a_proxy().await;
    let thief = server.browser();
    let form = form_of(&thief, "").await;
    let mut refused = 0;
    for no in 0..45 {
        let page = from(&thief, "203.0.113.7", &form.clone().with("login", &format!("member-{no}"))).await;
        refused += u32::from(page.status == 429);
    }
    assert_eq!(refused, 5);
    from(&thief, "203.0.113.8", &form.with("login", "lee").with("password", "tenure-demo")).await.is(200);
}

#[tokio::test]
async fn address_written_by_the_client_is_not_trusted() {
    let (server, _clock) = behind_a_proxy().await;
    let thief = server.browser();
    let form = form_of(&thief, "minji").await;
    let mut last = 0;
    for no in 0..9 {
        last = from(&thief, &format!("198.51.100.{no}, 203.0.113.7"), &form).await.status.as_u16();
    }
    assert_eq!(last, 429);
    // Without a proxy the header does not count.
    let server = Server::start().await;
    let thief = server.browser();
    let form = form_of(&thief, "minji").await;
    for no in 0..9 {
        last = from(&thief, &format!("198.51.100.{no}"), &form).await.status.as_u16();
    }
    assert_eq!(last, 429);
}

#[tokio::test]
async fn members_own_browser_is_not_locked_out() {
    let (server, _clock) = behind_a_proxy().await;
    let minji = server.sign_in("minji").await;
    minji.submit(minji.get("/orders").await.form("/sign-out")).await.is(200);
    let thief = server.browser();
    let form = form_of(&thief, "minji").await;
    for no in 0..10 {
        for _ in 0..5 {
            from(&thief, &format!("203.0.113.{no}"), &form).await;
        }
    }
    let right = |form: Form| form.with("password", "tenure-demo");
    from(&thief, "192.0.2.1", &right(form)).await.is(429);
    let own = form_of(&minji, "minji").await;
    from(&minji, "203.0.113.1", &right(own.clone())).await.is(200);
    // There, guesses are counted as well.
    minji.submit(minji.get("/orders").await.form("/sign-out")).await.is(200);
    for _ in 0..8 {
        from(&minji, "203.0.113.1", &own).await.is(422);
    }
    from(&minji, "203.0.113.1", &right(own)).await.is(429);
}

#[tokio::test]
async fn guesses_at_the_old_password_are_limited_too() {
    let (server, clock) = behind_a_proxy().await;
    let minji = server.sign_in("minji").await;
    let form = minji.get("/account/password").await.form("/account/password");
    let new = "파란 자전거 세 대가 간다";
    let form = form.with("password-new", new).with("password-again", new);
    for _ in 0..8 {
        minji.submit(form.clone().with("password-old", "guessed")).await.is(422);
    }
    let refused = minji.submit(form.clone().with("password-old", "tenure-demo")).await;
    assert_eq!(wait_of(refused.is(429)), 121);
    clock.advance(Duration::from_secs(120));
    assert_eq!(minji.submit(form.with("password-old", "tenure-demo")).await.is(200).path, "/account");
}

#[tokio::test]
async fn concurrent_sign_ins_queue_or_get_429() {
    let (server, _clock) = behind_a_proxy().await;
    let form = form_of(&server.browser(), "lee").await;
    let browser = server.browser();
    let form = form.with("csrf", browser.get("/sign-in").await.form("/sign-in").value("csrf"));
    let all: Vec<_> = (0..120)
        .map(|no| {
            let (browser, form) = (browser.clone(), form.clone().with("login", &format!("member-{no}")));
            tokio::spawn(async move { from(&browser, &format!("2001:db8:0:{no:x}::1"), &form).await })
        })
        .collect();
    for one in all {
        let page = one.await.unwrap();
        match page.status.as_u16() {
            422 => {}
            503 => drop(page.says("Many people are signing in")),
            other => panic!("{other}: {}", page.html),
        }
    }
    // None of them counts as a guess at another account.
    from(&browser, "2001:db8:0:1::1", &form.with("password", "tenure-demo")).await.is(200);
}
