//! What became of typed text: saved, dropped by its person, or put into another form.

use axum::Json;
use axum::extract::{Query, State};
use axum::response::IntoResponse;
use serde::Serialize;
use tenure::VersionToken;
use tenure_web::form_id::FormId;
use tenure_web::sent::Sent;

use super::fields::{Fields, Pairs};
use super::flash::Flash;
use super::frame::Visit;
use super::order::Number;
use super::posted::{Answer, Posted};
use super::{compare, order_url, problem, refusal};
use crate::domain::{Note, Order, OrderLine, OrderNo};
use crate::use_cases::{SavedForm, Shop};

#[derive(Serialize)]
struct Told {
    saved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

/// GET /orders/{no}/text: whether the form `form_id` of this person was saved. The script asks that of text whose page was left before
/// there was an answer; and, of text that was typed on `version` in `form` and goes on from the save, on which version it is then. Of text that
/// is kept as `kept`, whether it is offered no more: it was saved, or dropped a while ago.
pub(super) async fn saved(
    State(shop): State<Shop>,
    visit: Visit,
    Number(no): Number,
    Query(asked): Query<Pairs>,
) -> Answer {
    let asked = Fields::sent(asked);
    if let Ok(kept) = asked.text("kept").parse::<FormId>() {
        return Ok(match shop.offered(&visit.member).await {
            Ok(texts) => {
                let saved = texts.iter().all(|text| text.id != kept);
                Json(Told { saved, version: None }).into_response()
            }
            Err(why) => refusal::plain(visit.frame, why),
        });
    }
    let Ok(form) = asked.text("form_id").parse() else {
        return Err(problem::incomplete_form(visit.frame, "form_id", &asked));
    };
    let saved = match shop.saved_last(&visit.member, form).await {
        Ok(saved) => saved,
        Err(why) => return Ok(refusal::plain(visit.frame, why)),
    };
    let version = match &saved {
        Some(saved) => own_version(&shop, &visit, &no, saved, &asked).await,
        None => None,
    };
    Ok(Json(Told { saved: saved.is_some(), version }).into_response())
}

/// The version that a save created, for text that was typed on after it was sent. If it added or removed lines, the fields are others there.
async fn own_version(shop: &Shop, visit: &Visit, no: &OrderNo, saved: &SavedForm, asked: &Fields) -> Option<String> {
    let version = asked.text("version");
    if asked.text("form").starts_with("note ") {
        let seen: VersionToken<Note> = version.parse().ok()?;
        let own = VersionToken::<Note>::new(no, saved.version);
        return saved.goes_on_from(seen.version().number()).then(|| own.to_string());
    }
    let seen: VersionToken<Order> = version.parse().ok()?;
    let own = VersionToken::new(no, saved.version);
    let lines = |order: Order| order.lines().iter().map(OrderLine::line_no).collect::<Vec<_>>();
    let before = compare::opened(shop, visit, no, seen).await.map(lines);
    let after = compare::opened(shop, visit, no, own).await.map(lines);
    (saved.goes_on_from(seen.version().number()) && before.is_some() && before == after).then(|| own.to_string())
}

/// POST /orders/{no}/text: the text of the form `form_id` goes on in the form `next-form`, or is dropped; the one that is `kept`, if it is offered
/// beside that form. The script says so of its drafts.
pub(super) async fn moved(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let own = form.form_id()?;
    // Of a form, or what is offered beside it.
    let text = form.set_aside(&shop, &no).await?.filter(|_| form.fields.has("kept")).unwrap_or(own);
    let to = if form.fields.has("next-form") && !form.fields.has("drop") { Some(form.next_form()?) } else { None };
    let moved = shop.move_text(&form.visit.member, &no, text, to).await;
    let script = form.visit.frame.script;
    match moved {
        Err(why) => Ok(refusal::plain(form.visit.frame, why)),
        Ok(_) if script || to.is_some() => Ok(Sent::done(order_url(&no)).answer(script)),
        Ok(_) => Ok(Flash::Dropped.at(&order_url(&no))),
    }
}
