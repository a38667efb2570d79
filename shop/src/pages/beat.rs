//! POST /orders/{no}/beat: the heartbeat of an open form, with the same verdict and texts as the pages.

use axum::Json;
use axum::extract::{FromRequest, Query, Request, State};
use axum::response::{IntoResponse, Response};
use tenure_web::beat::{Beat, HeartbeatResponse};
use tenure_web::problem::Problem;

use super::fields::{Fields, Pairs};
use super::frame::Frame;
use super::order::Number;
use super::standing::{Kind, Standing};
use crate::domain::OrderNo;
use crate::use_cases::{SessionId, Shop};

/// `form` in the query names the kind of form.
pub(super) async fn beat(
    State(shop): State<Shop>,
    frame: Frame,
    Number(no): Number,
    Query(asked): Query<Pairs>,
    request: Request,
) -> Response {
    let told = match Kind::from_code(Fields::sent(asked).text("form")) {
        Some(kind) => told(&shop, &frame, &no, kind, request).await,
        None => Err(Problem::new(400, "bad-form", "Refused").detail("There is no such form.")),
    };
    match told {
        Ok(told) => Json(told).into_response(),
        Err(problem) => in_words(&frame, &no, problem).into_response(),
    }
}

async fn told(
    shop: &Shop,
    frame: &Frame,
    no: &OrderNo,
    kind: Kind,
    request: Request,
) -> Result<HeartbeatResponse, Problem> {
    // A session names a member, so an owner in the extensions implies one.
    let member = frame.member.as_ref().ok_or_else(|| Problem::new(401, "session-expired", "Signed out"))?;
    let verdict = match kind {
        Kind::Note => shop.note_form(member, no, &read(shop, request).await?).await?,
        Kind::Shipping | Kind::Edit | Kind::Comparison => {
            shop.order_form(member, no, &read(shop, request).await?).await?
        }
    };
    Ok(Standing::new(frame, &member.owner(), kind, no, &verdict).told())
}

/// The heartbeat. The lease that it keeps alive or requests ends with the session.
async fn read<A>(shop: &Shop, request: Request) -> Result<Beat<A>, Problem> {
    let session = request.extensions().get::<SessionId>().cloned();
    let beat = Beat::from_request(request, shop).await?;
    shop.opens(session.as_ref().filter(|_| beat.wants_a_lock()), beat.lock_id());
    Ok(beat)
}

/// The problem, in the reader's language.
pub(super) fn in_words(frame: &Frame, no: &OrderNo, problem: Problem) -> Problem {
    let t = frame.t;
    let said = match problem.code() {
        "not-found" => t.standing_gone().to_owned(),
        "foreign-version" => t.foreign_what(no).plain(),
        "bad-form" => t.incomplete_next().to_owned(),
        "forbidden" => t.forbidden_operators().to_owned(),
        "other-person" => t.standing_other_person().to_owned(),
        "csrf-failed" => format!("{} {}", t.csrf_what(), t.csrf_reload()),
        _ => return problem,
    };
    problem.detail(said)
}
