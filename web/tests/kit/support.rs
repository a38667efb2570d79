//! An application with orders, whose forms send heartbeats.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Request};
use axum::routing::post;
use axum::{Extension, Json, Router};
use serde_json::Value;
use tempfile::TempDir;
use tenure::sqlx::sqlite::SqliteConnectOptions;
use tenure::sqlx::{Connection, SqliteConnection};
use tenure::{Aggregate, Database, LockId, LockKey, LockManager, LockPolicy, Owner, Repository, VersionToken};
use tenure::{clock::ManualClock, db::ConnectOptions, sqlx};
use tenure_web::beat::{Beat, HeartbeatResponse};
use tenure_web::csrf::CsrfToken;
use tenure_web::form_id::FormId;
use tenure_web::leases;
use tenure_web::problem::Problem;
use tenure_web::verdict::{Moved, Verdict, decide};
use tower::ServiceExt;

pub const MINUTE: Duration = Duration::from_secs(60);

#[derive(Aggregate)]
#[aggregate(table = "orders", revisions = 9)]
pub struct Order {
    #[aggregate(id)]
    pub no: String,
    pub line1: String,
    pub shipped: bool,
}

type Shop = (LockManager, Repository<Order>);

/// Order 2 is frozen. `lease` is a form that needs its lease, `text` one that is saved by its version.
async fn beat(
    State((locks, orders)): State<Shop>,
    Path((no, form)): Path<(String, String)>,
    beat: Beat<Order>,
) -> Result<Json<HeartbeatResponse>, Problem> {
    if no == "2" {
        return Err(Problem::new(403, "forbidden", "Not for you"));
    }
    let frozen = |order: &Order| order.shipped.then_some("It is on its way.");
    let facts = beat.facts(&locks, &orders, &no, form == "lease", frozen).await?;
    let verdict = decide(beat.owner(), facts);
    Ok(Json(HeartbeatResponse::new(beat.owner(), &verdict).under(&locks.policy("Order")).said(said(&verdict))))
}

fn said(verdict: &Verdict<&'static str>) -> String {
    let by = |moved: &Moved| moved.change.as_ref().and_then(|change| change.by.clone()).unwrap().name;
    match verdict {
        Verdict::Saved => "saved".into(),
        Verdict::Frozen(why) => (*why).into(),
        Verdict::Editing { resumed: true, .. } => "goes on".into(),
        Verdict::Editing { others, .. } => {
            let names: Vec<_> = others.iter().map(|holder| holder.owner.name.as_str()).collect();
            names.join(", ")
        }
        Verdict::Outdated { moved, .. } => format!("changed by {}", by(moved)),
        Verdict::Elsewhere { ended: None, .. } => "elsewhere".into(),
        Verdict::Elsewhere { ended: Some(why), .. } => format!("{why:?}, elsewhere"),
        Verdict::Taken { holder, ended: None } => format!("held by {}", holder.owner.name),
        Verdict::Taken { holder, ended: Some(why) } => format!("{}, held by {}", word(why), holder.owner.name),
        Verdict::Ended { why, moved: Some(moved) } => format!("{}, changed by {}", word(why), by(moved)),
        Verdict::Ended { why, moved: None } => word(why),
        Verdict::Free => String::new(),
    }
}

/// The reason of a lease's end, without the time.
fn word(why: &tenure::lease::LeaseLossReason) -> String {
    format!("{why:?}").split_whitespace().next().unwrap().into()
}

pub struct Kit {
    pub db: Database,
    pub locks: LockManager,
    pub orders: Repository<Order>,
    pub clock: ManualClock,
    pub directory: TempDir,
}

/// An open form.
pub struct Form {
    pub path: String,
    pub lid: String,
    pub version: String,
}

/// The response to a form: status, mode, message (or a problem's code), milliseconds.
pub type Heard = (u16, String, String, Option<u64>);

pub fn kim() -> Owner {
    Owner::new("kim", "Kim Minji").in_role("Warehouse")
}

pub fn lee() -> Owner {
    Owner::new("lee", "Lee Junho").in_role("Office")
}

pub fn order_1() -> LockKey {
    LockKey::new("Order", "1")
}

pub fn heard(mode: &str, said: &str) -> Heard {
    (200, mode.into(), said.into(), None)
}

pub fn held(said: &str) -> Heard {
    (200, "held".into(), said.into(), Some(300_000))
}

pub fn problem(status: u16, code: &str) -> Heard {
    (status, String::new(), code.into(), None)
}

impl Kit {
    pub async fn new(policy: LockPolicy) -> Kit {
        let (directory, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
        let db = Kit::connect(&directory, &clock).await;
        let (locks, orders) = (LockManager::new(&db).with_policy("Order", policy), Repository::new(&db));
        let mut tx = db.begin().await.unwrap();
        let table = "create table orders
                     (no text primary key, line1 text not null, shipped integer not null, version integer not null)";
        sqlx::raw_sql(table).execute(tx.sqlite().unwrap()).await.unwrap();
        tx.commit().await.unwrap();
        let kit = Kit { db, locks, orders, clock, directory };
        kit.insert("1").await;
        kit.insert("2").await;
        kit
    }

    pub async fn insert(&self, no: &str) {
        let mut tx = self.db.begin().await.unwrap();
        tx.by(&lee());
        self.orders.insert(&mut tx, Order { no: no.into(), line1: String::new(), shipped: false }).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub async fn delete(&self, no: &str) {
        let loaded = self.orders.get(&no.to_owned()).await.unwrap().unwrap();
        let mut tx = self.db.begin().await.unwrap();
        self.orders.delete(&mut tx, loaded).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub async fn connect(directory: &TempDir, clock: &ManualClock) -> Database {
        let url = format!("sqlite://{}/shop.db", directory.path().display());
        Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await.unwrap()
    }

    /// Another session writes and does not end: no further write of this one succeeds until that is dropped.
    pub async fn break_down(&self) -> SqliteConnection {
        let file = SqliteConnectOptions::new().filename(self.directory.path().join("shop.db"));
        let mut other = SqliteConnection::connect_with(&file).await.unwrap();
        sqlx::raw_sql("begin immediate").execute(&mut other).await.unwrap();
        other
    }

    pub async fn change(&self, by: &Owner, change: impl Fn(&mut Order)) {
        let change = |order: &mut Order| {
            change(order);
            Ok::<_, Infallible>(())
        };
        self.orders.update(&"1".to_owned()).by(by).run(change).await.unwrap();
    }

    pub async fn save(&self, by: &Owner) {
        self.change(by, |order| order.line1.push('!')).await;
    }

    pub async fn version(&self, no: &str) -> VersionToken<Order> {
        self.orders.get(&no.to_owned()).await.unwrap().unwrap().token()
    }

    /// A form for the current state of order 1, which can be saved by its version alone.
    pub async fn open(&self) -> Form {
        let version = self.version("1").await.to_string();
        Form { path: "/orders/1/text".into(), lid: LockId::random().reveal(), version }
    }

    /// A form that needs its lease, and has it.
    pub async fn open_with_lease(&self, owner: &Owner) -> Form {
        let lid = LockId::random();
        self.locks.try_lock_as(&order_1(), owner, lid.clone()).await.unwrap();
        Form { path: "/orders/1/lease".into(), lid: lid.reveal(), ..self.open().await }
    }

    pub async fn holders(&self, no: &str) -> Vec<(String, i64)> {
        let holders = self.locks.holders(&LockKey::new("Order", no)).await.unwrap();
        holders.into_iter().map(|holder| (holder.owner.id.clone(), holder.generation)).collect()
    }

    pub async fn respond(&self, who: Option<Owner>, path: &str, fields: &[(&str, &str)]) -> (u16, HeaderMap, Value) {
        let app = Router::new().route("/orders/{no}/{form}", post(beat));
        let app = app.with_state((self.locks.clone(), self.orders.clone()));
        let app = app.merge(leases::router(self.locks.clone()));
        let app = app.layer(Extension(CsrfToken::from_session("token".into())));
        let app = if let Some(owner) = who { app.layer(Extension(owner)) } else { app };
        let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
        let response = app.oneshot(request.body(Body::from(fields.join("&"))).unwrap()).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        (status, headers, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// The request of the page's script, with these fields changed.
    pub async fn tell(&self, who: Option<Owner>, form: &Form, want: &str, but: &[(&str, &str)]) -> (u16, Value) {
        let (person, form_id) =
            (who.clone().map(|owner| owner.id).unwrap_or("kim".into()), FormId::random().to_string());
        let mut fields = vec![
            ("want", want),
            ("lid", &form.lid),
            ("form_id", &form_id),
            ("version", &form.version),
            ("person", &person),
            ("csrf", "token"),
        ];
        fields.retain(|(name, _)| but.iter().all(|(other, _)| other != name));
        fields.extend(but);
        let (status, _, answer) = self.respond(who, &form.path, &fields).await;
        (status, answer)
    }

    pub async fn beat_but(&self, who: &Owner, form: &Form, want: &str, but: &[(&str, &str)]) -> Heard {
        let (status, answer) = self.tell(Some(who.clone()), form, want, but).await;
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        let words = if status == 200 { text("said") } else { text("code") };
        (status, text("mode"), words, answer["expires_in_ms"].as_u64())
    }

    pub async fn beat(&self, who: &Owner, form: &Form, want: &str) -> Heard {
        self.beat_but(who, form, want, &[]).await
    }

    /// With this idle time.
    pub async fn keep_idle(&self, form: &Form, idle: Duration) -> Heard {
        self.beat_but(&kim(), form, "keep", &[("idle_ms", &idle.as_millis().to_string())]).await
    }

    pub async fn part(&self, form: &Form) {
        let fields = [("lid", form.lid.as_str()), ("mode", "parting")];
        assert_eq!(self.respond(Some(kim()), "/release", &fields).await.0, 204);
    }
}
