//! A Galera cluster of three nodes that all accept writes, of the installed MariaDB: Debian's package has the provider. The suite of MariaDB
//! runs on one node of it, as it declares, and what concerns several nodes has a test program of its own.

use testkit::tasks::{cargo, debian, root};
use testkit::{Galera, Kind};

use crate::VERIFY;
use crate::suites::passes;

/// Its name for `--only`.
pub(crate) const NAME: &str = "galera";

/// The tests of the suite that declare one writer node: not `answers`, whose processes go through a proxy.
const TESTS: [&str; 5] = ["mysql::", "--skip", "both::", "--skip", "mysql::answers::"];

/// The suite on one node.
fn suite() -> Vec<&'static str> {
    let all = ["test", "--workspace", "--all-features", "--no-fail-fast", "--test", "on_servers", "--"];
    all.into_iter().chain(TESTS).collect()
}

/// What concerns several nodes, on a cluster of its own.
const ACROSS: [&str; 5] = ["test", "--workspace", "--all-features", "--test", "galera"];

/// The command lines.
pub(crate) fn line() -> String {
    format!("{}=… cargo {}; cd {VERIFY} && cargo {}", Kind::MariaDb.variable(), suite().join(" "), ACROSS.join(" "))
}

/// Runs both; returns the tested version.
pub(crate) fn test() -> Result<String, String> {
    debian::install(&[Kind::MariaDb.package()])?;
    let galera = Galera::start(3, &[("max_connections", "400")]).map_err(|error| error.to_string())?;
    let version = "select concat(version(), ', Galera ', variable_value) from information_schema.global_status \
                   where variable_name = 'wsrep_provider_version'";
    let version = galera.nodes()[0].query("information_schema", version).map_err(|error| error.to_string())?;
    let url = galera.urls().into_iter().next().unwrap_or_default();
    passes(cargo().args(suite()).env(Kind::MariaDb.variable(), url).current_dir(root()), &version)?;
    drop(galera);
    passes(cargo().args(ACROSS).current_dir(root().join(VERIFY)), &version)?;
    Ok(version)
}
