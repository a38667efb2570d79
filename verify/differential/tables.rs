//! The tables, written and read by plain SQL, as an edit by hand would.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, Row};

use crate::db::Backend;
use crate::lease::engine::{How, LeaseRow, Past, Place, Rows};
use crate::lease::{LockKey, Owner, ShowOwner};
use crate::row_lock::Wait;

/// The SQL dialect of literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    #[cfg(feature = "sqlite")]
    Sqlite,
    #[cfg(feature = "postgres")]
    Postgres,
    #[cfg(feature = "mysql")]
    MySql,
}

/// A row of texts.
type Texts = Vec<Option<String>>;

impl Dialect {
    /// Runs statements in one transaction; the rows of the last one.
    async fn run(self, backend: &Backend, text: String) -> Vec<Texts> {
        let mut transaction = backend.begin(Wait::default(), None).await.expect("a transaction begins");
        macro_rules! fetch {
            ($connection:expr) => {{
                let rows = sqlx::raw_sql(AssertSqlSafe(text)).fetch_all($connection.expect("of this kind")).await;
                let rows = rows.unwrap_or_else(|error| panic!("{error}"));
                rows.iter().map(|row| (0..row.len()).map(|at| row.try_get(at).expect("a text")).collect()).collect()
            }};
        }
        let rows = match self {
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => fetch!(transaction.as_sqlite()),
            #[cfg(feature = "postgres")]
            Dialect::Postgres => fetch!(transaction.as_postgres()),
            #[cfg(feature = "mysql")]
            Dialect::MySql => fetch!(transaction.as_mysql()),
        };
        transaction.commit(None).await.expect("it commits");
        rows
    }

    fn is_postgres(self) -> bool {
        #[cfg(feature = "postgres")]
        return self == Dialect::Postgres;
        #[cfg(not(feature = "postgres"))]
        false
    }

    fn is_mysql(self) -> bool {
        #[cfg(feature = "mysql")]
        return self == Dialect::MySql;
        #[cfg(not(feature = "mysql"))]
        false
    }

    fn bytes(self, bytes: &[u8]) -> String {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        if self.is_postgres() { format!("'\\x{hex}'::bytea") } else { format!("x'{hex}'") }
    }

    fn flag(self, flag: bool) -> &'static str {
        match (self.is_postgres(), flag) {
            (true, true) => "true",
            (true, false) => "false",
            (false, true) => "1",
            (false, false) => "0",
        }
    }

    /// The lowest number has no literal.
    fn number(number: i64) -> String {
        if number == i64::MIN { format!("({} - 1)", i64::MIN + 1) } else { number.to_string() }
    }

    fn read_text(self, column: &str) -> String {
        if self.is_mysql() { format!("convert({column} using utf8mb4)") } else { column.to_owned() }
    }

    fn read_bytes(self, column: &str) -> String {
        if self.is_postgres() { format!("encode({column}, 'hex')") } else { format!("lower(hex({column}))") }
    }

    fn read_number(self, column: &str) -> String {
        if self.is_mysql() { format!("cast({column} as char)") } else { format!("cast({column} as text)") }
    }

    fn read_flag(self, column: &str) -> String {
        if self.is_postgres() { format!("cast({column}::int as text)") } else { self.read_number(column) }
    }

    /// Inserts all rows of several cases.
    pub(super) async fn write(self, backend: &Backend, cases: impl Iterator<Item = &Rows>) {
        let (mut leases, mut past) = (Vec::new(), Vec::new());
        let mut floors = BTreeMap::new();
        for rows in cases {
            leases.extend(rows.leases.values().map(|row| self.lease(row)));
            past.extend(rows.past.values().map(|past| self.past(past)));
            floors.extend(rows.floors.iter().map(|(kind, floor)| (kind.clone(), format!("('{kind}', {floor})"))));
        }
        let floors: Vec<String> = floors.into_values().collect();
        let tables = [
            (format!("tenure_lock ({LEASE})"), leases),
            (format!("tenure_lock_history ({PAST})"), past),
            ("tenure_lock_floor (kind, generation)".to_owned(), floors),
        ];
        let inserts = tables.iter().filter(|(_, rows)| !rows.is_empty());
        let inserts = inserts.map(|(table, rows)| format!("insert into {table} values {};", rows.join(", ")));
        self.run(backend, inserts.collect()).await;
    }

    fn lease(self, row: &LeaseRow) -> String {
        let LeaseRow { place, generation, lock, owner, shown, .. } = row;
        let values = [
            text(place.key.kind()),
            text(place.key.id()),
            self.bytes(&place.slot),
            Self::number(*generation),
            self.bytes(lock),
            text(&owner.id),
            text(&owner.name),
            optional(owner.role.as_deref()),
            shown.stored().to_string(),
            Self::number(row.since),
            Self::number(row.last_active),
            Self::number(row.active_at),
            Self::number(row.expires_at),
            Self::number(row.ttl),
            row.idle_limit.map_or_else(|| "null".to_owned(), Self::number),
            Self::number(row.hard_until),
            self.flag(row.ended).to_owned(),
            Self::number(row.unclaimed),
        ];
        format!("({})", values.join(", "))
    }

    fn past(self, past: &Past) -> String {
        let by = past.by.as_ref();
        let values = [
            self.bytes(&past.lock),
            text(past.key.kind()),
            text(past.key.id()),
            Self::number(past.generation),
            text(&past.owner.id),
            text(&past.owner.name),
            optional(past.owner.role.as_deref()),
            past.shown.stored().to_string(),
            Self::number(past.since),
            Self::number(past.ended_at),
            text(past.how.text()),
            optional(by.map(|by| &*by.id)),
            optional(by.map(|by| &*by.name)),
            optional(by.and_then(|by| by.role.as_deref())),
            optional(past.reason.as_deref()),
            self.flag(past.idle).to_owned(),
            self.flag(past.limited).to_owned(),
        ];
        format!("({})", values.join(", "))
    }

    /// Reads all rows of a type of keys.
    pub(super) async fn read(self, backend: &Backend, kind: &str) -> Rows {
        let mut rows = Rows::default();
        let (number, flag, bytes) = (|c| self.read_number(c), |c| self.read_flag(c), |c| self.read_bytes(c));
        let words = |c| self.read_text(c);
        let from = |columns: &[String], table: &str| {
            format!("select {} from {table} where kind = '{kind}'", columns.join(", "))
        };
        let columns = [
            words("id"),
            bytes("slot"),
            number("generation"),
            bytes("lock_hash"),
            words("owner_id"),
            words("owner_name"),
            words("owner_role"),
            number("shown_as"),
            number("since"),
            number("last_active"),
            number("active_at"),
            number("expires_at"),
            number("ttl"),
            number("idle_limit"),
            number("hard_until"),
            flag("ended"),
            number("unclaimed"),
        ];
        for texts in self.run(backend, from(&columns, "tenure_lock")).await {
            let mut texts = Reader(texts.into_iter());
            let row = LeaseRow {
                place: Place { key: LockKey::new(kind, texts.text()), slot: texts.bytes() },
                generation: texts.number(),
                lock: texts.bytes(),
                owner: texts.person().expect("an owner"),
                shown: ShowOwner::from_stored(texts.number()),
                since: texts.number(),
                last_active: texts.number(),
                active_at: texts.number(),
                expires_at: texts.number(),
                ttl: texts.number(),
                idle_limit: texts.optional_number(),
                hard_until: texts.number(),
                ended: texts.number() != 0,
                unclaimed: texts.number(),
            };
            rows.leases.insert(row.place.clone(), row);
        }
        let columns = [
            bytes("lock_hash"),
            words("id"),
            number("generation"),
            words("owner_id"),
            words("owner_name"),
            words("owner_role"),
            number("shown_as"),
            number("since"),
            number("ended_at"),
            words("how"),
            words("by_id"),
            words("by_name"),
            words("by_role"),
            words("reason"),
            flag("idle"),
            flag("limited"),
        ];
        for texts in self.run(backend, from(&columns, "tenure_lock_history")).await {
            let mut texts = Reader(texts.into_iter());
            let past = Past {
                lock: texts.bytes(),
                key: LockKey::new(kind, texts.text()),
                generation: texts.number(),
                owner: texts.person().expect("an owner"),
                shown: ShowOwner::from_stored(texts.number()),
                since: texts.number(),
                ended_at: texts.number(),
                how: How::of(&texts.text()),
                by: texts.person(),
                reason: texts.optional(),
                idle: texts.number() != 0,
                limited: texts.number() != 0,
            };
            rows.past.insert(past.lock.clone(), past);
        }
        rows
    }
}

const LEASE: &str = "kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, shown_as, since, \
                     last_active, active_at, expires_at, ttl, idle_limit, hard_until, ended, unclaimed";
const PAST: &str = "lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, ended_at, how, by_id, \
                    by_name, by_role, reason, idle, limited";
/// The texts here have no quotes in them.
fn text(text: &str) -> String {
    format!("'{text}'")
}

fn optional(value: Option<&str>) -> String {
    value.map_or_else(|| "null".to_owned(), text)
}

/// The columns of a row, one after the other.
struct Reader(std::vec::IntoIter<Option<String>>);

impl Reader {
    fn optional(&mut self) -> Option<String> {
        self.0.next().expect("another column")
    }

    fn text(&mut self) -> String {
        self.optional().expect("a text")
    }

    fn optional_number(&mut self) -> Option<i64> {
        self.optional().map(|text| text.parse().expect("a number"))
    }

    fn number(&mut self) -> i64 {
        self.optional_number().expect("a number")
    }

    fn bytes(&mut self) -> Vec<u8> {
        let text = self.text();
        let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
        (0..text.len()).step_by(2).map(byte).collect()
    }

    /// Three columns: id, name, role.
    fn person(&mut self) -> Option<Owner> {
        let (id, name, role) = (self.optional(), self.optional(), self.optional());
        id.zip(name).map(|(id, name)| Owner { role, ..Owner::new(id, name) })
    }
}
