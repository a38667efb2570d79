//! The reference shop: `cargo run`, open two browsers, and change the same order.

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

use clap::Parser;
use shop::config::{Command, Config, MemberCommand};
use shop::domain::Role;
use shop::{Accounts, Shop, open, seed, serve};
use tenure::{Database, db::ConnectOptions, error::DatabaseError};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;
use url::Url;

#[tokio::main]
async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,shop=info,tenure=info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let config = Config::parse();
    let (done, failed) = match config.command.clone() {
        None => (run(config).await, "The shop could not start"),
        Some(Command::Member(command)) => (member(&config, command).await, "Nothing was changed"),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{failed}: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(config: Config) -> Result<(), Box<dyn std::error::Error>> {
    let (settings, accounts) = (config.settings()?, config.accounts());
    let shop = open(connect(&config).await?, accounts).await?;
    let listener = TcpListener::bind(config.listen).await.map_err(|error| {
        format!("cannot listen on {}: {error}; choose another address with --listen", config.listen)
    })?;
    greet(&listener.local_addr()?.to_string(), &without_password(&config.database_url));
    say_who_can_sign_in(&shop, accounts).await?;
    println!("\nStop it with Ctrl-C.");
    serve(listener, shop, settings, stop_requested()).await?;
    println!("The shop is closed.");
    Ok(())
}

async fn connect(config: &Config) -> Result<Database, DatabaseError> {
    let options = ConnectOptions::new();
    let options = if config.allow_plaintext { options.allow_plaintext() } else { options };
    let options = if config.one_writer_node { options.one_writer_node() } else { options };
    let options = if config.allow_linked_file { options.allow_linked_file() } else { options };
    Database::connect_with(&config.database_url, options).await
}

fn greet(address: &str, database_url: &str) {
    println!("The shop is open.\n");
    println!("  http://{address}/            what it is about, and the ways in");
    println!("  http://{address}/locks       who is editing what (operators)\n");
    println!("Data: {database_url}.");
}

async fn say_who_can_sign_in(shop: &Shop, accounts: Accounts) -> Result<(), Box<dyn std::error::Error>> {
    let demo = shop.demo_members().await?;
    if accounts == Accounts::Demo && !demo.is_empty() {
        println!("This is a demo: everybody can sign in as one of these, with the password {}\n", seed::DEMO_PASSWORD);
        for (id, name, role, _) in
            seed::members().into_iter().filter(|(id, ..)| demo.iter().any(|own| own == id.as_str()))
        {
            println!("  {:<10} {:?}, {name}", id.as_str(), role);
        }
    } else if !shop.has_members().await? {
        println!("\nNobody can sign in yet. Make the first member: shop member add NAME --operator");
        println!("(on this database: --database-url or DATABASE_URL). Or start it as a demo: --demo");
    } else if !demo.is_empty() {
        println!("\n{} accounts of the demo are in this database, and cannot sign in without --demo.", demo.len());
        println!("Give those that are needed a password of their own: shop member password NAME");
    }
    Ok(())
}

/// Adds a member, or sets a password. Only migrates the tables first, and adds nobody else.
async fn member(config: &Config, command: MemberCommand) -> Result<(), Box<dyn std::error::Error>> {
    let shop = open(connect(config).await?, Accounts::Own).await?;
    match command {
        MemberCommand::Add { id, name, operator } => {
            let role = if operator { Role::Operator } else { Role::Customer };
            let member = shop.add_member(&id, name.as_deref().unwrap_or(&id), role, &password()?).await?;
            println!("{} can sign in now.", member.id());
        }
        MemberCommand::Password { id } => {
            shop.set_password(&id, &password()?).await?;
            println!("The password of {id} is set, and every session of theirs is ended.");
        }
    }
    shop.database().close().await;
    Ok(())
}

/// From the terminal, twice and hidden; or the first line of piped input.
fn password() -> Result<String, Box<dyn std::error::Error>> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        let password = rpassword::prompt_password("Password (at least 12 characters): ")?;
        if rpassword::prompt_password("Once more: ")? != password {
            return Err("the two passwords are not the same; try again".into());
        }
        return Ok(password);
    }
    let mut line = String::new();
    stdin.lock().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// The URL for display: `postgres://shop:secret@host/db?password=secret` without the secrets. The query is dropped, because
/// it is not needed to identify the database.
fn without_password(url: &str) -> String {
    // The name of a file contains no secrets, and is printed as typed.
    if url.starts_with("sqlite:") {
        return url.split('?').next().unwrap_or_default().to_owned();
    }
    let Ok(mut parsed) = Url::parse(url) else {
        return format!("{}://…", url.split("://").next().unwrap_or_default());
    };
    parsed.set_query(None);
    parsed.set_fragment(None);
    // A URL without a host has no password to remove.
    let _ = parsed.set_password(None);
    parsed.to_string()
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
        assert_eq!(
            without_password("postgres://db.example/shop?user=shop&password=s3cr@t"),
            "postgres://db.example/shop"
        );
        assert_eq!(without_password("mysql://shop:s3cr?t@db.example/shop"), "mysql://…");
        assert_eq!(without_password("mysql://shop:s3%40cr@[::1]:3306/shop"), "mysql://shop@[::1]:3306/shop");
        assert_eq!(without_password("sqlite://shop.db"), "sqlite://shop.db");
    }
}
