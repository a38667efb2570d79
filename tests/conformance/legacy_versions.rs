//! Rows of an application that had other versions before: 0, or none.

use tenure::version::VersionToken;
use tenure::{Aggregate, Error, LockMode, Repository, Version};

use super::support::{TestDb, random, version};

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_legacy")]
struct Legacy {
    #[aggregate(id)]
    id: String,
    text: String,
}

/// A row with this version, written by hand.
async fn row(t: &TestDb, version: &str) -> (Repository<Legacy>, String) {
    let id = random();
    t.by_hand(format!("insert into test_legacy (id, text, version) values ('{id}', 'old', {version})")).await.unwrap();
    (Repository::new(&t.db), id)
}

fn write(legacy: &mut Legacy) -> Result<(), std::convert::Infallible> {
    legacy.text = "new".into();
    Ok(())
}

pub async fn version_zero_is_saved_as_any_other(t: &TestDb) {
    let (rows, id) = row(t, "0").await;
    let seen = rows.get(&id).await.unwrap().unwrap();
    assert_eq!(seen.version(), version(0));
    let token: VersionToken<Legacy> = seen.token().to_string().parse().unwrap();
    assert_eq!(rows.update(&id).expecting(token).run(write).await.unwrap().version(), Version::FIRST);
    assert!(rows.update(&id).expecting(token).run(write).await.is_err());
    assert_eq!(rows.get(&id).await.unwrap().unwrap().version(), Version::FIRST);
}

/// The error of a load, as text.
fn refused<T: std::fmt::Debug>(answer: Result<T, Error>) -> String {
    match answer {
        Err(error @ Error::Database(_)) => error.to_string(),
        other => panic!("expected an error of the mapping, found {other:?}"),
    }
}

pub async fn null_version_is_refused_naming_row_and_migration(t: &TestDb) {
    let (rows, id) = row(t, "null").await;
    let mut errors = vec![refused(rows.get(&id).await)];
    for mode in [LockMode::None, LockMode::PessimisticWrite] {
        let mut tx = t.db.begin().await.unwrap();
        errors.push(refused(rows.find(&mut tx, &id, mode).await));
    }
    let mut tx = t.db.begin().await.unwrap();
    errors.push(refused(rows.assert_unchanged(&mut tx, &id, version(0)).await));
    for error in errors {
        for part in ["`test_legacy`", &format!("id = {id}"), "update test_legacy set version = 0 where version is null"]
        {
            assert!(error.contains(part), "{error}");
        }
    }
}

pub async fn migrated_null_version_is_saved_as_version_zero(t: &TestDb) {
    let (rows, id) = row(t, "null").await;
    // The statement of the message, for this row alone: other tests run on the same table.
    t.by_hand(format!("update test_legacy set version = 0 where version is null and id = '{id}'")).await.unwrap();
    assert_eq!(rows.update(&id).run(write).await.unwrap().version(), Version::FIRST);
}
