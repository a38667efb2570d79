//! What an open form tells of the person in front of it, and what it is told of others.

#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use axum::{Extension, Router};
use serde_json::Value;
use tempfile::TempDir;
use tenure::{ConnectOptions, Database, Limits, LockKey, LockManager, LockPolicy, ManualClock, Owner, ShowOwner};
use tenure_web::leases;
use tenure_web::problem::Problem;
use tower::ServiceExt;

const MINUTE: Duration = Duration::from_secs(60);

struct Kit {
    locks: LockManager,
    clock: ManualClock,
    _directory: TempDir,
}

async fn kit(policy: LockPolicy) -> Kit {
    let (directory, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let url = format!("sqlite://{}/locks.db", directory.path().display());
    let db = Database::connect_with(&url, ConnectOptions::new().going_by(clock.clone())).await.unwrap();
    Kit { locks: LockManager::new(&db).with_policy("Order", policy), clock, _directory: directory }
}

fn kim() -> Owner {
    Owner::new("kim", "Kim Minji")
}

async fn keep_alive(kit: &Kit, form: String) -> (u16, Value) {
    let app: Router = leases::router(kit.locks.clone()).layer(Extension(kim()));
    let request = Request::post("/keep-alive").header("content-type", "application/x-www-form-urlencoded");
    let response = app.oneshot(request.body(Body::from(form)).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_slice(&to_bytes(response.into_body(), 10_000).await.unwrap()).unwrap())
}

#[tokio::test]
async fn a_form_says_how_long_nobody_touched_it_and_loses_the_lock_at_the_idle_limit() {
    let kit = kit(LockPolicy::exclusive().idle_limit(6 * MINUTE).unwrap()).await;
    let lease = kit.locks.try_lock(&LockKey::new("Order", "1"), &kim()).await.unwrap();
    let lid = lease.id().reveal();
    kit.clock.advance(4 * MINUTE);
    let (status, alive) = keep_alive(&kit, format!("lid={lid}&idle_ms=240000")).await;
    assert_eq!((status, &alive["expires_in_ms"]), (200, &Value::from(120_000)));
    // A form that does not know is one whose person is there.
    assert_eq!(keep_alive(&kit, format!("lid={lid}")).await.1["expires_in_ms"], 300_000);
    kit.clock.advance(5 * MINUTE);
    let (status, lost) = keep_alive(&kit, format!("lid={lid}&idle_ms=0")).await;
    assert_eq!((status, &lost["code"]), (410, &Value::from("lock-expired")));
    let second = kit.locks.try_lock(&lease.key, &kim()).await.unwrap().id().reveal();
    for idle in 1..=5 {
        kit.clock.advance(MINUTE);
        keep_alive(&kit, format!("lid={second}&idle_ms={}", idle * 60_000)).await;
    }
    kit.clock.advance(MINUTE);
    let (status, lost) = keep_alive(&kit, format!("lid={second}&idle_ms=360000")).await;
    assert_eq!((status, &lost["code"]), (410, &Value::from("lock-idle")));
}

#[tokio::test]
async fn readers_are_told_of_each_other_as_the_policy_shows_them() {
    let kit = kit(LockPolicy::shared().showing(ShowOwner::ByRole)).await;
    let key = LockKey::new("Order", "1");
    let mine = kit.locks.try_lock_shared(&key, &kim()).await.unwrap();
    kit.locks.try_lock_shared(&key, &Owner::new("lee", "Lee Junho").in_role("Warehouse")).await.unwrap();
    let (_, alive) = keep_alive(&kit, format!("lid={}", mine.id().reveal())).await;
    assert_eq!(alive["owner"]["name"], "Kim Minji");
    assert_eq!(alive["others"], serde_json::json!([{ "id": "", "name": "Warehouse" }]));
}

#[tokio::test]
async fn a_limit_is_a_problem_that_names_it() {
    let kit = kit(LockPolicy::exclusive()).await;
    let locks = kit.locks.with_limits(Limits { locks_per_owner: 1, ..Limits::default() });
    locks.try_lock(&LockKey::new("Order", "1"), &kim()).await.unwrap();
    let refused = locks.try_lock(&LockKey::new("Order", "2"), &kim()).await.unwrap_err();
    assert_eq!((refused.status(), Problem::from(refused).code()), (429, "limit-reached"));
}
