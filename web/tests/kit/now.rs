//! The light question of a page: 304 until something has changed, and time alone changes nothing.

use std::time::Duration;

use axum::body::to_bytes;
use axum::http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use serde_json::Value;
use tempfile::TempDir;
use tenure::{
    Aggregate, Database, LockId, LockKey, LockManager, Owner, Version, VersionToken, clock::ManualClock,
    db::ConnectOptions,
};
use tenure_web::now::Now;

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
}

struct Watched {
    locks: LockManager,
    clock: ManualClock,
    version: i64,
    state: &'static str,
    _directory: TempDir,
}

fn kim() -> Owner {
    Owner::new("kim", "Kim Minji")
}

fn key() -> LockKey {
    LockKey::new("Order", "1")
}

impl Watched {
    async fn new() -> Watched {
        let (directory, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
        let url = format!("sqlite://{}/locks.db", directory.path().display());
        let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await.unwrap();
        Watched { locks: LockManager::new(&db), clock, version: 1, state: "paid", _directory: directory }
    }

    async fn asked_by(&self, me: &Owner, seen: Option<&str>) -> Response {
        let version = VersionToken::<Order>::new(&"1".to_owned(), Version::new(self.version).unwrap());
        let holders = self.locks.acting_for(me).holders(&key()).await.unwrap();
        let seen = seen.map(|seen| (IF_NONE_MATCH, HeaderValue::from_str(seen).unwrap()));
        Now::new(me, Some(version), &holders).state(self.state).answer(&HeaderMap::from_iter(seen))
    }

    async fn tag(&self) -> String {
        self.asked_by(&kim(), None).await.headers()[ETAG].to_str().unwrap().to_owned()
    }
}

async fn json(response: Response) -> Value {
    serde_json::from_slice(&to_bytes(response.into_body(), 10_000).await.unwrap()).unwrap()
}

#[tokio::test]
async fn known_tag_is_304_without_a_body() {
    let watched = Watched::new().await;
    let tag = watched.tag().await;
    for seen in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
        let response = watched.asked_by(&kim(), Some(&seen)).await;
        assert_eq!((response.status().as_u16(), response.headers()[ETAG].to_str().unwrap()), (304, &*tag), "{seen}");
        assert_eq!(response.headers()[CACHE_CONTROL], "private, no-cache");
        assert!(to_bytes(response.into_body(), 10).await.unwrap().is_empty());
    }
    for other in ["\"0\"", "x", ""] {
        assert_eq!(watched.asked_by(&kim(), Some(other)).await.status().as_u16(), 200, "{other}");
    }
}

#[tokio::test]
async fn each_change_of_version_state_or_holder_changes_the_tag() {
    let mut watched = Watched::new().await;
    let mut tags = vec![watched.tag().await];
    watched.version = 2;
    tags.push(watched.tag().await);
    watched.state = "shipped";
    tags.push(watched.tag().await);
    let lease = watched.locks.try_lock(&key(), &Owner::new("lee", "Lee Junho")).await.unwrap();
    tags.push(watched.tag().await);
    // The same person, under another lease.
    watched.locks.release_lock(lease.id()).await.unwrap();
    assert_eq!(watched.tag().await, tags[2]);
    watched.locks.try_lock(&key(), &Owner::new("lee", "Lee Junho")).await.unwrap();
    tags.push(watched.tag().await);
    let all: std::collections::BTreeSet<_> = tags.iter().collect();
    assert_eq!(all.len(), tags.len(), "{tags:?}");
}

#[tokio::test]
async fn heartbeats_and_time_leave_the_tag_as_it_is() {
    let watched = Watched::new().await;
    let id = LockId::random();
    watched.locks.try_lock_as(&key(), &kim(), id.clone()).await.unwrap();
    let tag = watched.tag().await;
    watched.clock.advance(Duration::from_secs(60));
    assert_eq!(watched.tag().await, tag);
    assert!(watched.locks.keep_alive(&[id]).await.unwrap()[0].is_ok());
    watched.clock.advance(Duration::from_secs(299));
    assert_eq!(watched.tag().await, tag);
    watched.clock.advance(Duration::from_secs(2));
    assert_ne!(watched.tag().await, tag, "it has expired");
}

#[tokio::test]
async fn body_names_version_state_and_holders_and_oneself() {
    let watched = Watched::new().await;
    watched.locks.try_lock(&key(), &kim()).await.unwrap();
    let told = json(watched.asked_by(&kim(), None).await).await;
    assert!(told["version"].as_str().unwrap().starts_with("v1."), "{told}");
    assert_eq!((&told["state"], &told["holders"][0]["name"]), (&"paid".into(), &"Kim Minji".into()));
    assert_eq!((&told["holders"][0]["is_me"], &told["holders"][0]["generation"]), (&true.into(), &1.into()));
    let other = json(watched.asked_by(&Owner::new("lee", "Lee Junho"), None).await).await;
    assert_eq!(other["holders"][0]["is_me"], false);
    let none = json(Now::new::<Order>(&kim(), None, &[]).answer(&HeaderMap::new())).await;
    assert_eq!(none, serde_json::json!({ "version": null, "state": "", "holders": [] }));
}
