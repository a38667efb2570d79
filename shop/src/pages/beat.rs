//! POST /orders/{no}/beat: the heartbeat of an open form. The same verdict as everywhere, in the same words.

use std::fmt::Display;

use axum::Json;
use axum::extract::{FromRequest, Query, Request, State};
use axum::response::{IntoResponse, Response};
use tenure::{Aggregate, Repository};
use tenure_web::beat::{Beat, Told};
use tenure_web::problem::Problem;
use tenure_web::verdict::{Facts, decide};

use super::fields::{Fields, Pairs};
use super::frame::Frame;
use super::order::Number;
use super::standing::{Kind, Standing};
use crate::domain::{Member, Note, Order, OrderNo, OrderState};
use crate::use_cases::{Refusal, Shop};

/// `form` in the query says which of the order's forms it is.
pub(super) async fn beat(
    State(shop): State<Shop>,
    frame: Frame,
    Number(no): Number,
    Query(asked): Query<Pairs>,
    request: Request,
) -> Response {
    let asked = Fields::sent(asked);
    let told = match Kind::from_code(asked.text("form")) {
        Some(Kind::Note) => told::<Note>(&shop, &frame, &no, Kind::Note, request).await,
        Some(kind) => told::<Order>(&shop, &frame, &no, kind, request).await,
        None => Err(Problem::new(400, "bad-form", "Refused").detail("There is no such form.")),
    };
    match told {
        Ok(told) => told.into_response(),
        Err(problem) => in_words(&frame, &no, problem).into_response(),
    }
}

/// An aggregate that has a form here.
trait HasForm: Aggregate<Id = OrderNo> {
    fn of(shop: &Shop) -> &Repository<Self>
    where
        Self: Sized;

    /// The state in which nobody changes it any more, if it is in such a state.
    fn frozen(&self) -> Option<OrderState>;
}

impl HasForm for Order {
    fn of(shop: &Shop) -> &Repository<Order> {
        &shop.orders
    }

    fn frozen(&self) -> Option<OrderState> {
        (!self.is_changeable()).then(|| self.state())
    }
}

impl HasForm for Note {
    fn of(shop: &Shop) -> &Repository<Note> {
        &shop.notes
    }

    fn frozen(&self) -> Option<OrderState> {
        None
    }
}

async fn told<A: HasForm>(
    shop: &Shop,
    frame: &Frame,
    no: &OrderNo,
    kind: Kind,
    request: Request,
) -> Result<Json<Told>, Problem> {
    let beat = Beat::<A>::from_request(request, shop).await?;
    // Whoever is signed in is a member; whether the order is theirs to see is asked each time.
    let member = frame.member.as_ref().ok_or_else(|| Problem::new(401, "session-expired", "Signed out"))?;
    may_edit(shop, member, no, kind).await?;
    let facts = beat.facts(shop.locks(), A::of(shop), no, kind == Kind::Edit, A::frozen).await?;
    let saved = shop.saved(member, beat.form()).await.map_err(problem)?.is_some();
    let verdict = decide(beat.owner(), Facts { saved, ..facts });
    Ok(Json(Standing::new(frame, beat.owner(), kind, no, &verdict).told()))
}

async fn may_edit(shop: &Shop, member: &Member, no: &OrderNo, kind: Kind) -> Result<(), Problem> {
    if kind == Kind::Note && !member.is_operator() {
        return Err(Problem::new(403, "forbidden", "This is for others to do"));
    }
    shop.order_of(member, no).await.map(drop).map_err(problem)
}

fn problem(refusal: Refusal) -> Problem {
    match refusal {
        Refusal::Failed(error) => error.into(),
        refusal => Problem::new(500, "failed", "Something went wrong").detail(refusal.to_string()),
    }
}

/// The problem, in the reader's language.
fn in_words(frame: &Frame, no: impl Display, problem: Problem) -> Problem {
    let t = frame.t;
    let said = match problem.code() {
        "not-found" => t.standing_gone().to_owned(),
        "forbidden" => t.forbidden_operators().to_owned(),
        "other-person" => t.other_person_what().to_owned(),
        "foreign-version" => t.foreign_what(no.to_string()).plain(),
        "bad-form" => t.incomplete_next().to_owned(),
        "csrf-failed" => format!("{} {}", t.csrf_what(), t.csrf_reload()),
        _ => return problem,
    };
    problem.detail(said)
}
