//! Versions, locks and histories are stored under the name of an aggregate, so two aggregates of one database have two names.

use tenure::{
    Aggregate, LockKey, LockManager, LockMode, Repository,
    error::{DatabaseError, Error, UpdateError},
    unit_of_work::LockSet,
};

use super::order::Counter;
use super::support::{TestDb, kim, random};

/// Another bounded context.
mod purchasing {
    /// Its struct has the name of another aggregate, `super::Counter`.
    #[derive(tenure::Aggregate, Debug)]
    #[aggregate(table = "test_note")]
    pub struct Counter {
        #[aggregate(id)]
        pub id: String,
        pub board: String,
        pub text: String,
    }

    /// The same, with a name of its own.
    #[derive(tenure::Aggregate, Debug)]
    #[aggregate(table = "test_note", name = "PurchaseCounter")]
    pub struct Named {
        #[aggregate(id)]
        pub id: String,
        pub board: String,
        pub text: String,
    }
}

fn refused<T: std::fmt::Debug>(answer: Result<T, impl Into<Error>>) {
    let error = answer.map_err(Into::into).unwrap_err();
    assert!(matches!(error, Error::Database(DatabaseError::Mapping(_))), "{error:?}");
    let text = error.to_string();
    for part in ["`Counter`", "`test_counter`", "`test_note`", "#[aggregate(name = "] {
        assert!(text.contains(part), "{text}");
    }
}

fn failed<E: std::fmt::Debug>(error: UpdateError<E>) -> Error {
    match error {
        UpdateError::Failed(error) => error,
        UpdateError::Refused(refused) => panic!("{refused:?}"),
    }
}

pub async fn second_aggregate_of_a_name_is_refused(t: &TestDb) {
    let id = t.counter(7).await;
    let lease = LockManager::new(&t.db).try_lock(&LockKey::of::<Counter>(&id), &kim()).await.unwrap();
    let others = Repository::<purchasing::Counter>::new(&t.db);
    refused(others.get(&id).await);
    refused(others.get_many(std::slice::from_ref(&id)).await);
    refused(others.changes(&id, 1).await);
    refused(t.db.check::<purchasing::Counter>().await);
    let none = |_: &mut purchasing::Counter| Ok::<_, std::convert::Infallible>(());
    refused(others.update(&id).holding(lease.id()).run(none).await.map_err(failed));
    let new = purchasing::Counter { id: random(), board: String::new(), text: String::new() };
    let mut tx = t.db.begin().await.unwrap();
    refused(others.insert(&mut tx, new).await);
    refused(others.find(&mut tx, &id, LockMode::PessimisticWrite).await);
    let both = LockSet::new().add::<Counter>(&id).add::<purchasing::Counter>(&random());
    refused(tx.lock_all(both, LockMode::PessimisticWrite).await);
    // The first one works as before.
    assert_eq!(t.counters.find(&mut tx, &id, LockMode::None).await.unwrap().unwrap().count, 7);
}

pub async fn aggregates_with_names_of_their_own_are_separate(t: &TestDb) {
    let (id, named) = (t.counter(7).await, Repository::<purchasing::Named>::new(&t.db));
    t.locks.try_lock(&LockKey::of::<Counter>(&id), &kim()).await.unwrap();
    t.locks.try_lock(&LockKey::of::<purchasing::Named>(&id), &kim()).await.unwrap();
    assert!(named.get(&id).await.unwrap().is_none());
    assert_eq!(purchasing::Named::mapping().name, "PurchaseCounter");
}
