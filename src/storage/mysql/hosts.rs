//! The role and the epoch of a server. Replication of MariaDB and MySQL has no number that rises with every failover, so tenure counts the
//! changes of the writer itself, in a row that is replicated with the data. In Galera the quorum decides, and there are no epochs.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::mysql::{MySqlConnectOptions, MySqlRow};
use sqlx::{AssertSqlSafe, Connection, Executor, MySql, MySqlConnection, Row};

use super::connect::problem;
use super::errors::{classify, is_disconnection, number};
use crate::clock::{ManualClock, until};
use crate::error::DatabaseError;
use crate::storage::server::hosts::choice::{Answer, Seat};
use crate::storage::server::hosts::epoch::{Origin, Stored, raised};
use crate::storage::server::hosts::{Engine, Rules};

const VARIABLES: &str = "
    show global variables where variable_name in ('read_only', 'super_read_only', 'innodb_read_only', 'server_id', 'server_uuid',
        'hostname', 'port', 'wsrep_on', 'wsrep_provider', 'group_replication_group_name')";

const STATUS: &str = "
    show global status where variable_name in ('wsrep_ready', 'wsrep_cluster_status', 'wsrep_local_state_comment',
        'wsrep_cluster_state_uuid', 'wsrep_gcomm_uuid')";

/// This member of a Group Replication, and how many there are and answer. A member that has not joined sees nobody but itself.
const MEMBERS: &str = "
    select coalesce(max(if(member_id = @@server_uuid, member_state, null)), ''),
           coalesce(max(if(member_id = @@server_uuid, member_role, null)), ''),
           cast(count(*) as signed), cast(coalesce(sum(member_state in ('ONLINE', 'RECOVERING')), 0) as signed)
      from performance_schema.replication_group_members";

const STORED: &str = "select cluster, instance, epoch, no_grants_before from tenure_epoch";

/// The row is locked, so that two processes do not raise it twice.
const LOCKED: &str =
    "select cluster, instance, epoch, no_grants_before from tenure_epoch where only_row = 1 for update";

const FIRST: &str = "
    insert ignore into tenure_epoch (only_row, cluster, instance, epoch, no_grants_before) values (1, ?, ?, 1, 0)";

const RAISE: &str =
    "update tenure_epoch set cluster = ?, instance = ?, epoch = ?, no_grants_before = ? where only_row = 1";

/// It reads the whole table, once for each failover.
const LONGEST: &str = "select cast(coalesce(max(ttl), 0) as signed) from tenure_lock";

const NOW: &str = "select cast(coalesce(?, unix_timestamp(sysdate(6)) * 1000) as signed)";

#[async_trait]
impl Engine for MySql {
    const ORIGIN: Origin = Origin::Writers;

    async fn open(options: &MySqlConnectOptions, first: &str) -> Result<MySqlConnection, String> {
        let mut connection = MySqlConnection::connect_with(options).await.map_err(|error| problem(options, &error))?;
        if !first.is_empty() {
            let first = AssertSqlSafe(first.to_owned());
            let done = connection.execute(first).await;
            done.map_err(|error| format!("{error}; check the statements of `after_connect`"))?;
        }
        Ok(connection)
    }

    async fn ask(connection: &mut MySqlConnection) -> Result<Answer, sqlx::Error> {
        let mut values = shown(&mut *connection, VARIABLES).await?;
        let galera = is(&values, "wsrep_on", "ON") && !is(&values, "wsrep_provider", "none");
        if galera {
            values.extend(shown(&mut *connection, STATUS).await?);
        }
        // A Galera node without a quorum answers no other statement.
        if let Some(reason) = without_quorum(&values).filter(|_| galera) {
            return Ok(Answer::Standby { cluster: value(&values, "wsrep_cluster_state_uuid"), epoch: 0, reason });
        }
        let epoch = if galera { 0 } else { stored(connection).await?.map_or(0, |stored| stored.epoch) };
        let answer = answer(&values, galera, epoch);
        let in_group = !galera && !value(&values, GROUP).is_empty();
        match answer {
            // It accepts writes also if it is outside the group, as after a restart, and then it may be an old primary.
            Answer::Writer(seat) if in_group => Ok(match outside(members(connection).await?.as_ref()) {
                Some(reason) => Answer::Standby { cluster: seat.cluster, epoch, reason },
                None => Answer::Writer(seat),
            }),
            answer => Ok(answer),
        }
    }

    async fn settle(
        connection: &mut MySqlConnection,
        seat: &Seat,
        rules: &Rules,
    ) -> Result<(Seat, Duration), DatabaseError> {
        if seat.several {
            return Ok((seat.clone(), Duration::ZERO));
        }
        let mut stored = stored(connection).await.map_err(classify)?;
        if raised(stored.as_ref(), seat, Origin::Writers).map_err(DatabaseError::Schema)?.is_some() {
            match store(connection, seat, rules).await {
                Ok(written) => stored = Some(written),
                // A user who only reads grants nothing.
                Err(DatabaseError::NotPermitted(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let Some(stored) = stored else { return Ok((seat.clone(), Duration::ZERO)) };
        let pause = until(stored.no_grants_before, now(connection, rules).await?);
        Ok((Seat { epoch: stored.epoch, ..seat.clone() }, pause))
    }

    fn with_password(options: MySqlConnectOptions, password: &str) -> MySqlConnectOptions {
        options.password(password)
    }

    fn is_lost(error: &sqlx::Error) -> bool {
        match number(error) {
            // Read-only; a failed hook of Group Replication; a Galera node without quorum.
            Some(number) => is_disconnection(number) || matches!(number, 1290 | 1792 | 1836 | 3100 | 1047),
            None => matches!(
                error,
                sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::Tls(_) | sqlx::Error::WorkerCrashed
            ),
        }
    }
}

async fn shown(connection: &mut MySqlConnection, text: &'static str) -> Result<HashMap<String, String>, sqlx::Error> {
    let rows = sqlx::raw_sql(text).fetch_all(connection).await?;
    rows.iter().map(|row| Ok((row.try_get::<String, _>(0)?.to_lowercase(), row.try_get(1)?))).collect()
}

fn value(values: &HashMap<String, String>, name: &str) -> String {
    values.get(name).cloned().unwrap_or_default()
}

fn is(values: &HashMap<String, String>, name: &str, wanted: &str) -> bool {
    values.get(name).is_some_and(|value| value.eq_ignore_ascii_case(wanted))
}

/// The reason that a Galera node must not be used.
fn without_quorum(values: &HashMap<String, String>) -> Option<String> {
    if is(values, "wsrep_ready", "ON") && is(values, "wsrep_cluster_status", "Primary") {
        return None;
    }
    let (status, state) = (value(values, "wsrep_cluster_status"), value(values, "wsrep_local_state_comment"));
    Some(format!("this node of a Galera cluster has no quorum, or is not ready: it is `{status}`, `{state}`"))
}

/// The name of the variable with the identity of a Group Replication.
const GROUP: &str = "group_replication_group_name";

/// A member's view of its group.
#[derive(Debug)]
struct Members {
    state: String,
    role: String,
    all: i64,
    reachable: i64,
}

/// `None` without the right to read it.
async fn members(connection: &mut MySqlConnection) -> Result<Option<Members>, sqlx::Error> {
    match sqlx::query_as(MEMBERS).fetch_one(connection).await {
        Ok((state, role, all, reachable)) => Ok(Some(Members { state, role, all, reachable })),
        Err(error) if matches!(number(&error), Some(1044 | 1142)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The reason that a member of a Group Replication must not be used, although it accepts writes.
fn outside(members: Option<&Members>) -> Option<String> {
    let Some(Members { state, role, all, reachable }) = members else {
        return Some(
            "whether this member of a Group Replication has a quorum is not known; grant this user the right to read \
             performance_schema.replication_group_members"
                .into(),
        );
    };
    match (state.as_str(), role.as_str()) {
        ("ONLINE", "PRIMARY") if 2 * reachable > *all => None,
        ("ONLINE", "PRIMARY") => {
            Some(format!("this member of a Group Replication has no quorum: it reaches {reachable} of {all}"))
        }
        ("", _) => Some("this server has not joined its Group Replication".into()),
        _ => Some(format!("this member of a Group Replication is `{state}`, `{role}`")),
    }
}

/// The answer of a server with these variables, whose own row has this epoch.
fn answer(values: &HashMap<String, String>, galera: bool, epoch: i64) -> Answer {
    let cluster = value(values, if galera { "wsrep_cluster_state_uuid" } else { GROUP });
    let read_only = ["super_read_only", "read_only", "innodb_read_only"];
    let read_only =
        read_only.into_iter().find(|name| !["", "OFF", "0"].contains(&&*value(values, name).to_uppercase()));
    if let Some(name) = read_only {
        let reason = format!("it is read-only (`{name}` is {})", value(values, name));
        return Answer::Standby { cluster, epoch, reason };
    }
    let instance = ["server_uuid", "hostname", "port", "server_id", "wsrep_gcomm_uuid"].map(|name| value(values, name));
    Answer::Writer(Seat { cluster, instance: instance.join("/"), epoch, several: galera })
}

/// The stored row; `None` also before the first migration, and without the right to read it.
async fn stored(connection: &mut MySqlConnection) -> Result<Option<Stored>, sqlx::Error> {
    match sqlx::query(STORED).fetch_optional(connection).await {
        Ok(row) => row.as_ref().map(read).transpose(),
        Err(error) if matches!(number(&error), Some(1146 | 1142)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read(row: &MySqlRow) -> Result<Stored, sqlx::Error> {
    Ok(Stored {
        cluster: row.try_get(0)?,
        instance: row.try_get(1)?,
        epoch: row.try_get(2)?,
        no_grants_before: row.try_get(3)?,
    })
}

async fn now(connection: &mut MySqlConnection, rules: &Rules) -> Result<i64, DatabaseError> {
    let clock = rules.clock.as_ref().map(ManualClock::millis);
    sqlx::query_scalar(NOW).bind(clock).fetch_one(connection).await.map_err(classify)
}

async fn store(connection: &mut MySqlConnection, seat: &Seat, rules: &Rules) -> Result<Stored, DatabaseError> {
    let now = now(connection, rules).await?;
    let mut transaction = connection.begin().await.map_err(classify)?;
    let first = sqlx::query(FIRST).bind(&seat.cluster).bind(&seat.instance);
    first.execute(&mut *transaction).await.map_err(classify)?;
    let row = sqlx::query(LOCKED).fetch_one(&mut *transaction).await.map_err(classify)?;
    let stored = read(&row).map_err(classify)?;
    let new = match raised(Some(&stored), seat, Origin::Writers).map_err(DatabaseError::Schema)? {
        // Another process was first, or this one has just inserted it.
        None => stored,
        Some(raise) => {
            let longest: i64 = sqlx::query_scalar(LONGEST).fetch_one(&mut *transaction).await.map_err(classify)?;
            let new = raise.row(Some(&stored), seat, Origin::Writers, now, until(longest, 0), rules.declared);
            let update = sqlx::query(RAISE).bind(&new.cluster).bind(&new.instance).bind(new.epoch);
            update.bind(new.no_grants_before).execute(&mut *transaction).await.map_err(classify)?;
            new
        }
    };
    transaction.commit().await.map_err(classify)?;
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(values: &[(&str, &str)]) -> HashMap<String, String> {
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn read_only_server_is_no_writer() {
        for (name, value, writes) in [
            ("read_only", "OFF", true),
            ("read_only", "0", true),
            ("read_only", "ON", false),
            ("read_only", "NO_LOCK_NO_ADMIN", false),
            ("super_read_only", "ON", false),
            ("innodb_read_only", "ON", false),
        ] {
            let answer = answer(&variables(&[(name, value)]), false, 3);
            assert_eq!(matches!(answer, Answer::Writer(Seat { epoch: 3, .. })), writes, "{name} {value}");
        }
    }

    #[test]
    fn group_member_needs_a_quorum() {
        let outside = |state: &str, role: &str, all, reachable| {
            outside(Some(&Members { state: state.into(), role: role.into(), all, reachable }))
        };
        for (state, role, all, reachable, usable) in [
            ("ONLINE", "PRIMARY", 3, 3, true),
            ("ONLINE", "PRIMARY", 3, 2, true),
            ("ONLINE", "PRIMARY", 1, 1, true),
            ("ONLINE", "PRIMARY", 3, 1, false),
            ("ONLINE", "PRIMARY", 2, 1, false),
            ("ONLINE", "SECONDARY", 3, 3, false),
            ("RECOVERING", "", 3, 3, false),
            // A restarted member, as an old primary after a crash.
            ("OFFLINE", "", 1, 0, false),
            ("", "", 0, 0, false),
            ("ERROR", "", 1, 0, false),
        ] {
            assert_eq!(outside(state, role, all, reachable).is_none(), usable, "{state} {role} {all} {reachable}");
        }
        assert!(super::outside(None).is_some_and(|reason| reason.contains("grant")));
    }

    #[test]
    fn galera_node_needs_a_quorum() {
        for (ready, status, usable) in
            [("ON", "Primary", true), ("OFF", "Primary", false), ("OFF", "non-Primary", false), ("ON", "", false)]
        {
            let values = variables(&[("wsrep_ready", ready), ("wsrep_cluster_status", status)]);
            assert_eq!(without_quorum(&values).is_none(), usable, "{ready} {status}");
        }
    }
}
