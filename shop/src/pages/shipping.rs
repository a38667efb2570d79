//! Changing where an order goes. Most who open it only look, so it takes the lock with the first change, as the policy
//! says; whoever has no lock is decided by the version.

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tenure::{Acquire, Holder, Lease, LeaseError, LockId, VersionToken, Why};
use tenure_web::first_edit::FirstEdit;
use tenure_web::leases::Alive;
use tenure_web::problem::Problem;
use tower_sessions::Session;

use super::fields::Fields;
use super::flash::Flash;
use super::form::{Style, shipping_inputs};
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::input::{Input, Mistake};
use super::order::{Number, fresh_lid};
use super::posted::{Answer, Posted};
use super::read::read_shipping;
use super::refusal::{self, Attempt, What};
use super::{both, order_url, outcome, see};
use crate::domain::{Order, OrderNo};
use crate::session::SignedIn;
use crate::use_cases::{Refusal, ShippingForm, Shop};

#[derive(Template)]
#[template(path = "shipping.html")]
struct ShippingPage {
    f: Frame,
    no: OrderNo,
    url: String,
    version: VersionToken<Order>,
    holder: Option<Holder>,
    /// The secret of the lease, and the lease if it was taken already.
    lid: String,
    lease: Option<Lease>,
    /// Whether it is taken before anything is typed: there is text in the form already, or the policy says so.
    at_once: bool,
    inputs: Vec<Input>,
    mistakes: Vec<Mistake>,
}

impl ShippingPage {
    fn is_held_by_somebody(&self) -> bool {
        self.holder.is_some()
    }
}

/// GET /orders/{no}/shipping: looking never takes a lock.
pub(super) async fn show(State(shop): State<Shop>, visit: Visit, Number(no): Number) -> Response {
    let view = match shop.order(&visit.member, &no).await {
        Ok(view) => view,
        Err(refusal) => return refusal::plain(visit.frame, refusal),
    };
    if !view.order.is_changeable() {
        // The order's own page says why.
        return see(&order_url(&no));
    }
    let typed = Fields::of_shipping(view.order.shipping());
    let at_once = shop.acquire() == Acquire::OnOpen;
    let form = Form { lid: fresh_lid(), lease: None, at_once, version: view.order.token(), typed: &typed };
    page(visit, no, form, view.holder, Vec::new())
}

/// POST /orders/{no}/shipping/lock: the person began to type. (Who is signed in, `first` has made sure of.)
pub(super) async fn lock(
    State(shop): State<Shop>,
    Number(no): Number,
    member: Result<SignedIn, Response>,
    first: FirstEdit<Order>,
) -> Result<Json<Alive>, Response> {
    let SignedIn(member) = member?;
    match shop.may_lock(&member, &no).await {
        Ok(()) => first.lock(&shop.locks, &shop.orders, &no).await.map_err(Problem::into_response),
        Err(Refusal::Failed(error)) => Err(Problem::from(error).into_response()),
        Err(_) => Err(Problem::new(403, "forbidden", "This is for others to do").into_response()),
    }
}

/// POST /orders/{no}/shipping
pub(super) async fn save(State(shop): State<Shop>, session: Session, Number(no): Number, form: Posted) -> Answer {
    let (id, version, opened) = (form.lock_id()?, form.version()?, both::opened(&form)?);
    let Posted { visit, fields } = form;
    let read = if fields.has("edit-first") { Err(Vec::new()) } else { read_shipping(visit.frame.t, &fields) };
    let info = match read {
        Ok(info) => info,
        Err(mistakes) => {
            let form = Form::again(&shop, &visit, id, version, &fields).await;
            return Ok(page(visit, no, form, None, mistakes));
        }
    };
    let (seen, filled_in) = match opened {
        None => (version, ShippingForm::Alone(info)),
        Some(opened) => (opened, ShippingForm::WithTheirs(both::changes(&fields, info, None))),
    };
    let done = shop.save_shipping(&visit.member, &no, seen, &id, &filled_in).await.map(|saved| match filled_in {
        ShippingForm::Alone(_) => Flash::saved(version, saved.version),
        ShippingForm::WithTheirs(_) => Flash::saved_both(&visit.frame, saved),
    });
    let attempt = Attempt { what: What::ChangeShipping, no: &no, seen: Some(version), fields: &fields };
    Ok(outcome::of(&shop, &session, visit, attempt, done).await)
}

/// What the form has that is drawn.
struct Form<'a> {
    lid: String,
    lease: Option<Lease>,
    at_once: bool,
    version: VersionToken<Order>,
    typed: &'a Fields,
}

impl<'a> Form<'a> {
    /// With what was typed. Whoever corrects a mistake must not find the order taken, so the lease stays; for one that has
    /// ended there is a new secret.
    async fn again(
        shop: &Shop,
        visit: &Visit,
        id: LockId,
        version: VersionToken<Order>,
        typed: &'a Fields,
    ) -> Form<'a> {
        let (lid, lease) = match shop.lease(&visit.member, &id).await {
            Ok(lease) => (id.reveal(), Some(lease)),
            Err(LeaseError::NoLock(no_lock)) if no_lock.why != Why::Unknown => (fresh_lid(), None),
            Err(_) => (id.reveal(), None),
        };
        Form { lid, lease, at_once: true, version, typed }
    }
}

fn page(visit: Visit, no: OrderNo, form: Form<'_>, holder: Option<Holder>, mistakes: Vec<Mistake>) -> Response {
    let Form { lid, lease, at_once, version, typed } = form;
    let wrong = !mistakes.is_empty();
    let style = Style { t: visit.frame.t, mistakes: &mistakes, own: !visit.member.is_operator(), readonly: false };
    let inputs = shipping_inputs(style, typed);
    let frame = visit.frame.state(if wrong { "OE-17" } else { "shipping" });
    let url = order_url(&no);
    let page = ShippingPage { f: frame, url, no, version, holder, lid, lease, at_once, inputs, mistakes };
    let status = if wrong { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    page.f.answer(status, &page)
}
