//! The well-known chapter on aggregate transactions, listing by listing: find with a lock, the version in the form, the controller with both
//! conflicts, and the offline lock with its four verbs.
//!
//! ```text
//! cargo run -p tenure-web --example chapter
//! ```
//!
//! It sends requests to itself and prints the answers. `docs/guide/chapter.md` tells the story. Sign-in and CSRF tokens are left out here:
//! `documents.rs`, beside this file, has both.

#![allow(missing_docs, reason = "an example")]

use std::error::Error;
use std::fmt;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Form, Path, State};
use axum::http::{Request, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde::Deserialize;
use tenure::clock::ManualClock;
use tenure::db::ConnectOptions;
use tenure::error::UpdateError;
use tenure::unit_of_work::Update;
use tenure::{
    Aggregate, Database, Loaded, LockId, LockKey, LockManager, LockMode, LockPolicy, Owner, Repository, ValueObject,
    VersionToken, Wait, sqlx,
};
use tenure_web::problem::Problem;
use tower::ServiceExt;

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Aggregate)]
#[aggregate(table = "orders", revisions = 20)]
struct Order {
    #[aggregate(id)]
    number: String,
    ship_to: String,
    state: OrderState,
}

#[derive(ValueObject, Debug, PartialEq)]
enum OrderState {
    Preparing,
    Shipped,
}

#[derive(Debug)]
struct AlreadyShipped(String);

impl Error for AlreadyShipped {}

impl fmt::Display for AlreadyShipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "order {} is shipped already", self.0)
    }
}

impl Order {
    fn start_shipping(&mut self) -> Result<(), AlreadyShipped> {
        self.verify_not_yet_shipped()?;
        self.state = OrderState::Shipped;
        Ok(())
    }

    fn change_shipping_info(&mut self, ship_to: &str) -> Result<(), AlreadyShipped> {
        self.verify_not_yet_shipped()?;
        self.ship_to = ship_to.into();
        Ok(())
    }

    fn verify_not_yet_shipped(&self) -> Result<(), AlreadyShipped> {
        if self.state == OrderState::Shipped { Err(AlreadyShipped(self.number.clone())) } else { Ok(()) }
    }
}

// A row of another table that belongs to the order, and is written by a statement of the application's own.
const TABLES: &str = "create table orders (number text primary key, ship_to text, state text, version integer);
    create table courier_note (order_number text primary key, text text);";

#[derive(Clone)]
struct Orders {
    db: Database,
    orders: Repository<Order>,
    locks: LockManager,
}

// The application service. Its errors are `UpdateError`: the domain's refusal, or tenure's error.
type Done<T> = Result<T, UpdateError<AlreadyShipped>>;

impl Orders {
    fn new(db: &Database) -> Result<Self, Box<dyn Error>> {
        let policy = LockPolicy::exclusive().ttl(5 * MINUTE)?; // lockTimeout
        let locks = LockManager::new(db).with_policy_for::<Order>(policy);
        Ok(Orders { db: db.clone(), orders: Repository::new(db), locks })
    }

    /// Pessimistic: find with a lock, and a limit for all waits of the transaction.
    async fn ship_the_next_one(&self, number: &String) -> Result<(), Box<dyn Error>> {
        let mut tx = self.db.begin_within(Wait::Within(Duration::from_secs(2))).await?;
        let mut order = self.orders.find(&mut tx, number, LockMode::PessimisticWrite).await?.ok_or("no such order")?;
        order.start_shipping()?;
        self.orders.save(&mut tx, &mut order).await?;
        tx.commit().await?;
        Ok(())
    }

    /// The place of `@Lock` and `@QueryHints`: each method of the service that starts from this one has both.
    fn locked<'a>(&'a self, number: &String) -> Update<'a, Order> {
        self.orders.update(number).locking(LockMode::PessimisticWrite).within(Duration::from_secs(2))
    }

    /// The service knows no version.
    async fn change_shipping_info(&self, number: &String, ship_to: &str) -> Done<Loaded<Order>> {
        self.orders.update(number).run(|order| order.change_shipping_info(ship_to)).await
    }

    /// This one takes the version that the person saw.
    async fn start_shipping(&self, request: &StartShippingRequest) -> Done<Loaded<Order>> {
        let update = self.orders.update(&request.order_number).expecting(request.version);
        update.run(Order::start_shipping).await
    }

    /// A change of what belongs to the order, without a change of its own fields.
    async fn write_to_the_courier(&self, number: &String, text: &str) -> Result<(), Box<dyn Error>> {
        let mut tx = self.db.begin().await?;
        let order =
            self.orders.find(&mut tx, number, LockMode::OptimisticForceIncrement).await?.ok_or("no such order")?;
        let note = sqlx::query("insert or replace into courier_note (order_number, text) values (?, ?)");
        note.bind(&order.number).bind(text).execute(tx.sqlite()?).await?;
        tx.commit().await?; // raises the version
        Ok(())
    }

    /// The form for the whole order: the lock first, then the data.
    async fn get_data_with_lock(&self, number: &String, me: &Owner) -> Result<DataAndLockId, Problem> {
        let lease = self.locks.try_lock(&LockKey::of::<Order>(number), me).await?;
        let data = self.orders.get(number).await?.ok_or_else(no_order)?;
        Ok(DataAndLockId { data, lock_id: lease.id().clone() })
    }

    /// Its save: checks the lock, changes the order and releases the lock, in one transaction.
    async fn edit(&self, number: &String, me: &Owner, request: &EditRequest, lid: &LockId) -> Done<Loaded<Order>> {
        let update = self.orders.update(number).by(me).expecting(request.version).releasing(lid);
        update.run(|order| order.change_shipping_info(&request.ship_to)).await
    }
}

struct DataAndLockId {
    data: Loaded<Order>,
    lock_id: LockId,
}

#[derive(Deserialize)]
struct StartShippingRequest {
    order_number: String,
    version: VersionToken<Order>,
}

#[derive(Deserialize)]
struct EditRequest {
    lid: String,
    version: VersionToken<Order>,
    ship_to: String,
}

/// The form with the hidden version.
async fn shipping_form(State(shop): State<Orders>, Path(number): Path<String>) -> Result<Html<String>, Problem> {
    let order = shop.orders.get(&number).await?.ok_or_else(no_order)?;
    let (number, version, ship_to) = (escape(&order.number), order.token(), escape(&order.ship_to));
    Ok(Html(format!(
        r#"<form method="post" action="/startShipping">
<input type="hidden" name="version" value="{version}">
<input type="hidden" name="order_number" value="{number}">
{ship_to} <button>Start shipping</button></form>"#
    )))
}

/// The controller that tells the two conflicts apart.
async fn start_shipping(State(shop): State<Orders>, Form(request): Form<StartShippingRequest>) -> Response {
    match shop.start_shipping(&request).await {
        Ok(_) => "shipped".into_response(),
        Err(UpdateError::Failed(tenure::Error::VersionConflict(conflict))) => {
            (StatusCode::CONFLICT, format!("changed since you looked: {conflict}")).into_response()
        }
        Err(UpdateError::Failed(tenure::Error::OptimisticLockingFailure(_))) => {
            (StatusCode::CONFLICT, "another person saved at the same moment").into_response()
        }
        Err(UpdateError::Refused(refused)) => (StatusCode::UNPROCESSABLE_ENTITY, refused.to_string()).into_response(),
        Err(UpdateError::Failed(other)) => Problem::from(other).into_response(),
    }
}

/// The controller that does not.
async fn change_shipping(State(shop): State<Orders>, Path(number): Path<String>, ship_to: String) -> Response {
    match shop.change_shipping_info(&number, &ship_to).await {
        Ok(_) => "changed".into_response(),
        Err(UpdateError::Failed(error)) if error.is_conflict() => {
            (StatusCode::CONFLICT, "another person changed this order").into_response()
        }
        Err(UpdateError::Refused(refused)) => (StatusCode::UNPROCESSABLE_ENTITY, refused.to_string()).into_response(),
        Err(UpdateError::Failed(other)) => Problem::from(other).into_response(),
    }
}

/// The edit form, with the lock id in the hidden field `lid`. A POST, because it acquires a lock.
async fn edit_form(
    State(shop): State<Orders>,
    Path(number): Path<String>,
    Extension(me): Extension<Owner>,
) -> Result<Html<String>, Problem> {
    let DataAndLockId { data, lock_id } = shop.get_data_with_lock(&number, &me).await?;
    let (number, version, ship_to) = (escape(&data.number), data.token(), escape(&data.ship_to));
    Ok(Html(format!(
        r#"<form method="post" action="/orders/{number}/save">
<input type="hidden" name="lid" value="{}">
<input type="hidden" name="version" value="{version}">
<input name="ship_to" value="{ship_to}"> <button>Save</button></form>"#,
        lock_id.reveal()
    )))
}

/// The save of the edit form.
async fn edit(
    State(shop): State<Orders>,
    Path(number): Path<String>,
    Extension(me): Extension<Owner>,
    Form(request): Form<EditRequest>,
) -> Result<&'static str, Problem> {
    let lid = request.lid.parse::<LockId>().map_err(|_| Problem::new(400, "bad-form", "The form is incomplete"))?;
    match shop.edit(&number, &me, &request, &lid).await {
        Ok(_) => Ok("saved"),
        Err(UpdateError::Refused(refused)) => Err(Problem::new(422, "already-shipped", refused.to_string())),
        Err(UpdateError::Failed(error)) => Err(error.into()), // 410 NoLock, with the reason; 409 VersionConflict
    }
}

fn no_order() -> Problem {
    Problem::new(404, "not-found", "There is no such order")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// What one person sees. Each has an `Extension<Owner>`, which a sign-in would insert.
fn app_of(shop: &Orders, me: &Owner) -> Router {
    Router::new()
        .route("/orders/{number}/shipping", get(shipping_form).post(change_shipping))
        .route("/startShipping", post(start_shipping))
        .route("/orders/{number}/edit", post(edit_form))
        .route("/orders/{number}/save", post(edit))
        .layer(Extension(me.clone()))
        .with_state(shop.clone())
}

/// Sends a request, and returns the status and the text.
async fn send(app: &Router, method: &str, path: &str, body: String) -> Result<(u16, String), Box<dyn Error>> {
    let request = Request::builder().method(method).uri(path);
    let request = request.header("content-type", "application/x-www-form-urlencoded").body(Body::from(body))?;
    let response = app.clone().oneshot(request).await?;
    let status = response.status().as_u16();
    let text = axum::body::to_bytes(response.into_body(), 100_000).await?;
    Ok((status, String::from_utf8_lossy(&text).into_owned()))
}

/// The value of a hidden field.
fn hidden(page: &str, name: &str) -> String {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).unwrap_or_default();
    rest.split('"').next().unwrap_or_default().to_owned()
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let clock = ManualClock::new();
    let url = format!("sqlite://{}/shop.db", directory.path().display());
    let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await?;
    let shop = Orders::new(&db)?;
    let mut tx = db.begin().await?;
    sqlx::raw_sql(TABLES).execute(tx.sqlite()?).await?;
    for number in ["1233", "1234"] {
        let order = Order { number: number.into(), ship_to: "Teheran-ro 1".into(), state: OrderState::Preparing };
        shop.orders.insert(&mut tx, order).await?;
    }
    tx.commit().await?;
    let (kim, lee) = (Owner::new("kim", "Kim Minji"), Owner::new("lee", "Lee Junho"));
    let (kims, lees) = (app_of(&shop, &kim), app_of(&shop, &lee));
    let number = String::from("1234");

    // Pessimistic.
    shop.ship_the_next_one(&"1233".to_owned()).await?;
    let again = shop.locked(&"1233".to_owned()).run(Order::start_shipping).await;
    assert!(matches!(again, Err(UpdateError::Refused(AlreadyShipped(_)))));

    // The version in the form: Lee looks, Kim changes the address, Lee ships what he saw.
    let (_, page) = send(&lees, "GET", "/orders/1234/shipping", String::new()).await?;
    let seen: VersionToken<Order> = hidden(&page, "version").parse()?;
    assert_eq!(send(&kims, "POST", "/orders/1234/shipping", "Hangang-daero 2".into()).await?.0, 200);
    let order = shop.orders.get(&number).await?.ok_or("no such order")?;
    if !order.matches_version(seen.version()) {
        println!("Lee's page is older than the order");
    }
    let (status, answer) =
        send(&lees, "POST", "/startShipping", format!("order_number=1234&version={}", hidden(&page, "version")))
            .await?;
    println!("Lee presses Start shipping: {status} {answer}");
    assert_eq!(status, 409);

    // A forced increment: a page that was open before does not fit any more.
    shop.write_to_the_courier(&number, "Please ring twice").await?;
    assert_eq!(shop.orders.get(&number).await?.ok_or("no such order")?.version().number(), 3);

    // The offline lock: Kim edits, Lee is refused.
    let (_, form) = send(&kims, "POST", "/orders/1234/edit", String::new()).await?;
    let (status, refused) = send(&lees, "POST", "/orders/1234/edit", String::new()).await?;
    println!("Lee presses Edit: {status} {refused}");
    assert_eq!(status, 423);
    let save =
        |form: &str, to: &str| format!("lid={}&version={}&ship_to={to}", hidden(form, "lid"), hidden(form, "version"));
    assert_eq!(send(&kims, "POST", "/orders/1234/save", save(&form, "Hangang-daero+3")).await?.0, 200);

    // Kim opens it again and closes the program. Her lock ends by itself, and her late save changes nothing.
    let (_, form) = send(&kims, "POST", "/orders/1234/edit", String::new()).await?;
    clock.advance(6 * MINUTE);
    assert_eq!(send(&lees, "POST", "/orders/1234/edit", String::new()).await?.0, 200);
    let (status, late) = send(&kims, "POST", "/orders/1234/save", save(&form, "Hangang-daero+4")).await?;
    println!("Kim saves after six minutes: {status} {late}");
    assert_eq!(status, 410);

    four_verbs(&shop.locks, &kim, &lee).await?;
    notice(&LockManager::new(&db), &kim, &lee).await
}

/// The lock manager with its four verbs.
async fn four_verbs(locks: &LockManager, kim: &Owner, lee: &Owner) -> Result<(), Box<dyn Error>> {
    let key = LockKey::new("Article", "7");
    let lease = locks.try_lock(&key, kim).await?; // Err(AlreadyLocked { holder })
    locks.check_lock(lease.id()).await?; // Err(NoLock { why })
    locks.extend_lock_expiration(lease.id(), MINUTE).await?; // never beyond now + ttl
    locks.release_lock(lease.id()).await?;

    let lease = locks.try_lock(&key, lee).await?;
    println!("{} has {} s left", lease.holder().owner.name, lease.holder().remaining.as_secs());
    Ok(())
}

/// The notice of a wiki: nobody is refused, and everybody sees the others.
async fn notice(locks: &LockManager, kim: &Owner, lee: &Owner) -> Result<(), Box<dyn Error>> {
    let locks = locks.clone().with_policy("Page", LockPolicy::advisory());
    let key = LockKey::new("Page", "home");
    let _kims = locks.try_lock(&key, kim).await?;
    let _lees = locks.try_lock(&key, lee).await?; // advisory: granted as well
    for holder in locks.holders(&key).await?.iter().filter(|holder| holder.owner != *lee) {
        println!("{} is editing this page too", holder.owner.name);
    }
    Ok(())
}
