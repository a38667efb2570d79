//! The memory of a process that holds many leases: a separate process, because the memory of this one was used before.

use std::process::Command;

use super::tenure::Tenure;
use crate::Outcome;
use crate::backend::{Backend, Databases};
use crate::effort::Effort;
use crate::process::resident;
use crate::report::{Figure, Report};

/// Leases that are acquired before the first measurement.
const WARM_UP: usize = 256;

/// Measures one database.
pub(crate) async fn measure(
    id: &str,
    backend: Backend,
    effort: &Effort,
    databases: &Databases,
    report: &mut Report,
) -> Outcome<()> {
    let mut process = Command::new(std::env::current_exe()?);
    process.arg("--hold-leases").arg(effort.leases.to_string()).arg(databases.fresh(backend));
    // It blocks, but no other task runs.
    let output = process.output()?;
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    }
    let bytes: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    let mebibytes = bytes / 1024.0 / 1024.0 * 10_000.0 / effort.leases as f64;
    report.add(Figure::new(format!("{id}.per_10000_leases"), mebibytes, "MiB"))
}

/// The work of that process: prints the additional bytes in use with this number of leases.
pub(crate) async fn hold_and_print(url: &str, leases: usize) -> Outcome<()> {
    let tenure = Tenure::open(url).await?;
    drop(tenure.hold("warm-up", WARM_UP).await?);
    let before = resident()?;
    let held = tenure.hold("form", leases).await?;
    let after = resident()?;
    println!("{}", after - before);
    drop(held);
    Ok(())
}
