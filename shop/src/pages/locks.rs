//! The operators' console: the current leases, and ending a lease whose holder does not return.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use tenure::{
    LockKey, LockManager,
    error::{BreakError, ListError},
    lease::{Cursor, Holder, TransferRequest},
};
use tenure_web::verdict::free_in;

use super::fields::{Fields, Pairs};
use super::flash::Flash;
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::input::{Input, Kind, Mistake};
use super::posted::{Answer, Posted};
use super::{order_url, problem, refusal, see};
use crate::domain::{OrderNo, check_reason};
use crate::texts::{Html, left};
use crate::use_cases::{HeldPage, Refusal, Shop};

/// The aggregate types with locks.
const KINDS: [&str; 2] = ["Order", "Note"];

#[derive(Template)]
#[template(path = "locks.html")]
struct LocksPage {
    f: Frame,
    locks: LockManager,
    kind: Option<&'static str>,
    held: Vec<Holder>,
    /// The start of this page, if it is not the first one, and of the next one.
    after: Option<Cursor>,
    next: Option<Cursor>,
    /// The notice above the list if an action failed.
    notice: Option<&'static str>,
    /// The lease whose form was sent with a mistake, and the mistake.
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

    /// The address of the page that begins there.
    fn page(&self, after: &Cursor) -> String {
        let kind = self.kind.map(|kind| ("type", kind.to_owned()));
        let query: Vec<_> = kind.into_iter().chain([("after", after.to_string())]).collect();
        format!("/locks?{}", serde_urlencoded::to_string(query).unwrap_or_default())
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
        left(self.f.t, free_in(holder, &self.locks.policy(holder.key.kind())))
    }

    fn is_open(&self, holder: &Holder) -> bool {
        self.open.as_ref().is_some_and(|(key, generation)| *key == holder.key && *generation == holder.generation)
    }

    /// The field for the reason. Its id contains the row's id, because every row has such a field.
    fn reason(&self, holder: &Holder) -> Input {
        let (value, mistakes) = if self.is_open(holder) { (&*self.reason, &*self.mistakes) } else { ("", &[][..]) };
        let id = reason_id(&holder.key, holder.generation);
        Input::with_id(id, "reason", self.f.t.reason_label(), value, Kind::Text, mistakes)
    }
}

fn reason_id(key: &LockKey, generation: i64) -> String {
    format!("reason-{}-{}-{generation}", key.kind(), key.id().replace(char::is_whitespace, "_"))
}

/// GET /locks: `type` filters, `after` is the end of the previous page.
pub(super) async fn show(State(shop): State<Shop>, visit: Visit, Query(asked): Query<Pairs>) -> Response {
    let place = PageQuery::of(&Fields::sent(asked));
    match place.held(&shop, &visit).await {
        Ok(held) => {
            let state = if held.items.is_empty() { "AC-3" } else { "AC-1" };
            list(&shop, visit, state, place, held, |_| {}, StatusCode::OK)
        }
        Err(refusal) => refusal::plain(visit.frame, refusal),
    }
}

/// The requested page of the list.
struct PageQuery {
    kind: Option<&'static str>,
    after: Option<Cursor>,
}

impl PageQuery {
    /// Invalid parameters are ignored: there is always a list.
    fn of(asked: &Fields) -> PageQuery {
        let kind = KINDS.into_iter().find(|kind| *kind == asked.text("type"));
        PageQuery { kind, after: asked.text("after").parse().ok() }
    }

    async fn held(&self, shop: &Shop, visit: &Visit) -> Result<HeldPage, Refusal> {
        match shop.held(&visit.member, self.kind, self.after.clone()).await {
            Err(Refusal::List(ListError::ForeignCursor)) => shop.held(&visit.member, self.kind, None).await,
            held => held,
        }
    }
}

/// POST /locks/break
pub(super) async fn end(State(shop): State<Shop>, form: Posted) -> Answer {
    let generation: i64 = form.parse("generation")?;
    let Posted { visit, fields, .. } = form;
    let (kind, id) = (fields.text("kind"), fields.text("id"));
    // Other types have no locks here.
    if !KINDS.contains(&kind) || OrderNo::new(id).is_err() {
        return Err(problem::incomplete_form(visit.frame, "id", &fields));
    }
    let (key, reason, t) = (LockKey::new(kind, id), fields.text("reason").trim(), visit.frame.t);
    let error = match check_reason(reason, TransferRequest::LONGEST_NOTE) {
        Err(invalid) => Ended::Not(t.wrong_reason(invalid.problem)),
        Ok(()) => match shop.break_lock(&visit.member, &key, generation, reason).await {
            Ok(ended) => {
                let mut response = see("/locks");
                Flash::Ended { order: key.id().to_owned(), name: ended.owner.name }.leave(&mut response);
                return Ok(response);
            }
            Err(Refusal::Break(BreakError::HolderChanged { .. })) => Ended::ByNobody,
            Err(Refusal::Break(error @ (BreakError::NoReason | BreakError::ReasonTooLong))) => {
                tracing::debug!(%error, "a reason that was checked before");
                Ended::Not(t.reason_missing().into())
            }
            Err(refusal) => return Ok(refusal::plain(visit.frame, refusal)),
        },
    };
    let place = PageQuery::of(&fields);
    let held = match place.held(&shop, &visit).await {
        Ok(held) => held,
        Err(refusal) => return Ok(refusal::plain(visit.frame, refusal)),
    };
    Ok(match error {
        Ended::Not(why) => {
            let mistake = Mistake::new(reason_id(&key, generation), t.reason(), why);
            let wrong = |page: &mut LocksPage| {
                page.reason = reason.to_owned();
                page.open = Some((key, generation));
                page.mistakes = vec![mistake];
            };
            list(&shop, visit, "AC-4", place, held, wrong, StatusCode::UNPROCESSABLE_ENTITY)
        }
        Ended::ByNobody => {
            let notice = |page: &mut LocksPage| {
                page.notice = Some(t.holder_changed());
                page.reason = reason.to_owned();
                // If another owner holds it now, the typed reason stays in the form.
                page.open =
                    page.held.iter().find(|holder| holder.key == key).map(|holder| (key.clone(), holder.generation));
            };
            list(&shop, visit, "AC-7", place, held, notice, StatusCode::CONFLICT)
        }
    })
}

/// The reason that a lease was not ended.
enum Ended {
    /// The reason is invalid.
    Not(Html),
    /// The holder has changed.
    ByNobody,
}

fn list(
    shop: &Shop,
    visit: Visit,
    state: &'static str,
    PageQuery { kind, after }: PageQuery,
    HeldPage { items: held, next }: HeldPage,
    with: impl FnOnce(&mut LocksPage),
    status: StatusCode,
) -> Response {
    let mut page = LocksPage {
        f: visit.frame.state(state),
        locks: shop.locks().clone(),
        kind,
        held,
        after,
        next,
        notice: None,
        open: None,
        mistakes: Vec::new(),
        reason: String::new(),
    };
    with(&mut page);
    page.f.answer(status, &page)
}
