//! The operators' console: who is editing what, and ending a lease whose holder does not come back.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use tenure::{BreakError, Holder, LockKey};

use super::fields::{Fields, Pairs};
use super::flash::Flash;
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::input::{Input, Kind, Mistake};
use super::posted::{Answer, Posted};
use super::{order_url, refusal, see};
use crate::texts::{Html, left};
use crate::use_cases::{Refusal, Shop};

/// The types that have locks here.
const KINDS: [&str; 2] = ["Order", "Note"];

#[derive(Template)]
#[template(path = "locks.html")]
struct LocksPage {
    f: Frame,
    kind: Option<&'static str>,
    held: Vec<Holder>,
    /// What stands above the list when something did not happen.
    notice: Option<&'static str>,
    /// The lease whose form was sent and is wrong, and what is wrong with it.
    open: Option<(LockKey, i64)>,
    mistakes: Vec<Mistake>,
    reason: String,
}

impl LocksPage {
    fn shows(&self, kind: &str) -> bool {
        self.kind == Some(kind)
    }

    fn filter(&self, kind: &str) -> String {
        if kind.is_empty() { "/locks".to_owned() } else { format!("/locks?type={kind}") }
    }

    fn kind_label(&self, kind: &str) -> &'static str {
        if kind == "Note" { self.f.t.type_note() } else { self.f.t.type_order() }
    }

    fn what(&self, holder: &Holder) -> Html {
        match holder.key.kind() {
            "Note" => self.f.t.of_note(holder.key.id()),
            "Order" => self.f.t.of_order(holder.key.id()),
            _ => Html::text(&holder.key),
        }
    }

    fn url(&self, holder: &Holder) -> String {
        let note = if holder.key.kind() == "Note" { "#note" } else { "" };
        format!("{}{note}", order_url(holder.key.id()))
    }

    fn left(&self, holder: &Holder) -> String {
        left(self.f.t, holder.remaining)
    }

    fn is_open(&self, holder: &Holder) -> bool {
        self.open.as_ref().is_some_and(|(key, generation)| *key == holder.key && *generation == holder.generation)
    }

    /// The field for the reason. Its id is that of the row, because every row has one.
    fn reason(&self, holder: &Holder) -> Input {
        let (value, mistakes) = if self.is_open(holder) { (&*self.reason, &*self.mistakes) } else { ("", &[][..]) };
        let id = reason_id(&holder.key, holder.generation);
        Input::with_id(id, "reason", self.f.t.reason_label(), value, Kind::Text, mistakes)
    }
}

fn reason_id(key: &LockKey, generation: i64) -> String {
    format!("reason-{}-{}-{generation}", key.kind(), key.id().replace(char::is_whitespace, "_"))
}

/// GET /locks
pub(super) async fn show(State(shop): State<Shop>, visit: Visit, Query(asked): Query<Pairs>) -> Response {
    let asked = Fields::sent(asked);
    let kind = KINDS.into_iter().find(|kind| *kind == asked.text("type"));
    match shop.held(&visit.member, kind).await {
        Ok(held) => {
            let state = if held.is_empty() { "AC-3" } else { "AC-1" };
            list(visit, state, kind, held, |_| {}, StatusCode::OK)
        }
        Err(refusal) => refusal::plain(visit.frame, refusal),
    }
}

/// POST /locks/break
pub(super) async fn end(State(shop): State<Shop>, form: Posted) -> Answer {
    let generation: i64 = form.parse("generation")?;
    let (kind, id): (String, String) = (form.parse("kind")?, form.parse("id")?);
    let Posted { visit, fields, .. } = form;
    let (key, reason, t) = (LockKey::new(kind, id), fields.text("reason").trim(), visit.frame.t);
    let error = match shop.break_lock(&visit.member, &key, generation, reason).await {
        Ok(ended) => {
            let mut response = see("/locks");
            Flash::Ended { order: key.id().to_owned(), name: ended.owner.name }.leave(&mut response);
            return Ok(response);
        }
        Err(Refusal::Break(error @ (BreakError::HolderChanged { .. } | BreakError::NoReason))) => error,
        Err(refusal) => return Ok(refusal::plain(visit.frame, refusal)),
    };
    let held = match shop.held(&visit.member, None).await {
        Ok(held) => held,
        Err(refusal) => return Ok(refusal::plain(visit.frame, refusal)),
    };
    Ok(match error {
        BreakError::NoReason => {
            let mistake = Mistake::new(reason_id(&key, generation), t.reason(), t.reason_missing());
            let wrong = |page: &mut LocksPage| {
                page.open = Some((key, generation));
                page.mistakes = vec![mistake];
            };
            list(visit, "AC-4", None, held, wrong, StatusCode::UNPROCESSABLE_ENTITY)
        }
        _ => {
            let notice = |page: &mut LocksPage| {
                page.notice = Some(t.holder_changed());
                page.reason = reason.to_owned();
                // Where somebody else holds it now, the reason that was typed stays beside them.
                page.open =
                    page.held.iter().find(|holder| holder.key == key).map(|holder| (key.clone(), holder.generation));
            };
            list(visit, "AC-7", None, held, notice, StatusCode::CONFLICT)
        }
    })
}

fn list(
    visit: Visit,
    state: &'static str,
    kind: Option<&'static str>,
    held: Vec<Holder>,
    with: impl FnOnce(&mut LocksPage),
    status: StatusCode,
) -> Response {
    let f = visit.frame.state(state);
    let mut page = LocksPage { f, kind, held, notice: None, open: None, mistakes: Vec::new(), reason: String::new() };
    with(&mut page);
    page.f.answer(status, &page)
}
