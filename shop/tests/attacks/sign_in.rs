//! Sign-in: planted sessions, open redirects, and account enumeration.

use super::client::Visitor;
use super::support::Server;

/// Addresses of other sites, in all spellings.
const ELSEWHERE: [&str; 17] = [
    "https://evil.example/",
    "http:evil.example",
    "//evil.example/",
    "///evil.example/",
    "////evil.example",
    "/\\evil.example/",
    "\\\\evil.example/",
    "/\t/evil.example/",
    "/\n/evil.example/",
    "/ /evil.example\r\nSet-Cookie: a=b",
    "javascript:alert(1)",
    "data:text/html,x",
    "//evil.example:443/orders",
    "@evil.example",
    ".evil.example",
    "evil.example/orders",
    "//%65vil.example/",
];

#[tokio::test]
async fn signing_in_leads_to_no_other_site() {
    let server = Server::start().await;
    let mut visitor = Visitor::new(&server.base);
    let form = visitor.page("/sign-in").await.form("/sign-in").with("login", "minji").with("password", "wrong");
    // The repeated page keeps the target. Successful sign-ins would hit the rate limit of the address.
    for next in ELSEWHERE {
        let asked = format!(
            "/sign-in?{}",
            url::form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish()
        );
        let page = visitor.page(&asked).await;
        assert_eq!(page.is(200).form("/sign-in").value("next"), "/orders", "{next:?}");
    }
    let mut signed_in = visitor.clone();
    let form = form.with("password", shop::seed::DEMO_PASSWORD).with("next", "//evil.example/");
    assert_eq!(signed_in.send(form).await.location(), "/orders");
}

#[tokio::test]
async fn a_session_id_that_was_planted_is_never_signed_in() {
    let server = Server::start().await;
    let signed_in = Visitor::signed_in(&server.base, "minji").await;
    let mut fresh = Visitor::new(&server.base);
    fresh.get("/sign-in").await;
    let session = signed_in.cookies.keys().find(|name| !fresh.cookies.contains_key(*name)).unwrap().clone();
    // An invented one, and one that was issued before.
    let mut ended = Visitor::signed_in(&server.base, "lee").await;
    let old = ended.cookies[&session].clone();
    let out = ended.page("/orders").await.form("/sign-out");
    ended.send(out).await;
    for planted in ["AAAAAAAAAAAAAAAAAAAAAQ", &old, "", "'", &"x".repeat(4000)] {
        let mut victim = Visitor::new(&server.base);
        victim.cookies.insert(session.clone(), planted.to_owned());
        let mut attacker = victim.clone();
        let form = victim.page("/sign-in").await.form("/sign-in").with("login", "minji");
        victim.cookies.insert(session.clone(), planted.to_owned());
        if planted == old {
            assert_eq!(victim.send(form.with("password", shop::seed::DEMO_PASSWORD)).await.status, 303);
            assert_ne!(victim.cookies[&session], planted);
            assert_eq!(victim.get("/orders").await.status, 200);
        }
        assert_eq!(attacker.get("/orders").await.status, 303, "{planted}");
    }
}

#[tokio::test]
async fn sign_in_does_not_reveal_accounts() {
    let server = Server::start().await;
    let mut told = Vec::new();
    for login in ["yuna", "no-such-member"] {
        let mut visitor = Visitor::new(&server.base);
        let form = visitor.page("/sign-in").await.form("/sign-in").with("login", login).with("password", "wrong");
        let answer = visitor.send(form).await;
        let mut names: Vec<_> = answer.headers.keys().map(|name| name.as_str().to_owned()).collect();
        names.sort_unstable();
        let page = answer.page("/sign-in");
        let fields: Vec<_> = page.form("/sign-in").fields.into_iter().filter(|(name, _)| name != "csrf").collect();
        let said = format!("{} {fields:?}", page.text()).replace(login, "LOGIN");
        told.push((page.status, names, said));
    }
    assert_eq!(told[0], told[1]);
}

#[tokio::test]
async fn no_address_makes_a_page_point_to_another_site() {
    let server = Server::start().await;
    let mut minji = Visitor::signed_in(&server.base, "minji").await;
    for path in ["//evil.example/x", "//evil.example/orders?lang=ko", "/orders//evil.example", "/%2F%2Fevil.example"] {
        for visitor in [&mut Visitor::new(&server.base), &mut minji] {
            let answer = visitor.get(path).await;
            assert!(answer.status < 500 && !answer.location().starts_with("//"), "{path}: {}", answer.location());
            let points = ["href=\"//", "action=\"//", "src=\"//", "href=\"http", "action=\"http"];
            let pointing: Vec<_> = points.into_iter().filter(|point| answer.body.contains(point)).collect();
            assert_eq!(pointing, Vec::<&str>::new(), "{path}: {}", answer.body);
        }
    }
}
