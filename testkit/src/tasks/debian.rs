//! The Debian packages that the tests need. Only missing ones are installed, and only by root or through sudo.

use std::process::{Command, Output, Stdio};

/// Ensures that these packages are installed.
///
/// # Errors
/// What to do.
pub fn install(packages: &[&str]) -> Result<(), String> {
    let missing: Vec<_> = packages.iter().copied().filter(|package| !is_installed(package)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    let by_hand = format!("please run: apt-get update && apt-get install {names}");
    if succeeds("apt-get", &["--version"]).is_err() {
        return Err(format!("this machine has no apt-get; please install the likes of: {names}"));
    }
    let mut prefix = Vec::new();
    if !is_root() {
        // Without -n it would prompt for a password, and CI would hang.
        succeeds("sudo", &["-n", "true"]).map_err(|_| format!("only root may install; {by_hand}"))?;
        prefix.extend(["sudo", "-n"]);
    }
    println!("==> packages: installing {names}");
    // A new machine has no package lists, or old ones with versions that do not exist any more.
    let waiting = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300", "-qq"];
    for arguments in [vec!["update"], [vec!["install", "--yes", "--no-install-recommends"], missing].concat()] {
        let line = [&prefix[..], &waiting, &arguments].concat();
        succeeds(line[0], &line[1..]).map_err(|reason| format!("apt-get {}: {reason}; {by_hand}", arguments[0]))?;
    }
    Ok(())
}

fn is_installed(package: &str) -> bool {
    let format = "--showformat=${db:Status-Status}";
    succeeds("dpkg-query", &["--show", format, package]).is_ok_and(|output| output.stdout == b"installed")
}

fn is_root() -> bool {
    succeeds("id", &["-u"]).is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Runs a program silently, or returns its last lines as the error.
fn succeeds(program: &str, arguments: &[&str]) -> Result<Output, String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program} could not be started: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = said.lines().collect();
    Err(format!("{}: {}", output.status, lines[lines.len().saturating_sub(5)..].join(" / ")))
}
