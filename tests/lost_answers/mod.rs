//! Lost and missing responses: the reported outcome, its time, and the stored state.

use std::time::{Duration, Instant};

use tenure::{
    Aggregate, Database, Error, LockId, LockKey, LockManager, LockMode, Owner, Repository, Transaction, Wait,
    error::{BreakError, DatabaseError, ErrorCode, LockError, UpdateError},
    unit_of_work::Retry,
};
use testkit::{Kind, Proxy};

/// One test for each case, on this kind of server.
macro_rules! cases {
    ($kind:expr) => {
        $crate::lost_answers::cases! { $kind;
            lost_commit_without_an_operation_id_is_unknown,
            a_commit_that_arrived_is_said_to_have_succeeded,
            commit_that_never_arrived_is_reported_as_failed,
            retried_deposit_happens_once_over_any_lost_response,
            save_ends_at_its_limit_on_a_silent_network,
            load_and_lock_end_in_time_on_a_silent_network,
            commit_without_a_response_in_time_is_unknown,
            lost_lock_response_is_unknown_and_can_be_repeated,
            lost_lock_request_that_nobody_can_repeat_is_undone
        }
    };
    ($kind:expr; $($case:ident),+) => {$(
        #[tokio::test]
        async fn $case() {
            $crate::lost_answers::$case($kind).await;
        }
    )+};
}
pub(crate) use cases;

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

    /// On an intact connection; a broken one is detected once.
    async fn balance(&self) -> i64 {
        for _ in 0..20 {
            if let Ok(account) = self.accounts.get(&"a".into()).await {
                return account.unwrap().balance;
            }
        }
        panic!("no connection is left whole");
    }
}

pub async fn lost_commit_without_an_operation_id_is_unknown(kind: Kind) {
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

pub async fn commit_that_never_arrived_is_reported_as_failed(kind: Kind) {
    let bank = bank(kind, Database::resolving_commits).await;
    let tx = bank.deposit().await;
    bank.proxy.lose_request("commit");
    let lost = tx.commit().await;
    assert!(matches!(lost, Err(Error::Database(DatabaseError::ConnectionLost(_)))), "{lost:?}");
    assert_eq!(bank.balance().await, 0);
}

pub async fn retried_deposit_happens_once_over_any_lost_response(kind: Kind) {
    let bank = bank(kind, Database::resolving_commits).await;
    for (lose, reasons) in [
        (Proxy::lose_answer_to as fn(&Proxy, &'static str), vec![]),
        (Proxy::lose_request, vec![ErrorCode::ConnectionLost]),
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

/// Far more than the limits of the operations, for a busy machine.
const GENEROUS: Duration = Duration::from_secs(4);

fn deposit(account: &mut Account) -> Result<(), std::convert::Infallible> {
    account.balance += 1;
    Ok(())
}

pub async fn save_ends_at_its_limit_on_a_silent_network(kind: Kind) {
    let bank = bank(kind, |db| db).await;
    let no = "a".to_owned();
    bank.accounts.update(&no).run(deposit).await.unwrap();
    bank.proxy.fall_silent();
    // On a recently used connection, on a new one, and on the remaining ones.
    for _ in 0..4 {
        let asked = Instant::now();
        let failed = bank.accounts.update(&no).within(Duration::from_millis(500)).run(deposit).await.unwrap_err();
        assert!(asked.elapsed() < GENEROUS, "{:?} of 500 ms: {failed}", asked.elapsed());
        assert!(
            matches!(&failed, UpdateError::Failed(error) if [ErrorCode::ConnectionLost, ErrorCode::Busy].contains(&error.code())),
            "{failed:?}"
        );
        assert!(failed.is_retryable(), "{failed:?}");
    }
    bank.proxy.recover();
    let recovered = Instant::now();
    while let Err(error) = bank.accounts.update(&no).run(deposit).await {
        assert!(recovered.elapsed() < Duration::from_secs(10), "{error}");
    }
    assert_eq!(bank.balance().await, 2);
}

pub async fn load_and_lock_end_in_time_on_a_silent_network(kind: Kind) {
    let bank = bank(kind, |db| db).await;
    let (locks, kim, key) = (LockManager::new(&bank.db), Owner::new("kim", "Kim"), LockKey::new("Account", "a"));
    locks.try_lock(&key, &kim).await.unwrap();
    bank.proxy.fall_silent();
    let asked = Instant::now();
    let waited = locks.lock(&key, &Owner::new("lee", "Lee")).within(Duration::from_millis(300)).await;
    assert!(waited.is_err() && asked.elapsed() < GENEROUS, "{:?} of 300 ms: {waited:?}", asked.elapsed());
    // 5,000 ms without a limit of its own, plus the time for an answer.
    let asked = Instant::now();
    let (no, other) = ("a".to_owned(), LockKey::new("Account", "b"));
    let (loaded, taken) = tokio::join!(bank.accounts.get(&no), locks.try_lock(&other, &kim));
    assert!(asked.elapsed() < Duration::from_secs(12), "{:?}", asked.elapsed());
    assert!(loaded.is_err_and(|error| error.is_retryable()) && taken.is_err_and(|error| error.is_retryable()));
}

pub async fn commit_without_a_response_in_time_is_unknown(kind: Kind) {
    let bank = bank(kind, |db| db).await;
    let mut tx = bank.db.begin_within(Wait::Within(Duration::from_millis(300))).await.unwrap();
    let mut account = bank.accounts.find(&mut tx, &"a".into(), LockMode::Optimistic).await.unwrap().unwrap();
    account.balance += 1;
    bank.accounts.save(&mut tx, &mut account).await.unwrap();
    bank.proxy.fall_silent_at("commit");
    let asked = Instant::now();
    let lost = tx.commit().await;
    assert!(asked.elapsed() < GENEROUS, "{:?} of 300 ms", asked.elapsed());
    assert!(matches!(lost, Err(Error::Database(DatabaseError::CommitUnknown(_)))), "{lost:?}");
    // Its connection is not reused: the next one works.
    assert!(bank.balance().await < 2);
}

/// The message with only the COMMIT.
fn commit(kind: Kind) -> &'static str {
    match kind {
        Kind::Postgres => "commit\0",
        Kind::MariaDb => "set autocommit = 1",
    }
}

#[allow(dead_code, reason = "on PostgreSQL the proxy loses the request with the answer, so nothing is granted")]
pub async fn lost_lock_request_that_nobody_can_repeat_is_undone(kind: Kind) {
    let bank = bank(kind, |db| db).await;
    let (locks, kim) = (LockManager::new(&bank.db), Owner::new("kim", "Kim"));
    // The first execution of a prepared statement takes several messages.
    locks.try_lock(&LockKey::new("Account", "first"), &kim).await.unwrap();
    let key = LockKey::new("Account", "nobody knows its lock id");
    bank.proxy.lose_answer_to(commit(kind));
    let lost = locks.try_lock(&key, &kim).await;
    assert!(matches!(lost, Err(LockError::Database(DatabaseError::OutcomeUnknown(_)))), "{lost:?}");
    // Far less than its time to live.
    let next = locks.lock(&key, &Owner::new("lee", "Lee")).within(Duration::from_secs(30)).await.unwrap();
    assert_eq!(next.holder().generation, 2, "it was granted, and released");
}

pub async fn lost_lock_response_is_unknown_and_can_be_repeated(kind: Kind) {
    let bank = bank(kind, |db| db).await;
    let (locks, kim) = (LockManager::new(&bank.db), Owner::new("kim", "Kim"));
    // The first execution of a prepared statement takes several messages.
    locks.try_lock(&LockKey::new("Account", "first"), &kim).await.unwrap();
    let (key, id) = (LockKey::new("Account", "the answer is lost"), LockId::random());
    bank.proxy.lose_answer_to(commit(kind));
    let lost = locks.try_lock_as(&key, &kim, id.clone()).await;
    let Err(LockError::Database(error @ DatabaseError::OutcomeUnknown(_))) = lost else { panic!("{lost:?}") };
    assert_eq!((error.code(), error.is_retryable()), (ErrorCode::OutcomeUnknown, true));
    assert!(error.to_string().contains("repeat the request with the same lock id"), "{error}");
    let lease = locks.try_lock_as(&key, &kim, id.clone()).await.unwrap();
    assert_eq!((lease.holder().generation, lease.id()), (1, &id), "it was granted the first time");
    bank.proxy.lose_answer_to(commit(kind));
    let broken = locks.break_lock(&key, lease.holder().generation, &Owner::new("op", "Operator"), "it is late").await;
    assert!(matches!(&broken, Err(BreakError::Database(DatabaseError::OutcomeUnknown(_)))), "{broken:?}");
    assert!(locks.check_lock(&id).await.is_err(), "it was broken");
}
