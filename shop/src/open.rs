//! Opening the shop: its tables, and on the first run its demo people and orders.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tenure::{
    Database, Error, Owner,
    error::{DatabaseError, SweepError},
};
use tenure_web::browser_key::ServerSecret;

use crate::domain::{Member, Note, Order};
use crate::seed;
use crate::storage;
use crate::use_cases::{Shop, hashed};

/// How long the database remembers commits. A client resolves a lost answer within seconds.
const COMMITS_REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

/// How long saved forms, and the text of refused ones, are remembered. No client repeats a form after
/// two days.
const FORMS_REMEMBERED: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// How long the last holder of an order, and the reason that a lock of an open form ended, are remembered.
/// No client returns to a form after a month.
const KEYS_REMEMBERED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How long the history of edits and ended locks is kept.
const HISTORY_REMEMBERED: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Which accounts exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accounts {
    /// The invented people of the demo, with a public password: a database without members is filled with them
    /// and their orders, all or nothing.
    Demo,
    /// Only accounts that an operator created. Demo members in the database cannot sign in.
    Own,
}

/// Opens the shop in this database; lost answers to commits are resolved.
///
/// # Errors
/// [`Error::Database`] if the tables are of a newer release, do not fit the aggregates, or the database cannot be written.
pub async fn open(db: Database, accounts: Accounts) -> Result<Shop, Error> {
    storage::migrate(&db).await?;
    check(&db).await?;
    let secret = storage::secret(&db, "browser keys", &ServerSecret::random().reveal()).await?;
    let mut shop = Shop::new(db.clone().resolving_commits());
    shop.unresolved = db;
    shop.secret = secret.parse().map_err(DatabaseError::other)?;
    shop.has_demo = accounts == Accounts::Demo;
    if shop.has_demo && !shop.has_members().await? {
        let members = tokio::task::spawn_blocking(hashed_members).await;
        fill(&shop, members.map_err(|error| DatabaseError::Other(std::sync::Arc::new(error)))?).await?;
    }
    sweep(&shop).await?;
    Ok(shop)
}

/// Refuses tables that do not fit the aggregates, with the list of all differences, before the first request comes.
async fn check(db: &Database) -> Result<(), DatabaseError> {
    let reports = [db.check::<Order>().await?, db.check::<Member>().await?, db.check::<Note>().await?];
    let refused: Vec<_> = reports.into_iter().filter_map(|report| report.require().err()).collect();
    match &refused[..] {
        [] => Ok(()),
        all => Err(DatabaseError::Schema(all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))),
    }
}

/// Deletes expired data: sign-in sessions, old forms and commits, and old entries of the lock table.
///
/// # Errors
/// [`Error::Database`]; the rest is deleted next time.
pub(crate) async fn sweep(shop: &Shop) -> Result<(), Error> {
    shop.sweep_sessions().await?;
    let remembered = SignedDuration::try_from(FORMS_REMEMBERED).unwrap_or(SignedDuration::MAX);
    storage::sweep_forms(&shop.db, (Timestamp::now() - remembered).as_second()).await?;
    shop.db.forget_operations(COMMITS_REMEMBERED).await?;
    let swept = shop.locks().sweep(KEYS_REMEMBERED).keeping_history_for(HISTORY_REMEMBERED).run().await;
    match swept {
        Ok(_) => Ok(()),
        Err(SweepError::Database(error)) => Err(error.into()),
        Err(refused) => Err(DatabaseError::Other(std::sync::Arc::new(refused)).into()),
    }
}

async fn fill(shop: &Shop, members: Vec<Member>) -> Result<(), Error> {
    let mut tx = shop.db.begin().await?;
    tx.by(&Owner::new(seed::AUTHOR, "Demo data")).command("place order");
    for member in members {
        shop.members.insert(&mut tx, member).await?;
    }
    for order in seed::orders(Timestamp::now()) {
        shop.orders.insert(&mut tx, order).await?;
    }
    tx.command("receive goods");
    for product in seed::stock() {
        shop.products.insert(&mut tx, product).await?;
    }
    tx.command("write note");
    for note in seed::notes() {
        shop.notes.insert(&mut tx, note).await?;
    }
    tx.commit().await
}

/// All demo members have the same password, so it is hashed once: they share the salt as well.
fn hashed_members() -> Vec<Member> {
    let hash = hashed(seed::DEMO_PASSWORD);
    let member = |(id, name, role, _)| {
        Member::new(id, name, role, hash.clone()).expect("the demo people are valid").of_the_demo()
    };
    seed::members().into_iter().map(member).collect()
}
