//! The process of the shop: the real one, with leases that expire within seconds.

use std::future::pending;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use shop::{Accounts, Settings, Shop};
use tenure::lease::Acquire;
use tenure::{Database, LockPolicy};
use tokio::net::TcpListener;

use super::Result;

/// How long a lease lives without a heartbeat.
pub(super) const TTL: Duration = Duration::from_secs(5);

/// Where it listens, and its data.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    #[arg(long)]
    listen: SocketAddr,
    #[arg(long)]
    file: PathBuf,
    /// The mistake of a wrong build
    #[cfg(feature = "planted")]
    #[arg(long)]
    planted: Option<super::planted::Bug>,
}

/// Serves the shop until the process ends.
pub(super) async fn run(options: &Options) -> Result<()> {
    std::thread::spawn(|| {
        // The end of the process that started it, however it ended.
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    let db = Database::connect(&format!("sqlite://{}", options.file.display())).await?;
    let policy = LockPolicy::exclusive().acquiring(Acquire::OnFirstEdit).ttl(TTL)?;
    let shop = shop::open(db, Accounts::Demo).await?.with_order_policy(policy);
    let listener = TcpListener::bind(options.listen).await?;
    println!("open");
    std::io::stdout().flush()?;
    serve(listener, shop, options).await
}

#[cfg(feature = "planted")]
async fn serve(listener: TcpListener, shop: Shop, options: &Options) -> Result<()> {
    match options.planted {
        Some(bug) => super::planted::serve(listener, shop, bug).await,
        None => Ok(shop::serve(listener, shop, Settings::default(), pending()).await?),
    }
}

#[cfg(not(feature = "planted"))]
async fn serve(listener: TcpListener, shop: Shop, _: &Options) -> Result<()> {
    Ok(shop::serve(listener, shop, Settings::default(), pending()).await?)
}
