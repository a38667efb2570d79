//! Signing in and out.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use tower_sessions::Session;

use super::fields::{Fields, Pairs};
use super::flash::Flash;
use super::frame::Frame;
use super::icon::Icon;
use super::input::{Input, Kind, Mistake};
use super::posted::{Answer, Posted, PostedByAnybody};
use super::{problem, refusal, see};
use crate::domain::Role;
use crate::seed;
use crate::session;
use crate::use_cases::Shop;

/// The people of the story: who they are stands in the README.
const SHOWN: [&str; 5] = ["minji", "lee", "emma", "park", "olivia"];

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    f: Frame,
    inputs: [Input; 2],
    mistakes: Vec<Mistake>,
    next: String,
    accounts: Vec<(String, &'static str, Role)>,
}

impl SignInPage {
    fn new(frame: Frame, typed: &Fields, mistakes: Vec<Mistake>) -> SignInPage {
        let t = frame.t;
        let accounts: Vec<_> = seed::members()
            .into_iter()
            .filter(|(id, ..)| SHOWN.contains(&id.as_str()))
            .map(|(id, name, role, _)| (id.to_string(), name, role))
            .collect();
        // Everybody's password stands on this page anyway.
        let known = accounts.iter().any(|(id, ..)| id == typed.text("login"));
        let password = if known && mistakes.is_empty() { seed::DEMO_PASSWORD } else { "" };
        let inputs = [
            Input::new("login", t.login(), typed.text("login"), Kind::Text, &mistakes).autocomplete("username"),
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

/// GET /sign-in: `next` is where to go afterwards, `as` the account to fill in.
pub(super) async fn show(frame: Frame, Query(asked): Query<Pairs>) -> Response {
    let mut typed = Fields::sent(asked);
    let login = typed.text("as").to_owned();
    typed.set("login", &login);
    let page = SignInPage::new(frame.state("sign-in"), &typed, Vec::new());
    page.f.answer(StatusCode::OK, &page)
}

/// POST /sign-in
pub(super) async fn sign_in(State(shop): State<Shop>, session: Session, form: PostedByAnybody) -> Response {
    let PostedByAnybody { frame, fields } = form;
    let member = match shop.sign_in(fields.text("login").trim(), fields.text("password")).await {
        Ok(Some(member)) => member,
        Ok(None) => {
            let mistake = Mistake::general("sign-in", frame.t.wrong_password());
            // The password is not sent back to switch the language: the page in the other language asks for it again.
            let mut frame = frame.state("sign-in");
            frame.other_language = format!("/sign-in?lang={}", frame.t.other().code());
            frame.sent_again = None;
            let page = SignInPage::new(frame, &fields, vec![mistake]);
            return page.f.answer(StatusCode::UNPROCESSABLE_ENTITY, &page);
        }
        Err(refusal) => return refusal::plain(frame, refusal),
    };
    match session::start(&session, &member).await {
        Ok(()) => see(here(fields.text("next"))),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "a session could not be started");
            problem::failed(frame)
        }
    }
}

/// POST /sign-out
pub(super) async fn sign_out(session: Session, form: Posted) -> Answer {
    if let Err(error) = session::end(&session).await {
        tracing::error!(error = &error as &dyn std::error::Error, "a session could not be ended");
        return Err(problem::failed(form.visit.frame));
    }
    let mut response = see("/sign-in");
    Flash::SignedOut.leave(&mut response);
    Ok(response)
}

/// The address, if it is one of this shop; the list of orders otherwise. Nobody is sent elsewhere from here.
fn here(address: &str) -> &str {
    let path = address.strip_prefix('/').filter(|rest| !rest.starts_with(['/', '\\']));
    let clean = !address.contains(|c: char| c.is_control() || c == '\\');
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
