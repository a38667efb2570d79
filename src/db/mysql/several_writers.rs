//! Clusters in which several nodes accept writes. They do not check the rows that a transaction only reads against writes on other nodes:
//! the row of the lease that a save holds, or a version that it holds. So they are refused, unless the application declares that all of
//! tenure's connections go to one node: then they work as one server.

use std::collections::HashMap;

use sqlx::MySqlConnection;

use super::errors::number;
use crate::db::diagnosis::Writers;
use crate::error::DatabaseError;

/// The kind of cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cluster {
    Galera,
    GroupReplication,
}

impl Cluster {
    /// From the server's variables, in upper case, and the number of group members that accept writes.
    fn of(variables: &HashMap<String, String>, primaries: i64) -> Option<Self> {
        let value = |name: &str| variables.get(name).map_or("", String::as_str);
        // Without a provider `wsrep_on` has no effect.
        let has_provider = !["", "NONE"].contains(&value("wsrep_provider"));
        match () {
            () if value("wsrep_on") == "ON" && has_provider => Some(Cluster::Galera),
            () if value("group_replication_single_primary_mode") == "OFF" || primaries > 1 => {
                Some(Cluster::GroupReplication)
            }
            () => None,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Cluster::Galera => "Galera",
            Cluster::GroupReplication => "Group Replication with several primaries",
        }
    }
}

const PRIMARIES: &str = "select count(*) from performance_schema.replication_group_members
                          where member_state = 'ONLINE' and member_role = 'PRIMARY'";

/// Whether several nodes accept writes, by the server's variables.
pub(crate) async fn find(
    connection: &mut MySqlConnection,
    variables: &HashMap<String, String>,
) -> Result<Option<Cluster>, sqlx::Error> {
    let mut primaries = 0;
    if variables.contains_key("group_replication_single_primary_mode") {
        primaries = match sqlx::query_scalar(PRIMARIES).fetch_one(connection).await {
            // This user may not see the members. The mode shows the intention.
            Err(error) if matches!(number(&error), Some(1044 | 1142)) => 0,
            counted => counted?,
        };
    }
    Ok(Cluster::of(variables, primaries))
}

/// The cluster state for the doctor.
pub(crate) fn writers(cluster: Option<Cluster>, one_writer_node: bool) -> Writers {
    match cluster {
        None => Writers::One,
        Some(cluster) if one_writer_node => Writers::OneNodeOf(cluster.name()),
        Some(cluster) => Writers::Refused(cluster.name()),
    }
}

/// Refuses a cluster whose nodes accept writes, unless one of them is declared.
pub(crate) fn refused(writers: &Writers) -> Result<(), DatabaseError> {
    match writers {
        Writers::Refused(_) => Err(DatabaseError::Unsupported(REFUSED)),
        Writers::One | Writers::OneNodeOf(_) => Ok(()),
    }
}

/// Settings of connections to a node of Galera. Each transaction first waits until its node has applied all that was committed on other
/// nodes before, also when it writes: after a change of the writer node, an update by a condition would miss a row that is not there yet. A
/// node without a quorum answers nothing: its leases may have ended.
pub(crate) const GALERA: &str = "wsrep_sync_wait = 7, wsrep_dirty_reads = off";

const REFUSED: &str = "this server is a node of a cluster in which several nodes accept writes (Galera; or a Group Replication whose \
    `group_replication_single_primary_mode` is OFF, or more than one member is PRIMARY), so a save could be acknowledged after its lease was \
    taken over on another node. Let all connections of tenure go to one node, and declare it with `ConnectOptions::one_writer_node`, \
    `--one-writer-node` for the programs";

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(variables: &[(&str, &str)], primaries: i64) -> Option<Cluster> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Cluster::of(&variables, primaries)
    }

    #[test]
    fn only_engines_with_several_writers_are_found() {
        let provider = ("wsrep_provider", "/USR/LIB/GALERA/LIBGALERA_SMM.SO");
        assert_eq!(cluster(&[("wsrep_on", "ON"), provider], 0), Some(Cluster::Galera));
        for not_in_use in [&[("wsrep_on", "OFF"), provider][..], &[("wsrep_on", "ON"), ("wsrep_provider", "NONE")], &[]]
        {
            assert_eq!(cluster(not_in_use, 0), None, "{not_in_use:?}");
        }
        let mode = |value| [("group_replication_single_primary_mode", value)];
        assert_eq!(cluster(&mode("OFF"), 0), Some(Cluster::GroupReplication));
        assert_eq!(cluster(&mode("ON"), 2), Some(Cluster::GroupReplication));
        assert_eq!(cluster(&mode("ON"), 1), None);
    }

    #[test]
    fn several_writers_are_refused_unless_one_is_declared() {
        for cluster in [Cluster::Galera, Cluster::GroupReplication] {
            let refused = refused(&writers(Some(cluster), false)).expect_err("refused").to_string();
            assert!(refused.contains("ConnectOptions::one_writer_node"), "{refused}");
        }
        for declared in [Some(Cluster::Galera), Some(Cluster::GroupReplication), None] {
            assert!(refused(&writers(declared, true)).is_ok(), "{declared:?}");
        }
        assert!(refused(&writers(None, false)).is_ok());
    }
}
