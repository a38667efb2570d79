//! Ids of different spellings that the column's collation treats as equal.

use tenure::{
    Aggregate, Error, LockKey, LockMode, Repository,
    error::{DatabaseError, UpdateError},
    unit_of_work::LockSet,
};

use super::support::{TestDb, kim, lee, random, version};

/// Its id is compared case-insensitively.
#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_tag")]
pub struct Tag {
    #[aggregate(id)]
    code: String,
    text: String,
}

impl Tag {
    fn write(&mut self) -> Result<(), std::convert::Infallible> {
        self.text.push_str("Lee's");
        Ok(())
    }
}

/// A stored id, and another spelling of it.
pub async fn tag(t: &TestDb) -> (Repository<Tag>, String, String) {
    let (tags, small) = (Repository::new(&t.db), random().to_lowercase() + "a");
    let stored = small.to_uppercase();
    let mut tx = t.db.begin().await.unwrap();
    tags.insert(&mut tx, Tag { code: stored.clone(), text: String::new() }).await.unwrap();
    tx.commit().await.unwrap();
    (tags, stored, small)
}

fn refused<T: std::fmt::Debug>(answer: Result<T, Error>) -> (String, String) {
    match answer {
        Err(Error::OtherSpelling { id, stored, .. }) => (id, stored),
        other => panic!("expected OtherSpelling, found {other:?}"),
    }
}

pub async fn other_spelling_of_an_id_is_refused_naming_the_stored_one(t: &TestDb) {
    let (tags, stored, small) = tag(t).await;
    let both = (small.clone(), stored.clone());
    assert_eq!(refused(tags.get(&small).await), both);
    for mode in [LockMode::None, LockMode::Optimistic, LockMode::PessimisticWrite] {
        let mut tx = t.db.begin().await.unwrap();
        assert_eq!(refused(tags.find(&mut tx, &small, mode).await), both);
    }
    let mut tx = t.db.begin().await.unwrap();
    let set = LockSet::new().add::<Tag>(&small).add::<Tag>(&stored);
    let mut locked = tx.lock_all(set, LockMode::PessimisticWrite).await.unwrap();
    assert_eq!(refused(locked.take::<Tag>(&small)), both);
    assert_eq!(locked.take::<Tag>(&stored).unwrap().unwrap().version(), version(1));
}

pub async fn a_lease_on_another_spelling_saves_nothing(t: &TestDb) {
    let (tags, stored, small) = tag(t).await;
    t.locks.try_lock(&LockKey::of::<Tag>(&stored), &kim()).await.unwrap();
    let by_lee = || tags.update(&small).by(&lee());
    let free = by_lee().unless_locked().run(Tag::write).await;
    assert!(matches!(&free, Err(UpdateError::Failed(Error::OtherSpelling { .. }))), "{free:?}");
    let lees = t.locks.try_lock(&LockKey::of::<Tag>(&small), &lee()).await.unwrap();
    for update in [by_lee(), by_lee().holding(lees.id()), by_lee().releasing(lees.id())] {
        let saved = update.run(Tag::write).await;
        let Err(UpdateError::Failed(error)) = saved else { panic!("{saved:?}") };
        assert_eq!(refused(Err::<(), _>(error)), (small.clone(), stored.clone()));
    }
    assert_eq!(tags.get(&stored).await.unwrap().unwrap().version(), version(1));
}

pub async fn other_spelling_is_not_inserted_beside_the_stored_one(t: &TestDb) {
    let (tags, stored, small) = tag(t).await;
    let mut tx = t.db.begin().await.unwrap();
    let inserted = tags.insert(&mut tx, Tag { code: small.clone(), text: String::new() }).await;
    assert!(matches!(&inserted, Err(Error::AlreadyExists { id, .. }) if *id == small), "{inserted:?}");
    tx.commit().await.unwrap();
    assert_eq!(tags.get(&stored).await.unwrap().unwrap().version(), version(1));
}

pub async fn another_spelling_is_an_error_of_its_own_and_not_retried(t: &TestDb) {
    let (tags, _, small) = tag(t).await;
    let error = tags.get(&small).await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), (tenure::error::ErrorCode::OtherSpelling, false));
    assert!(!matches!(error, Error::Database(DatabaseError::Other(_))), "{error}");
}
