//! The kinds of faults.

use crate::backend::Backend;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Fault {
    /// The server and all its processes are killed with SIGKILL, and started again. Where another one takes its place, it comes back as it
    /// was, stays so beside the new one for a while, and joins the others then.
    KillServer,
    /// The server stands still (SIGSTOP) for up to 2.5 s.
    StopServer,
    /// A node of a cluster stands still (SIGSTOP) for 15 s, so that the others continue without it.
    StopNode,
    /// All other nodes of a cluster stand still (SIGSTOP) for 15 s: the one that is left has no majority, or no standby.
    StopOthers,
    /// Nothing passes between a node of a cluster and the others, so that they continue without it. Then it comes back as it was.
    Isolate,
    /// An administrator ends up to five sessions.
    EndSessions,
    /// A client process is killed with SIGKILL.
    KillClient,
    /// The application with forms is killed with SIGKILL, and started again.
    KillPages,
    /// A client process stands still (SIGSTOP) for up to 4 s.
    StopClient,
    /// A client has 24 tasks and one connection.
    StarveClient,
    /// All connections are reset.
    Reset,
    /// Nothing passes for up to 3 s, without an error.
    BlackHole,
    /// Each message is up to 100 ms late.
    Delay,
    /// A connection is cut before its COMMIT arrives.
    CutBeforeCommit,
    /// A connection is cut after its COMMIT was done, and before the answer.
    CutAfterCommit,
    /// The answer to an operation on leases is lost, with its connection.
    CutLock,
    /// Somebody else holds the file for up to 1.5 s.
    HoldFile,
    /// The database's clock is set forward or back by 1 s to an hour, and right again after up to 2 s.
    StepClock,
    /// The disk of the database is full for up to 1.5 s.
    FillDisk,
    /// The power is cut: what was not flushed to the disk is lost.
    CutPower,
    /// At the end, the file is replaced by an older copy.
    ReplaceFile,
}

impl Fault {
    const OF_CLIENTS: [Fault; 4] = [Fault::KillClient, Fault::KillPages, Fault::StopClient, Fault::StarveClient];
    const OF_SERVERS: [Fault; 9] = [
        Fault::KillServer,
        Fault::StopServer,
        Fault::EndSessions,
        Fault::Reset,
        Fault::BlackHole,
        Fault::Delay,
        Fault::CutBeforeCommit,
        Fault::CutAfterCommit,
        Fault::CutLock,
    ];

    const OF_CLUSTERS: [Fault; 3] = [Fault::StopNode, Fault::StopOthers, Fault::Isolate];

    const OF_MACHINES: [Fault; 3] = [Fault::StepClock, Fault::FillDisk, Fault::CutPower];

    /// Whether the database has to have a disk of its own for it.
    pub(crate) fn needs_disk(self) -> bool {
        matches!(self, Fault::FillDisk | Fault::CutPower)
    }

    /// Whether it takes so long, or ends so much, that once in a run is enough.
    pub(crate) fn is_rare(self) -> bool {
        self.needs_disk() || self == Fault::ReplaceFile
    }

    /// Whether a cluster is not whole again for many seconds.
    pub(crate) fn is_long(self) -> bool {
        matches!(self, Fault::KillServer | Fault::StopNode | Fault::StopOthers | Fault::Isolate)
    }

    /// All that a database can have.
    pub(crate) fn of(backend: Backend) -> Vec<Fault> {
        let of_clients = Self::OF_CLIENTS.into_iter();
        match backend {
            // Nothing here can cut off a node of Group Replication.
            Backend::GroupReplication | Backend::MultiPrimary => {
                of_clients.chain(Self::OF_SERVERS).chain([Fault::StopNode, Fault::StopOthers]).collect()
            }
            Backend::Galera | Backend::PostgresPair | Backend::Patroni => {
                of_clients.chain(Self::OF_SERVERS).chain(Self::OF_CLUSTERS).collect()
            }
            Backend::Postgres | Backend::MariaDb => {
                of_clients.chain(Self::OF_SERVERS).chain(Self::OF_MACHINES).collect()
            }
            Backend::Sqlite => {
                of_clients.chain([Fault::HoldFile]).chain(Self::OF_MACHINES).chain([Fault::ReplaceFile]).collect()
            }
        }
    }

    /// How often it is chosen: what takes long, seldom.
    pub(crate) fn weight(self) -> usize {
        match self {
            Fault::CutBeforeCommit | Fault::CutAfterCommit => 8,
            Fault::CutLock | Fault::EndSessions | Fault::KillClient => 4,
            Fault::Reset | Fault::Delay | Fault::StopClient | Fault::HoldFile | Fault::KillPages | Fault::StepClock => {
                2
            }
            Fault::KillServer | Fault::StopServer | Fault::StopNode | Fault::StopOthers | Fault::Isolate => 1,
            Fault::BlackHole | Fault::StarveClient => 1,
            Fault::FillDisk | Fault::CutPower => 1,
            // Once, at the end.
            Fault::ReplaceFile => 0,
        }
    }

    /// Its name, as on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Fault::KillServer => "kill-server",
            Fault::StopServer => "stop-server",
            Fault::StopNode => "stop-node",
            Fault::StopOthers => "stop-others",
            Fault::Isolate => "isolate",
            Fault::EndSessions => "end-sessions",
            Fault::KillClient => "kill-client",
            Fault::KillPages => "kill-pages",
            Fault::StopClient => "stop-client",
            Fault::StarveClient => "starve-client",
            Fault::Reset => "reset",
            Fault::BlackHole => "black-hole",
            Fault::Delay => "delay",
            Fault::CutBeforeCommit => "cut-before-commit",
            Fault::CutAfterCommit => "cut-after-commit",
            Fault::CutLock => "cut-lock",
            Fault::HoldFile => "hold-file",
            Fault::StepClock => "step-clock",
            Fault::FillDisk => "fill-disk",
            Fault::CutPower => "cut-power",
            Fault::ReplaceFile => "replace-file",
        }
    }
}
