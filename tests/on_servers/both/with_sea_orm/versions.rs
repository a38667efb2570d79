//! Optimistic versions of entities.

use sea_orm::{ActiveModelTrait, EntityTrait, IntoActiveModel, QuerySelect, Set, Unchanged};
use tenure::sea_orm::VersionedActiveModel;
use tenure::{Error, Version, error::DatabaseError};

use super::entities::{insert_parcel, labelled, parcel, stock, stored};
use crate::conformance::support::{TestDb, random, version};

pub async fn one_of_two_saves_wins_and_the_loser_sees_both_versions(t: &TestDb) {
    let parcel = insert_parcel(t).await;
    let (first, second) = (random(), random());
    let mut tx = t.db.begin().await.unwrap();
    let won = labelled(&parcel, &first).update_versioned(&tx.sea_orm().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!((won.version, &won.label), (version(2), &first));
    let mut tx = t.db.begin().await.unwrap();
    let conn = tx.sea_orm().unwrap();
    let lost = labelled(&parcel, &second).update_versioned(&conn).await.unwrap_err();
    assert_eq!(
        lost.to_string(),
        format!(
            "lost the race at the same moment: test_parcel {} was changed after you opened it: it is version 2 now, yours \
             is 1; compare, and apply yours on top",
            parcel.id
        )
    );
    assert!(lost.is_retryable());
    let Error::OptimisticLockingFailure(conflict) = lost else { panic!("{lost:?}") };
    assert_eq!((conflict.expected, conflict.actual), (Version::FIRST, Some(version(2))));
    // The transaction continues: a save on the current version succeeds.
    labelled(&won, &second).update_versioned(&conn).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(stored(t, parcel.id).await, Some(parcel::Model { label: second, version: version(3), ..parcel }));
}

pub async fn a_stale_version_of_a_form_is_refused(t: &TestDb) {
    let parcel = insert_parcel(t).await;
    let mut tx = t.db.begin().await.unwrap();
    let conn = tx.sea_orm().unwrap();
    let now = labelled(&parcel, &random()).update_versioned(&conn).await.unwrap();
    let refused = now.clone().into_active_model().expecting(parcel.version).unwrap_err();
    assert!(!refused.is_retryable());
    let Error::VersionConflict(conflict) = refused else { panic!("{refused:?}") };
    assert_eq!((conflict.aggregate.as_str(), conflict.id), ("test_parcel", parcel.id.to_string()));
    assert_eq!((conflict.expected, conflict.actual), (Version::FIRST, Some(version(2))));
    let current = now.clone().into_active_model().expecting(now.version).unwrap();
    assert_eq!(current, now.into_active_model());
}

pub async fn unknown_version_is_an_error_not_a_skipped_check(t: &TestDb) {
    let parcel = insert_parcel(t).await;
    for (known, problem) in [
        (sea_orm::NotSet, "load the whole row"),
        (Set(Version::FIRST), "was set by hand"),
        (Set(version(9)), "was set by hand"),
    ] {
        let mut tx = t.db.begin().await.unwrap();
        let edited = || parcel::ActiveModel { version: known.clone(), ..labelled(&parcel, "unchecked") };
        let conn = tx.sea_orm().unwrap();
        for refused in
            [edited().update_versioned(&conn).await.unwrap_err(), edited().expecting(Version::FIRST).unwrap_err()]
        {
            assert!(matches!(refused, Error::Database(DatabaseError::Mapping(_))), "{refused:?}");
            assert!(refused.to_string().starts_with("table `test_parcel`, column `version`: the version"), "{refused}");
            assert!(refused.to_string().contains(problem), "{refused}");
        }
        tx.commit().await.unwrap();
    }
    // Nor can a row without its key be identified.
    let mut tx = t.db.begin().await.unwrap();
    let edited = parcel::ActiveModel { id: sea_orm::NotSet, ..labelled(&parcel, "which?") };
    let refused = edited.update_versioned(&tx.sea_orm().unwrap()).await.unwrap_err();
    assert!(refused.to_string().contains("key not set"), "{refused}");
    drop(tx);
    assert_eq!(stored(t, parcel.id).await, Some(parcel));
}

pub async fn nothing_changed_writes_nothing_and_the_version_stays(t: &TestDb) {
    let parcel = insert_parcel(t).await;
    let mut tx = t.db.begin().await.unwrap();
    let conn = tx.sea_orm().unwrap();
    let same = parcel.clone().into_active_model().update_versioned(&conn).await.unwrap();
    assert_eq!(same, parcel);
    // The key identifies the row; setting it is no change.
    let same = parcel::ActiveModel { id: Set(parcel.id), ..parcel.clone().into_active_model() };
    assert_eq!(same.update_versioned(&conn).await.unwrap(), parcel);
    let now = labelled(&parcel, &random()).update_versioned(&conn).await.unwrap();
    let stale = parcel.clone().into_active_model().update_versioned(&conn).await;
    assert!(matches!(stale, Err(Error::OptimisticLockingFailure(_))), "{stale:?}");
    tx.commit().await.unwrap();
    assert_eq!((now.version, stored(t, parcel.id).await), (version(2), Some(now)));
}

pub async fn deleted_row_is_not_found(t: &TestDb) {
    let parcel = insert_parcel(t).await;
    let mut tx = t.db.begin().await.unwrap();
    let conn = tx.sea_orm().unwrap();
    parcel::Entity::delete_by_id(parcel.id).exec(&conn).await.unwrap();
    let unchanged = parcel.clone().into_active_model();
    for gone in [
        labelled(&parcel, "gone").update_versioned(&conn).await.map(drop),
        unchanged.update_versioned(&conn).await.map(drop),
    ] {
        let Err(Error::NotFound { aggregate, id }) = gone else { panic!("{gone:?}") };
        assert_eq!((aggregate, id), ("test_parcel".to_owned(), parcel.id.to_string()));
    }
    tx.commit().await.unwrap();
}

/// Inserts a stock of ten.
async fn insert_stock(t: &TestDb) -> stock::Model {
    let new = stock::Model { warehouse: random(), product: "tea's".into(), count: 10, version: 1 };
    let mut tx = t.db.begin().await.unwrap();
    let new = new.into_active_model().reset_all().insert(&tx.sea_orm().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    new
}

pub async fn a_key_of_two_columns_and_a_plain_integer_are_as_good(t: &TestDb) {
    let (one, other) = (insert_stock(t).await, insert_stock(t).await);
    let mut tx = t.db.begin().await.unwrap();
    let conn = tx.sea_orm().unwrap();
    let mut edited = one.clone().into_active_model();
    edited.count = Set(9);
    let now = edited.clone().update_versioned(&conn).await.unwrap();
    assert_eq!(now, stock::Model { count: 9, version: 2, ..one.clone() });
    let late = edited.update_versioned(&conn).await;
    let Err(Error::OptimisticLockingFailure(conflict)) = late else { panic!("{late:?}") };
    assert_eq!(conflict.id, format!("{}, tea's", one.warehouse));
    // An `integer` can be read as a version as well as a `bigint`.
    let read = stock::Entity::find_by_id((one.warehouse, one.product)).select_only().column(stock::Column::Version);
    assert_eq!(read.into_tuple::<Version>().one(&conn).await.unwrap(), Some(version(2)));
    // An invalid number is not a version.
    let mut negative = now.into_active_model();
    (negative.version, negative.count) = (Unchanged(-1), Set(8));
    let refused = negative.update_versioned(&conn).await.unwrap_err();
    assert!(refused.to_string().contains("a version is a whole number from 0"), "{refused}");
    let key = (other.warehouse.clone(), other.product.clone());
    assert_eq!(stock::Entity::find_by_id(key).one(&conn).await.unwrap(), Some(other));
    tx.commit().await.unwrap();
}

pub async fn the_hooks_of_the_active_model_run(t: &TestDb) {
    let stock = insert_stock(t).await;
    let mut tx = t.db.begin().await.unwrap();
    let mut edited = stock.into_active_model();
    edited.count = Set(-1);
    let refused = edited.clone().update_versioned(&tx.sea_orm().unwrap()).await.unwrap_err();
    assert!(refused.to_string().contains("there cannot be less than nothing"), "{refused}");
    // Nor may it set the version: that would be two versions in one statement.
    edited.count = Set(100);
    let refused = edited.update_versioned(&tx.sea_orm().unwrap()).await.unwrap_err();
    assert!(refused.to_string().contains("the version was set by hand"), "{refused}");
    // No statement was sent, so the transaction continues.
    tx.commit().await.unwrap();
}
