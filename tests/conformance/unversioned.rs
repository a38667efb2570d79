//! Columns that do not count for the version.

use std::convert::Infallible;

use tenure::{
    Aggregate, Entity, Error, Loaded, LockKey, LockMode, Repository, ValueObject, Version,
    db::Granularity,
    error::{LeaseError, UpdateError},
    unit_of_work::Retry,
    version::Merge,
};

use super::support::{MINUTE, TestDb, kim, lee, random, version};

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_leaflet", revisions = 3, audit)]
struct Leaflet {
    #[aggregate(id)]
    id: String,
    text: String,
    note: Option<String>,
    #[aggregate(unversioned)]
    views: i64,
    #[aggregate(unversioned)]
    reader: Option<Reader>,
    #[aggregate(children, table = "test_leaflet_page", owner = "leaflet_id")]
    pages: Vec<Page>,
}

#[derive(ValueObject, Debug, Clone, PartialEq)]
struct Reader {
    id: String,
    at: i64,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Page {
    #[aggregate(key)]
    no: u32,
    text: String,
}

impl Leaflet {
    fn viewed(&mut self, reader: &str) {
        self.views += 1;
        self.reader = Some(Reader { id: reader.into(), at: self.views });
    }
}

fn view(leaflet: &mut Leaflet) -> Result<(), Infallible> {
    leaflet.viewed("lee");
    Ok(())
}

fn write(leaflet: &mut Leaflet) -> Result<(), Infallible> {
    leaflet.text.push('!');
    Ok(())
}

async fn insert(t: &TestDb, id: &str) -> Repository<Leaflet> {
    let leaflets = Repository::new(&t.db);
    let mut tx = t.db.begin().await.unwrap();
    tx.by(&kim()).command("print");
    let pages = vec![Page { no: 1, text: "one".into() }];
    let leaflet = Leaflet { id: id.into(), text: "sale".into(), note: None, views: 0, reader: None, pages };
    leaflets.insert(&mut tx, leaflet).await.unwrap();
    tx.commit().await.unwrap();
    leaflets
}

async fn leaflet(t: &TestDb) -> (Repository<Leaflet>, String) {
    let id = random();
    (insert(t, &id).await, id)
}

async fn stored(leaflets: &Repository<Leaflet>, id: &str) -> Loaded<Leaflet> {
    leaflets.get(&id.to_owned()).await.unwrap().unwrap()
}

async fn save(t: &TestDb, leaflets: &Repository<Leaflet>, leaflet: &mut Loaded<Leaflet>) -> Result<Version, Error> {
    let mut tx = t.db.begin().await.unwrap();
    let saved = leaflets.save(&mut tx, leaflet).await;
    tx.commit().await.unwrap();
    saved
}

async fn delete(t: &TestDb, leaflets: &Repository<Leaflet>, id: &str) {
    let mut tx = t.db.begin().await.unwrap();
    let leaflet = leaflets.find(&mut tx, &id.to_owned(), LockMode::Optimistic).await.unwrap().unwrap();
    leaflets.delete(&mut tx, leaflet).await.unwrap();
    tx.commit().await.unwrap();
}

pub async fn unversioned_change_raises_no_version_and_is_recorded_nowhere(t: &TestDb) {
    let (leaflets, id) = leaflet(t).await;
    let saved = leaflets.update(&id).by(&lee()).command("view").run(view).await.unwrap();
    let found = stored(&leaflets, &id).await;
    assert_eq!((&*saved, saved.version()), (&*found, version(1)));
    let reader = Reader { id: "lee".into(), at: 1 };
    assert_eq!((found.views, &found.reader, found.version()), (1, &Some(reader), version(1)));
    let [change] = &leaflets.changes(&id, 9).await.unwrap()[..] else { panic!("there is one change") };
    assert_eq!((change.by.as_ref(), change.command.as_deref()), (Some(&kim()), Some("print")));
    let audit = format!("select changed_by from test_leaflet where id = '{id}'");
    let mut tx = t.db.begin().await.unwrap();
    assert_eq!(t.texts_in(&mut tx, &audit).await.unwrap(), ["kim"]);
    tx.rollback().await.unwrap();
    // A kept state has the values of its own save.
    assert_eq!(leaflets.get_at(&id, version(1)).await.unwrap().unwrap().views, 0);
    // None is a value as any other.
    let forget = |leaflet: &mut Leaflet| {
        leaflet.reader = None;
        Ok::<_, Infallible>(())
    };
    assert_eq!(leaflets.update(&id).run(forget).await.unwrap().version(), version(1));
    assert_eq!(stored(&leaflets, &id).await.reader, None);
}

pub async fn unversioned_change_conflicts_with_no_open_form(t: &TestDb) {
    let (leaflets, id) = leaflet(t).await;
    let form = stored(&leaflets, &id).await.token();
    leaflets.update(&id).run(view).await.unwrap();
    assert_eq!(leaflets.update(&id).expecting(form).run(write).await.unwrap().version(), version(2));
    let found = stored(&leaflets, &id).await;
    assert_eq!((found.views, found.text.as_str()), (1, "sale!"));
}

/// Hibernate's manual warns of this.
pub async fn stale_save_overwrites_no_unversioned_column(t: &TestDb) {
    let (leaflets, id) = leaflet(t).await;
    let mut loaded = stored(&leaflets, &id).await;
    leaflets.update(&id).run(view).await.unwrap();
    write(&mut loaded).unwrap();
    loaded.pages.clear();
    assert_eq!(save(t, &leaflets, &mut loaded).await.unwrap(), version(2));
    let found = stored(&leaflets, &id).await;
    assert_eq!((found.views, found.text.as_str(), found.pages.len()), (1, "sale!", 0));
    // Kept with what the saving session knew; nothing is written from there.
    assert_eq!(leaflets.get_at(&id, version(2)).await.unwrap().unwrap().views, 0);
}

pub async fn unversioned_change_of_a_stale_state_is_saved(t: &TestDb) {
    let (leaflets, id) = leaflet(t).await;
    let mut stale = stored(&leaflets, &id).await;
    leaflets.update(&id).run(write).await.unwrap();
    view(&mut stale).unwrap();
    assert_eq!(save(t, &leaflets, &mut stale).await.unwrap(), version(1));
    let found = stored(&leaflets, &id).await;
    assert_eq!((found.views, found.text.as_str(), found.version()), (1, "sale!", version(2)));
    // It is as stale as before.
    write(&mut stale).unwrap();
    view(&mut stale).unwrap();
    let refused = save(t, &leaflets, &mut stale).await;
    let Err(Error::OptimisticLockingFailure(conflict)) = refused else { panic!("{refused:?}") };
    assert_eq!((conflict.expected, conflict.actual), (version(1), Some(version(2))));
    assert!(conflict.fields.iter().all(|field| field.path == "text"), "{conflict:?}");
    assert_eq!(stored(&leaflets, &id).await.views, 1);
}

pub async fn last_of_two_unversioned_changes_wins(t: &TestDb) {
    let (leaflets, id) = leaflet(t).await;
    let (mut one, mut two) = (stored(&leaflets, &id).await, stored(&leaflets, &id).await);
    one.viewed("kim");
    two.viewed("lee");
    one.views = 70;
    assert_eq!(save(t, &leaflets, &mut one).await.unwrap(), version(1));
    assert_eq!(save(t, &leaflets, &mut two).await.unwrap(), version(1));
    let found = stored(&leaflets, &id).await;
    assert_eq!((found.views, found.reader.as_ref().unwrap().id.as_str()), (1, "lee"));
    // Saved again in one transaction with a change that counts: the version rises once.
    let mut tx = t.db.begin().await.unwrap();
    let mut both = leaflets.find(&mut tx, &id, LockMode::Optimistic).await.unwrap().unwrap();
    for change in [view, write, view] {
        change(&mut both).unwrap();
        leaflets.save(&mut tx, &mut both).await.unwrap();
    }
    tx.commit().await.unwrap();
    let found = stored(&leaflets, &id).await;
    assert_eq!((found.views, found.version(), both.version()), (3, version(2), version(2)));
}

/// Written column by column, the halves of two readers could meet: one that cannot be loaded.
pub async fn unversioned_value_is_written_whole(t: &TestDb) {
    let (leaflets, id) = leaflet(t).await;
    leaflets.update(&id).run(view).await.unwrap();
    let (mut one, mut two) = (stored(&leaflets, &id).await, stored(&leaflets, &id).await);
    let mut three = stored(&leaflets, &id).await;
    one.reader = None;
    save(t, &leaflets, &mut one).await.unwrap();
    two.reader.as_mut().unwrap().at = 7;
    save(t, &leaflets, &mut two).await.unwrap();
    assert_eq!(stored(&leaflets, &id).await.reader, Some(Reader { id: "lee".into(), at: 7 }));
    // Also beside a change that counts.
    one.viewed("kim");
    save(t, &leaflets, &mut one).await.unwrap();
    three.reader.as_mut().unwrap().at = 9;
    write(&mut three).unwrap();
    save(t, &leaflets, &mut three).await.unwrap();
    assert_eq!(stored(&leaflets, &id).await.reader, Some(Reader { id: "lee".into(), at: 9 }));
}

pub async fn both_kinds_of_changes_are_one_save_or_none(t: &TestDb) {
    let (leaflets, id) = leaflet(t).await;
    let mut stale = stored(&leaflets, &id).await;
    let both = |leaflet: &mut Leaflet| view(leaflet).and(write(leaflet));
    assert_eq!(leaflets.update(&id).run(both).await.unwrap().version(), version(2));
    let found = stored(&leaflets, &id).await;
    assert_eq!((found.views, found.text.as_str()), (1, "sale!"));
    stale.views = 70;
    stale.pages.clear();
    assert!(matches!(save(t, &leaflets, &mut stale).await, Err(Error::OptimisticLockingFailure(_))));
    assert_eq!(*stored(&leaflets, &id).await, *found);
}

pub async fn unversioned_fields_are_in_no_conflict_and_not_merged(t: &TestDb) {
    let (leaflets, id) = leaflet(t).await;
    let form = stored(&leaflets, &id).await.token();
    for _ in 0..3 {
        leaflets.update(&id).run(view).await.unwrap();
    }
    leaflets.update(&id).by(&lee()).run(write).await.unwrap();
    let note = |leaflet: &mut Leaflet| {
        leaflet.note = Some("mine".into());
        view(leaflet)
    };
    let refused = leaflets.update(&id).expecting(form).run(note).await;
    let Err(UpdateError::Failed(Error::VersionConflict(conflict))) = refused else { panic!("{refused:?}") };
    let paths: Vec<_> = conflict.fields.iter().map(|field| field.path.as_str()).collect();
    assert_eq!((paths, conflict.auto_mergeable()), (vec!["text", "note"], true));
    let merged = leaflets.update(&id).expecting(form).merging(Merge::Disjoint).run(note).await.unwrap();
    let found = stored(&leaflets, &id).await;
    assert_eq!((&*merged.loaded, merged.loaded.version()), (&*found, version(3)));
    assert_eq!((found.text.as_str(), found.note.as_deref(), found.views), ("sale!", Some("mine"), 4));
    // A merge whose command sets none keeps the stored ones, also where it puts fields of others back.
    let whole_form = |leaflet: &mut Leaflet| {
        (leaflet.text, leaflet.note) = ("sale!".into(), Some("again".into()));
        Ok::<_, Infallible>(())
    };
    leaflets.update(&id).run(view).await.unwrap();
    leaflets.update(&id).run(write).await.unwrap();
    leaflets.update(&id).expecting(merged.loaded.token()).merging(Merge::Disjoint).run(whole_form).await.unwrap();
    let found = stored(&leaflets, &id).await;
    assert_eq!((found.text.as_str(), found.note.as_deref(), found.views), ("sale!!", Some("again"), 5));
}

pub async fn unversioned_change_of_a_deleted_aggregate_is_not_found(t: &TestDb) {
    let (leaflets, id) = leaflet(t).await;
    let mut old = stored(&leaflets, &id).await;
    view(&mut old).unwrap();
    delete(t, &leaflets, &id).await;
    let refused = save(t, &leaflets, &mut old).await;
    assert!(matches!(&refused, Err(Error::NotFound { id: found, .. }) if *found == id), "{refused:?}");
    // Nor is it written to another aggregate that has its id now.
    insert(t, &id).await;
    assert!(matches!(save(t, &leaflets, &mut old).await, Err(Error::NotFound { .. })));
    let found = stored(&leaflets, &id).await;
    assert_eq!((found.views, found.version()), (0, version(2)));
    // One that was loaded in its second life is saved.
    let mut stale = stored(&leaflets, &id).await;
    leaflets.update(&id).run(write).await.unwrap();
    view(&mut stale).unwrap();
    save(t, &leaflets, &mut stale).await.unwrap();
    assert_eq!(stored(&leaflets, &id).await.views, 1);
}

pub async fn forced_increment_counts_with_an_unversioned_change(t: &TestDb) {
    let (leaflets, id) = leaflet(t).await;
    for (mode, raised_to) in [(LockMode::OptimisticForceIncrement, 2), (LockMode::PessimisticForceIncrement, 3)] {
        let saved = leaflets.update(&id).by(&lee()).locking(mode).run(view).await.unwrap();
        assert_eq!(saved.version(), version(raised_to));
    }
    assert_eq!((stored(&leaflets, &id).await.views, leaflets.changes(&id, 9).await.unwrap().len()), (2, 3));
    // Both in one transaction, the forced one at the commit.
    let mut tx = t.db.begin().await.unwrap();
    let mut loaded = leaflets.find(&mut tx, &id, LockMode::None).await.unwrap().unwrap();
    leaflets.find(&mut tx, &id, LockMode::OptimisticForceIncrement).await.unwrap().unwrap();
    view(&mut loaded).unwrap();
    assert_eq!(leaflets.save(&mut tx, &mut loaded).await.unwrap(), version(3));
    tx.commit().await.unwrap();
    let found = stored(&leaflets, &id).await;
    assert_eq!((found.views, found.version()), (3, version(4)));
}

pub async fn unversioned_save_needs_the_lease_that_it_names(t: &TestDb) {
    let (leaflets, id) = leaflet(t).await;
    let key = LockKey::of::<Leaflet>(&id);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    leaflets.update(&id).by(&kim()).holding(lease.id()).run(view).await.unwrap();
    let refused = leaflets.update(&id).by(&lee()).unless_locked().run(view).await;
    assert!(matches!(refused, Err(UpdateError::Failed(Error::AlreadyLocked(_)))), "{refused:?}");
    leaflets.update(&id).by(&kim()).releasing(lease.id()).run(view).await.unwrap();
    assert!(matches!(t.locks.check_lock(lease.id()).await, Err(LeaseError::NoLock(_))));
    let refused = leaflets.update(&id).by(&kim()).holding(lease.id()).run(view).await;
    assert!(matches!(refused, Err(UpdateError::Failed(Error::NoLock(_)))), "{refused:?}");
    let found = stored(&leaflets, &id).await;
    assert_eq!((found.views, found.version()), (2, version(1)));
}

/// Another save, as far as the database allows it beside an open transaction.
async fn written_by_another(t: &TestDb, leaflets: &Repository<Leaflet>, tx: &mut tenure::Transaction, id: &String) {
    match t.db.capabilities().granularity {
        Granularity::Row => drop(leaflets.update(id).run(write).await.unwrap()),
        _ => {
            let raise = format!("update test_leaflet set text = 'sale!', version = version + 1 where id = '{id}'");
            t.by_hand_in(tx, raise).await.unwrap();
        }
    }
}

pub async fn unversioned_save_keeps_what_the_mode_requires(t: &TestDb) {
    for (mode, commits) in [(LockMode::Optimistic, false), (LockMode::None, true)] {
        let (leaflets, id) = leaflet(t).await;
        let mut tx = t.db.begin().await.unwrap();
        let mut loaded = leaflets.find(&mut tx, &id, mode).await.unwrap().unwrap();
        written_by_another(t, &leaflets, &mut tx, &id).await;
        view(&mut loaded).unwrap();
        assert_eq!(leaflets.save(&mut tx, &mut loaded).await.unwrap(), version(1));
        let committed = tx.commit().await;
        match commits {
            true => committed.unwrap(),
            false => assert!(matches!(committed, Err(Error::OptimisticLockingFailure(_))), "{committed:?}"),
        }
        assert_eq!(stored(&leaflets, &id).await.views, i64::from(commits));
    }
}

pub async fn another_aggregate_stays_unchanged_by_an_unversioned_save(t: &TestDb) {
    let (leaflets, id) = leaflet(t).await;
    let seen = stored(&leaflets, &id).await.token();
    leaflets.update(&id).run(view).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    leaflets.assert_unchanged(&mut tx, &id, seen).await.unwrap();
    leaflets.find(&mut tx, &id, LockMode::Optimistic).await.unwrap().unwrap();
    tx.commit().await.unwrap();
}

/// Another session saves between the load and the save of an update.
pub async fn unversioned_update_does_not_lose_a_race(t: &TestDb) {
    let (leaflets, id) = leaflet(t).await;
    let beside = |leaflet: &mut Leaflet| {
        let save = leaflets.update(&id).run(write);
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(save)).unwrap();
        view(leaflet)
    };
    leaflets.update(&id).run(beside).await.unwrap();
    let found = stored(&leaflets, &id).await;
    assert_eq!((found.views, found.text.as_str(), found.version()), (1, "sale!", version(2)));
    // Nor does one that changes nothing.
    let seen = |leaflet: &mut Leaflet| {
        let before = leaflet.clone();
        beside(leaflet).map(|()| *leaflet = before)
    };
    assert_eq!(leaflets.update(&id).run(seen).await.unwrap().version(), version(2));
    // A step may depend on the state that was loaded, so with one the mode counts.
    let with_a_step = leaflets.update(&id).also(|_, _| async { Ok(()) }).run(beside).await;
    assert!(matches!(with_a_step, Err(UpdateError::Failed(Error::OptimisticLockingFailure(_)))), "{with_a_step:?}");
    assert_eq!(stored(&leaflets, &id).await.views, 1);
}

/// Writers of both kinds: those that count retry their lost races, the others lose none.
pub async fn writers_of_both_kinds_at_once_lose_nothing(t: &TestDb) {
    const SAVES: usize = 10;
    let (leaflets, id) = leaflet(t).await;
    let mut tasks = tokio::task::JoinSet::new();
    for reader in ["kim", "lee"] {
        let (counting, viewing, id, other_id) = (leaflets.clone(), leaflets.clone(), id.clone(), id.clone());
        tasks.spawn(async move {
            for _ in 0..SAVES {
                let retry = Retry::transient(100).within(MINUTE);
                counting.update(&id).locking(LockMode::None).retrying(retry).run(write).await.unwrap();
            }
        });
        tasks.spawn(async move {
            for at in 0..5 * SAVES {
                let view = |leaflet: &mut Leaflet| {
                    let at = i64::try_from(at).unwrap();
                    leaflet.reader = (at % 3 > 0).then(|| Reader { id: reader.into(), at });
                    Ok::<_, Infallible>(())
                };
                viewing.update(&other_id).run(view).await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let found = stored(&leaflets, &id).await;
    assert_eq!((found.text.len(), found.version()), ("sale".len() + 2 * SAVES, version(21)));
    assert!(found.reader.as_ref().is_some_and(|reader| reader.at == 49), "{found:?}");
}

pub async fn exact_counter_needs_the_row_lock(t: &TestDb) {
    let (leaflets, id) = leaflet(t).await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (leaflets, id) = (leaflets.clone(), id.clone());
        tasks.spawn(async move {
            for _ in 0..10 {
                leaflets.update(&id).locking(LockMode::PessimisticWrite).run(view).await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let found = stored(&leaflets, &id).await;
    assert_eq!((found.views, found.version()), (40, version(1)));
}
