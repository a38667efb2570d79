//! MariaDB with a certificate, with a wrong one, and without.

use tenure::db::{CertificateCheck, ConnectOptions};
use testkit::{DATABASE, MariaDb};

use super::certificates::{Authority, Signed};
use super::{certificate_is_verified, every_connection_uses_tls, plaintext_needs_permission, refused, remote};

fn server(signed: Signed) -> MariaDb {
    let server = MariaDb::builder().file("server.crt", signed.certificate).file("server.key", signed.key);
    server.setting("ssl-cert", "../server.crt").setting("ssl-key", "../server.key").start().unwrap()
}

#[tokio::test]
async fn all_connections_to_another_host_use_tls() {
    let server = server(Authority::new().signs("0.0.0.0"));
    // From now on the server refuses connections without TLS; its own client program would be refused as well.
    server.query(DATABASE, "alter user tenure@'%' require ssl").unwrap();
    every_connection_uses_tls(&remote(&server.url(DATABASE)), || ()).await;
}

#[tokio::test]
async fn certificate_verification_follows_the_url() {
    let authority = Authority::new();
    let server = server(authority.signs("0.0.0.0"));
    let url = |setting: &str, authority: &Authority| {
        remote(&format!("{}?{setting}&ssl-ca={}", server.url(DATABASE), authority.file.display()))
    };
    let settings = [
        ("ssl-mode=verify_identity", CertificateCheck::AuthorityAndHost),
        ("ssl-mode=VERIFY_CA", CertificateCheck::Authority),
        // A certificate authority without a mode enables verification, as in MySQL's own programs; `required` alone does not.
        ("charset=utf8mb4", CertificateCheck::Authority),
        ("ssl-mode=required", CertificateCheck::Nothing),
    ];
    certificate_is_verified(url, &authority, &settings).await;
    let by_name = url("ssl-mode=verify_identity", &authority).replace("0.0.0.0", "localhost");
    let text = refused(&by_name, ConnectOptions::new()).await;
    assert!(text.contains("certificate of localhost is not accepted"), "{text}");
}

#[tokio::test]
async fn plaintext_to_another_host_is_refused_unless_allowed() {
    let url = testkit::new_database(testkit::Kind::MariaDb);
    let modest = ["", "?ssl-mode=preferred", "?ssl-mode=disabled"];
    plaintext_needs_permission(&url, &modest, &["?ssl-mode=required"]).await;
}
