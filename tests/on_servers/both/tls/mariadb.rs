//! MariaDB with a certificate, with a wrong one, and without.

use tenure::{
    Database, LockKey, LockManager, Owner,
    db::{CertificateCheck, ConnectOptions, Transport},
};
use testkit::{DATABASE, MariaDb};

use super::certificates::{Authority, Signed};
use super::{names_the_way_out, refused, remote};

fn server(signed: Signed) -> MariaDb {
    let server = MariaDb::builder().file("server.crt", signed.certificate).file("server.key", signed.key);
    server.setting("ssl-cert", "../server.crt").setting("ssl-key", "../server.key").start().unwrap()
}

async fn transport(url: &str) -> Transport {
    Database::diagnose(url).await.unwrap().transport
}

#[tokio::test]
async fn all_connections_to_another_host_use_tls() {
    let authority = Authority::new();
    let server = server(authority.signs("0.0.0.0"));
    let url = remote(&server.url(DATABASE));
    // From now on the server refuses connections without TLS; its own client program would be refused as well.
    server.query(DATABASE, "alter user tenure@'%' require ssl").unwrap();
    let db = Database::connect(&url).await.unwrap();
    let (locks, key) = (LockManager::new(&db), LockKey::new("Order", "1"));
    let lease = locks.try_lock(&key, &Owner::new("kim", "Kim")).await.unwrap();
    locks.check_lock(lease.id()).await.unwrap();
    db.begin().await.unwrap().rollback().await.unwrap();
    match transport(&url).await {
        Transport::Tls { version, cipher, certificate } => {
            assert_eq!((&*version, certificate), ("TLSv1.3", CertificateCheck::Nothing));
            assert!(cipher.starts_with("TLS_"), "{cipher}");
        }
        other => panic!("{other:?}"),
    }
    db.close().await;
}

#[tokio::test]
async fn certificate_verification_follows_the_url() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = server(authority.signs("0.0.0.0"));
    let url = |settings: &str, authority: &Authority| {
        remote(&format!("{}?{settings}&ssl-ca={}", server.url(DATABASE), authority.file.display()))
    };
    let check = async |settings: &str| match transport(&url(settings, &authority)).await {
        Transport::Tls { certificate, .. } => certificate,
        other => panic!("{other:?}"),
    };
    assert_eq!(check("ssl-mode=verify_identity").await, CertificateCheck::AuthorityAndHost);
    assert_eq!(check("ssl-mode=VERIFY_CA").await, CertificateCheck::Authority);
    // A certificate authority without a mode enables verification, as in MySQL's own programs; `required` alone does not.
    assert_eq!(check("charset=utf8mb4").await, CertificateCheck::Authority);
    assert_eq!(check("ssl-mode=required").await, CertificateCheck::Nothing);
    for mode in ["ssl-mode=verify_identity", "ssl-mode=verify_ca", "charset=utf8mb4"] {
        let text = refused(&url(mode, &other), ConnectOptions::new()).await;
        assert!(text.contains("certificate of 0.0.0.0 is not accepted"), "{mode}: {text}");
    }
    let other_host = remote(&server.url(DATABASE)).replace("0.0.0.0", "localhost");
    let by_name = format!("{other_host}?ssl-mode=verify_identity&ssl-ca={}", authority.file.display());
    let text = refused(&by_name, ConnectOptions::new()).await;
    assert!(text.contains("certificate of localhost is not accepted"), "{text}");
}

#[tokio::test]
async fn plaintext_to_another_host_is_refused_unless_allowed() {
    let url = testkit::new_database(testkit::Kind::MariaDb);
    for mode in ["", "?ssl-mode=preferred", "?ssl-mode=disabled"] {
        names_the_way_out(&refused(&format!("{}{mode}", remote(&url)), ConnectOptions::new()).await);
        let allowed = ConnectOptions::new().allow_plaintext();
        let looked = Database::diagnose_with(&format!("{}{mode}", remote(&url)), allowed.clone()).await.unwrap();
        assert_eq!(looked.transport, Transport::Plaintext { local: false }, "{mode}");
        Database::connect_with(&format!("{}{mode}", remote(&url)), allowed).await.unwrap().close().await;
    }
    let text = refused(&format!("{url}?ssl-mode=required"), ConnectOptions::new()).await;
    assert!(text.contains("does not offer TLS, which the URL asks for"), "{text}");
    assert_eq!(transport(&url).await, Transport::Plaintext { local: true });
}
