//! Signing in and out, and requests that are not the page's own.

use super::support::{ORDER, Server};

#[tokio::test]
async fn page_requires_sign_in_and_then_opens() {
    let server = Server::start().await;
    let browser = server.browser();
    let asked = browser.get("/orders/2026-000300").await;
    assert!(asked.is(200).path.starts_with("/sign-in"), "{}", asked.path);
    let form = asked.form("/sign-in").with("login", "minji").with("password", "tenure-demo");
    assert_eq!(browser.submit(form).await.is(200).path, "/orders/2026-000300");
}

#[tokio::test]
async fn wrong_password_and_unknown_member_get_the_same_page() {
    let server = Server::start().await;
    let browser = server.browser();
    let form = browser.get("/sign-in").await.form("/sign-in");
    let mut answers = Vec::new();
    for (login, password) in [("minji", "wrong"), ("nobody", "tenure-demo"), ("", ""), ("'; --", "💐")] {
        let page = browser.submit(form.clone().with("login", login).with("password", password)).await;
        assert!(page.status.is_client_error() && !page.html.contains("💐"), "{}", page.status);
        answers.push(page.status);
    }
    assert_eq!(answers[0], answers[1]);
    assert!(browser.get("/orders").await.path.starts_with("/sign-in"));
}

#[tokio::test]
async fn sign_in_does_not_lead_to_another_site() {
    let server = Server::start().await;
    for next in ["https://evil.example/", "//evil.example/", "/\\evil.example/", "javascript:alert(1)"] {
        let browser = server.browser();
        let form =
            browser.get("/sign-in").await.form("/sign-in").with("login", "minji").with("password", "tenure-demo");
        let page = browser.submit(form.with("next", next)).await;
        assert_eq!((page.status.as_u16(), page.path.as_str()), (200, "/orders"), "{next}");
    }
}

#[tokio::test]
async fn signing_out_ends_the_session() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let page = minji.get("/orders").await;
    minji.submit(page.form("/sign-out")).await.is(200);
    assert!(minji.get("/orders").await.path.starts_with("/sign-in"));
    // Requests of an open form after that are refused, and change nothing.
    let edit = [("csrf", "x"), ("version", "1")];
    let refused = minji.post("/orders/2026-000300/cancel", &edit, &[]).await;
    assert!(matches!(refused.status.as_u16(), 401 | 403), "{}", refused.status);
    assert_eq!(server.order(ORDER).await.1, 1);
}

#[tokio::test]
async fn session_cookie_is_http_only_and_changes_at_sign_in() {
    let server = Server::start().await;
    let browser = server.browser();
    let first = browser.get("/sign-in").await;
    let browsers = first.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(browsers.contains("HttpOnly") && browsers.contains("SameSite=Lax"), "{browsers}");
    let (key, _) = browsers.split_once(';').unwrap();
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    // A session id that an attacker planted does not become a signed-in session.
    let planted = "shop=AAAAAAAAAAAAAAAAAAAAAQ";
    let form = first.form("/sign-in").with("login", "minji").with("password", "tenure-demo");
    let both = format!("{key}; {planted}");
    let request = client.post(format!("{}/sign-in", server.base)).header("cookie", both).form(&form.fields);
    let signed_in = request.send().await.unwrap();
    assert_eq!(signed_in.status(), 303);
    let cookie = signed_in.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    let fresh = cookie.split_once(';').unwrap().0.to_owned();
    assert_ne!(fresh, planted);
    let with = async |cookie: &str| {
        let request = client.get(format!("{}/orders", server.base)).header("cookie", cookie);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!((with(planted).await, with(&fresh).await), (303, 200));
}

#[tokio::test]
async fn cross_site_or_tokenless_post_is_refused() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let cancel = minji.open(ORDER).await.form("/orders/2026-000300/cancel");
    minji.submit(cancel.clone().without("csrf")).await.is(403);
    minji.submit(cancel.clone().with("csrf", "0".repeat(64).as_str())).await.is(403);
    let others = server.sign_in("lee").await.get("/orders").await.form("/sign-out").value("csrf").to_owned();
    minji.submit(cancel.clone().with("csrf", &others)).await.is(403);
    let fields: Vec<_> = cancel.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    minji.post(&cancel.action, &fields, &[("sec-fetch-site", "cross-site")]).await.is(403);
    minji.post(&cancel.action, &fields, &[("origin", "http://evil.example")]).await.is(403);
    assert_eq!(server.order(ORDER).await.1, 1);
    minji.post(&cancel.action, &fields, &[("sec-fetch-site", "same-origin")]).await.is(200);
    assert_eq!(server.order(ORDER).await.1, 2);
}

#[tokio::test]
async fn pages_speak_korean_and_english() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    assert!(minji.get("/orders?lang=ko").await.html.contains("<html lang=\"ko\""));
    assert!(minji.get("/orders").await.html.contains("<html lang=\"ko\""), "the choice is remembered");
    assert!(minji.get("/orders?lang=en").await.html.contains("<html lang=\"en\""));
}
