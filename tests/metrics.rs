//! The metrics for OpenTelemetry.

#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::time::Duration;

use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use tenure::{
    Aggregate, Database, LockId, LockKey, LockManager, Owner, Repository, clock::ManualClock, db::ConnectOptions,
    lease::Holder,
};

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Aggregate, Debug)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    message: String,
}

struct Measured {
    db: Database,
    clock: ManualClock,
    provider: SdkMeterProvider,
    exporter: InMemoryMetricExporter,
    _directory: tempfile::TempDir,
}

async fn measured() -> Measured {
    let (directory, clock, exporter) =
        (tempfile::tempdir().unwrap(), ManualClock::new(), InMemoryMetricExporter::default());
    let provider = SdkMeterProvider::builder().with_reader(PeriodicReader::builder(exporter.clone()).build()).build();
    let options = ConnectOptions::new().clock(clock.clone()).meter(provider.meter("shop"));
    let url = format!("sqlite://{}/shop.db", directory.path().display());
    let db = Database::connect_with(&url, options).await.unwrap();
    Measured { db, clock, provider, exporter, _directory: directory }
}

impl Measured {
    /// All measurements, as `name unit {attributes}`: a sum or a gauge, or count and sum of a histogram.
    fn numbers(&self) -> BTreeMap<String, (u64, f64)> {
        self.provider.force_flush().unwrap();
        let mut numbers = BTreeMap::new();
        for metrics in self.exporter.get_finished_metrics().unwrap() {
            for metric in metrics.scope_metrics().flat_map(|scope| scope.metrics()) {
                let mut put = |attributes: Vec<String>, number| {
                    let mut attributes = attributes;
                    attributes.sort();
                    numbers.insert(format!("{} {} {}", metric.name(), metric.unit(), attributes.join(" ")), number);
                };
                macro_rules! points {
                    ($data:expr, $number:expr) => {
                        for point in $data.data_points() {
                            let attributes =
                                point.attributes().map(|pair| format!("{}={}", pair.key, pair.value.as_str()));
                            put(attributes.collect(), $number(point));
                        }
                    };
                }
                match metric.data() {
                    AggregatedMetrics::U64(MetricData::Sum(sum)) => {
                        points!(sum, |point: &opentelemetry_sdk::metrics::data::SumDataPoint<u64>| (point.value(), 0.0))
                    }
                    AggregatedMetrics::U64(MetricData::Gauge(gauge)) => points!(
                        gauge,
                        |point: &opentelemetry_sdk::metrics::data::GaugeDataPoint<u64>| (point.value(), 0.0)
                    ),
                    AggregatedMetrics::F64(MetricData::Gauge(gauge)) => points!(
                        gauge,
                        |point: &opentelemetry_sdk::metrics::data::GaugeDataPoint<f64>| (1, point.value())
                    ),
                    AggregatedMetrics::U64(MetricData::Histogram(all)) => {
                        points!(all, |point: &opentelemetry_sdk::metrics::data::HistogramDataPoint<u64>| (
                            point.count(),
                            point.sum() as f64
                        ))
                    }
                    AggregatedMetrics::F64(MetricData::Histogram(all)) => {
                        points!(all, |point: &opentelemetry_sdk::metrics::data::HistogramDataPoint<f64>| (
                            point.count(),
                            point.sum()
                        ))
                    }
                    other => panic!("{}: {other:?}", metric.name()),
                }
            }
        }
        numbers
    }
}

fn key(id: &str) -> LockKey {
    LockKey::new("Order", id)
}

#[tokio::test]
async fn lock_operations_are_counted_by_type_and_outcome() {
    let m = measured().await;
    let locks = LockManager::new(&m.db).with_take_over_permission("Order", |_: &Owner, _: &Holder| true);
    let (kim, lee) = (Owner::new("kim", "Kim"), Owner::new("lee", "Lee"));
    let lease = locks.try_lock(&key("1"), &kim).await.unwrap();
    for _ in 0..2 {
        assert!(locks.try_lock(&key("1"), &lee).await.is_err());
    }
    assert!(locks.try_lock(&key(""), &lee).await.is_err());
    let taken = locks.take_over(&key("1"), 1, &lee, LockId::random(), "urgent").await.unwrap();
    locks.break_lock(&key("1"), taken.holder().generation, &kim, "stuck").await.unwrap();
    assert!(locks.check_lock(lease.id()).await.is_err());
    let note = locks.try_lock(&LockKey::new("Note", "1"), &kim).await.unwrap();
    m.clock.advance(6 * MINUTE);
    assert!(locks.check_lock(note.id()).await.is_err());
    assert!(locks.keep_alive(&[note.id().clone()]).await.unwrap()[0].is_err());
    let numbers = m.numbers();
    for (name, count) in [
        ("tenure.lock.acquired {lease} type=Order", 1),
        ("tenure.lock.acquired {lease} type=Note", 1),
        ("tenure.lock.refused {request} operation=try_lock outcome=already-locked type=Order", 2),
        ("tenure.lock.refused {request} operation=try_lock outcome=invalid-key type=Order", 1),
        ("tenure.lock.taken_over {lease} type=Order", 1),
        ("tenure.lock.broken {lease} type=Order", 1),
        ("tenure.lock.expired {lease} operation=check_lock type=Note", 1),
        ("tenure.lock.expired {lease} operation=keep_alive type=Note", 1),
    ] {
        assert_eq!(numbers.get(name).map(|number| number.0), Some(count), "{name} of {numbers:#?}");
    }
}

#[tokio::test]
async fn hold_time_uses_the_databases_clock() {
    let m = measured().await;
    let (locks, kim) = (LockManager::new(&m.db), Owner::new("kim", "Kim"));
    let lease = locks.try_lock(&key("1"), &kim).await.unwrap();
    for seconds in [60, 100, 160] {
        m.clock.advance(Duration::from_secs(seconds));
        locks.keep_alive(&[lease.id().clone()]).await.unwrap().remove(0).unwrap();
    }
    locks.release_lock(lease.id()).await.unwrap();
    let numbers = m.numbers();
    assert_eq!(numbers["tenure.lock.extended {lease} operation=keep_alive type=Order"].0, 3);
    assert_eq!(numbers["tenure.lock.released {lease} type=Order"].0, 1);
    let (count, held) = numbers["tenure.lock.hold_time s type=Order"];
    assert!(count == 1 && (319.0..321.0).contains(&held), "held for {held} s instead of 320");
}

#[tokio::test]
async fn held_gauge_is_queried_once_per_interval_and_falls_to_0() {
    let m = measured().await;
    let (locks, kim) = (LockManager::new(&m.db), Owner::new("kim", "Kim"));
    assert!(locks.observe(Duration::ZERO).await.unwrap());
    let first = locks.try_lock(&key("1"), &kim).await.unwrap();
    m.clock.advance(MINUTE);
    locks.try_lock(&key("2"), &kim).await.unwrap();
    let note = locks.try_lock(&LockKey::new("Note", "1"), &kim).await.unwrap();
    assert!(!locks.observe(MINUTE).await.unwrap());
    assert!(!m.numbers().contains_key("tenure.lock.held {lease} type=Order"));
    assert!(locks.observe(Duration::ZERO).await.unwrap());
    let numbers = m.numbers();
    assert_eq!(numbers["tenure.lock.held {lease} type=Order"].0, 2);
    assert_eq!(numbers["tenure.lock.oldest s type=Order"].1, 60.0);
    assert_eq!(numbers["tenure.lock.held {lease} type=Note"].0, 1);
    locks.release_lock(note.id()).await.unwrap();
    locks.release_lock(first.id()).await.unwrap();
    locks.observe(Duration::ZERO).await.unwrap();
    let numbers = m.numbers();
    assert_eq!(numbers["tenure.lock.held {lease} type=Order"].0, 1);
    assert_eq!(numbers["tenure.lock.held {lease} type=Note"].0, 0);
    assert_eq!(numbers["tenure.lock.oldest s type=Order"].1, 0.0);
}

#[tokio::test]
async fn saves_that_lost_their_lease_are_counted_and_say_why() {
    let m = measured().await;
    let (locks, orders, kim) = (LockManager::new(&m.db), Repository::<Order>::new(&m.db), Owner::new("kim", "Kim"));
    let mut tx = m.db.begin().await.unwrap();
    let table = "create table orders (no text primary key, message text not null, version integer not null)";
    sqlx::raw_sql(table).execute(tx.sqlite().unwrap()).await.unwrap();
    orders.insert(&mut tx, Order { no: "1".into(), message: String::new() }).await.unwrap();
    tx.commit().await.unwrap();
    let lease = locks.try_lock(&key("1"), &kim).await.unwrap();
    let no = String::from("1");
    let save = |id: LockId| {
        let send = |order: &mut Order| {
            order.message.push('!');
            Ok::<_, ()>(())
        };
        let (orders, no) = (&orders, &no);
        async move { orders.update(no).holding(&id).run(send).await.is_ok() }
    };
    assert!(save(lease.id().clone()).await);
    m.clock.advance(6 * MINUTE);
    assert!(!save(lease.id().clone()).await);
    assert!(!save(LockId::random()).await);
    let mut tx = m.db.begin().await.unwrap();
    assert!(locks.guard(&mut tx, lease.id()).await.is_err());
    drop(tx);
    let numbers = m.numbers();
    let lost = |operation: &str, why: &str| {
        numbers[&format!("tenure.lock.lost_at_save {{save}} operation={operation} outcome={why} type=Order")].0
    };
    assert_eq!([lost("save", "lock-expired"), lost("save", "lock-unknown"), lost("guard", "lock-expired")], [1, 1, 1]);
}

/// On one thread all requests are queued before the first is answered.
#[tokio::test]
async fn round_trips_and_queue_length_are_measured() {
    let m = measured().await;
    let mut asking = tokio::task::JoinSet::new();
    for at in 0..50 {
        let locks = LockManager::new(&m.db);
        asking.spawn(async move { locks.try_lock(&key(&at.to_string()), &Owner::new("kim", "Kim")).await.unwrap() });
    }
    let ids: Vec<_> = asking.join_all().await.iter().map(|lease| lease.id().clone()).collect();
    LockManager::new(&m.db).keep_alive(&ids).await.unwrap();
    let numbers = m.numbers();
    let (trips, questions) = numbers["tenure.lock.batch.size {question} "];
    assert!(trips < 51 && questions == 100.0, "{questions} questions in {trips} trips");
    assert_eq!(numbers["tenure.lock.queue.length {question} "].0, 0);
}

/// Metrics must contain no people, and their cardinality must not grow with the orders.
#[tokio::test]
async fn metric_attributes_contain_no_person_key_or_lock_id() {
    let m = measured().await;
    let locks = LockManager::new(&m.db);
    for order in 0..20 {
        let owner = Owner::new(format!("person {order}"), "Somebody");
        let lease = locks.try_lock(&key(&format!("no {order}")), &owner).await.unwrap();
        let _ = locks.try_lock(&lease.holder().key, &owner).await;
        locks.keep_alive(&[lease.id().clone(), LockId::random()]).await.unwrap();
        locks.release_lock(lease.id()).await.unwrap();
        let _ = locks.release_lock(lease.id()).await;
    }
    let numbers = m.numbers();
    assert!(numbers.len() < 20, "{numbers:#?}");
    for name in numbers.keys() {
        assert!(!name.contains("person") && !name.contains("no 1") && !name.contains("Somebody"), "{name}");
    }
}
