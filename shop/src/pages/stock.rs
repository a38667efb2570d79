//! The operators' stock: how many pieces of each product there are, and receiving new ones.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use tenure::{Error, VersionToken};
use tenure_web::form_id::FormId;

use super::fields::Fields;
use super::flash::Flash;
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::input::{Input, Kind, Mistake};
use super::posted::{Answer, Posted};
use super::problem::{self, Retry};
use super::{read, refusal, see};
use crate::domain::{Invalid, Problem, Product};
use crate::use_cases::{ProductRow, Refusal, Shop};

/// The fields of the forms.
const PRODUCT: &str = "product";
const PIECES: &str = "pieces";

#[derive(Template)]
#[template(path = "stock.html")]
struct StockPage {
    f: Frame,
    products: Vec<ProductRow>,
    /// The notice above the list if nothing was received.
    notice: Option<&'static str>,
    /// The typed text and its mistakes.
    typed: Fields,
    mistakes: Vec<Mistake>,
}

impl StockPage {
    /// Whether this is the form that was sent. The form of a new product is no row.
    fn is_open(&self, row: Option<&ProductRow>) -> bool {
        let sent = self.typed.text(PRODUCT);
        let is_row = self.products.iter().any(|row| row.name == sent);
        !self.typed.is_blank()
            && match row {
                Some(row) => row.name == sent,
                None => !is_row,
            }
    }

    fn typed<'t>(&'t self, row: Option<&ProductRow>, name: &str) -> &'t str {
        if self.is_open(row) { self.typed.text(name) } else { "" }
    }

    fn mistakes(&self, row: Option<&ProductRow>, id: &str) -> Vec<Mistake> {
        let open = self.is_open(row).then_some(&self.mistakes).into_iter().flatten();
        open.map(|mistake| Mistake { id: id.to_owned(), ..mistake.clone() }).collect()
    }

    /// How many pieces arrived. Its id contains the row's number, because every row has such a field.
    fn pieces(&self, at: &usize, row: &ProductRow) -> Input {
        let (id, row) = (format!("pieces-{at}"), Some(row));
        let mistakes = self.mistakes(row, &id);
        Input::with_id(id, PIECES, self.f.t.pieces_received(), self.typed(row, PIECES), Kind::Number, &mistakes)
    }

    fn new_product(&self) -> Input {
        let mistakes: Vec<_> = self.mistakes.iter().filter(|mistake| mistake.id == PRODUCT).cloned().collect();
        Input::new(PRODUCT, self.f.t.product(), self.typed(None, PRODUCT), Kind::Text, &mistakes)
    }

    fn new_pieces(&self) -> Input {
        let open = self.is_open(None);
        let mistakes: Vec<_> = self.mistakes.iter().filter(|mistake| open && mistake.id == PIECES).cloned().collect();
        Input::new(PIECES, self.f.t.pieces_received(), self.typed(None, PIECES), Kind::Number, &mistakes)
    }

    /// A new id for each form of the page.
    fn form_id(&self) -> FormId {
        FormId::random()
    }
}

/// GET /stock
pub(super) async fn show(State(shop): State<Shop>, visit: Visit) -> Response {
    page(&shop, visit, "ST-1", StatusCode::OK, |_| {}).await
}

/// POST /stock/receive
pub(super) async fn receive(State(shop): State<Shop>, form: Posted) -> Answer {
    let seen: Option<VersionToken<Product>> = if form.fields.has("version") { Some(form.version()?) } else { None };
    let once = form.once(seen.map(|seen| seen.version()))?;
    let Posted { visit, fields, .. } = form;
    // A text that is no number is as wrong as a number that is too large.
    let pieces = fields.text(PIECES).trim().parse().unwrap_or(0);
    let product = fields.text(PRODUCT).trim().to_owned();
    let refused = match shop.receive(&visit.member, &product, pieces, seen, &once).await {
        Ok(_) => {
            let mut response = see("/stock");
            Flash::Received { product, pieces }.leave(&mut response);
            return Ok(response);
        }
        Err(refused) => refused,
    };
    let t = visit.frame.t;
    let (state, status, notice, mistakes) = match refused {
        Refusal::Stock(invalid) => ("ST-4", StatusCode::UNPROCESSABLE_ENTITY, None, vec![read::mistake(t, invalid)]),
        Refusal::Failed(
            Error::VersionConflict(_) | Error::OptimisticLockingFailure(_) | Error::AlreadyExists { .. },
        ) if shop.saved(&visit.member, once.form).await.is_ok_and(|saved| {
            // The same form was sent twice concurrently: one of them has saved.
            saved.is_some_and(|saved| saved.digest == once.digest)
        }) =>
        {
            let mut response = see("/stock");
            Flash::Received { product, pieces }.leave(&mut response);
            return Ok(response);
        }
        Refusal::Failed(Error::VersionConflict(_) | Error::OptimisticLockingFailure(_)) => {
            ("ST-7", StatusCode::CONFLICT, Some(t.stock_changed()), Vec::new())
        }
        Refusal::Failed(Error::AlreadyExists { .. }) => {
            ("ST-8", StatusCode::CONFLICT, Some(t.product_is_there()), Vec::new())
        }
        Refusal::Failed(Error::NotFound { .. }) => {
            let missing = Invalid { field: PRODUCT, problem: Problem::Empty };
            ("ST-4", StatusCode::UNPROCESSABLE_ENTITY, None, vec![read::mistake(t, missing)])
        }
        // The version of something else: no page of the shop sends it.
        Refusal::Failed(Error::VersionTokenMismatch { .. } | Error::InvalidKey { .. }) => {
            return Ok(problem::incomplete_form(visit.frame, "version", &fields));
        }
        Refusal::Failed(Error::Database(error)) => {
            let again = Retry { action: "/stock/receive".into(), fields: fields.again() };
            return Ok(problem::database(visit.frame, &error, Some((again, &fields))));
        }
        other => return Ok(refusal::plain(visit.frame, other)),
    };
    let typed = |page: &mut StockPage| {
        page.notice = notice;
        page.typed = fields;
        page.mistakes = mistakes;
    };
    Ok(page(&shop, visit, state, status, typed).await)
}

async fn page(
    shop: &Shop,
    visit: Visit,
    state: &'static str,
    status: StatusCode,
    with: impl FnOnce(&mut StockPage),
) -> Response {
    let products = match shop.stock(&visit.member).await {
        Ok(products) => products,
        Err(refusal) => return refusal::plain(visit.frame, refusal),
    };
    let (f, typed) = (visit.frame.state(state), Fields::default());
    let mut page = StockPage { f, products, notice: None, typed, mistakes: Vec::new() };
    with(&mut page);
    page.f.answer(status, &page)
}
