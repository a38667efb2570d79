//! The shop as a real program, in a separate process.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use super::client::Visitor;

/// An unprivileged user.
const NOBODY: u32 = 65_534;

/// A running shop, killed when it is dropped.
pub struct Program {
    pub base: String,
    child: Child,
}

impl Program {
    /// Starts the shop on a file in this folder, with its log beside it.
    pub fn start(folder: &Path) -> Program {
        let mut child = command(folder).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        // It prints its address once it listens.
        while !line.contains("http://") {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "it has ended: {}", log(folder));
        }
        let base = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
        let base = base.trim_end_matches('/').to_owned();
        // Without a reader, a full pipe would stop the program.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Program { base, child }
    }

    /// Lets it start and exit, as a user bound by permissions: root becomes nobody.
    pub fn run_without_rights(folder: &Path) -> (ExitStatus, String) {
        let mut command = command(folder);
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            command.uid(NOBODY).gid(NOBODY);
        }
        let status = command.stdout(Stdio::null()).status().unwrap();
        (status, log(folder))
    }

    /// Like `kill -9`.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub async fn sign_in(&self, login: &str) -> Visitor {
        Visitor::signed_in(&self.base, login).await
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop((self.child.kill(), self.child.wait()));
    }
}

/// Everything that it logged there.
pub fn log(folder: &Path) -> String {
    fs::read_to_string(folder.join("shop.log")).unwrap()
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shop"));
    command
        .args(["--demo", "--listen", "127.0.0.1:0", "--database-url"])
        .arg(format!("sqlite://{}/shop.db", folder.display()));
    let log = fs::File::options().create(true).append(true).open(folder.join("shop.log")).unwrap();
    command
        .env("RUST_LOG", "trace")
        .env_remove("DATABASE_URL")
        .env_remove("LISTEN")
        .env_remove("SHOP_HOSTS")
        .stdin(Stdio::null())
        .stderr(log);
    command
}
