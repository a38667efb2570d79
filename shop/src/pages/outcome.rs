//! From what became of a form to the page that comes next: in one place, so that all forms end alike.

use axum::response::Response;
use tower_sessions::Session;

use super::flash::Flash;
use super::frame::Visit;
use super::refusal::{self, Attempt};
use super::{order_url, see};
use crate::use_cases::{Refusal, Shop};

/// On to the order's page, which says what was done; or the page that explains why nothing was.
pub(super) async fn of(
    shop: &Shop,
    session: &Session,
    visit: Visit,
    attempt: Attempt<'_>,
    done: Result<Flash, Refusal>,
) -> Response {
    match done {
        Ok(flash) => {
            flash.leave(session).await;
            see(&order_url(attempt.no))
        }
        Err(refusal) => refusal::page(shop, visit, attempt, refusal).await,
    }
}
