//! The page for changing one's password.

use std::time::Duration;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::fields::Fields;
use super::flash::Flash;
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::input::{Input, Kind, Mistake};
use super::kept::Key;
use super::posted::{Answer, Posted};
use super::{problem, refusal};
use crate::domain::WeakPassword;
use crate::session::{self, Visitor};
use crate::texts::{Html, Lang, left};
use crate::use_cases::{PasswordChange, SessionId, Shop};

const OLD: &str = "password-old";
const NEW: &str = "password-new";
const AGAIN: &str = "password-again";

#[derive(Template)]
#[template(path = "password.html")]
struct PasswordPage {
    f: Frame,
    inputs: [Input; 3],
    mistakes: Vec<Mistake>,
}

/// GET /account/password
pub(super) async fn show(visit: Visit) -> Response {
    page(visit.frame, Vec::new(), StatusCode::OK)
}

/// POST /account/password. A change ends all other sessions, and this browser gets a new one.
pub(super) async fn change(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    current: Option<Extension<SessionId>>,
    Key(key): Key,
    form: Posted,
) -> Answer {
    let Posted { visit: Visit { frame, member }, fields, .. } = form;
    let (t, old, new) = (frame.t, fields.text(OLD), fields.text(NEW));
    if old.is_empty() {
        return Ok(wrong(frame, OLD, t.password_old(), t.old_password_missing()));
    }
    if new != fields.text(AGAIN) {
        return Ok(wrong(frame, AGAIN, t.password_again(), t.passwords_differ()));
    }
    let browser = key.known_as(member.id().as_str());
    let current = current.map(|Extension(id)| id);
    match shop.change_password(&member, old, new, current.as_ref(), &browser, &visitor.agent).await {
        Ok(PasswordChange::Done(session)) => {
            let mut response = Flash::PasswordChanged.at("/account");
            session::start(&mut response, &session);
            Ok(response)
        }
        Ok(PasswordChange::WrongOld) => Ok(wrong(frame, OLD, t.password_old(), t.wrong_old_password())),
        Ok(PasswordChange::Same) => Ok(wrong(frame, NEW, t.password_new(), t.same_password())),
        Ok(PasswordChange::Weak(weak)) => Ok(wrong(frame, NEW, t.password_new(), because(t, weak))),
        Ok(PasswordChange::TooMany(wait)) => {
            let mistake = Mistake::new(OLD, t.password_old(), t.too_many_guesses(left(t, wait)));
            Ok(problem::retry_after(page(frame, vec![mistake], StatusCode::TOO_MANY_REQUESTS), wait))
        }
        Ok(PasswordChange::Busy) => {
            let mistake = Mistake::general(OLD, t.sign_in_busy());
            let page = page(frame, vec![mistake], StatusCode::SERVICE_UNAVAILABLE);
            Ok(problem::retry_after(page, Duration::from_secs(4)))
        }
        Err(refusal) => Err(refusal::plain(frame, refusal)),
    }
}

fn because(t: Lang, weak: WeakPassword) -> Html {
    match weak {
        WeakPassword::TooShort { min } => t.password_too_short(min),
        WeakPassword::TooLong { max } => t.wrong_too_long(max),
        WeakPassword::IsName => t.password_is_name().into(),
        WeakPassword::Guessable => t.password_guessable().into(),
    }
}

fn wrong(frame: Frame, field: &str, label: &'static str, why: impl Into<Html>) -> Response {
    page(frame, vec![Mistake::new(field, label, why)], StatusCode::UNPROCESSABLE_ENTITY)
}

/// The form. Passwords are never sent back: all fields are empty.
fn page(frame: Frame, mistakes: Vec<Mistake>, status: StatusCode) -> Response {
    let mut f = frame.state("AM-2");
    f.other_language = format!("/account/password?lang={}", f.t.other().code());
    f.sent_again = None::<Fields>;
    let t = f.t;
    let input = |name, label: &'static str, hint, complete| {
        Input::new(name, label, "", Kind::Password, &mistakes).hint(hint).autocomplete(complete)
    };
    let inputs = [
        input(OLD, t.password_old(), "", "current-password"),
        input(NEW, t.password_new(), t.password_hint(), "new-password"),
        input(AGAIN, t.password_again(), "", "new-password"),
    ];
    let page = PasswordPage { f, inputs, mistakes };
    page.f.answer(status, &page)
}
