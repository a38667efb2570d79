//! The epoch that the database stores, and the pause of grants after it has risen. No I/O.

use std::time::Duration;

use super::choice::Seat;
use crate::lease::engine::Declared;

/// The stored row: the newest writer that any process has used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::storage) struct Stored {
    pub cluster: String,
    pub instance: String,
    pub epoch: i64,
    /// No lease is granted before this time of the database's clock, in milliseconds since 1970.
    pub no_grants_before: i64,
}

/// The origin of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::storage) enum Origin {
    /// The engine counts failovers: PostgreSQL's timelines.
    Engine,
    /// Nobody else does, so tenure counts the changes of the writer: MariaDB and MySQL with replication.
    #[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "no other engine needs it"))]
    Writers,
}

/// The row to store, if it has to change; the longest stored time to live is read only for a failover.
///
/// # Errors
/// The writer is older than the row, which cannot be in its own data.
pub(in crate::storage) fn raised(
    stored: Option<&Stored>,
    seat: &Seat,
    origin: Origin,
) -> Result<Option<Raise>, String> {
    let Some(stored) = stored else { return Ok(Some(Raise::First)) };
    match origin {
        Origin::Writers => Ok((stored.instance != seat.instance).then_some(Raise::Failover)),
        // A copy by dump and restore, or by an upgrade, has an identity of its own, and its timelines begin at 1.
        Origin::Engine if stored.cluster != seat.cluster => Ok(Some(Raise::Failover)),
        Origin::Engine if stored.epoch > seat.epoch => Err(format!(
            "its data was written in epoch {}, and it is in epoch {}: this is not one history",
            stored.epoch, seat.epoch
        )),
        Origin::Engine => Ok((stored.epoch < seat.epoch).then_some(Raise::Failover)),
    }
}

/// A change of the stored row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::storage) enum Raise {
    /// No process has stored one yet.
    First,
    /// The writer is another one, or of another epoch.
    Failover,
}

impl Raise {
    /// The new row.
    pub(in crate::storage) fn row(
        self,
        stored: Option<&Stored>,
        seat: &Seat,
        origin: Origin,
        now: i64,
        longest: Duration,
        declared: Declared,
    ) -> Stored {
        let former = stored.map_or(0, |stored| stored.no_grants_before);
        let epoch = match (origin, stored) {
            (Origin::Engine, _) => seat.epoch,
            (Origin::Writers, stored) => stored.map_or(0, |stored| stored.epoch) + 1,
        };
        let no_grants_before = match self {
            Raise::First => former,
            Raise::Failover => declared.no_grants_before(former, now, longest),
        };
        Stored { cluster: seat.cluster.clone(), instance: seat.instance.clone(), epoch, no_grants_before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(cluster: &str, instance: &str, epoch: i64) -> Seat {
        Seat { cluster: cluster.into(), instance: instance.into(), epoch, several: false }
    }

    fn stored(cluster: &str, instance: &str, epoch: i64) -> Stored {
        Stored { cluster: cluster.into(), instance: instance.into(), epoch, no_grants_before: 7 }
    }

    #[test]
    fn row_changes_only_at_the_first_connect_and_at_failovers() {
        use Origin::{Engine, Writers};
        let row = stored("c", "a", 2);
        for (row, seat, origin, change) in [
            (None, seat("c", "a", 1), Engine, Ok(Some(Raise::First))),
            (Some(&row), seat("c", "restarted", 2), Engine, Ok(None)),
            (Some(&row), seat("c", "b", 3), Engine, Ok(Some(Raise::Failover))),
            (Some(&row), seat("restored", "b", 1), Engine, Ok(Some(Raise::Failover))),
            (Some(&row), seat("c", "b", 1), Engine, Err(())),
            (Some(&row), seat("c", "a", 2), Writers, Ok(None)),
            (Some(&row), seat("c", "b", 2), Writers, Ok(Some(Raise::Failover))),
        ] {
            assert_eq!(raised(row, &seat, origin).map_err(drop), change, "{seat:?}");
        }
    }

    #[test]
    fn failover_raises_the_epoch_and_begins_a_pause() {
        let (old, b, hour) = (stored("c", "a", 2), seat("c", "b", 3), Duration::from_secs(3600));
        let row = |raise: Raise, old, origin| raise.row(old, &b, origin, 1_000, hour, Declared::default());
        for origin in [Origin::Engine, Origin::Writers] {
            let new = row(Raise::Failover, Some(&old), origin);
            assert_eq!((new.epoch, new.no_grants_before), (3, 3_601_000), "{origin:?}");
        }
        let first = row(Raise::First, None, Origin::Writers);
        assert_eq!((first.epoch, first.no_grants_before), (1, 0));
        assert_eq!(row(Raise::First, Some(&old), Origin::Engine).no_grants_before, 7, "an earlier pause goes on");
    }
}
