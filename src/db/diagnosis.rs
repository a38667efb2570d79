//! The output of `tenure doctor`.

use std::fmt;

use crate::db::Connections;
use crate::db::capabilities::Capabilities;
use crate::db::migration;
use crate::error::DatabaseError;

/// The state of a database, read without changing it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The database and its capabilities.
    pub capabilities: Capabilities,
    /// How the connection is protected, as the server reports it.
    pub transport: Transport,
    /// Whether other nodes of a cluster accept writes beside this one.
    pub writers: Writers,
    /// The settings that decide whether acknowledged locks survive.
    pub settings: Vec<Setting>,
    /// How many connections a process opens at most with the given options.
    pub connections: Connections,
    /// How many connections the server allows for all its clients; `None` for a file.
    pub connections_allowed: Option<u32>,
    /// How far its clock is ahead of this machine's, in milliseconds, with an error of half a round trip. This machine's clock decides
    /// nothing; a difference only confuses people who compare times.
    pub clock_ahead_ms: i64,
    /// The numbers of the migrations that were applied.
    pub applied: Vec<i64>,
    /// The numbers of the migrations that this release knows.
    pub known: Vec<i64>,
}

/// How many nodes accept writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Writers {
    /// One: this server, as far as it reports.
    One,
    /// Several nodes of this cluster; the application declared that tenure uses one of them
    /// ([`ConnectOptions::one_writer_node`](crate::db::ConnectOptions::one_writer_node)).
    OneNodeOf(&'static str),
    /// Several nodes of this cluster: refused at connect, unless one node is declared.
    Refused(&'static str),
}

/// As the doctor prints it.
impl fmt::Display for Writers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Writers::One => f.write_str("this server"),
            Writers::OneNodeOf(cluster) => write!(f, "this node only, as declared: {cluster}"),
            Writers::Refused(cluster) => write!(
                f,
                "SEVERAL NODES: {cluster}. It is refused unless all connections of tenure go to one node: `--one-writer-node`, \
                 `ConnectOptions::one_writer_node`"
            ),
        }
    }
}

/// How the connection to a database is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transport {
    /// No network: the database is a file that this process opens itself.
    File,
    /// By TLS.
    Tls {
        /// The version as the server names it: `TLSv1.3`.
        version: String,
        /// The cipher suite as the server names it.
        cipher: String,
        /// How the server's certificate is checked.
        certificate: CertificateCheck,
    },
    /// Not at all.
    Plaintext {
        /// Whether the server is on this machine.
        local: bool,
    },
}

/// How a server's certificate is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateCheck {
    /// Not at all: an attacker on the network path can impersonate the server.
    Nothing,
    /// Its issuer, but not the host that it names.
    Authority,
    /// Its issuer, and the host that it names.
    AuthorityAndHost,
}

/// As the doctor prints it.
impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Transport::File => f.write_str("none, the database is a file"),
            Transport::Tls { version, cipher, certificate } => {
                write!(f, "{version}, {cipher}; ")?;
                f.write_str(match certificate {
                    CertificateCheck::Nothing => {
                        "the server's certificate is NOT CHECKED: `sslmode=verify-full` (PostgreSQL) or \
                         `ssl-mode=VERIFY_IDENTITY` (MariaDB, MySQL) in the URL does it"
                    }
                    CertificateCheck::Authority => {
                        "the server's certificate is checked, but not that it names this host"
                    }
                    CertificateCheck::AuthorityAndHost => "the server's certificate is checked",
                })
            }
            Transport::Plaintext { local: true } => f.write_str("plaintext, on this machine"),
            Transport::Plaintext { local: false } => f.write_str(
                "PLAINTEXT over the network, because it was allowed: anybody on the way reads and changes it",
            ),
        }
    }
}

/// A setting that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// The required value.
    pub wanted: &'static str,
    /// Whether the value is good.
    pub good: bool,
    /// The risk of another value.
    pub risk: &'static str,
}

impl Setting {
    /// A setting. It is good if it has the wanted value, or any value but `off` if that is the requirement.
    pub(crate) fn new(name: &'static str, value: String, wanted: &'static str, risk: &'static str) -> Self {
        let good = match wanted {
            "not off" => value != "off",
            wanted => value.eq_ignore_ascii_case(wanted),
        };
        Setting { name, value, wanted, good, risk }
    }
}

/// For refusals: the setting, the risk, and the remedy.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setting { name, value, wanted, risk, .. } = self;
        write!(f, "{name} is `{value}`, wanted: {wanted}. {risk} Set it, or connect with `allow_unsafe_durability`")
    }
}

impl Diagnosis {
    /// Whether tenure can be used as it is: no setting loses locks, the cluster is not refused, and the tables are of this release or there
    /// are none yet.
    pub fn is_healthy(&self) -> bool {
        self.settings.iter().all(|setting| setting.good)
            && self.usable().is_ok()
            && !matches!(self.writers, Writers::Refused(_))
    }

    /// Whether a newer release has migrated it.
    fn is_newer(&self) -> bool {
        self.applied.iter().any(|number| !self.known.contains(number))
    }

    /// Refuses a database that a newer release has migrated, or a checkout before the first release.
    pub(crate) fn usable(&self) -> Result<(), DatabaseError> {
        if self.is_unreleased() {
            return Err(DatabaseError::Schema(migration::UNRELEASED.to_owned()));
        }
        match self.is_newer() {
            true => Err(DatabaseError::Schema(format!("it is {}; use the newer release", self.schema()))),
            false => Ok(()),
        }
    }

    fn is_unreleased(&self) -> bool {
        migration::is_unreleased(&self.applied)
    }

    fn schema(&self) -> String {
        let list = |numbers: &[i64]| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let missing: Vec<_> = self.known.iter().copied().filter(|number| !self.applied.contains(number)).collect();
        if self.is_unreleased() {
            return format!("UNRELEASED: {}", migration::UNRELEASED);
        }
        match (self.is_newer(), &missing[..]) {
            (true, _) => {
                format!("NEWER than this release: it has {}, known are {}", list(&self.applied), list(&self.known))
            }
            (false, []) => format!("up to date ({})", list(&self.applied)),
            (false, missing) => format!("{} will be applied at the next start", list(missing)),
        }
    }
}

/// One screen.
impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.capabilities)?;
        writeln!(f, "connection                {}", self.transport)?;
        write!(f, "connections               {}", self.connections)?;
        match self.connections_allowed {
            Some(allowed) => writeln!(f, "; the server allows {allowed} for all")?,
            None => writeln!(f)?,
        }
        writeln!(f, "accepts writes            {}", self.writers)?;
        writeln!(f, "clock                     {:+} ms from this machine's", self.clock_ahead_ms)?;
        writeln!(f, "schema                    {}", self.schema())?;
        for setting in &self.settings {
            let Setting { name, value, wanted, risk, .. } = setting;
            let verdict = if setting.good { "ok".to_owned() } else { format!("BAD, wanted: {wanted}. {risk}") };
            writeln!(f, "{name:<25} {value}  {verdict}")?;
        }
        f.write_str(if self.is_healthy() { "\nhealthy" } else { "\nNOT healthy: see the lines in capitals" })
    }
}
