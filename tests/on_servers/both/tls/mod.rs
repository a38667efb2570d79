//! Connections to a server: TLS to other hosts, certificate verification as the URL requires, plaintext only where allowed.
//!
//! A test server listens on 127.0.0.1. The address 0.0.0.0 reaches it as well, and is not a loopback address: so it stands for
//! another host.

mod certificates;
mod mariadb;
mod postgres;
mod urls;

use tenure::{Database, db::ConnectOptions, error::DatabaseError};

/// The same server, as another host.
fn remote(url: &str) -> String {
    url.replace("@127.0.0.1:", "@0.0.0.0:")
}

/// The connection error, which must name the override if it is about plaintext.
async fn refused(url: &str, options: ConnectOptions) -> String {
    let error = Database::connect_with(url, options.clone()).await.expect_err("it was connected");
    let looked = Database::diagnose_with(url, options).await.expect_err("the doctor went there");
    assert_eq!(looked.to_string(), error.to_string());
    assert!(matches!(error, DatabaseError::Unreachable { .. }), "{error:?}");
    assert!(!error.to_string().contains("secret") && !format!("{error:?}").contains("secret"), "{error:?}");
    error.to_string()
}

fn names_the_way_out(text: &str) {
    for words in ["not this machine", "ConnectOptions::allow_plaintext", "--allow-plaintext"] {
        assert!(text.contains(words), "{words:?} is not in: {text}");
    }
}
