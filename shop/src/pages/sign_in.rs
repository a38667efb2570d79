//! Signing in and out.

use askama::Template;
use axum::Extension;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::fields::{Fields, Pairs};
use super::flash::Flash;
use super::frame::Frame;
use super::icon::Icon;
use super::input::{Input, Kind, Mistake};
use super::kept::Key;
use super::posted::{Answer, Posted, PostedByAnybody};
use super::problem::{self, Retry};
use super::{refusal, see};
use crate::domain::Role;
use crate::seed;
use crate::session::{self, Visitor};
use crate::texts::{Html, left};
use crate::use_cases::{Current, Knock, SessionId, Shop, SignIn};

/// The people of the demo: the README introduces them.
const SHOWN: [&str; 5] = ["minji", "lee", "emma", "park", "olivia"];

/// The maximum number of leases that a sign-out names.
const MOST_LEASES: usize = 50;

/// The maximum length of the address to continue to, and of the name that is shown again.
const LONGEST_NEXT: usize = 2_048;
const LONGEST_LOGIN: usize = 256;

pub(super) type Accounts = Vec<(String, &'static str, Role)>;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    f: Frame,
    inputs: [Input; 2],
    mistakes: Vec<Mistake>,
    next: String,
    /// The demo accounts; none outside the demo.
    accounts: Accounts,
}

impl SignInPage {
    fn new(frame: Frame, typed: &Fields, accounts: Accounts, mistakes: Vec<Mistake>) -> SignInPage {
        let (t, login) = (frame.t, typed.text("login"));
        let login = if login.len() > LONGEST_LOGIN { "" } else { login };
        // This page shows these passwords to everybody anyway.
        let known = accounts.iter().any(|(id, ..)| id == login);
        let password = if known && mistakes.is_empty() { seed::DEMO_PASSWORD } else { "" };
        let inputs = [
            Input::new("login", t.login(), login, Kind::Text, &mistakes).autocomplete("username"),
            Input::new("password", t.password(), password, Kind::Password, &mistakes).autocomplete("current-password"),
        ];
        SignInPage { f: frame, inputs, mistakes, next: here(typed.text("next")).to_owned(), accounts }
    }

    /// The same page with another account filled in.
    fn with(&self, login: &str) -> String {
        let query = [("as", login), ("next", &self.next)];
        format!("/sign-in?{}", serde_urlencoded::to_string(query).unwrap_or_default())
    }
}

/// The demo accounts to show, in the demo.
pub(super) async fn accounts(shop: &Shop) -> Accounts {
    if !shop.has_demo() {
        return Vec::new();
    }
    let there = shop.demo_members().await.unwrap_or_default();
    let members = seed::members().into_iter().map(|(id, name, role, _)| (id.to_string(), name, role));
    members.filter(|(id, ..)| SHOWN.contains(&id.as_str()) && there.contains(id)).collect()
}

/// GET /sign-in: `next` is the address to continue to, `as` the account to fill in.
pub(super) async fn show(State(shop): State<Shop>, frame: Frame, Query(asked): Query<Pairs>) -> Response {
    let mut typed = Fields::sent(asked);
    let login = typed.text("as").to_owned();
    typed.set("login", &login);
    let page = SignInPage::new(frame.state("sign-in"), &typed, accounts(&shop).await, Vec::new());
    page.f.answer(StatusCode::OK, &page)
}

/// POST /sign-in
pub(super) async fn sign_in(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Key(key): Key,
    before: Option<Extension<Current>>,
    form: PostedByAnybody,
) -> Response {
    let PostedByAnybody { frame, fields } = form;
    let (t, login) = (frame.t, fields.text("login").trim());
    let browser = key.known_as(login);
    let Visitor { address, agent } = visitor;
    let knock = Knock { login, password: fields.text("password"), address, browser: &browser, agent: &agent };
    match shop.sign_in(knock).await {
        Ok(SignIn::Done(session)) => {
            let mut response = see(here(fields.text("next")));
            session::start(&mut response, &session);
            // The browser forgets the secret of its previous session, so it could not be ended later.
            if let Some(Extension(Current { member, id })) = before
                && let Err(refusal) = shop.end_session(&member, &id).await
            {
                tracing::warn!(error = &refusal as &dyn std::error::Error, "a session that was replaced goes on");
            }
            response
        }
        Ok(SignIn::Wrong) => again(&shop, frame, &fields, t.wrong_password(), StatusCode::UNPROCESSABLE_ENTITY).await,
        Ok(SignIn::TooMany(wait)) => {
            let said = t.too_many_guesses(left(t, wait));
            problem::retry_after(again(&shop, frame, &fields, said, StatusCode::TOO_MANY_REQUESTS).await, wait)
        }
        Ok(SignIn::Busy) => {
            let page = again(&shop, frame, &fields, t.sign_in_busy(), StatusCode::SERVICE_UNAVAILABLE).await;
            problem::retry_after(page, std::time::Duration::from_secs(4))
        }
        Err(refusal) => refusal::plain(frame, refusal),
    }
}

/// The form again, with the mistake.
async fn again(shop: &Shop, frame: Frame, fields: &Fields, said: impl Into<Html>, status: StatusCode) -> Response {
    // The language switch does not send the password: the page in the other language requires it again.
    let mut frame = frame.state("sign-in");
    frame.other_language = format!("/sign-in?lang={}", frame.t.other().code());
    frame.sent_again = None;
    let page = SignInPage::new(frame, fields, accounts(shop).await, vec![Mistake::general("sign-in", said)]);
    page.f.answer(status, &page)
}

/// POST /sign-out. The leases of this session are released; the page's script adds those of its open forms (`lid`), which count if
/// they belong to the member: another process may have granted them.
pub(super) async fn sign_out(State(shop): State<Shop>, session: Option<Extension<SessionId>>, form: Posted) -> Answer {
    let Some(Extension(id)) = session else { return Err(problem::signed_out(form.visit.frame, &Fields::default())) };
    if let Err(refusal) = shop.end_session(&form.visit.member, &id).await {
        return Err(still_signed_in(form.visit.frame, refusal, "/sign-out"));
    }
    let named: Vec<_> = form.fields.all("lid").take(MOST_LEASES).filter_map(|lid| lid.parse().ok()).collect();
    shop.release(&form.visit.member, &named).await;
    Ok(signed_out(Flash::SignedOut))
}

/// Redirects to the sign-in page, and deletes the cookie.
pub(super) fn signed_out(flash: Flash) -> Response {
    let mut response = flash.at("/sign-in");
    session::end(&mut response);
    response
}

/// A session that could not be ended continues, and the page says so, with a button to try again.
pub(super) fn still_signed_in(frame: Frame, refusal: crate::use_cases::Refusal, action: &str) -> Response {
    match refusal {
        crate::use_cases::Refusal::Failed(tenure::Error::Database(error)) => {
            let retry = Retry { action: action.to_owned(), fields: Fields::default() };
            problem::database(frame, &error, Some((retry, &Fields::default())))
        }
        refusal => refusal::plain(frame, refusal),
    }
}

/// The address, if it is one of this shop; otherwise the list of orders. It never redirects to another site.
fn here(address: &str) -> &str {
    let path = address.strip_prefix('/').filter(|rest| !rest.starts_with(['/', '\\']));
    let clean = address.len() <= LONGEST_NEXT && !address.contains(|c: char| c.is_control() || c == '\\');
    if path.is_some() && clean && !address.starts_with("/sign-") { address } else { "/orders" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_signing_in_people_stay_here() {
        assert_eq!(here("/orders/7?lang=ko"), "/orders/7?lang=ko");
        for elsewhere in
            ["", "//evil.example", "/\\evil.example", "https://evil.example", "/a\r\nb", "/sign-out", "/x\\y"]
        {
            assert_eq!(here(elsewhere), "/orders", "{elsewhere:?}");
        }
    }
}
