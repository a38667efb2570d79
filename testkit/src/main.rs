//! `cargo run -p testkit` starts both servers, prints the variables with their URLs, and keeps them running
//! until its standard input ends.

use std::io::{self, Read};
use std::thread;

use testkit::{DATABASE, Kind, MariaDb, Postgres, StartError};

fn main() -> Result<(), StartError> {
    let other = thread::spawn(MariaDb::start);
    let postgres = Postgres::start()?;
    let mariadb = other.join().expect("starting MariaDB does not panic")?;
    println!("export {}={}", Kind::Postgres.variable(), postgres.url(DATABASE));
    println!("export {}={}", Kind::MariaDb.variable(), mariadb.url(DATABASE));
    eprintln!("Both servers run until Ctrl-D.");
    let _ = io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}
