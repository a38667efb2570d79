//! The role and the epoch of a server: its timeline, which rises with every promotion.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Postgres, Row};

use super::connect::problem;
use super::errors::classify;
use crate::clock::{ManualClock, until};
use crate::error::DatabaseError;
use crate::storage::server::hosts::choice::{Answer, Seat};
use crate::storage::server::hosts::epoch::{Origin, Raise, Stored, raised};
use crate::storage::server::hosts::{Engine, Rules};

/// The control file shows the former timeline for seconds after a promotion, so a primary is asked for that of the log that it writes. A
/// standby has nothing else.
const ASK: &str = "
    select (select system_identifier from pg_control_system())::text, pg_is_in_recovery(),
           current_setting('transaction_read_only') = 'on',
           (case when pg_is_in_recovery()
                 then greatest((select timeline_id from pg_control_checkpoint()), (select received_tli from pg_stat_wal_receiver))
                 else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int end)::bigint,
           (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint::text";

const STORED: &str = "
    select e.cluster, e.instance, e.epoch, e.no_grants_before, tenure_now($1) as now
      from (select 1) as one left join tenure_epoch e on true";

/// The row is locked, so that two processes do not raise it twice.
const LOCKED: &str = "
    select cluster, instance, epoch, no_grants_before, tenure_now($1) as now from tenure_epoch for update";

const FIRST: &str = "
    insert into tenure_epoch (cluster, instance, epoch, no_grants_before) values ($1, $2, $3, $4) on conflict do nothing";

const RAISE: &str = "update tenure_epoch set cluster = $1, instance = $2, epoch = $3, no_grants_before = $4";

/// It reads the whole table, once for each failover.
const LONGEST: &str = "select coalesce(max(ttl), 0) from tenure_lock";

#[async_trait]
impl Engine for Postgres {
    const ORIGIN: Origin = Origin::Engine;

    async fn open(options: &PgConnectOptions, first: &str) -> Result<PgConnection, String> {
        let mut connection = PgConnection::connect_with(options).await.map_err(|error| problem(options, &error))?;
        if !first.is_empty() {
            let first = AssertSqlSafe(first.to_owned());
            let done = connection.execute(first).await;
            done.map_err(|error| format!("{error}; check the statements of `after_connect`"))?;
        }
        Ok(connection)
    }

    async fn ask(connection: &mut PgConnection) -> Result<Answer, sqlx::Error> {
        let row = sqlx::raw_sql(ASK).fetch_one(connection).await?;
        let (cluster, standby, read_only): (String, bool, bool) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let (epoch, instance): (Option<i64>, String) = (row.try_get(3)?, row.try_get(4)?);
        let epoch = epoch.unwrap_or(0);
        let reason = |reason: &str| reason.to_owned();
        Ok(match (standby, read_only) {
            (true, _) => Answer::Standby { cluster, epoch, reason: reason("it is a standby") },
            (false, true) => {
                Answer::Standby { cluster, epoch, reason: reason("it is read-only (`default_transaction_read_only`)") }
            }
            (false, false) => Answer::Writer(Seat { cluster, instance, epoch, several: false }),
        })
    }

    async fn settle(
        connection: &mut PgConnection,
        seat: &Seat,
        rules: &Rules,
    ) -> Result<(Seat, Duration), DatabaseError> {
        let clock = rules.clock.as_ref().map(ManualClock::millis);
        let row = sqlx::query(STORED).bind(clock).fetch_one(&mut *connection).await.map_err(classify)?;
        let (mut stored, mut now) = read(&row)?;
        if of(stored.as_ref(), seat)?.is_some() {
            match store(connection, seat, rules, clock).await {
                Ok(written) => (stored, now) = (Some(written.0), written.1),
                // A role that only reads grants nothing.
                Err(DatabaseError::NotPermitted(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let pause = stored.map_or(Duration::ZERO, |stored| until(stored.no_grants_before, now));
        Ok((seat.clone(), pause))
    }

    fn with_password(options: PgConnectOptions, password: &str) -> PgConnectOptions {
        options.password(password)
    }

    fn is_lost(error: &sqlx::Error) -> bool {
        match error.as_database_error().map(|error| error.code()) {
            Some(code) => code
                .is_some_and(|code| ["25006", "57P01", "57P02", "57P03"].contains(&&*code) || code.starts_with("08")),
            None => matches!(
                error,
                sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::Tls(_) | sqlx::Error::WorkerCrashed
            ),
        }
    }
}

fn of(stored: Option<&Stored>, seat: &Seat) -> Result<Option<Raise>, DatabaseError> {
    raised(stored, seat, Origin::Engine).map_err(DatabaseError::Schema)
}

async fn store(
    connection: &mut PgConnection,
    seat: &Seat,
    rules: &Rules,
    clock: Option<i64>,
) -> Result<(Stored, i64), DatabaseError> {
    let mut transaction = connection.begin().await.map_err(classify)?;
    let first = sqlx::query(FIRST).bind(&seat.cluster).bind(&seat.instance).bind(seat.epoch).bind(0_i64);
    first.execute(&mut *transaction).await.map_err(classify)?;
    let row = sqlx::query(LOCKED).bind(clock).fetch_one(&mut *transaction).await.map_err(classify)?;
    let (stored, now) = read(&row)?;
    let new = match of(stored.as_ref(), seat)? {
        // Another process was first, or this one has just inserted it.
        None => stored,
        Some(raise) => {
            let longest: i64 = sqlx::query_scalar(LONGEST).fetch_one(&mut *transaction).await.map_err(classify)?;
            let new = raise.row(stored.as_ref(), seat, Origin::Engine, now, until(longest, 0), rules.declared);
            let update = sqlx::query(RAISE).bind(&new.cluster).bind(&new.instance).bind(new.epoch);
            update.bind(new.no_grants_before).execute(&mut *transaction).await.map_err(classify)?;
            Some(new)
        }
    };
    transaction.commit().await.map_err(classify)?;
    new.map(|new| (new, now)).ok_or_else(|| classify(sqlx::Error::RowNotFound))
}

fn read(row: &sqlx::postgres::PgRow) -> Result<(Option<Stored>, i64), DatabaseError> {
    let cluster: Option<String> = row.try_get(0).map_err(classify)?;
    let now = row.try_get("now").map_err(classify)?;
    let Some(cluster) = cluster else { return Ok((None, now)) };
    let stored = Stored {
        cluster,
        instance: row.try_get(1).map_err(classify)?,
        epoch: row.try_get(2).map_err(classify)?,
        no_grants_before: row.try_get(3).map_err(classify)?,
    };
    Ok((Some(stored), now))
}
