//! The shop as a process of its own, which can be killed, stopped and started again on the same file.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Result;

/// A running shop, killed when the last clone is dropped.
#[derive(Debug, Clone)]
pub(super) struct Server {
    address: SocketAddr,
    file: PathBuf,
    /// The name of its mistake, if it is a wrong build.
    planted: Option<&'static str>,
    child: Arc<Mutex<Running>>,
}

#[derive(Debug)]
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop((self.0.kill(), self.0.wait()));
    }
}

impl Server {
    /// Starts a shop on a new file in this folder.
    pub(super) fn start(folder: &Path, planted: Option<&'static str>) -> Result<Self> {
        // The port is free again when the shop asks for it.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let file = folder.join("shop.db");
        let child = Arc::new(Mutex::new(spawn(&file, address, planted)?));
        Ok(Server { address, file, planted, child })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of its database.
    pub(super) fn database(&self) -> String {
        format!("sqlite://{}", self.file.display())
    }

    /// Like `kill -9`.
    pub(super) fn kill(&self) {
        let mut running = self.running();
        drop((running.0.kill(), running.0.wait()));
    }

    /// Starts it again on the same file, at the same address.
    pub(super) fn start_again(&self) -> Result<()> {
        *self.running() = spawn(&self.file, self.address, self.planted)?;
        Ok(())
    }

    /// Stops the process, or lets it go on.
    pub(super) fn pause(&self, stopped: bool) {
        let id = self.running().0.id();
        if stopped { testkit::stop_tree(id) } else { testkit::continue_tree(id) }
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns once it is open.
fn spawn(file: &Path, address: SocketAddr, planted: Option<&str>) -> Result<Running> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("shop").arg("--file").arg(file).arg("--listen").arg(address.to_string());
    command.args(planted.into_iter().flat_map(|name| ["--planted", name]));
    // It ends when this process ends: then its standard input is closed.
    let mut child = Running(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?);
    let said = child.0.stdout.take().ok_or("its output is piped")?;
    match BufReader::new(said).lines().next() {
        Some(Ok(_)) => Ok(child),
        _ => Err("the shop has ended at its start".into()),
    }
}
