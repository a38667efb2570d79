//! Connections to a server: TLS to other hosts, certificate verification as the URL requires, plaintext only where allowed.
//!
//! A test server listens on 127.0.0.1. The address 0.0.0.0 reaches it as well, and is not a loopback address: so it stands for
//! another host.

mod certificates;
mod mariadb;
mod postgres;
mod urls;

use tenure::{
    Database, LockKey, LockManager, Owner,
    db::{CertificateCheck, ConnectOptions, Transport},
    error::DatabaseError,
};

use certificates::Authority;

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

async fn transport(url: &str) -> Transport {
    Database::diagnose(url).await.unwrap().transport
}

/// Connects without a mode in the URL, which must not fall back to plaintext; looks at the server while connections are open.
async fn every_connection_uses_tls(url: &str, look: impl FnOnce()) {
    let db = Database::connect(url).await.unwrap();
    let (locks, key) = (LockManager::new(&db), LockKey::new("Order", "1"));
    let lease = locks.try_lock(&key, &Owner::new("kim", "Kim")).await.unwrap();
    locks.check_lock(lease.id()).await.unwrap();
    let tx = db.begin().await.unwrap();
    look();
    tx.rollback().await.unwrap();
    match transport(url).await {
        Transport::Tls { version, cipher, certificate } => {
            assert_eq!((&*version, certificate), ("TLSv1.3", CertificateCheck::Nothing));
            assert!(cipher.starts_with("TLS_"), "{cipher}");
        }
        other => panic!("{other:?}"),
    }
    db.close().await;
}

/// What of a certificate by `authority` each setting of the URL verifies; and that it refuses one of another authority, if it verifies any.
async fn certificate_is_verified(
    url: impl Fn(&str, &Authority) -> String,
    authority: &Authority,
    settings: &[(&str, CertificateCheck)],
) {
    let other = Authority::new();
    for (setting, check) in settings {
        match transport(&url(setting, authority)).await {
            Transport::Tls { certificate, .. } => assert_eq!(certificate, *check, "{setting}"),
            other => panic!("{setting}: {other:?}"),
        }
        if *check != CertificateCheck::Nothing {
            let text = refused(&url(setting, &other), ConnectOptions::new()).await;
            assert!(text.contains("certificate of 0.0.0.0 is not accepted"), "{setting}: {text}");
        }
    }
}

/// A server without TLS, by settings of the URL that do not require it, and by those that do.
async fn plaintext_needs_permission(url: &str, modest: &[&str], demanding: &[&str]) {
    for setting in modest {
        let remote = format!("{}{setting}", remote(url));
        names_the_way_out(&refused(&remote, ConnectOptions::new()).await);
        let allowed = ConnectOptions::new().allow_plaintext();
        let looked = Database::diagnose_with(&remote, allowed.clone()).await.unwrap();
        assert_eq!(looked.transport, Transport::Plaintext { local: false }, "{setting}");
        assert!(looked.to_string().contains("PLAINTEXT over the network"), "{looked}");
        Database::connect_with(&remote, allowed).await.unwrap().close().await;
    }
    for setting in demanding {
        let text = refused(&format!("{url}{setting}"), ConnectOptions::new().allow_plaintext()).await;
        assert!(text.contains("does not offer TLS, which the URL asks for"), "{text}");
    }
    assert_eq!(transport(url).await, Transport::Plaintext { local: true });
}
