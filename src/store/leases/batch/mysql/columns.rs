//! The time, and the columns of the lock table.

/// The time in milliseconds since 1970: from a test, or from the server's clock at this moment. `now()` would be
/// the start of the statement, which may have waited for a lock since.
macro_rules! clock {
    ($given:literal) => {
        concat!("cast(coalesce(", $given, ", unix_timestamp(sysdate(6)) * 1000) as signed)")
    };
}
pub(crate) use clock;

/// The columns that [`lease`](crate::store::leases::lease) reads, besides the time.
macro_rules! lease_columns {
    () => {
        "convert(kind using utf8mb4) as kind, convert(id using utf8mb4) as id, slot, generation, lock_hash, owner_id, owner_name,
         owner_role, shown_as, since, last_active, active_at, expires_at, ttl, idle_limit, hard_until, ended"
    };
}
pub(crate) use lease_columns;

/// The columns that [`lease`](crate::store::leases::lease) reads. Binds the time of a test, or null.
macro_rules! select_lease {
    ($where:literal) => {
        concat!(
            "select ",
            $crate::store::leases::batch::mysql::columns::clock!("?"),
            " as clock, ",
            $crate::store::leases::batch::mysql::columns::lease_columns!(),
            " from tenure_lock ",
            $where
        )
    };
}
pub(crate) use select_lease;
