//! The heartbeat of an open form, as its page's script sends it.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, Path, State};
use axum::http::{HeaderMap, Request};
use axum::routing::post;
use axum::{Extension, Json, Router};
use serde_json::{Value, json};
use tempfile::TempDir;
use tenure::sqlx::sqlite::SqliteConnectOptions;
use tenure::sqlx::{Connection, SqliteConnection};
use tenure::{
    Aggregate, Database, LockId, LockKey, LockManager, LockPolicy, clock::ManualClock, db::ConnectOptions,
    lease::Limits,
};
use tenure::{Owner, Repository, Version, VersionToken, lease::ShowOwner, sqlx};
use tenure_web::beat::{Beat, HeartbeatResponse, MOVED_HERE};
use tenure_web::csrf::CsrfToken;
use tenure_web::form_id::FormId;
use tenure_web::leases::{self, PARTING_GRACE};
use tenure_web::problem::Problem;
use tenure_web::verdict::{Moved, Verdict, decide};
use tower::ServiceExt;

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Aggregate)]
#[aggregate(table = "orders", revisions = 9)]
struct Order {
    #[aggregate(id)]
    no: String,
    line1: String,
    shipped: bool,
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

struct Kit {
    db: Database,
    locks: LockManager,
    orders: Repository<Order>,
    clock: ManualClock,
    directory: TempDir,
}

/// An open form.
struct Form {
    path: String,
    lid: String,
    version: String,
}

/// The response to a form: status, mode, message (or a problem's code), milliseconds.
type Heard = (u16, String, String, Option<u64>);

fn kim() -> Owner {
    Owner::new("kim", "Kim Minji").in_role("Warehouse")
}

fn lee() -> Owner {
    Owner::new("lee", "Lee Junho").in_role("Office")
}

fn order_1() -> LockKey {
    LockKey::new("Order", "1")
}

fn heard(mode: &str, said: &str) -> Heard {
    (200, mode.into(), said.into(), None)
}

fn held(said: &str) -> Heard {
    (200, "held".into(), said.into(), Some(300_000))
}

fn problem(status: u16, code: &str) -> Heard {
    (status, String::new(), code.into(), None)
}

impl Kit {
    async fn new(policy: LockPolicy) -> Kit {
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

    async fn insert(&self, no: &str) {
        let mut tx = self.db.begin().await.unwrap();
        tx.by(&lee());
        self.orders.insert(&mut tx, Order { no: no.into(), line1: String::new(), shipped: false }).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn delete(&self, no: &str) {
        let loaded = self.orders.get(&no.to_owned()).await.unwrap().unwrap();
        let mut tx = self.db.begin().await.unwrap();
        self.orders.delete(&mut tx, loaded).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn connect(directory: &TempDir, clock: &ManualClock) -> Database {
        let url = format!("sqlite://{}/shop.db", directory.path().display());
        Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await.unwrap()
    }

    /// Another session writes and does not end: no further write of this one succeeds until that is dropped.
    async fn break_down(&self) -> SqliteConnection {
        let file = SqliteConnectOptions::new().filename(self.directory.path().join("shop.db"));
        let mut other = SqliteConnection::connect_with(&file).await.unwrap();
        sqlx::raw_sql("begin immediate").execute(&mut other).await.unwrap();
        other
    }

    async fn change(&self, by: &Owner, change: impl Fn(&mut Order)) {
        let change = |order: &mut Order| {
            change(order);
            Ok::<_, Infallible>(())
        };
        self.orders.update(&"1".to_owned()).by(by).run(change).await.unwrap();
    }

    async fn save(&self, by: &Owner) {
        self.change(by, |order| order.line1.push('!')).await;
    }

    async fn version(&self, no: &str) -> VersionToken<Order> {
        self.orders.get(&no.to_owned()).await.unwrap().unwrap().token()
    }

    /// A form for the current state of order 1, which can be saved by its version alone.
    async fn open(&self) -> Form {
        let version = self.version("1").await.to_string();
        Form { path: "/orders/1/text".into(), lid: LockId::random().reveal(), version }
    }

    /// A form that needs its lease, and has it.
    async fn open_with_lease(&self, owner: &Owner) -> Form {
        let lid = LockId::random();
        self.locks.try_lock_as(&order_1(), owner, lid.clone()).await.unwrap();
        Form { path: "/orders/1/lease".into(), lid: lid.reveal(), ..self.open().await }
    }

    async fn holders(&self, no: &str) -> Vec<(String, i64)> {
        let holders = self.locks.holders(&LockKey::new("Order", no)).await.unwrap();
        holders.into_iter().map(|holder| (holder.owner.id.clone(), holder.generation)).collect()
    }

    async fn respond(&self, who: Option<Owner>, path: &str, fields: &[(&str, &str)]) -> (u16, HeaderMap, Value) {
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
    async fn tell(&self, who: Option<Owner>, form: &Form, want: &str, but: &[(&str, &str)]) -> (u16, Value) {
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

    async fn beat_but(&self, who: &Owner, form: &Form, want: &str, but: &[(&str, &str)]) -> Heard {
        let (status, answer) = self.tell(Some(who.clone()), form, want, but).await;
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        let words = if status == 200 { text("said") } else { text("code") };
        (status, text("mode"), words, answer["expires_in_ms"].as_u64())
    }

    async fn beat(&self, who: &Owner, form: &Form, want: &str) -> Heard {
        self.beat_but(who, form, want, &[]).await
    }

    /// With this idle time.
    async fn keep_idle(&self, form: &Form, idle: Duration) -> Heard {
        self.beat_but(&kim(), form, "keep", &[("idle_ms", &idle.as_millis().to_string())]).await
    }

    async fn part(&self, form: &Form) {
        let fields = [("lid", form.lid.as_str()), ("mode", "parting")];
        assert_eq!(self.respond(Some(kim()), "/release", &fields).await.0, 204);
    }
}

#[tokio::test]
async fn first_change_acquires_the_lock_idempotently() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open().await;
    let expected = json!({
        "mode": "held", "state": "", "said": "", "actions": [], "expires_in_ms": 300_000, "idle_in_ms": null, "generation": null,
        "person": "kim", "next": null
    });
    for want in ["take", "take", "keep", "look"] {
        assert_eq!(kit.tell(Some(kim()), &form, want, &[]).await, (200, expected.clone()), "{want}");
        assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
    }
    assert_eq!(kit.version("1").await.version(), Version::FIRST);
    assert_eq!(kit.orders.changes(&"1".to_owned(), 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn heartbeat_keeps_the_lease_and_a_check_does_not() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.clock.advance(4 * MINUTE);
    assert_eq!(kit.beat(&kim(), &form, "keep").await, held(""));
    kit.clock.advance(4 * MINUTE);
    assert_eq!(kit.beat(&kim(), &form, "look").await, (200, "held".into(), String::new(), Some(60_000)));
    kit.clock.advance(MINUTE);
    assert_eq!(kit.holders("1").await, []);
}

#[tokio::test]
async fn form_without_a_lease_is_free_unless_held_by_others() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open().await;
    for want in ["look", "keep"] {
        assert_eq!(kit.beat(&kim(), &form, want).await, heard("free", ""), "{want}");
        assert_eq!(kit.holders("1").await, []);
    }
    kit.locks.try_lock(&order_1(), &lee()).await.unwrap();
    for want in ["look", "keep", "take"] {
        assert_eq!(kit.beat(&kim(), &form, want).await, heard("refused", "held by Lee Junho"), "{want}");
    }
    assert_eq!(kit.holders("1").await, [("lee".into(), 1)]);
}

#[tokio::test]
async fn form_that_needs_a_lease_is_lost_without_one() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = Form { path: "/orders/1/lease".into(), ..kit.open().await };
    assert_eq!(kit.beat(&kim(), &form, "keep").await, heard("lost", "Unknown"));
    assert_eq!(kit.beat(&kim(), &form, "take").await, held(""));
}

#[tokio::test]
async fn a_refusal_names_the_holder_and_gives_no_generation_away() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let lees = kit.locks.try_lock(&order_1(), &lee()).await.unwrap();
    let (status, told) = kit.tell(Some(kim()), &kit.open().await, "take", &[]).await;
    let expected = json!({
        "mode": "refused", "state": "", "said": "held by Lee Junho", "actions": [], "expires_in_ms": null,
        "idle_in_ms": null, "generation": null, "person": "kim", "next": null
    });
    assert_eq!((status, &told), (200, &expected));
    assert!(!told.to_string().contains(&lees.id().reveal()));
    assert_eq!(kit.holders("1").await, [("lee".into(), 1)]);
}

#[tokio::test]
async fn hidden_holder_is_not_named_when_blocking_or_beside() {
    for (show, name) in
        [(ShowOwner::ByName, "Lee Junho"), (ShowOwner::ByRole, "Office"), (ShowOwner::Anonymous, "somebody")]
    {
        let kit = Kit::new(LockPolicy::exclusive().showing(show)).await;
        kit.locks.try_lock(&order_1(), &lee()).await.unwrap();
        let refused = kit.beat(&kim(), &kit.open().await, "take").await;
        assert_eq!(refused, heard("refused", &format!("held by {name}")));
        let kit = Kit::new(LockPolicy::advisory().showing(show)).await;
        kit.locks.try_lock(&order_1(), &lee()).await.unwrap();
        assert_eq!(kit.beat(&kim(), &kit.open().await, "take").await, held(name));
    }
}

#[tokio::test]
async fn an_anonymous_holder_meets_no_lock_of_their_own() {
    let kit = Kit::new(LockPolicy::exclusive().showing(ShowOwner::Anonymous)).await;
    let (there, here) = (kit.open().await, kit.open().await);
    kit.beat(&kim(), &there, "take").await;
    assert_eq!(kit.beat(&kim(), &here, "take").await, heard("refused", "elsewhere"));
}

#[tokio::test]
async fn expired_lease_resumes_if_nobody_took_it_or_saved() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.clock.advance(60 * MINUTE);
    assert_eq!(kit.holders("1").await, []);
    assert_eq!(kit.keep_idle(&form, 60 * MINUTE).await, held("goes on"));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
    assert_eq!(kit.beat(&kim(), &form, "keep").await, held(""));
}

#[tokio::test]
async fn expired_lease_after_a_save_is_lost_and_names_author() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.clock.advance(5 * MINUTE);
    kit.save(&lee()).await;
    for want in ["keep", "look", "take"] {
        assert_eq!(kit.beat(&kim(), &form, want).await, heard("lost", "Expired, changed by Lee Junho"), "{want}");
        assert_eq!(kit.holders("1").await, []);
    }
}

#[tokio::test]
async fn expired_and_taken_lease_reveals_no_secret_of_the_holder() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.clock.advance(5 * MINUTE);
    let lees = kit.locks.try_lock(&order_1(), &lee()).await.unwrap();
    for want in ["keep", "look", "take"] {
        let (status, told) = kit.tell(Some(kim()), &form, want, &[]).await;
        let heard = (status, &told["mode"], &told["said"], &told["generation"]);
        assert_eq!(heard, (200, &"lost".into(), &"Expired, held by Lee Junho".into(), &Value::Null), "{want}");
        assert!(!told.to_string().contains(&lees.id().reveal()), "{told}");
    }
    assert_eq!(kit.holders("1").await, [("lee".into(), 2)]);
    // After Lee left without saving, the lock is free, and the typed text is still current.
    kit.locks.release_lock(lees.id()).await.unwrap();
    assert_eq!(kit.beat(&kim(), &form, "look").await, heard("lost", "Expired"));
}

#[tokio::test]
async fn lost_form_stays_lost_over_checks() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    for path in ["/orders/1/lease", "/orders/1/text"] {
        let form = Form { path: path.into(), ..kit.open_with_lease(&kim()).await };
        let generation = kit.holders("1").await[0].1;
        kit.locks.break_lock(&order_1(), generation, &lee(), "please").await.unwrap();
        for want in ["keep", "look", "look", "take"] {
            assert_eq!(kit.beat(&kim(), &form, want).await, heard("lost", "Broken"), "{path} {want}");
        }
        assert_eq!(kit.holders("1").await, []);
    }
}

#[tokio::test]
async fn form_reports_idle_time_and_expires_at_the_idle_limit() {
    let kit = Kit::new(LockPolicy::exclusive().idle_limit(6 * MINUTE).unwrap()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.clock.advance(4 * MINUTE);
    assert_eq!(kit.keep_idle(&form, 4 * MINUTE).await, (200, "held".into(), String::new(), Some(120_000)));
    let idle_in_ms =
        async |want| kit.tell(Some(kim()), &form, want, &[("idle_ms", "60000")]).await.1["idle_in_ms"].clone();
    assert_eq!(idle_in_ms("look").await, 120_000);
    assert_eq!(idle_in_ms("keep").await, 300_000);
    // A form that sends no idle time counts as active.
    assert_eq!(kit.beat(&kim(), &form, "keep").await, held(""));
    assert_eq!(idle_in_ms("look").await, 359_999);
}

#[tokio::test]
async fn active_person_resumes_after_the_idle_limit() {
    let kit = Kit::new(LockPolicy::exclusive().idle_limit(6 * MINUTE).unwrap()).await;
    let form = kit.open_with_lease(&kim()).await;
    for idle in 1..=5 {
        kit.clock.advance(MINUTE);
        assert_eq!(kit.keep_idle(&form, idle * MINUTE).await.1, "held");
    }
    kit.clock.advance(MINUTE);
    for idle in [6 * MINUTE, Duration::from_secs(30)] {
        assert_eq!(kit.keep_idle(&form, idle).await, heard("lost", "IdleLimitReached"));
        assert_eq!(kit.holders("1").await, []);
    }
    assert_eq!(kit.keep_idle(&form, Duration::from_millis(29_999)).await, held("goes on"));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
}

#[tokio::test]
async fn page_that_nobody_touches_takes_no_lock() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open().await;
    assert_eq!(kit.beat_but(&kim(), &form, "take", &[("idle_ms", "30000")]).await, heard("free", ""));
    assert_eq!(kit.holders("1").await, []);
    assert_eq!(kit.beat_but(&kim(), &form, "take", &[("idle_ms", "29999")]).await, held(""));
    // What it has stays.
    assert_eq!(kit.beat_but(&kim(), &form, "take", &[("idle_ms", "30000")]).await.1, "held");
}

#[tokio::test]
async fn absolute_limit_ends_a_lease_without_resume() {
    let kit = Kit::new(LockPolicy::exclusive().absolute_limit(6 * MINUTE).unwrap()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.clock.advance(4 * MINUTE);
    assert_eq!(kit.beat(&kim(), &form, "keep").await, (200, "held".into(), String::new(), Some(120_000)));
    kit.clock.advance(2 * MINUTE);
    assert_eq!(kit.beat(&kim(), &form, "keep").await.1, "lost");
    assert_eq!(kit.holders("1").await, []);
}

#[tokio::test]
async fn own_other_tab_is_recognised_unless_just_left() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (before, reloaded) = (kit.open().await, kit.open().await);
    kit.beat(&kim(), &before, "take").await;
    let (status, told) = kit.tell(Some(kim()), &reloaded, "take", &[]).await;
    let told = (status, &told["mode"], &told["said"], &told["generation"]);
    assert_eq!(told, (200, &"refused".into(), &"elsewhere".into(), &Value::from(1)));
    // To continue here, the person must name the lease that they were shown.
    assert_eq!(kit.beat_but(&kim(), &reloaded, "take", &[("instead_of", "7")]).await, heard("refused", "elsewhere"));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
    kit.part(&before).await;
    kit.clock.advance(PARTING_GRACE / 2);
    assert_eq!(kit.beat(&kim(), &reloaded, "look").await, heard("free", ""));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
    for _ in 0..2 {
        assert_eq!(kit.beat(&kim(), &reloaded, "take").await, held(""));
        assert_eq!(kit.holders("1").await, [("kim".into(), 2)]);
    }
}

#[tokio::test]
async fn page_left_in_this_tab_does_not_count_without_its_release() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (before, after) = (kit.open().await, kit.open().await);
    kit.beat(&kim(), &before, "take").await;
    let left = [("left", before.lid.as_str())];
    // Another person cannot shorten it like that.
    assert_eq!(kit.beat_but(&lee(), &after, "take", &left).await, heard("refused", "held by Kim Minji"));
    assert_eq!(kit.beat_but(&kim(), &after, "keep", &left).await, heard("refused", "elsewhere"));
    assert_eq!(kit.beat_but(&kim(), &after, "look", &left).await, heard("free", ""));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
    assert_eq!(kit.beat_but(&kim(), &after, "take", &left).await, held(""));
    assert_eq!(kit.holders("1").await, [("kim".into(), 2)]);
    // The page came back out of the browser's memory: its own lease is not one that it left.
    assert_eq!(kit.beat_but(&kim(), &after, "take", &[("left", after.lid.as_str())]).await, held(""));
    kit.clock.advance(PARTING_GRACE);
    assert_eq!(kit.holders("1").await, [("kim".into(), 2)]);
}

#[tokio::test]
async fn each_page_left_in_this_tab_counts_no_more() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (first, unheard, after) = (kit.open().await, kit.open().await, kit.open().await);
    // The second page was left before it heard whether it acquired the lock.
    for holder in [&first, &unheard] {
        assert_eq!(kit.beat(&kim(), holder, "take").await, held(""));
        let left = format!("{},{}", unheard.lid, first.lid);
        assert_eq!(kit.beat_but(&kim(), &after, "look", &[("left", &left)]).await, heard("free", ""));
    }
    let left = [first.lid.as_str(); 9].join(",");
    assert_eq!(kit.tell(Some(kim()), &after, "look", &[("left", &left)]).await.0, 400);
}

#[tokio::test]
async fn page_whose_lease_somebody_ended_does_not_take_it_again_when_it_is_loaded_again() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (before, after) = (kit.open().await, kit.open().await);
    kit.beat(&kim(), &before, "take").await;
    kit.locks.break_lock(&order_1(), 1, &lee(), "please").await.unwrap();
    let left = [("left", before.lid.as_str())];
    for want in ["look", "take"] {
        assert_eq!(kit.beat_but(&kim(), &after, want, &left).await, heard("lost", "Broken"), "{want}");
        assert_eq!(kit.holders("1").await, [], "{want}");
    }
    // The form was opened again, not loaded again: it is a new one.
    assert_eq!(kit.beat(&kim(), &after, "take").await, held(""));
}

#[tokio::test]
async fn end_of_a_lease_of_something_else_is_no_news_for_this_form() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (other, id) = (LockKey::new("Order", "2"), LockId::random());
    kit.locks.try_lock_as(&other, &kim(), id.clone()).await.unwrap();
    kit.locks.break_lock(&other, 1, &lee(), "please").await.unwrap();
    let (form, left) = (kit.open().await, id.reveal());
    let left = [("left", left.as_str())];
    assert_eq!(kit.beat_but(&kim(), &form, "look", &left).await, heard("free", ""));
    assert_eq!(kit.beat_but(&kim(), &form, "take", &left).await, held(""));
}

#[tokio::test]
async fn just_left_page_still_blocks_others() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (kims, lees) = (kit.open().await, kit.open().await);
    kit.beat(&kim(), &kims, "take").await;
    kit.part(&kims).await;
    assert_eq!(kit.beat(&lee(), &lees, "take").await, heard("refused", "held by Kim Minji"));
    kit.clock.advance(PARTING_GRACE);
    assert_eq!(kit.beat(&lee(), &lees, "take").await, held(""));
}

#[tokio::test]
async fn person_continues_here_and_the_other_tab_learns() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (there, here) = (kit.open().await, kit.open().await);
    kit.beat(&kim(), &there, "take").await;
    let instead = [("instead_of", "1")];
    // Another person cannot acquire it like that.
    assert_eq!(kit.beat_but(&lee(), &here, "take", &instead).await, heard("refused", "held by Kim Minji"));
    for _ in 0..2 {
        assert_eq!(kit.beat_but(&kim(), &here, "take", &instead).await, held(""));
        assert_eq!(kit.holders("1").await, [("kim".into(), 2)]);
    }
    let (status, lost) = kit.tell(Some(kim()), &there, "keep", &[]).await;
    assert_eq!((status, &lost["mode"], &lost["generation"]), (200, &"lost".into(), &2.into()));
    let said = lost["said"].as_str().unwrap();
    assert!(said.starts_with("TakenOver") && said.contains(MOVED_HERE) && said.ends_with("elsewhere"), "{said}");
}

#[tokio::test]
async fn stale_text_keeps_no_lock_and_names_the_author() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open().await;
    kit.save(&lee()).await;
    for want in ["take", "take", "keep", "look"] {
        assert_eq!(kit.beat(&kim(), &form, want).await, heard("moved", "changed by Lee Junho"), "{want}");
        assert_eq!(kit.holders("1").await, []);
    }
    assert_eq!(kit.beat(&kim(), &kit.open().await, "take").await, held(""));
}

#[tokio::test]
async fn lock_holder_learns_of_a_save_without_the_lock() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.save(&lee()).await;
    let moved = (200, "moved".into(), "changed by Lee Junho".into(), Some(300_000));
    assert_eq!(kit.beat(&kim(), &form, "keep").await, moved);
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
}

#[tokio::test]
async fn new_aggregate_is_locked_by_one_and_later_forms_are_stale() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let new = || Form { path: "/orders/3/text".into(), lid: LockId::random().reveal(), version: "none".into() };
    let (first, second) = (new(), new());
    assert_eq!(kit.beat(&kim(), &second, "look").await, heard("free", ""));
    for want in ["take", "take", "keep"] {
        assert_eq!(kit.beat(&kim(), &first, want).await, held(""), "{want}");
    }
    assert_eq!(kit.beat(&lee(), &second, "take").await, heard("refused", "held by Kim Minji"));
    kit.insert("3").await;
    let moved = (200, "moved".into(), "changed by Lee Junho".into(), Some(300_000));
    assert_eq!(kit.beat(&kim(), &first, "keep").await, moved);
    kit.clock.advance(5 * MINUTE);
    assert_eq!(kit.beat(&lee(), &second, "take").await, heard("moved", "changed by Lee Junho"));
    assert_eq!(kit.holders("3").await, []);
}

#[tokio::test]
async fn deleted_aggregate_keeps_no_lock() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open().await;
    kit.delete("1").await;
    for want in ["take", "keep", "look"] {
        assert_eq!(kit.beat(&kim(), &form, want).await, problem(404, "not-found"), "{want}");
        assert_eq!(kit.holders("1").await, []);
    }
}

#[tokio::test]
async fn frozen_aggregate_says_why_first() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (holding, other) = (kit.open_with_lease(&kim()).await, kit.open().await);
    kit.change(&lee(), |order| order.shipped = true).await;
    assert_eq!(kit.beat(&kim(), &holding, "keep").await, heard("lost", "It is on its way."));
    assert_eq!(kit.beat(&lee(), &other, "take").await, heard("lost", "It is on its way."));
}

#[tokio::test]
async fn a_signed_out_form_gets_nothing_and_its_lease_lives_on() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open_with_lease(&kim()).await;
    for want in ["keep", "take", "look", "nonsense"] {
        let (status, refused) = kit.tell(None, &form, want, &[]).await;
        assert_eq!((status, &refused["code"]), (401, &"session-expired".into()));
        assert_eq!(refused["actions"], json!([{ "rel": "sign-in" }]));
    }
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
}

#[tokio::test]
async fn page_of_another_person_affects_neither_lease() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.clock.advance(4 * MINUTE);
    for want in ["keep", "take", "look"] {
        for person in ["kim", "", "Lee"] {
            let refused = kit.beat_but(&lee(), &form, want, &[("person", person)]).await;
            assert_eq!(refused, problem(409, "other-person"), "{want} {person}");
        }
    }
    assert_eq!(kit.beat(&kim(), &form, "look").await.3, Some(60_000));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
}

#[tokio::test]
async fn only_taking_a_lock_needs_the_token_of_the_session() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (form, other) = (kit.open_with_lease(&kim()).await, kit.open().await);
    for csrf in ["", "other"] {
        for form in [&form, &other] {
            let refused = kit.beat_but(&kim(), form, "take", &[("csrf", csrf), ("instead_of", "1")]).await;
            assert_eq!(refused, problem(403, "csrf-failed"));
        }
        assert_eq!(kit.beat_but(&kim(), &form, "keep", &[("csrf", csrf)]).await, held(""));
        assert_eq!(kit.beat_but(&kim(), &form, "look", &[("csrf", csrf)]).await, held(""));
    }
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
}

#[tokio::test]
async fn nothing_is_locked_without_a_session() {
    let fields = format!(
        "want=take&lid={}&form_id={}&version=none&person=kim&csrf=",
        LockId::random().reveal(),
        FormId::random()
    );
    let request = Request::post("/").header("content-type", "application/x-www-form-urlencoded");
    let mut request = request.body(Body::from(fields)).unwrap();
    request.extensions_mut().insert(kim());
    assert_eq!(Beat::<Order>::from_request(request, &()).await.unwrap_err().code(), "csrf-failed");
}

#[tokio::test]
async fn invalid_lock_id_form_or_version_is_refused() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open().await;
    let long = "0".repeat(100_000);
    let bad = [
        ("lid", ""),
        ("lid", &long),
        ("form_id", ""),
        ("form_id", &long),
        ("version", ""),
        ("version", "7"),
        ("version", "*"),
        ("version", "None"),
        ("want", ""),
        ("want", "TAKE"),
        ("want", "release"),
        ("idle_ms", "-1"),
        ("idle_ms", "1.5"),
        ("instead_of", "x"),
        ("left", "x"),
        ("lid=1&lid", "2"),
    ];
    for field in bad {
        let want = if field.0 == "want" { field.1 } else { "take" };
        let but = if field.0 == "want" { vec![] } else { vec![field] };
        assert_eq!(kit.beat_but(&kim(), &form, want, &but).await, problem(400, "bad-form"), "{}", field.0);
    }
    let foreign = kit.version("2").await.to_string();
    for want in ["take", "keep", "look"] {
        let refused = kit.beat_but(&kim(), &form, want, &[("version", &foreign)]).await;
        assert_eq!(refused, problem(400, "foreign-version"));
    }
    assert_eq!(kit.holders("1").await, []);
}

#[tokio::test]
async fn lock_needs_the_applications_permission() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let version = kit.version("2").await.to_string();
    let form = Form { path: "/orders/2/text".into(), version: version.clone(), ..kit.open().await };
    assert_eq!(kit.beat(&kim(), &form, "take").await, problem(403, "forbidden"));
    // Nor by naming it.
    let named = [("version", version.as_str()), ("key", "2"), ("id", "2"), ("no", "2"), ("kind", "Order")];
    assert_eq!(kit.beat_but(&kim(), &kit.open().await, "take", &named).await, problem(400, "foreign-version"));
    assert_eq!(kit.holders("2").await, []);
}

#[tokio::test]
async fn foreign_lock_id_acquires_and_extends_nothing() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let lees = kit.locks.try_lock(&LockKey::new("Order", "2"), &lee()).await.unwrap();
    let stolen = Form { lid: lees.id().reveal(), ..kit.open().await };
    kit.clock.advance(4 * MINUTE);
    for (want, why) in [("take", "OtherAggregate"), ("keep", "NotYours"), ("look", "NotYours")] {
        assert_eq!(kit.beat(&kim(), &stolen, want).await, heard("lost", why), "{want}");
    }
    assert_eq!(kit.locks.check_lock(lees.id()).await.unwrap().holder().remaining, MINUTE);
    let own = kit.locks.try_lock(&LockKey::new("Order", "3"), &kim()).await.unwrap();
    let other = Form { lid: own.id().reveal(), ..kit.open().await };
    for want in ["take", "keep", "look"] {
        assert_eq!(kit.beat(&kim(), &other, want).await, heard("lost", "OtherAggregate"), "{want}");
    }
    assert_eq!(kit.holders("1").await, []);
}

#[tokio::test]
async fn advisory_editors_see_each_other_and_are_not_refused() {
    let kit = Kit::new(LockPolicy::advisory()).await;
    let (kims, lees, again) = (kit.open().await, kit.open().await, kit.open().await);
    assert_eq!(kit.beat(&kim(), &kims, "take").await, held(""));
    assert_eq!(kit.beat(&lee(), &lees, "take").await, held("Kim Minji"));
    assert_eq!(kit.beat(&kim(), &kims, "keep").await, held("Lee Junho"));
    assert_eq!(kit.beat(&kim(), &again, "look").await, heard("free", ""));
    assert_eq!(kit.beat(&kim(), &again, "take").await, held("Kim Minji, Lee Junho"));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1), ("lee".into(), 2), ("kim".into(), 3)]);
    kit.save(&lee()).await;
    let moved = (200, "moved".into(), "changed by Lee Junho".into(), Some(300_000));
    assert_eq!(kit.beat(&kim(), &kims, "keep").await, moved);
}

#[tokio::test]
async fn ended_advisory_lease_blocks_nobody() {
    let kit = Kit::new(LockPolicy::advisory()).await;
    let form = Form { path: "/orders/1/text".into(), ..kit.open_with_lease(&kim()).await };
    kit.clock.advance(5 * MINUTE);
    assert_eq!(kit.beat(&kim(), &form, "keep").await, held("goes on"));
    kit.locks.break_lock(&order_1(), 1, &lee(), "please").await.unwrap();
    for want in ["keep", "look", "take"] {
        assert_eq!(kit.beat(&kim(), &form, want).await, heard("free", ""), "{want}");
    }
    kit.save(&lee()).await;
    assert_eq!(kit.beat(&kim(), &form, "look").await, heard("moved", "changed by Lee Junho"));
    let needing = Form { path: "/orders/1/lease".into(), ..form };
    assert_eq!(kit.beat(&kim(), &needing, "keep").await, heard("lost", "Broken, changed by Lee Junho"));
}

#[tokio::test]
async fn a_limit_is_a_problem_that_names_it() {
    let mut kit = Kit::new(LockPolicy::exclusive()).await;
    kit.locks = kit.locks.with_limits(Limits { locks_per_owner: 1, ..Limits::default() });
    kit.locks.try_lock(&LockKey::new("Order", "2"), &kim()).await.unwrap();
    assert_eq!(kit.beat(&kim(), &kit.open().await, "take").await, problem(429, "limit-reached"));
    assert_eq!(kit.holders("1").await, []);
}

#[tokio::test]
async fn unavailable_database_allows_resending_and_keeps_the_lease() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let holding = kit.open_with_lease(&kim()).await;
    let other = kit.break_down().await;
    let form_id = FormId::random().to_string();
    let fields = [
        ("want", "keep"),
        ("lid", &holding.lid),
        ("version", &holding.version),
        ("person", "kim"),
        ("form_id", &form_id),
    ];
    let (status, headers, refused) = kit.respond(Some(kim()), &holding.path, &fields).await;
    assert_eq!((status, &headers["retry-after"]), (503, &"5".parse().unwrap()));
    assert_eq!(refused["actions"], json!([{ "rel": "retry" }]));
    other.close().await.unwrap();
    assert_eq!(kit.beat(&kim(), &holding, "keep").await, held(""));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
}

#[tokio::test]
async fn a_lock_that_the_database_did_not_give_is_not_held() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open().await;
    let other = kit.break_down().await;
    assert_eq!(kit.beat(&kim(), &form, "take").await, problem(503, "row-lock-timeout"));
    assert_eq!(kit.holders("1").await, []);
    other.close().await.unwrap();
    assert_eq!(kit.beat(&kim(), &form, "take").await, held(""));
}

#[tokio::test]
async fn logged_heartbeat_omits_its_lock_id() {
    let (lid, form_id) = (LockId::random().reveal(), FormId::random().to_string());
    let fields = format!("want=keep&lid={lid}&form_id={form_id}&version=none&person=kim&csrf=token");
    let request = Request::post("/").header("content-type", "application/x-www-form-urlencoded");
    let mut request = request.body(Body::from(fields)).unwrap();
    request.extensions_mut().insert(kim());
    let beat = Beat::<Order>::from_request(request, &()).await.unwrap();
    assert_eq!((beat.owner(), beat.form().to_string()), (&kim(), form_id));
    assert!(!format!("{beat:?}").contains(&lid));
}
