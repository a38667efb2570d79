//! Headers and cookies of every response, and the host names of the shop.

use reqwest::{Client, Method, redirect};
use shop::Settings;

use super::support::{ORDER, Page, Server};

async fn over_https() -> Server {
    Server::start_with(Settings { https: true, ..Settings::default() }, |shop| shop).await
}

fn client() -> Client {
    Client::builder().redirect(redirect::Policy::none()).build().unwrap()
}

/// Names and values, as the browser would send them again.
fn cookies(page: &Page) -> Vec<String> {
    let cookies = page.headers.get_all("set-cookie").iter().map(|cookie| cookie.to_str().unwrap().to_owned());
    cookies.collect()
}

fn assert_headers(page: &Page, what: &str) {
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("referrer-policy", "same-origin"),
        ("strict-transport-security", "max-age=31536000"),
        (
            "content-security-policy",
            "default-src 'self'; object-src 'none'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'",
        ),
    ] {
        assert_eq!(page.headers.get(name).map(|found| found.to_str().unwrap()), Some(value), "{what}: {name}");
    }
    assert!(page.headers.contains_key("cache-control"), "{what}");
}

#[tokio::test]
async fn every_response_has_every_security_header() {
    let server = over_https().await;
    let client = client();
    let long = "x".repeat(70_000);
    for (method, path, body, status) in [
        (Method::GET, "/", "", 200),
        (Method::GET, "/sign-in", "", 200),
        (Method::GET, "/orders", "", 303),
        (Method::GET, "/nowhere", "", 404),
        (Method::GET, "/orders/%FF", "", 303),
        (Method::DELETE, "/orders", "", 405),
        (Method::POST, "/orders", "", 405),
        (Method::OPTIONS, "/orders", "", 405),
        (Method::HEAD, "/nope", "", 404),
        (Method::POST, "/sign-in", "csrf=wrong", 403),
        (Method::POST, "/sign-in", &long, 413),
        (Method::POST, "/sign-out", "", 401),
        (Method::POST, "/tenure/release", "lid=x", 401),
        (Method::GET, "/tenure/release", "", 405),
        (Method::GET, "/tenure/tenure.js", "", 200),
        (Method::GET, "/assets/shop.css", "", 200),
        (Method::GET, "/assets/icons.svg", "", 200),
        (Method::GET, "/favicon.svg", "", 200),
        (Method::POST, "/favicon.svg", "", 405),
    ] {
        let request = client.request(method.clone(), format!("{}{path}", server.base)).body(body.to_owned());
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let page = Page::of(request.send().await.unwrap()).await;
        assert_eq!(page.status, status, "{method} {path}: {}", page.html);
        assert_headers(&page, &format!("{method} {path}"));
    }
    let request = client.post(format!("{}/sign-in", server.base)).header("sec-fetch-site", "cross-site");
    assert_headers(Page::of(request.send().await.unwrap()).await.is(403), "another site's form");
    let request = client.get(&server.base).header("host", "evil.example");
    assert_headers(Page::of(request.send().await.unwrap()).await.is(421), "another host's name");
}

#[tokio::test]
async fn https_uses_only_host_prefixed_cookies() {
    let server = over_https().await;
    let client = client();
    let url = |path: &str| format!("{}{path}", server.base);
    let first = Page::of(client.get(url("/sign-in?lang=ko")).send().await.unwrap()).await;
    let form = first.form("/sign-in").with("login", "minji").with("password", "tenure-demo");
    let mut all = cookies(&first);
    let own: Vec<_> = all.iter().map(|cookie| cookie.split(';').next().unwrap().to_owned()).collect();
    let sent = client.post(url("/sign-in")).header("cookie", own.join("; ")).form(&form.fields);
    let signed_in = Page::of(sent.send().await.unwrap()).await;
    let session = cookies(signed_in.is(303))[0].clone();
    let session_pair = session.split(';').next().unwrap().to_owned();
    all.extend(cookies(&signed_in));
    let with = async |path: &str, cookies: &str| {
        Page::of(client.get(url(path)).header("cookie", cookies).send().await.unwrap()).await
    };
    let both = format!("{}; {session_pair}", own.join("; "));
    let explained = with(&format!("/orders/{ORDER}/edit"), &both).await;
    all.extend(cookies(explained.is(303)));
    let said = with(&format!("/orders/{ORDER}"), &format!("{both}; {}", cookies(&explained)[0])).await;
    all.extend(cookies(said.is(200)));
    let csrf = with("/orders", &both).await.is(200).form("/sign-out").fields;
    let out = client.post(url("/sign-out")).header("cookie", &both).form(&csrf).send().await.unwrap();
    all.extend(cookies(Page::of(out).await.is(303)));
    let mut names: Vec<_> = all.iter().map(|cookie| cookie.split('=').next().unwrap()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, ["__Host-lang", "__Host-shop", "__Host-shop-browser", "__Host-shop-flash"]);
    for cookie in &all {
        assert!(cookie.contains("; Path=/;") && !cookie.contains("Domain"), "{cookie}");
        assert!(cookie.contains("; Secure") && cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Lax"));
    }
}

#[tokio::test]
async fn over_https_a_session_under_the_plain_name_is_none() {
    let server = over_https().await;
    let client = client();
    let first = Page::of(client.get(format!("{}/sign-in", server.base)).send().await.unwrap()).await;
    let key = cookies(&first)[0].split(';').next().unwrap().to_owned();
    let form = first.form("/sign-in").with("login", "minji").with("password", "tenure-demo");
    let request = client.post(format!("{}/sign-in", server.base)).header("cookie", &key).form(&form.fields);
    let session =
        cookies(Page::of(request.send().await.unwrap()).await.is(303))[0].split(';').next().unwrap().to_owned();
    for (cookie, status) in [(session.as_str(), 200), (session.trim_start_matches("__Host-"), 303)] {
        let request = client.get(format!("{}/orders", server.base)).header("cookie", cookie);
        assert_eq!(request.send().await.unwrap().status(), status, "{cookie}");
    }
}

#[tokio::test]
async fn the_shop_answers_by_its_own_names_only() {
    let server = Server::start().await;
    let browser = server.browser();
    for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:8080"] {
        let request = client().get(format!("{}/sign-in", server.base)).header("host", host);
        assert_eq!(request.send().await.unwrap().status(), 200, "{host}");
    }
    for host in
        ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "127.0.0.2", "x@localhost", "[::2]"]
    {
        let request = client().get(format!("{}/sign-in", server.base)).header("host", host);
        let page = Page::of(request.send().await.unwrap()).await;
        page.is(421).says("not the address of the shop");
        assert!(!page.html.contains("evil.example") && cookies(&page).is_empty(), "{}", page.html);
    }
    browser.get("/sign-in").await.is(200);
    let named = Settings { hosts: vec!["shop.example".into()], ..Settings::default() };
    let server = Server::start_with(named, |shop| shop).await;
    for (host, status) in [("shop.example", 200), ("shop.example:8443", 200), ("localhost", 421)] {
        let request = client().get(format!("{}/sign-in", server.base)).header("host", host);
        assert_eq!(request.send().await.unwrap().status(), status, "{host}");
    }
}

#[tokio::test]
async fn no_link_of_a_page_leads_to_another_site() {
    let server = Server::start().await;
    for path in ["//evil.example/x", "///evil.example", "//evil.example/%2e%2e", "/\\evil.example", "/\\/evil.example"]
    {
        let page = Page::of(client().get(format!("{}{path}", server.base)).send().await.unwrap()).await;
        assert_eq!(page.status, 404, "{path}");
        let elsewhere = ["href=\"//", "href=\"/\\", "href=\"/%5C", "action=\"//"];
        assert!(!elsewhere.iter().any(|link| page.html.contains(link)), "{path}: {}", page.html);
    }
}

#[tokio::test]
async fn language_that_is_chosen_on_a_page_that_leads_on_is_the_one_of_the_next_page() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let page = park.get("/orders/2026-000300/edit?lang=ko").await;
    assert!(page.is(200).html.contains("<html lang=\"ko\""), "{}", page.html);
}
