//! Load with faults on clusters: nodes are killed, stopped and isolated, and others take their place.

use crate::chaos;

/// Load on one kind of cluster.
pub(crate) struct Load {
    /// Its name for `--only`.
    pub(crate) name: &'static str,
    /// What it runs on.
    pub(crate) on: &'static str,
    /// Its name for the program of the load.
    backend: &'static str,
}

/// Long enough for each kind of fault to come several times: some take half a minute.
const MINUTES: u32 = 10;

/// All of them.
pub(crate) const LOADS: [Load; 5] = [
    Load { name: "load-galera", on: "the installed MariaDB, three nodes, one is used", backend: "galera" },
    Load {
        name: "load-postgres-pair",
        on: "the installed PostgreSQL, a synchronous standby",
        backend: "postgres-pair",
    },
    Load { name: "load-patroni", on: "the installed PostgreSQL, Patroni and etcd", backend: "patroni" },
    Load { name: "load-group-replication", on: "mysql-9.7, three nodes, one writes", backend: "group-replication" },
    Load { name: "load-multi-primary", on: "mysql-9.7, three nodes, all write, one is used", backend: "multi-primary" },
];

impl Load {
    /// Its command line.
    pub(crate) fn line(&self) -> String {
        format!("cargo xtask chaos --backend {} --minutes {MINUTES}", self.backend)
    }

    /// Runs it; returns what it ran on.
    pub(crate) fn run(&self) -> Result<String, String> {
        chaos::load(self.backend, MINUTES).map(|()| self.on.to_owned())
    }
}
