//! What many open pages ask for, read once for all of them.
//!
//! A thousand pages ask every few seconds what is new. With [`Watched`], their questions read nothing: the process has one snapshot of
//! what somebody watches, and reads all of it anew, at most once per interval and only while somebody asks.
//!
//! | | |
//! |---|---|
//! | the watched set | what was asked about in the last [`REMEMBERED`], at most [`MOST`] keys. A key beyond them is read for its own question |
//! | age | an answer is at most one interval old, and the time of one read |
//! | a new key | read at once, alone; from then on with the others. One without a value is not watched: nobody can fill the set with keys that they make up |
//! | a failed read | everybody who asks within the interval gets its error, so a database in trouble is not asked a thousand times |
//! | a dropped request | ends its read, and the next one who asks reads |
//!
//! It answers questions of pages, and decides nothing: a save checks in its transaction.
//!
//! ```
//! use std::time::Duration;
//!
//! use axum::extract::{Extension, Path, State};
//! use axum::http::HeaderMap;
//! use axum::response::Response;
//! use tenure::{Aggregate, LockManager, Owner, Repository, VersionToken, error::Error, lease::Holder};
//! use tenure_web::{now::Now, problem::Problem, watched::Watched};
//!
//! #[derive(Aggregate)]
//! #[aggregate(table = "note")]
//! struct Note { #[aggregate(id)] id: String, text: String }
//!
//! #[derive(Clone)]
//! struct Live { leases: Watched<(), Vec<Holder>, Error>, notes: Watched<String, VersionToken<Note>, Error> }
//!
//! fn live(locks: LockManager, notes: Repository<Note>) -> Live {
//!     let every = Duration::from_millis(500);
//!     let leases = Watched::new(every, move |_| { let locks = locks.clone(); async move {
//!         let page = locks.list().limit(1_000).run().await.map_err(tenure::error::DatabaseError::other)?;
//!         Ok(vec![((), page.items.into_iter().map(|listed| listed.holder).collect())])
//!     }});
//!     let notes = Watched::new(every, move |asked: Vec<(String, _)>| { let notes = notes.clone(); async move {
//!         let ids: Vec<_> = asked.into_iter().map(|(id, _)| id).collect();
//!         let found = notes.get_many(&ids).await?;
//!         Ok(ids.into_iter().zip(found).filter_map(|(id, note)| Some((id, note?.token()))).collect())
//!     }});
//!     Live { leases, notes }
//! }
//!
//! async fn now(State(live): State<Live>, Path(id): Path<String>, Extension(me): Extension<Owner>, headers: HeaderMap) -> Result<Response, Problem> {
//!     let note = live.notes.one(&id).await?.ok_or_else(|| Problem::new(404, "not-found", "There is no such note"))?;
//!     let mut holders = live.leases.one(&()).await?.unwrap_or_default();
//!     holders.retain(|holder| holder.key.kind() == "Note" && holder.key.id() == id);
//!     Ok(Now::new(&me, Some(note), &holders).answer(&headers))
//! }
//! ```

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long a key is watched after a question about it. Pages ask every few seconds.
pub const REMEMBERED: Duration = Duration::from_secs(30);

/// The maximum number of watched keys: a read of all of them should take milliseconds.
pub const MOST: usize = 10_000;

type Reading<K, V, E> = Pin<Box<dyn Future<Output = Result<Vec<(K, V)>, E>> + Send>>;
type Read<K, V, E> = dyn Fn(Vec<(K, Option<V>)>) -> Reading<K, V, E> + Send + Sync;

/// Values by key, read together, at most once per interval. Clones share them.
pub struct Watched<K, V, E>(Arc<Inner<K, V, E>>);

struct Inner<K, V, E> {
    every: Duration,
    most: usize,
    read: Box<Read<K, V, E>>,
    known: Mutex<Known<K, V, E>>,
    /// Of those who ask at the same time, one reads, and the others wait for its answer.
    turn: tokio::sync::Mutex<()>,
}

struct Known<K, V, E> {
    /// When all watched keys were read.
    at: Option<Instant>,
    failed: Option<(Instant, E)>,
    keys: HashMap<K, Entry<V>>,
}

struct Entry<V> {
    asked: Instant,
    value: V,
}

impl<K, V, E> Clone for Watched<K, V, E> {
    fn clone(&self) -> Self {
        Watched(Arc::clone(&self.0))
    }
}

impl<K, V, E> fmt::Debug for Watched<K, V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("every", &self.0.every).finish_non_exhaustive()
    }
}

impl<K, V, E> Watched<K, V, E>
where
    K: Clone + Eq + Hash + Send + Sync,
    V: Clone + Send + Sync,
    E: Clone + Send + Sync,
{
    /// Reads at most once in `every`. `read` gets the keys, each with its earlier value, which it may return again; a key that it
    /// leaves out has no value.
    pub fn new<F>(every: Duration, read: impl Fn(Vec<(K, Option<V>)>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<(K, V)>, E>> + Send + 'static,
    {
        Self::at_most(MOST, every, read)
    }

    /// As [`new`](Self::new), with at most this many watched keys.
    fn at_most<F>(most: usize, every: Duration, read: impl Fn(Vec<(K, Option<V>)>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<(K, V)>, E>> + Send + 'static,
    {
        let known = Mutex::new(Known { at: None, failed: None, keys: HashMap::new() });
        let read: Box<Read<K, V, E>> = Box::new(move |asked| Box::pin(read(asked)));
        Watched(Arc::new(Inner { every, most, read, known, turn: tokio::sync::Mutex::default() }))
    }

    /// The value of a key.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub async fn one(&self, key: &K) -> Result<Option<V>, E> {
        Ok(self.all(std::slice::from_ref(key)).await?.pop().flatten())
    }

    /// The values of these keys, in their order; `None` where there is none.
    ///
    /// # Errors
    /// That of the read.
    pub async fn all(&self, keys: &[K]) -> Result<Vec<Option<V>>, E> {
        if let Some(answer) = self.known(keys) {
            return answer;
        }
        let _turn = self.0.turn.lock().await;
        if let Some(answer) = self.known(keys) {
            return answer;
        }
        let (asked, is_all) = self.due(keys);
        let names: Vec<K> = asked.iter().map(|(key, _)| key.clone()).collect();
        match (self.0.read)(asked).await {
            Ok(found) => Ok(self.learn(keys, names, found, is_all)),
            Err(error) => {
                self.lock().failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    /// The answer, if nothing has to be read for it.
    fn known(&self, keys: &[K]) -> Option<Result<Vec<Option<V>>, E>> {
        let now = Instant::now();
        let mut known = self.lock();
        if let Some((_, error)) = known.failed.as_ref().filter(|(at, _)| now - *at < self.0.every) {
            return Some(Err(error.clone()));
        }
        known.at.filter(|at| now - *at < self.0.every)?;
        let value = |key: &K| {
            let entry = known.keys.get_mut(key)?;
            entry.asked = now;
            Some(Some(entry.value.clone()))
        };
        keys.iter().map(value).collect::<Option<Vec<_>>>().map(Ok)
    }

    /// What has to be read, with the earlier values: the new keys, or all watched ones. Forgets those that nobody asks about any more.
    fn due(&self, keys: &[K]) -> (Vec<(K, Option<V>)>, bool) {
        let now = Instant::now();
        let mut known = self.lock();
        let is_all = known.at.is_none_or(|at| now - at >= self.0.every);
        if is_all {
            known.keys.retain(|_, entry| now - entry.asked < REMEMBERED);
        }
        let mut asked: Vec<(K, Option<V>)> = Vec::new();
        let mut new = std::collections::HashSet::new();
        for key in keys {
            match known.keys.get_mut(key) {
                Some(entry) => entry.asked = now,
                None if new.insert(key) => asked.push((key.clone(), None)),
                None => {}
            }
        }
        if is_all {
            asked.extend(known.keys.iter().map(|(key, entry)| (key.clone(), Some(entry.value.clone()))));
        }
        (asked, is_all)
    }

    /// Keeps what was read, as far as there is room, and answers.
    fn learn(&self, keys: &[K], read: Vec<K>, found: Vec<(K, V)>, is_all: bool) -> Vec<Option<V>> {
        let now = Instant::now();
        let mut found: HashMap<K, V> = found.into_iter().collect();
        let mut known = self.lock();
        known.failed = None;
        if is_all {
            known.at = Some(now);
        }
        let mut unwatched = HashMap::new();
        for key in read {
            let is_full = known.keys.len() >= self.0.most && !known.keys.contains_key(&key);
            match found.remove(&key) {
                Some(value) if is_full => drop(unwatched.insert(key, value)),
                Some(value) => {
                    let entry = known.keys.entry(key).or_insert(Entry { asked: now, value: value.clone() });
                    entry.value = value;
                }
                None => drop(known.keys.remove(&key)),
            }
        }
        let watched = |key: &K| known.keys.get(key).map(|entry| entry.value.clone());
        keys.iter().map(|key| unwatched.get(key).cloned().or_else(|| watched(key))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Known<K, V, E>> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::time::{advance, sleep};

    use super::*;

    const EVERY: Duration = Duration::from_millis(500);

    /// A table of numbers, and the keys of each read of it.
    #[derive(Clone, Default)]
    struct Table {
        rows: Arc<Mutex<HashMap<&'static str, u32>>>,
        reads: Arc<Mutex<Vec<Vec<&'static str>>>>,
        fails: Arc<AtomicU32>,
    }

    impl Table {
        fn set(&self, key: &'static str, value: u32) {
            self.rows.lock().expect("no panic").insert(key, value);
        }

        fn reads(&self) -> Vec<Vec<&'static str>> {
            std::mem::take(&mut self.reads.lock().expect("no panic"))
        }

        fn watched(&self, most: usize) -> Watched<&'static str, u32, &'static str> {
            let table = self.clone();
            Watched::at_most(most, EVERY, move |asked| {
                let table = table.clone();
                async move {
                    let mut keys: Vec<_> = asked.iter().map(|(key, _)| *key).collect();
                    keys.sort_unstable();
                    table.reads.lock().expect("no panic").push(keys);
                    // A round trip, in which others ask.
                    sleep(Duration::from_millis(5)).await;
                    if table.fails.load(Ordering::SeqCst) > 0 {
                        table.fails.fetch_sub(1, Ordering::SeqCst);
                        return Err("the database is away");
                    }
                    let rows = table.rows.lock().expect("no panic");
                    Ok(asked.into_iter().filter_map(|(key, _)| Some((key, *rows.get(key)?))).collect())
                }
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_pages_are_one_read_per_interval() {
        let table = Table::default();
        table.set("a", 1);
        table.set("b", 2);
        let watched = table.watched(MOST);
        for turn in 0..3 {
            let pages: Vec<_> = (0..1_000)
                .map(|_| {
                    let watched = watched.clone();
                    tokio::spawn(async move { watched.all(&["a", "b"]).await })
                })
                .collect();
            for page in pages {
                assert_eq!(page.await.expect("no panic"), Ok(vec![Some(1), Some(2)]));
            }
            assert_eq!(table.reads(), [["a", "b"]], "{turn}");
            advance(EVERY).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_is_seen_after_the_interval_and_a_new_key_at_once() {
        let table = Table::default();
        table.set("a", 1);
        let watched = table.watched(MOST);
        assert_eq!(watched.one(&"a").await, Ok(Some(1)));
        table.set("a", 2);
        table.set("b", 7);
        assert_eq!(watched.all(&["b", "a"]).await, Ok(vec![Some(7), Some(1)]));
        advance(EVERY).await;
        assert_eq!(watched.one(&"a").await, Ok(Some(2)));
        assert_eq!(table.reads(), [vec!["a"], vec!["b"], vec!["a", "b"]]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_asks_about_is_not_read() {
        let table = Table::default();
        table.set("a", 1);
        table.set("b", 2);
        let watched = table.watched(MOST);
        watched.all(&["a", "b"]).await.expect("it reads");
        for _ in 0..7 {
            advance(REMEMBERED / 6).await;
            watched.one(&"a").await.expect("it reads");
        }
        assert_eq!(table.reads().last(), Some(&vec!["a"]));
        advance(REMEMBERED * 10).await;
        assert!(table.reads().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn keys_without_a_value_do_not_fill_the_set() {
        let table = Table::default();
        let watched = table.watched(2);
        assert_eq!(watched.all(&["x", "y", "z"]).await, Ok(vec![None, None, None]));
        table.set("a", 1);
        watched.one(&"a").await.expect("it reads");
        table.reads();
        assert_eq!(watched.one(&"a").await, Ok(Some(1)));
        assert!(table.reads().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_set_reads_further_keys_for_their_own_question() {
        let table = Table::default();
        for (key, value) in [("a", 1), ("b", 2), ("c", 3)] {
            table.set(key, value);
        }
        let watched = table.watched(2);
        assert_eq!(watched.all(&["a", "b", "c"]).await, Ok(vec![Some(1), Some(2), Some(3)]));
        assert_eq!(watched.one(&"c").await, Ok(Some(3)));
        assert_eq!(watched.all(&["a", "b"]).await, Ok(vec![Some(1), Some(2)]));
        assert_eq!(table.reads(), [vec!["a", "b", "c"], vec!["c"]]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_read_is_everybodys_answer_for_one_interval() {
        let table = Table::default();
        table.set("a", 1);
        table.fails.store(1, Ordering::SeqCst);
        let watched = table.watched(MOST);
        for _ in 0..100 {
            assert_eq!(watched.one(&"a").await, Err("the database is away"));
        }
        assert_eq!(table.reads().len(), 1);
        advance(EVERY).await;
        assert_eq!(watched.one(&"a").await, Ok(Some(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_question_leaves_its_turn_to_the_next() {
        let table = Table::default();
        table.set("a", 1);
        let watched = table.watched(MOST);
        let gone = tokio::time::timeout(Duration::from_millis(1), watched.one(&"a")).await;
        assert!(gone.is_err());
        assert_eq!(watched.one(&"a").await, Ok(Some(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_earlier_value_comes_back_with_its_key() {
        let watched = Watched::<u8, u32, ()>::new(EVERY, |asked| async move {
            Ok(asked.into_iter().map(|(key, before)| (key, before.map_or(1, |before| before + 1))).collect())
        });
        assert_eq!(watched.one(&0).await, Ok(Some(1)));
        advance(EVERY).await;
        assert_eq!(watched.one(&0).await, Ok(Some(2)));
    }
}
