//! The lock with the first change, as the page of a person asks for it.

#![allow(missing_docs, clippy::unwrap_used)]

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::Request;
use axum::routing::post;
use axum::{Extension, Json, Router};
use serde_json::{Value, json};
use tempfile::TempDir;
use tenure::{Aggregate, ConnectOptions, Database, LockId, LockKey, LockManager, LockPolicy, ManualClock};
use tenure::{Owner, Repository, ShowOwner, VersionToken, sqlx};
use tenure_web::csrf::CsrfToken;
use tenure_web::first_edit::FirstEdit;
use tenure_web::leases::{self, Alive, PARTING_GRACE};
use tenure_web::problem::Problem;
use tower::ServiceExt;

#[derive(Aggregate)]
#[aggregate(table = "orders", revisions = 9)]
struct Order {
    #[aggregate(id)]
    no: String,
    line1: String,
}

type Shop = (LockManager, Repository<Order>);

/// Order 2 is for nobody to change.
async fn lock(
    State((locks, orders)): State<Shop>,
    Path(no): Path<String>,
    first: FirstEdit<Order>,
) -> Result<Json<Alive>, Problem> {
    if no == "2" {
        return Err(Problem::new(403, "forbidden", "Not for you"));
    }
    first.lock(&locks, &orders, &no).await
}

struct Kit {
    locks: LockManager,
    orders: Repository<Order>,
    clock: ManualClock,
    _directory: TempDir,
}

fn kim() -> Owner {
    Owner::new("kim", "Kim Minji").in_role("Warehouse")
}

fn lee() -> Owner {
    Owner::new("lee", "Lee Junho").in_role("Office")
}

impl Kit {
    async fn new(policy: LockPolicy) -> Kit {
        let (directory, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
        let url = format!("sqlite://{}/shop.db", directory.path().display());
        let db = Database::connect_with(&url, ConnectOptions::new().going_by(clock.clone())).await.unwrap();
        let (locks, orders) = (LockManager::new(&db).with_policy("Order", policy), Repository::new(&db));
        let mut tx = db.begin().await.unwrap();
        let table = "create table orders (no text primary key, line1 text not null, version integer not null)";
        sqlx::raw_sql(table).execute(tx.sqlite().unwrap()).await.unwrap();
        for no in ["1", "2"] {
            orders.insert(&mut tx, Order { no: no.into(), line1: String::new() }).await.unwrap();
        }
        tx.commit().await.unwrap();
        Kit { locks, orders, clock, _directory: directory }
    }

    async fn token(&self, no: &str) -> VersionToken<Order> {
        self.orders.get(&no.to_owned()).await.unwrap().unwrap().token()
    }

    async fn save(&self, by: &Owner, no: &str) {
        let update = self.orders.update(&no.to_owned()).by(by);
        let change = |order: &mut Order| {
            order.line1.push('!');
            Ok::<_, Infallible>(())
        };
        update.run(change).await.unwrap();
    }

    async fn holders(&self, no: &str) -> Vec<(String, i64)> {
        let holders = self.locks.holders(&LockKey::new("Order", no)).await.unwrap();
        holders.into_iter().map(|holder| (holder.owner.id.clone(), holder.generation)).collect()
    }

    /// The request of a page, as its script sends it.
    async fn send(&self, who: Option<Owner>, path: &str, form: &[(&str, &str)]) -> (u16, Value) {
        let app =
            Router::new().route("/orders/{no}/lock", post(lock)).with_state((self.locks.clone(), self.orders.clone()));
        let app =
            app.merge(leases::router(self.locks.clone())).layer(Extension(CsrfToken::from_session("token".into())));
        let app = if let Some(owner) = who { app.layer(Extension(owner)) } else { app };
        let fields: Vec<_> = form.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
        let response = app.oneshot(request.body(Body::from(fields.join("&"))).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    async fn first_edit(&self, who: &Owner, no: &str, lid: &LockId, seen: VersionToken<Order>) -> (u16, Value) {
        let (lid, seen) = (lid.reveal(), seen.to_string());
        let form = [("csrf", "token"), ("lid", lid.as_str()), ("version", seen.as_str())];
        self.send(Some(who.clone()), &format!("/orders/{no}/lock"), &form).await
    }
}

#[tokio::test]
async fn the_first_change_takes_the_lock_and_asking_twice_gives_the_same_lease() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (lid, seen) = (LockId::random(), kit.token("1").await);
    let (status, alive) = kit.first_edit(&kim(), "1", &lid, seen).await;
    let owner = json!({ "id": "kim", "name": "Kim Minji" });
    let expected = json!({ "expires_in_ms": 300_000, "generation": 1, "owner": owner, "others": [] });
    assert_eq!((status, alive), (200, expected.clone()));
    assert_eq!(kit.first_edit(&kim(), "1", &lid, seen).await, (200, expected.clone()));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
    // From then on it beats as any other.
    assert_eq!(kit.send(Some(kim()), "/keep-alive", &[("lid", &lid.reveal())]).await, (200, expected));
}

#[tokio::test]
async fn who_holds_it_is_told_and_since_when() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let held = kit.locks.try_lock(&LockKey::new("Order", "1"), &lee()).await.unwrap();
    let (status, refused) = kit.first_edit(&kim(), "1", &LockId::random(), kit.token("1").await).await;
    assert_eq!((status, &refused["code"]), (423, &Value::from("already-locked")));
    let since = held.since.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let told = json!({ "owner": { "name": "Lee Junho" }, "since_ms": since as u64, "expires_in_ms": 300_000 });
    assert_eq!(refused["held_now"], told);
    assert_eq!(kit.holders("1").await, [("lee".into(), 1)]);
}

#[tokio::test]
async fn whom_the_policy_hides_is_not_named_in_a_refusal() {
    for (show, name) in [(ShowOwner::ByRole, "Office"), (ShowOwner::Anonymous, "somebody")] {
        let kit = Kit::new(LockPolicy::exclusive().showing(show)).await;
        kit.locks.try_lock(&LockKey::new("Order", "1"), &lee()).await.unwrap();
        let (_, refused) = kit.first_edit(&kim(), "1", &LockId::random(), kit.token("1").await).await;
        assert_eq!(refused["held_now"]["owner"], json!({ "name": name }));
        assert!(!refused.to_string().contains("Lee"), "{refused}");
    }
}

#[tokio::test]
async fn ones_own_other_tab_is_told_as_that_unless_it_was_left_a_moment_ago() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (before, reloaded, seen) = (LockId::random(), LockId::random(), kit.token("1").await);
    kit.first_edit(&kim(), "1", &before, seen).await;
    let (status, refused) = kit.first_edit(&kim(), "1", &reloaded, seen).await;
    assert_eq!((status, &refused["code"]), (423, &Value::from("locked-elsewhere")));
    // Going on here is for them to say, of the lease that they were told of.
    let (lid, token) = (reloaded.reveal(), seen.to_string());
    let form = [("csrf", "token"), ("lid", lid.as_str()), ("version", token.as_str()), ("instead_of", "7")];
    assert_eq!(kit.send(Some(kim()), "/orders/1/lock", &form).await.1["code"], "locked-elsewhere");
    assert_eq!((&refused["generation"], kit.holders("1").await), (&Value::from(1), vec![("kim".into(), 1)]));
    kit.send(Some(kim()), "/release", &[("lid", &before.reveal()), ("mode", "parting")]).await;
    kit.clock.advance(PARTING_GRACE / 2);
    for _ in 0..2 {
        let (status, alive) = kit.first_edit(&kim(), "1", &reloaded, seen).await;
        assert_eq!((status, &alive["generation"]), (200, &Value::from(2)));
    }
}

#[tokio::test]
async fn a_person_goes_on_here_and_the_other_tab_is_told() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (there, here, seen) = (LockId::random(), LockId::random(), kit.token("1").await);
    kit.first_edit(&kim(), "1", &there, seen).await;
    let (lid, seen) = (here.reveal(), seen.to_string());
    let form = [("csrf", "token"), ("lid", lid.as_str()), ("version", seen.as_str()), ("instead_of", "1")];
    // Nobody else gets it like that.
    assert_eq!(kit.send(Some(lee()), "/orders/1/lock", &form).await.1["code"], "already-locked");
    for _ in 0..2 {
        let (status, alive) = kit.send(Some(kim()), "/orders/1/lock", &form).await;
        assert_eq!((status, &alive["generation"]), (200, &Value::from(2)));
    }
    let (status, lost) = kit.send(Some(kim()), "/keep-alive", &[("lid", &there.reveal())]).await;
    assert_eq!((status, &lost["code"], &lost["by"]["name"]), (410, &"lock-taken-over".into(), &"Kim Minji".into()));
}

#[tokio::test]
async fn text_for_an_older_version_keeps_no_lock_and_who_saved_is_named() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (lid, seen) = (LockId::random(), kit.token("1").await);
    kit.save(&lee(), "1").await;
    for _ in 0..2 {
        let (status, refused) = kit.first_edit(&kim(), "1", &lid, seen).await;
        assert_eq!((status, &refused["code"]), (409, &Value::from("version-conflict")));
        assert_eq!(refused["by"]["name"], "Lee Junho");
    }
    assert_eq!(kit.holders("1").await, []);
    let (status, alive) = kit.first_edit(&kim(), "1", &LockId::random(), kit.token("1").await).await;
    assert_eq!((status, &alive["generation"]), (200, &Value::from(2)));
}

#[tokio::test]
async fn whoever_is_signed_out_or_comes_from_another_session_gets_nothing() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (lid, seen) = (LockId::random().reveal(), kit.token("1").await.to_string());
    let (lid, seen) = (("lid", lid.as_str()), ("version", seen.as_str()));
    let path = "/orders/1/lock";
    let (status, refused) = kit.send(None, path, &[("csrf", "token"), lid, seen]).await;
    assert_eq!((status, &refused["code"]), (401, &Value::from("session-expired")));
    // A lock id that nobody has seen yet proves nothing, so the session's token has to.
    for form in [vec![lid, seen], vec![("csrf", "other"), lid, seen]] {
        let (status, refused) = kit.send(Some(kim()), path, &form).await;
        assert_eq!((status, &refused["code"]), (403, &Value::from("csrf-failed")));
    }
    assert_eq!(kit.holders("1").await, []);
}

#[tokio::test]
async fn what_is_no_lock_id_or_no_version_of_this_order_is_refused() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (lid, seen) = (LockId::random().reveal(), kit.token("1").await.to_string());
    let long = "0".repeat(100_000);
    for (lid, seen) in [("", seen.as_str()), (long.as_str(), &seen), (&lid, ""), (&lid, "7"), (&lid, "*")] {
        let form = [("csrf", "token"), ("lid", lid), ("version", seen)];
        assert_eq!(kit.send(Some(kim()), "/orders/1/lock", &form).await.1["code"], "bad-form", "{lid} {seen}");
    }
    let foreign = kit.first_edit(&kim(), "1", &LockId::random(), kit.token("2").await).await;
    assert_eq!((foreign.0, &foreign.1["code"]), (400, &Value::from("foreign-version")));
    assert_eq!(kit.holders("1").await, []);
}

#[tokio::test]
async fn nobody_locks_what_the_application_does_not_let_them() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (lid, seen) = (LockId::random().reveal(), kit.token("2").await.to_string());
    let (lid, seen) = (("lid", lid.as_str()), ("version", seen.as_str()));
    assert_eq!(kit.send(Some(kim()), "/orders/2/lock", &[("csrf", "token"), lid, seen]).await.0, 403);
    // Nor by naming it.
    let form = [("csrf", "token"), lid, seen, ("key", "2"), ("id", "2"), ("no", "2"), ("kind", "Order")];
    assert_eq!(kit.send(Some(kim()), "/orders/1/lock", &form).await.1["code"], "foreign-version");
    assert_eq!(kit.holders("2").await, []);
}

#[tokio::test]
async fn the_lock_id_of_somebody_else_or_of_a_lease_that_ended_takes_nothing() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let seen = kit.token("1").await;
    let lees = kit.locks.try_lock(&LockKey::new("Order", "2"), &lee()).await.unwrap();
    let (status, answer) = kit.first_edit(&kim(), "1", lees.id(), seen).await;
    assert_eq!(status, 410, "{answer}");
    assert_eq!((kit.holders("1").await, kit.holders("2").await), (vec![], vec![("lee".into(), 1)]));
    let lid = LockId::random();
    kit.first_edit(&kim(), "1", &lid, seen).await;
    kit.clock.advance(Duration::from_secs(300));
    let (status, ended) = kit.first_edit(&kim(), "1", &lid, seen).await;
    assert_eq!((status, &ended["code"]), (410, &Value::from("lock-expired")));
}

#[tokio::test]
async fn where_everybody_may_edit_the_first_change_tells_of_the_others() {
    let kit = Kit::new(LockPolicy::advisory()).await;
    kit.locks.try_lock(&LockKey::new("Order", "1"), &lee()).await.unwrap();
    let (status, alive) = kit.first_edit(&kim(), "1", &LockId::random(), kit.token("1").await).await;
    assert_eq!((status, &alive["others"]), (200, &json!([{ "id": "lee", "name": "Lee Junho" }])));
}
