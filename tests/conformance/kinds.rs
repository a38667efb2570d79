//! Every kind of column: values round-trip, and only differences are written.

use jiff::civil::{Date, DateTime, Time};
use serde_json::json;
use tenure::aggregate::value::{Json, Value};
use tenure::{Error, Loaded, LockMode, Repository, Version, error::UpdateError, version::Side};
use uuid::Uuid;

use super::every_kind::{Every, Kinds, Parcel, Stay, decimal};
use super::support::{TestDb, kim, lee, version};

type Change = fn(&mut Kinds);

fn repository(t: &TestDb) -> Repository<Kinds> {
    Repository::new(&t.db)
}

async fn insert(t: &TestDb, kinds: &Kinds) -> Loaded<Kinds> {
    let mut tx = t.db.begin().await.unwrap();
    let inserted = repository(t).insert(&mut tx, kinds.clone()).await.unwrap();
    tx.commit().await.unwrap();
    inserted
}

/// Loads it, runs a change on it and saves it; returns the version afterwards.
async fn change(t: &TestDb, id: Uuid, change: impl FnOnce(&mut Kinds)) -> Version {
    let mut tx = t.db.begin().await.unwrap();
    let mut loaded = repository(t).find(&mut tx, &id, LockMode::PessimisticWrite).await.unwrap().unwrap();
    change(&mut loaded);
    let version = repository(t).save(&mut tx, &mut loaded).await.unwrap();
    tx.commit().await.unwrap();
    version
}

async fn stored(t: &TestDb, id: Uuid) -> Kinds {
    repository(t).get(&id).await.unwrap().unwrap().into_inner()
}

pub async fn every_kind_round_trips(t: &TestDb) {
    for every in [Every::ordinary(), Every::least(), Every::most(), Every::smallest()] {
        let kinds = Kinds { perhaps: Some(every.clone()), ..Kinds::new(every) };
        insert(t, &kinds).await;
        assert_eq!(stored(t, kinds.id).await, kinds);
    }
}

pub async fn every_kind_can_be_changed(t: &TestDb) {
    let mut kinds = Kinds::new(Every::ordinary());
    insert(t, &kinds).await;
    for (saves, every) in (2..).zip([Every::least(), Every::most(), Every::smallest(), Every::ordinary()]) {
        (kinds.always, kinds.perhaps) = (every.clone(), Some(every));
        assert_eq!(change(t, kinds.id, |loaded| *loaded = kinds.clone()).await, version(saves));
        assert_eq!(stored(t, kinds.id).await, kinds);
    }
}

pub async fn none_of_every_kind_round_trips(t: &TestDb) {
    let mut kinds = Kinds::new(Every::ordinary());
    insert(t, &kinds).await;
    assert_eq!(stored(t, kinds.id).await, kinds);
    kinds.perhaps = Some(Every::ordinary());
    change(t, kinds.id, |loaded| *loaded = kinds.clone()).await;
    kinds.perhaps = None;
    change(t, kinds.id, |loaded| *loaded = kinds.clone()).await;
    assert_eq!(stored(t, kinds.id).await, kinds);
}

pub async fn the_null_of_json_is_not_none(t: &TestDb) {
    let mut kinds = Kinds { note: Some(json!(null)), ..Kinds::new(Every::ordinary()) };
    insert(t, &kinds).await;
    assert_eq!(stored(t, kinds.id).await, kinds);
    kinds.note = None;
    assert_eq!(change(t, kinds.id, |loaded| loaded.note = None).await, version(2));
    assert_eq!(stored(t, kinds.id).await, kinds);
}

pub async fn unchanged_columns_are_not_written(t: &TestDb) {
    for every in [Every::ordinary(), Every::least(), Every::most(), Every::smallest()] {
        let kinds = Kinds { perhaps: Some(every.clone()), ..Kinds::new(every) };
        let mut inserted = insert(t, &kinds).await;
        let mut tx = t.db.begin().await.unwrap();
        assert_eq!(repository(t).save(&mut tx, &mut inserted).await.unwrap(), Version::FIRST);
        tx.commit().await.unwrap();
        assert_eq!(change(t, kinds.id, |_| {}).await, Version::FIRST);
        // Also not if all fields are set to their present values.
        assert_eq!(change(t, kinds.id, |loaded| *loaded = kinds.clone()).await, Version::FIRST);
    }
}

pub async fn sub_microsecond_difference_is_cut_and_no_change(t: &TestDb) {
    let cut = Every {
        at: "2026-11-20T10:00:00.123456Z".parse().unwrap(),
        moment: DateTime::constant(2026, 11, 20, 10, 0, 0, 123_456_000),
        hour: Time::constant(10, 0, 0, 123_456_000),
        ..Every::ordinary()
    };
    let whole = Every {
        at: "2026-11-20T10:00:00.123456999Z".parse().unwrap(),
        moment: DateTime::constant(2026, 11, 20, 10, 0, 0, 123_456_999),
        hour: Time::constant(10, 0, 0, 123_456_999),
        ..cut.clone()
    };
    let mut inserted = insert(t, &Kinds::new(whole.clone())).await;
    assert_eq!(inserted.always, cut);
    inserted.always = whole.clone();
    let mut tx = t.db.begin().await.unwrap();
    assert_eq!(repository(t).save(&mut tx, &mut inserted).await.unwrap(), Version::FIRST);
    tx.commit().await.unwrap();
    assert_eq!(change(t, inserted.id, |loaded| loaded.always = whole).await, Version::FIRST);
    assert_eq!(stored(t, inserted.id).await.always, cut);
}

pub async fn a_decimal_of_another_scale_is_no_change(t: &TestDb) {
    let kinds = Kinds::new(Every::ordinary());
    insert(t, &kinds).await;
    for same in ["12.5", "12.500000", "12.50"] {
        assert_eq!(change(t, kinds.id, |loaded| loaded.always.price = decimal(same)).await, Version::FIRST);
    }
    assert_eq!(change(t, kinds.id, |loaded| loaded.always.price = decimal("-12.5")).await, version(2));
    assert_eq!(change(t, kinds.id, |loaded| loaded.stays[1].price = decimal("12.5")).await, version(2));
    assert_eq!(change(t, kinds.id, |loaded| loaded.stays[1].price = decimal("12.51")).await, version(3));
}

pub async fn json_with_its_keys_in_another_order_is_no_change(t: &TestDb) {
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let kinds = Kinds { note: Some(json(r#"{"b": [1e16, 2], "a": "x"}"#)), ..Kinds::new(Every::ordinary()) };
    insert(t, &kinds).await;
    let same = Some(json(r#"{"a": "x", "b": [10000000000000000, 2.0]}"#));
    assert_eq!(change(t, kinds.id, |loaded| loaded.note = same).await, Version::FIRST);
    let other = Some(json(r#"{"a": "x", "b": [2, 10000000000000000]}"#));
    assert_eq!(change(t, kinds.id, |loaded| loaded.note = other.clone()).await, version(2));
    assert_eq!(stored(t, kinds.id).await.note, other);
}

pub async fn unstorable_value_is_refused_with_its_column(t: &TestDb) {
    let repository = repository(t);
    let mut kinds = insert(t, &Kinds::new(Every::ordinary())).await;
    let changes: [(&str, Change); 8] = [
        ("`test_kinds`, column `always_json`: it contains a NUL", |kinds| kinds.always.json = "a\0b".into()),
        ("`test_kinds`, column `always_real`: NaN is no number", |kinds| kinds.always.real = f64::NAN),
        ("`test_kinds`, column `always_short`: -inf is no number", |kinds| kinds.always.short = f32::NEG_INFINITY),
        ("`test_kinds`, column `always_day`: `0000-12-31` is no date of the years 1 to 9999", |kinds| {
            kinds.always.day = Date::constant(0, 12, 31);
        }),
        ("`test_kinds`, column `perhaps_moment`: `-044-03-15 12:00:00.000000` is no date and time", |kinds| {
            let moment = DateTime::constant(-44, 3, 15, 12, 0, 0, 0);
            kinds.perhaps = Some(Every { moment, ..Every::ordinary() });
        }),
        ("`test_kinds`, column `always_at`: 0000-12-31T23:59:59.999999Z is not in the years 1 to 9999", |kinds| {
            kinds.always.at = "0000-12-31T23:59:59.999999Z".parse().unwrap();
        }),
        ("`test_kinds`, column `always_typed`: this ", |kinds| {
            kinds.always.typed = Json(Parcel::Weights(vec![f64::NAN]));
        }),
        ("`test_kinds_stay`, column `day`: `-001-01-01` is no date", |kinds| {
            kinds.stays[0].day = Date::constant(-1, 1, 1)
        }),
    ];
    let mut tx = t.db.begin().await.unwrap();
    for (words, change) in changes {
        let before = kinds.clone().into_inner();
        change(&mut kinds);
        let refused = repository.save(&mut tx, &mut kinds).await.unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
        let mut other = Kinds::new(Every::ordinary());
        change(&mut other);
        let refused = repository.insert(&mut tx, other.clone()).await.unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
        assert!(repository.find(&mut tx, &other.id, LockMode::None).await.unwrap().is_none());
        *kinds = before;
    }
    // Nothing of it was written, and the transaction continues.
    assert_eq!(repository.save(&mut tx, &mut kinds).await.unwrap(), Version::FIRST);
    tx.commit().await.unwrap();
    assert_eq!(stored(t, kinds.id).await, kinds.into_inner());
}

pub async fn uuid_roots_with_date_keyed_children_are_found(t: &TestDb) {
    let mut kinds = Kinds::new(Every::ordinary());
    insert(t, &kinds).await;
    kinds.stays[0].hour = Some(Time::constant(9, 0, 0, 0));
    kinds.stays[1].day = Date::constant(2026, 11, 21);
    kinds.stays.push(Stay { room: Uuid::max(), ..kinds.stays[0].clone() });
    assert_eq!(change(t, kinds.id, |loaded| *loaded = kinds.clone()).await, version(2));
    assert_eq!(stored(t, kinds.id).await, kinds);
    let mut tx = t.db.begin().await.unwrap();
    assert!(matches!(repository(t).insert(&mut tx, kinds.clone()).await, Err(Error::AlreadyExists { .. })));
    let loaded = repository(t).find(&mut tx, &kinds.id, LockMode::PessimisticWrite).await.unwrap().unwrap();
    repository(t).delete(&mut tx, loaded).await.unwrap();
    tx.commit().await.unwrap();
    assert!(repository(t).get(&kinds.id).await.unwrap().is_none());
}

pub async fn conflict_compares_every_kind_with_its_revision(t: &TestDb) {
    for every in [Every::ordinary(), Every::least(), Every::most(), Every::smallest()] {
        let kinds = Kinds { perhaps: Some(every.clone()), ..Kinds::new(every) };
        insert(t, &kinds).await;
        let repository = repository(t);
        let note = |kinds: &mut Kinds| {
            kinds.note = Some(json!({"by": "lee"}));
            Ok::<_, std::convert::Infallible>(())
        };
        repository.update(&kinds.id).by(&lee()).run(note).await.unwrap();
        let pay = |kinds: &mut Kinds| {
            kinds.always.price = decimal("0.01");
            Ok::<_, std::convert::Infallible>(())
        };
        let stale = repository.update(&kinds.id).by(&kim()).expecting(Version::FIRST).run(pay).await;
        let Err(UpdateError::Failed(Error::VersionConflict(conflict))) = stale else { panic!("{stale:?}") };
        let fields: Vec<_> = conflict.fields.iter().map(|field| (field.path.as_str(), field.side())).collect();
        assert_eq!(fields, [("always.price", Side::Mine), ("note", Side::Theirs)]);
        assert_eq!(conflict.fields[0].mine, Some(Value::Decimal("0.01".parse().unwrap())));
        assert_eq!(conflict.fields[1].now.as_ref().unwrap().to_string(), r#"{"by":"lee"}"#);
    }
}
