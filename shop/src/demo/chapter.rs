//! The web side of the naive service: the same addresses as the shop's, without version, lock or form id.

use axum::extract::{Form, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};

use super::storage::{Moment, Naive, TooLate};

type Sent = Form<Vec<(String, String)>>;
type At = Option<Extension<Moment>>;

pub(super) fn app(naive: Naive) -> Router {
    Router::new()
        .route("/orders/{no}", get(|| async { StatusCode::OK }))
        .route("/orders/{no}/shipping", get(|| async { StatusCode::OK }).post(change_shipping))
        .route("/orders/{no}/start-shipping", post(start_shipping))
        .with_state(naive)
}

async fn change_shipping(State(naive): State<Naive>, Path(no): Path<String>, at: At, Form(sent): Sent) -> Response {
    let value = |name: &str| sent.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value);
    let (address, message) = (value("address.line1"), value("message"));
    answer(&no, naive.change_shipping(&no, address, message, at.and_then(|Extension(at)| at)).await)
}

async fn start_shipping(State(naive): State<Naive>, Path(no): Path<String>, at: At) -> Response {
    answer(&no, naive.start_shipping(&no, at.and_then(|Extension(at)| at)).await)
}

fn answer(no: &str, done: Result<Result<(), TooLate>, sqlx::Error>) -> Response {
    match done {
        Ok(Ok(())) => (StatusCode::SEE_OTHER, [(header::LOCATION, format!("/orders/{no}"))]).into_response(),
        Ok(Err(TooLate)) => StatusCode::UNPROCESSABLE_ENTITY.into_response(),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "the naive service of a demo failed");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
