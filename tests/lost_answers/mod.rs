//! A commit whose answer is lost: what the program is told, and what is stored.

use tenure::{Aggregate, Database, DatabaseError, Error, LockMode, Repository, Retry, RetryReason, Transaction};
use testkit::{Kind, Proxy};

#[derive(Aggregate, Debug)]
#[aggregate(table = "account")]
struct Account {
    #[aggregate(id)]
    no: String,
    balance: i64,
}

struct Bank {
    proxy: Proxy,
    db: Database,
    accounts: Repository<Account>,
}

/// A bank with one account, and a network that is about to fail.
async fn bank(kind: Kind, configure: fn(Database) -> Database) -> Bank {
    let url = testkit::new_database(kind);
    let proxy = Proxy::to(&url).unwrap();
    let db = configure(Database::connect(proxy.url()).await.unwrap());
    let table = "create table account (no varchar(20) primary key, balance bigint not null, version bigint not null)";
    match kind {
        Kind::Postgres => sqlx::raw_sql(table).execute(&sqlx::PgPool::connect(&url).await.unwrap()).await.map(drop),
        Kind::MariaDb => sqlx::raw_sql(table).execute(&sqlx::MySqlPool::connect(&url).await.unwrap()).await.map(drop),
    }
    .unwrap();
    let accounts = Repository::<Account>::new(&db);
    let mut tx = db.begin().await.unwrap();
    accounts.insert(&mut tx, Account { no: "a".into(), balance: 0 }).await.unwrap();
    tx.commit().await.unwrap();
    Bank { proxy, db, accounts }
}

impl Bank {
    async fn deposit(&self) -> Transaction {
        let mut tx = self.db.begin().await.unwrap();
        let account = self.accounts.find(&mut tx, &"a".into(), LockMode::PessimisticWrite).await.unwrap();
        let mut account = account.unwrap();
        account.balance += 1;
        self.accounts.save(&mut tx, &mut account).await.unwrap();
        tx
    }

    /// On a connection that is left whole; one that was cut is noticed once.
    async fn balance(&self) -> i64 {
        for _ in 0..20 {
            if let Ok(account) = self.accounts.get(&"a".into()).await {
                return account.unwrap().balance;
            }
        }
        panic!("no connection is left whole");
    }
}

pub async fn without_an_operation_id_nobody_knows(kind: Kind) {
    let bank = bank(kind, |db| db).await;
    let tx = bank.deposit().await;
    bank.proxy.lose_answer_to("commit");
    let lost = tx.commit().await;
    assert!(matches!(lost, Err(Error::Database(DatabaseError::CommitUnknown(_)))), "{lost:?}");
}

pub async fn a_commit_that_arrived_is_said_to_have_succeeded(kind: Kind) {
    let bank = bank(kind, Database::resolving_commits).await;
    let tx = bank.deposit().await;
    bank.proxy.lose_answer_to("commit");
    tx.commit().await.unwrap();
    assert_eq!(bank.balance().await, 1);
}

pub async fn a_commit_that_did_not_arrive_is_said_to_have_failed(kind: Kind) {
    let bank = bank(kind, Database::resolving_commits).await;
    let tx = bank.deposit().await;
    bank.proxy.lose_request("commit");
    let lost = tx.commit().await;
    assert!(matches!(lost, Err(Error::Database(DatabaseError::ConnectionLost(_)))), "{lost:?}");
    assert_eq!(bank.balance().await, 0);
}

pub async fn a_deposit_that_is_retried_is_made_once_whatever_gets_lost(kind: Kind) {
    let bank = bank(kind, Database::resolving_commits).await;
    for (lose, reasons) in [
        (Proxy::lose_answer_to as fn(&Proxy, &'static str), vec![]),
        (Proxy::lose_request, vec![RetryReason::ConnectionLost]),
    ] {
        let before = bank.balance().await;
        let mut runs = 0;
        let done = bank.db.retry(Retry::transient(3), || {
            runs += 1;
            let (bank, first) = (&bank, runs == 1);
            async move {
                let tx = bank.deposit().await;
                if first {
                    lose(&bank.proxy, "commit");
                }
                tx.commit().await
            }
        });
        assert_eq!(done.await.unwrap().reasons, reasons);
        assert_eq!(bank.balance().await, before + 1);
    }
}
