//! The databases that the load runs on, and what differs between them as SQL.

use std::fmt;

/// Which database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Backend {
    /// A file.
    Sqlite,
    /// A server of its own, by `testkit`.
    Postgres,
    /// A server of its own, by `testkit`.
    #[value(name = "mariadb")]
    MariaDb,
    /// Three nodes of MariaDB, by `testkit`. Clients declare that they use one, and the address leads to one of two; the third only applies.
    Galera,
    /// A primary of PostgreSQL with a synchronous standby, by `testkit`; the address leads to the primary.
    PostgresPair,
    /// Two servers of PostgreSQL under Patroni, by `testkit`; the address leads to the primary.
    Patroni,
    /// Three nodes of MySQL, one of which accepts writes, by `testkit`; the address leads to it.
    GroupReplication,
    /// Three nodes of MySQL that all accept writes; clients declare that they use one of them, and do.
    MultiPrimary,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Sqlite => "sqlite",
            Backend::Postgres => "postgres",
            Backend::MariaDb => "mariadb",
            Backend::Galera => "galera",
            Backend::PostgresPair => "postgres-pair",
            Backend::Patroni => "patroni",
            Backend::GroupReplication => "group-replication",
            Backend::MultiPrimary => "multi-primary",
        })
    }
}

impl Backend {
    /// Whether it is a server, with a network in between.
    pub(crate) fn is_server(self) -> bool {
        self != Backend::Sqlite
    }

    /// Whether its servers are PostgreSQL.
    pub(crate) fn is_postgres(self) -> bool {
        matches!(self, Backend::Postgres | Backend::PostgresPair | Backend::Patroni)
    }

    /// Whether its servers are MariaDB or MySQL.
    pub(crate) fn is_mysql(self) -> bool {
        self.is_server() && !self.is_postgres()
    }

    /// Whether it has several servers.
    pub(crate) fn is_cluster(self) -> bool {
        self.is_server() && !matches!(self, Backend::Postgres | Backend::MariaDb)
    }

    /// Whether a commit is shown to others before it is flushed, and before other nodes have it.
    pub(crate) fn shows_unflushed(self) -> bool {
        matches!(self, Backend::MariaDb | Backend::Galera)
    }

    /// Milliseconds since 1970 by the database's clock at this moment, rounded as tenure rounds them.
    pub(crate) fn clock_ms(self) -> &'static str {
        match self {
            Backend::Sqlite => "cast(unixepoch('subsec') * 1000 as integer)",
            _ if self.is_postgres() => "(extract(epoch from clock_timestamp()) * 1000)::bigint",
            _ => "cast(unix_timestamp(sysdate(6)) * 1000 as signed)",
        }
    }

    /// The statement with this database's placeholders.
    pub(crate) fn with_placeholders(self, sql: &str) -> String {
        if !self.is_postgres() {
            return sql.to_owned();
        }
        let mut parts = sql.split('?');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.enumerate().fold(first, |sql, (at, part)| format!("{sql}${}{part}", at + 1))
    }

    /// The tables of the load.
    pub(crate) fn tables(self) -> String {
        let text = match self {
            // Ids are compared byte by byte, as keys of locks are.
            Backend::MariaDb | Backend::Galera => "varchar(60) character set utf8mb4 collate utf8mb4_nopad_bin",
            _ if self.is_mysql() => "varchar(60) character set utf8mb4 collate utf8mb4_0900_bin",
            _ => "text",
        };
        format!(
            "create table chaos_ledger (id {text} not null primary key, balance bigint not null, version bigint not null);
             create table chaos_entry (ledger {text} not null references chaos_ledger (id), position integer not null,
                 op {text} not null, primary key (ledger, position));
             create table chaos_audit (op {text} not null, ledger {text} not null, version bigint not null, generation bigint,
                 guard {text}, at_ms bigint not null, primary key (op, ledger));
             create table chaos_form (form {text} not null primary key, op {text} not null, version bigint not null, \
             asked bigint not null default 0);"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered_on_postgres() {
        assert_eq!(Backend::Postgres.with_placeholders("a = ? and b = ?"), "a = $1 and b = $2");
        assert_eq!(Backend::Sqlite.with_placeholders("a = ? and b = ?"), "a = ? and b = ?");
    }
}
