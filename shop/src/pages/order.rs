//! The page of an order: its content, the possible actions, its editor, and its changes.

use askama::Template;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use tenure::lease::Holder;
use tenure::version::Change;
use tenure_web::form_id::FormId;
use tenure_web::verdict::Verdict;
use tenure_web::versions::Versioned;

use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::live;
use super::standing;
use super::unsaved::{Offered, Unsaved};
use super::{order_url, problem, refusal};
use crate::domain::{Order, OrderNo, OrderState};
use crate::texts::{Html, When};
use crate::use_cases::{OrderView, Shop};

#[derive(Template)]
#[template(path = "order.html")]
struct OrderPage {
    f: Frame,
    view: OrderView,
    url: String,
    /// The possible actions on the order now.
    verdict: Verdict<OrderState>,
    /// Who is editing it.
    line: Html,
    /// The ids of the forms that the buttons of this page open or send, new for each rendered page.
    edit_form: FormId,
    note_form: FormId,
    ship_form: FormId,
    cancel_form: FormId,
    /// For drafts of forms that are gone.
    unsaved: Option<Unsaved>,
    /// Text that was refused.
    refused: Option<Offered>,
    /// How another person ended the viewer's latest editing.
    ended: Option<Html>,
}

impl OrderPage {
    fn order(&self) -> &Order {
        &self.view.order
    }

    fn can_start_shipping(&self) -> bool {
        self.f.is_operator() && self.order().state() == OrderState::Preparing
    }

    /// The holder whose lock blocks a change.
    fn blocker(&self) -> Option<&Holder> {
        match &self.verdict {
            Verdict::Taken { holder, .. } | Verdict::Elsewhere { holder, .. } => Some(holder),
            _ => None,
        }
    }

    /// Who has the note open, each person once.
    fn note_editors(&self) -> Html {
        live::note_editors(&self.f, &self.view.note_editors)
    }

    /// The states of the page without a connection, and without anything to see.
    fn live_states(&self) -> (&'static str, &'static str) {
        ("", "gone")
    }

    /// The version of the note, to compare the earlier ones with.
    fn note_version(&self) -> i64 {
        self.view.note.as_ref().map_or(0, |note| note.version().number())
    }

    /// When a change was made. An order of the demo was placed before the demo was made.
    fn made_at(&self, change: &Change) -> When {
        if self.f.is_of_the_demo(change) { self.f.at(self.order().placed_at()) } else { self.f.at(change.at) }
    }

    fn waits_for_payment(&self) -> bool {
        self.f.is_operator() && self.order().state() == OrderState::PaymentWaiting
    }
}

/// The number in the address. An invalid text is the number of no order, and the page about it says why.
pub(super) struct Number(pub(super) OrderNo);

impl FromRequestParts<Shop> for Number {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shop: &Shop) -> Result<Number, Response> {
        // The address may contain more than the number, which comes first.
        match Path::<Vec<(String, String)>>::from_request_parts(parts, shop).await {
            Ok(Path(mut named)) if !named.is_empty() => OrderNo::new(named.swap_remove(0).1)
                .map(Number)
                .map_err(|why| problem::no_order_number(Frame::bare(parts), why)),
            // Not valid UTF-8.
            _ => Err(problem::not_found(Frame::bare(parts))),
        }
    }
}

/// GET /orders/{no}
pub(super) async fn show(State(shop): State<Shop>, visit: Visit, Number(no): Number) -> Response {
    let view = match shop.order(&visit.member, &no).await {
        Ok(view) => view,
        Err(refusal) => return refusal::plain(visit.frame, refusal),
    };
    let me = visit.member.owner();
    let verdict = live::verdict(&visit.frame, &me, view.order.state(), view.holder.clone().into_iter().collect());
    let live::Said { state, html: line } = live::line(&visit.frame, &shop, &verdict, false);
    let [edit_form, note_form, ship_form, cancel_form] = std::array::from_fn(|_| FormId::random());
    let refused = match Offered::of(&shop, &visit, &view.order).await {
        Ok(refused) => refused,
        Err(refusal) => return refusal::plain(visit.frame, refusal),
    };
    let (f, url) = (visit.frame.state(state), order_url(&no));
    let unsaved = view.frozen().is_some().then(|| Unsaved::of(&["shipping", "edit"], no.as_str()));
    let ended = match shop.ended(&visit.member, &view).await {
        Ok(ended) => ended.map(|why| standing::ended(&f, &why)),
        Err(refusal) => return refusal::plain(f, refusal),
    };
    let page = OrderPage {
        f,
        view,
        url,
        verdict,
        line,
        edit_form,
        note_form,
        ship_form,
        cancel_form,
        unsaved,
        refused,
        ended,
    };
    Versioned(page.view.order.token(), page.f.answer(StatusCode::OK, &page)).into_response()
}
