//! The ledgers, and the rows that are written along with them.

use std::time::Instant;

use sqlx::PgConnection;

use super::locks::Lease;
use super::{Bug, Planted, at_commit, before_commit};
use crate::clock::now_ns;
use crate::history::Guarded;
use crate::subject::tenure::audit::guard_text;
use crate::subject::tenure::ledger::BALANCE;
use crate::subject::{Answer, Append, Appended, Guard, Refusal, Seen, Transfer};

const NOTE: &str =
    "insert into chaos_audit values ($1, $2, $3, $4, $5, (extract(epoch from clock_timestamp()) * 1000)::bigint)
                    on conflict do nothing";

impl Planted {
    pub(super) async fn insert_ledger(&self, ledger: &str, op: &str) -> Answer<Appended> {
        let mut tx = self.pool.begin().await.map_err(before_commit)?;
        let made = sqlx::query("insert into chaos_ledger values ($1, $2, 1)").bind(ledger).bind(BALANCE);
        made.execute(&mut *tx).await.map_err(before_commit)?;
        note(&mut tx, op, ledger, 1, None, None).await?;
        tx.commit().await.map_err(at_commit)?;
        Ok(Appended { version: Some(1), ..Appended::default() })
    }

    pub(super) async fn read_ledger(&self, ledger: &str) -> Answer<Seen> {
        let mut connection = self.pool.acquire().await.map_err(before_commit)?;
        if self.is(Bug::TornRead) {
            let version = sqlx::query_scalar("select version from chaos_ledger where id = $1").bind(ledger);
            let version: Option<i64> = version.fetch_optional(&mut *connection).await.map_err(before_commit)?;
            let version = version.ok_or_else(|| Refusal::sure("not-found"))?;
            let operations =
                sqlx::query_scalar("select op from chaos_entry where ledger = $1 order by position").bind(ledger);
            let operations = operations.fetch_all(&mut *connection).await.map_err(before_commit)?;
            return Ok(Seen { version, operations });
        }
        let sql = "select version, array(select op from chaos_entry where ledger = id order by position)
                   from chaos_ledger where id = $1";
        let row: Option<(i64, Vec<String>)> =
            sqlx::query_as(sql).bind(ledger).fetch_optional(&mut *connection).await.map_err(before_commit)?;
        let (version, operations) = row.ok_or_else(|| Refusal::sure("not-found"))?;
        Ok(Seen { version, operations })
    }

    pub(super) async fn append_to_ledger(&self, append: &Append<'_>) -> Answer<Appended> {
        if self.is(Bug::CheckInAnotherTransaction) && matches!(append.guard, Guard::Lease { .. }) {
            let mut tx = self.pool.begin().await.map_err(before_commit)?;
            self.check(&mut tx, append).await?;
            tx.rollback().await.map_err(before_commit)?;
            tokio::time::sleep(append.pause).await;
        }
        let mut tx = self.pool.begin().await.map_err(before_commit)?;
        if !self.is(Bug::CheckInAnotherTransaction) {
            self.check(&mut tx, append).await?;
        }
        let version = self.version(&mut tx, append).await?;
        let locked_at = now_ns();
        self.write(&mut tx, append.ledger, append.op, version, 0).await?;
        let guard = Some(append.guard.kind());
        if !self.is(Bug::NoteOutside) {
            note(&mut tx, append.op, append.ledger, version, append.guard.generation(), guard).await?;
        }
        if !self.is(Bug::CheckInAnotherTransaction) {
            tokio::time::sleep(append.pause).await;
        }
        if self.is(Bug::SwallowedError) && locked_at.is_multiple_of(8) {
            let _ = sqlx::query("select 1 / 0").execute(&mut *tx).await;
        }
        let row_ns = (append.guard.kind() == Guarded::Row).then(|| (locked_at, now_ns()));
        if self.is(Bug::AnswerBeforeCommit) {
            tokio::spawn(async move { drop(tx.commit().await) });
            return Ok(Appended { version: Some(version), row_ns, ..Appended::default() });
        }
        tx.commit().await.map_err(at_commit)?;
        if self.is(Bug::NoteOutside) {
            let mut connection = self.pool.acquire().await.map_err(at_commit)?;
            let noted =
                note(&mut connection, append.op, append.ledger, version, append.guard.generation(), guard).await;
            noted.map_err(|_| Refusal::unknown("commit-unknown"))?;
        }
        Ok(Appended { version: Some(version), row_ns, ..Appended::default() })
    }

    /// Whether the write may happen, as far as leases are concerned.
    async fn check(&self, tx: &mut PgConnection, append: &Append<'_>) -> Answer<()> {
        match append.guard {
            Guard::Lease { .. } if self.is(Bug::NoLeaseCheck) => Ok(()),
            Guard::Lease { lock, .. } if self.is(Bug::LocalDeadline) => {
                let live = self.remembered(&lock.reveal())?.deadline > Instant::now();
                if live { Ok(()) } else { Err(Refusal::sure("lock-expired")) }
            }
            Guard::Lease { lock, release, .. } => {
                let found = self.lease(tx, append.ledger).await?;
                let (now, token) = (self.now_ms(tx).await?, lock.reveal());
                let live = found.filter(|lease| {
                    let is_theirs =
                        lease.token == token || self.is(Bug::ReentrantByOwner) && lease.owner == append.owner;
                    is_theirs && !lease.ended && self.is_live(lease.expires_ms, now)
                });
                live.ok_or_else(|| Refusal::sure("lock-expired"))?;
                if release {
                    let ended = sqlx::query("update planted_lock set ended = true where key = $1").bind(append.ledger);
                    ended.execute(tx).await.map_err(before_commit)?;
                }
                Ok(())
            }
            Guard::UnlessLocked(_) if !self.is(Bug::UnlessLockedNotAsked) => {
                let made = "insert into planted_lock values ($1, '', '', 0, 0, 0, true) on conflict do nothing";
                sqlx::query(made).bind(append.ledger).execute(&mut *tx).await.map_err(before_commit)?;
                let found = self.lease(tx, append.ledger).await?;
                let now = self.now_ms(tx).await?;
                let held = found.is_some_and(|lease| !lease.ended && self.is_live(lease.expires_ms, now));
                if held { Err(Refusal::sure("already-locked")) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    async fn lease(&self, tx: &mut PgConnection, key: &str) -> Answer<Option<Lease>> {
        let row = sqlx::query("select * from planted_lock where key = $1 for update").bind(key);
        Ok(row.fetch_optional(tx).await.map_err(before_commit)?.as_ref().map(Lease::of))
    }

    /// Raises the version: the new one.
    async fn version(&self, tx: &mut PgConnection, append: &Append<'_>) -> Answer<i64> {
        let seen = match append.guard {
            Guard::Version(seen) | Guard::UnlessLocked(seen) => Some(seen),
            Guard::Lease { .. } | Guard::Row => None,
        };
        let lock =
            if self.is(Bug::ReadModifyWrite) || self.is(Bug::VersionComparedInProgram) { "" } else { "for update" };
        let read = format!("select version from chaos_ledger where id = $1 {lock}");
        let read = sqlx::query_scalar(sqlx::AssertSqlSafe(read)).bind(append.ledger);
        let now: Option<i64> = read.fetch_optional(&mut *tx).await.map_err(before_commit)?;
        let now = now.ok_or_else(|| Refusal::sure("not-found"))?;
        if seen.is_some_and(|seen| seen != now) && !self.is(Bug::ReadModifyWrite) {
            return Err(Refusal::sure("version-conflict"));
        }
        let raise = match self.bug {
            Bug::ReadModifyWrite => "update chaos_ledger set version = $2 where id = $1",
            _ => "update chaos_ledger set version = version + 1 where id = $1 and $2 > 0",
        };
        sqlx::query(raise).bind(append.ledger).bind(now + 1).execute(tx).await.map_err(before_commit)?;
        Ok(now + 1)
    }

    /// Appends an operation to the list of a ledger, and changes its balance.
    async fn write(&self, tx: &mut PgConnection, ledger: &str, op: &str, version: i64, amount: i64) -> Answer<()> {
        let place = match self.bug {
            // What was read decides, and overwrites.
            Bug::ReadModifyWrite => "$3 - 2",
            _ => "(select count(*) from chaos_entry where ledger = $1)",
        };
        let sql = format!(
            "insert into chaos_entry select $1, {place}, $2 where $3 > 0 on conflict (ledger, position) do update set op = $2"
        );
        let entry =
            sqlx::query(sqlx::AssertSqlSafe(sql)).bind(ledger).bind(op).bind(i32::try_from(version).unwrap_or(0));
        entry.execute(&mut *tx).await.map_err(before_commit)?;
        if amount != 0 {
            let moved =
                sqlx::query("update chaos_ledger set balance = balance + $2 where id = $1").bind(ledger).bind(amount);
            moved.execute(tx).await.map_err(before_commit)?;
        }
        Ok(())
    }

    pub(super) async fn transfer_between(&self, transfer: &Transfer<'_>) -> Answer<Appended> {
        let mut ledgers: Vec<(Option<usize>, &str)> = transfer.watched.iter().map(|id| (None, *id)).collect();
        ledgers.extend(transfer.ledgers.iter().enumerate().map(|(at, id)| (Some(at), *id)));
        // In one order, so that no two wait for each other.
        ledgers.sort_by_key(|(_, id)| *id);
        let others = i64::try_from(transfer.ledgers.len() - 1).unwrap_or(0);
        let mut saw = Vec::new();
        let mut tx = self.pool.begin().await.map_err(before_commit)?;
        for (at, ledger) in ledgers {
            let Some(at) = at else {
                saw.push((ledger.to_owned(), self.watch(&mut tx, ledger).await?));
                continue;
            };
            let guard = Guard::Row;
            let (op, owner, pause, limit) = (transfer.op, transfer.owner, std::time::Duration::ZERO, transfer.limit);
            let version = self.version(&mut tx, &Append { ledger, op, owner, guard, pause, limit }).await?;
            let amount = if at == 0 { -others * transfer.amount } else { transfer.amount };
            self.write(&mut tx, ledger, op, version, amount).await?;
            note(&mut tx, op, ledger, version, None, None).await?;
            if self.is(Bug::TransferInSteps) {
                tx.commit().await.map_err(at_commit)?;
                tx = self.pool.begin().await.map_err(|_| Refusal::unknown("commit-unknown"))?;
            }
        }
        tx.commit().await.map_err(at_commit)?;
        Ok(Appended { saw, ..Appended::default() })
    }

    /// The version of a ledger, which stays so until the commit.
    async fn watch(&self, tx: &mut PgConnection, ledger: &str) -> Answer<i64> {
        let lock = if self.is(Bug::WatchedNotLocked) { "" } else { "for share" };
        let read = format!("select version from chaos_ledger where id = $1 {lock}");
        let read = sqlx::query_scalar(sqlx::AssertSqlSafe(read)).bind(ledger);
        read.fetch_optional(tx).await.map_err(before_commit)?.ok_or_else(|| Refusal::sure("not-found"))
    }
}

async fn note(
    connection: &mut PgConnection,
    op: &str,
    ledger: &str,
    version: i64,
    generation: Option<i64>,
    guard: Option<Guarded>,
) -> Answer<()> {
    let note = sqlx::query(NOTE).bind(op).bind(ledger).bind(version).bind(generation).bind(guard.map(guard_text));
    note.execute(connection).await.map(drop).map_err(before_commit)
}
