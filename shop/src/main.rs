//! The reference shop: `cargo run`, open two browsers, and change the same order.

use std::process::ExitCode;

use clap::Parser;
use shop::config::Config;
use shop::{open, seed, serve};
use tenure::{ConnectOptions, Database};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,shop=info,tenure=info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match run(Config::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("The shop could not start: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(config: Config) -> Result<(), Box<dyn std::error::Error>> {
    let options = ConnectOptions::new();
    let options = if config.allow_plaintext { options.allowing_plaintext() } else { options };
    let db = Database::connect_with(&config.database_url, options).await?;
    let shop = open(db).await?;
    let listener = TcpListener::bind(config.listen).await.map_err(|error| {
        format!("cannot listen on {}: {error}; choose another address with --listen", config.listen)
    })?;
    greet(&listener.local_addr()?.to_string(), &without_password(&config.database_url));
    serve(listener, shop, config.secure_cookies, stop_requested()).await?;
    println!("The shop is closed.");
    Ok(())
}

fn greet(address: &str, database_url: &str) {
    println!("The shop is open.\n");
    println!("  http://{address}/            orders (open it in two browsers)");
    println!("  http://{address}/locks       who is editing what (operators)\n");
    println!("Data: {database_url}. Everybody's password: {}\n", seed::DEMO_PASSWORD);
    for (id, name, role, _) in seed::members() {
        println!("  {:<10} {:?}, {name}", id.as_str(), role);
    }
    println!("\nStop it with Ctrl-C.");
}

/// The URL as it may be shown: `postgres://shop:secret@host/db` without the secret.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    match rest.rsplit_once('@') {
        Some((user, place)) => format!("{scheme}://{}@{place}", user.split(':').next().unwrap_or_default()),
        None => url.to_owned(),
    }
}

/// Ctrl-C, or the signal that service managers send.
async fn stop_requested() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = interrupted => {}
                _ = terminated.recv() => {}
            }
            return;
        }
    }
    let _ = interrupted.await;
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(without_password("postgres://shop:s3:cr@t@db.example/shop"), "postgres://shop@db.example/shop");
        assert_eq!(without_password("sqlite://shop.db"), "sqlite://shop.db");
    }
}
