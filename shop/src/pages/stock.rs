//! The operators' stock: how many pieces of each product there are, and receiving a delivery of new ones.

use askama::Template;
use askama::filters::urlencode_strict;
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
use super::read::number;
use super::refusal;
use crate::domain::{Member, Product, Role};
use crate::texts::{Html, Lang};
use crate::use_cases::{Once, ProductRow, Refusal, Shop};

/// The fields of a row. They repeat, once per row.
const PRODUCT: &str = "product";
const FORM: &str = "form_id";
const VERSION: &str = "version";
const PIECES: &str = "pieces";

#[derive(Template)]
#[template(path = "stock.html")]
struct StockPage {
    f: Frame,
    rows: Vec<Row>,
    /// What is said above the list if something was not received: a heading, and a sentence.
    notice: (&'static str, &'static str),
    mistakes: Vec<Mistake>,
}

/// A row of the form: a product of the list, or a new one.
struct Row {
    listed: Option<ProductRow>,
    form: FormId,
    /// The name of a new product.
    product: Option<Input>,
    pieces: Input,
}

/// One product of a delivery. Each has its own id, because each is received on its own.
struct Line {
    form: FormId,
    /// The version of the product that the operator saw; none of a new one.
    seen: Option<VersionToken<Product>>,
    product: String,
    pieces: String,
}

/// Why a line was not received: the state of the page, its status, and the mistake in a field.
struct Refused {
    state: &'static str,
    status: StatusCode,
    field: &'static str,
    text: Html,
}

impl Line {
    fn blank() -> Line {
        Line { form: FormId::random(), seen: None, product: String::new(), pieces: String::new() }
    }

    /// The lines of a form.
    ///
    /// # Errors
    /// The page about an incomplete form. Nothing of such a form is received: a number could belong to another row.
    fn sent(form: &Posted) -> Result<Vec<Line>, Response> {
        let incomplete = |field| problem::incomplete_form(form.visit.frame.clone(), field, &form.fields);
        let fields = [PRODUCT, FORM, VERSION, PIECES];
        let columns = fields.map(|field| form.fields.all(field).collect::<Vec<_>>());
        let rows = columns.iter().map(Vec::len).max().unwrap_or_default().max(1);
        if let Some((field, _)) = fields.iter().zip(&columns).find(|(_, column)| column.len() != rows) {
            return Err(incomplete(field));
        }
        let [products, forms, versions, pieces] = columns;
        let mut lines = Vec::new();
        for (((product, form), version), pieces) in products.into_iter().zip(forms).zip(versions).zip(pieces) {
            let product = product.trim().to_owned();
            let seen: Option<VersionToken<Product>> = match version {
                "" => None,
                version => Some(version.parse().map_err(|_| incomplete(VERSION))?),
            };
            if seen.is_some_and(|seen| !seen.is_of(&product)) {
                return Err(incomplete(VERSION));
            }
            let form = form.parse().map_err(|_| incomplete(FORM))?;
            lines.push(Line { form, seen, product, pieces: pieces.trim().to_owned() });
        }
        Ok(lines)
    }

    /// Whether something is typed in it.
    fn is_filled(&self) -> bool {
        !self.pieces.is_empty() || (self.seen.is_none() && !self.product.is_empty())
    }

    /// Receives it; once, if the form is sent again.
    async fn receive(&self, shop: &Shop, member: &Member) -> Result<u32, Refusal> {
        let typed = [(PRODUCT, &self.product), (PIECES, &self.pieces)];
        let typed = Fields::sent(typed.map(|(name, value)| (name.to_owned(), value.clone())).into());
        let on = self.seen.map_or(0, |seen| seen.version().number());
        let once = Once { form: self.form, digest: typed.digest(), on, nth: 0 };
        // A text that is no number is as wrong as a number that is too large.
        let pieces = number(&self.pieces).unwrap_or(0);
        match shop.receive(member, &self.product, pieces, self.seen, &once).await {
            // The same form was sent twice concurrently: one of them has saved.
            Err(Refusal::Failed(
                Error::VersionConflict(_) | Error::OptimisticLockingFailure(_) | Error::AlreadyExists { .. },
            )) if shop.saved(member, once.form).await?.is_some_and(|saved| saved.digest == once.digest) => Ok(pieces),
            received => received.map(|_| pieces),
        }
    }
}

impl Refused {
    /// What to say at the line.
    ///
    /// # Errors
    /// A refusal that is not about the line.
    fn of(t: Lang, refusal: Refusal) -> Result<Refused, Refusal> {
        let conflict =
            |state, field, text: &str| Refused { state, status: StatusCode::CONFLICT, field, text: text.into() };
        let mistake = |field, text| Refused { state: "ST-4", status: StatusCode::UNPROCESSABLE_ENTITY, field, text };
        Ok(match refusal {
            Refusal::Stock(invalid) => mistake(invalid.field, t.wrong(invalid.problem)),
            Refusal::Failed(Error::NotFound { .. }) => mistake(PRODUCT, t.product_is_gone().into()),
            Refusal::Failed(Error::VersionConflict(_) | Error::OptimisticLockingFailure(_)) => {
                conflict("ST-7", PIECES, t.stock_changed())
            }
            Refusal::Failed(Error::AlreadyExists { .. }) => conflict("ST-8", PRODUCT, t.product_is_there()),
            other => return Err(other),
        })
    }
}

impl Row {
    /// The row, and what is wrong with it; `at` is the place of one of a new product. The same product has the same ids on each page,
    /// because the script finds its fields by them.
    fn new(t: Lang, at: usize, listed: Option<ProductRow>, line: Line, why: Option<Refused>) -> (Row, Option<Mistake>) {
        let key = match listed.as_ref().map(|row| urlencode_strict(&row.name)) {
            Some(Ok(name)) => name.to_string(),
            Some(Err(never)) => match never {},
            None => format!("new-{at}"),
        };
        let id = |field| format!("{field}-{key}");
        let name = Html::text(listed.as_ref().map_or(t.new_product_here(), |row| &row.name));
        let mistake = why.map(|why| Mistake::new(id(why.field), name.clone(), why.text));
        let input = |field, label, value, kind| {
            Input::with_id(id(field), field, label, value, kind, mistake.as_slice()).base("")
        };
        let pieces = input(PIECES, t.pieces_of(&name), &line.pieces, Kind::Number);
        let product = listed.is_none().then(|| input(PRODUCT, name.clone(), &line.product, Kind::Text));
        (Row { listed, form: line.form, product, pieces }, mistake)
    }
}

impl StockPage {
    /// The list, with the lines that were refused. Those of new products are below it, and of products that are gone.
    fn new(f: Frame, products: Vec<ProductRow>, refused: Vec<(Line, Refused)>) -> StockPage {
        let mut refused: Vec<_> = refused.into_iter().map(|(line, why)| (line, Some(why))).collect();
        let mut lines = Vec::new();
        for product in products {
            let at = refused.iter().position(|(line, _)| line.seen.is_some() && line.product == product.name);
            let (line, why) = at.map_or((Line::blank(), None), |at| refused.remove(at));
            lines.push((Some(product), line, why));
        }
        if refused.is_empty() {
            refused.push((Line::blank(), None));
        }
        let listed = lines.len();
        lines.extend(refused.into_iter().map(|(line, why)| (None, line, why)));
        let new = |(at, (product, line, why)): (usize, _)| Row::new(f.t, at.saturating_sub(listed), product, line, why);
        let rows = lines.into_iter().enumerate().map(new);
        let (rows, mistakes): (Vec<_>, Vec<_>) = rows.unzip();
        StockPage { f, rows, notice: ("", ""), mistakes: mistakes.into_iter().flatten().collect() }
    }
}

/// GET /stock
pub(super) async fn show(State(shop): State<Shop>, visit: Visit) -> Response {
    match shop.stock(&visit.member).await {
        Ok(products) => {
            let page = StockPage::new(visit.frame.state("ST-1"), products, Vec::new());
            page.f.answer(StatusCode::OK, &page)
        }
        Err(refusal) => refusal::plain(visit.frame, refusal),
    }
}

/// POST /stock/receive
pub(super) async fn receive(State(shop): State<Shop>, form: Posted) -> Answer {
    // The use case refuses as well, but a form without a number does not reach it.
    if !form.visit.member.is_operator() {
        return Ok(problem::not_allowed(form.visit.frame, Role::Operator, &form.fields));
    }
    let lines = Line::sent(&form)?;
    let Posted { visit: Visit { frame, member }, fields, .. } = form;
    let t = frame.t;
    let (mut received, mut refused) = (Vec::new(), Vec::new());
    for line in lines.into_iter().filter(Line::is_filled) {
        match line.receive(&shop, &member).await {
            Ok(pieces) => received.push((line.product, pieces)),
            Err(refusal) => match Refused::of(t, refusal) {
                Ok(why) => refused.push((line, why)),
                Err(refusal) => return Ok(failed(frame, refusal, &fields)),
            },
        }
    }
    if refused.is_empty() && !received.is_empty() {
        return Ok(Flash::received(received).at("/stock"));
    }
    let products = match shop.stock(&member).await {
        Ok(products) => products,
        Err(refusal) => return Ok(failed(frame, refusal, &fields)),
    };
    let worst = refused.iter().map(|(_, why)| (why.state, why.status)).max();
    let (state, status) = worst.unwrap_or(("ST-4", StatusCode::UNPROCESSABLE_ENTITY));
    let mut page = StockPage::new(frame.state(state).without_switch(), products, refused);
    page.notice = match (received.is_empty(), page.mistakes.is_empty()) {
        (true, true) => (t.nothing_received(), ""),
        (true, false) => (t.nothing_received(), t.not_received_is_here()),
        (false, _) => (t.some_not_received(), t.not_received_is_here()),
    };
    if page.mistakes.is_empty() {
        page.mistakes.push(Mistake::general("pieces-0", t.no_pieces()));
    }
    page.f.flash = (!received.is_empty()).then(|| t.flash_received(t.delivery(&received)));
    Ok(page.f.answer(status, &page))
}

/// The page about a failure that is not about one line. What was received before it is not received again when the form is.
fn failed(frame: Frame, refusal: Refusal, fields: &Fields) -> Response {
    match refusal {
        Refusal::Failed(Error::Database(error)) => {
            let again = Retry { action: "/stock/receive".into(), fields: fields.again() };
            problem::database(frame, &error, Some((again, fields)))
        }
        other => refusal::plain(frame, other),
    }
}
