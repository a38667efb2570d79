//! PostgreSQL with a certificate, with a wrong one, and without.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use tenure::db::{CertificateCheck, ConnectOptions, Transport};
use testkit::{DATABASE, Postgres};

use super::certificates::{Authority, Signed};
use super::{
    certificate_is_verified, every_connection_uses_tls, names_the_way_out, plaintext_needs_permission, refused, remote,
    transport,
};

fn server(signed: Signed) -> Postgres {
    let server = Postgres::builder().file("server.crt", signed.certificate).file("server.key", signed.key);
    let server = server.setting("ssl", "on").setting("ssl_cert_file", "../server.crt");
    server.setting("ssl_key_file", "../server.key").start().unwrap()
}

#[tokio::test]
async fn all_connections_to_another_host_use_tls() {
    let server = server(Authority::new().signs("0.0.0.0"));
    let count = |ssl| {
        let ours =
            "select count(*) from pg_stat_activity join pg_stat_ssl using (pid) where application_name = 'tenure'";
        server.query(DATABASE, &format!("{ours} and {ssl}")).unwrap().parse::<u32>().unwrap()
    };
    let look = || {
        assert_eq!(count("not ssl"), 0);
        assert!(count("ssl") >= 2, "the pool's, and that of the batches: {}", count("ssl"));
    };
    every_connection_uses_tls(&remote(&server.url(DATABASE)), look).await;
}

#[tokio::test]
async fn certificate_verification_follows_the_url() {
    let authority = Authority::new();
    let server = server(authority.signs("0.0.0.0"));
    let url = |setting: &str, authority: &Authority| {
        remote(&format!("{}?{setting}&sslrootcert={}", server.url(DATABASE), authority.file.display()))
    };
    let settings = [
        ("sslmode=verify-full", CertificateCheck::AuthorityAndHost),
        // With a root certificate, `require` verifies it, as the manuals of PostgreSQL and of the driver say.
        ("sslmode=verify-ca", CertificateCheck::Authority),
        ("sslmode=require", CertificateCheck::Authority),
        ("sslmode=prefer", CertificateCheck::Authority),
        ("sslmode=allow", CertificateCheck::Authority),
    ];
    certificate_is_verified(url, &authority, &settings).await;
    // No authority that this machine trusts has signed it.
    let text = refused(&remote(&format!("{}?sslmode=verify-full", server.url(DATABASE))), ConnectOptions::new()).await;
    assert!(text.contains("sslrootcert"), "{text}");
}

#[tokio::test]
async fn a_certificate_of_another_host_is_refused() {
    let authority = Authority::new();
    let server = server(authority.signs("db.example"));
    let url =
        |mode| remote(&format!("{}?sslmode={mode}&sslrootcert={}", server.url(DATABASE), authority.file.display()));
    let text = refused(&url("verify-full"), ConnectOptions::new()).await;
    assert!(text.contains("certificate of 0.0.0.0 is not accepted"), "{text}");
    assert!(matches!(transport(&url("verify-ca")).await, Transport::Tls { .. }));
}

#[tokio::test]
async fn plaintext_to_another_host_is_refused_unless_allowed() {
    let url = testkit::new_database(testkit::Kind::Postgres);
    let modest = ["", "?sslmode=prefer", "?sslmode=allow", "?sslmode=disable"];
    plaintext_needs_permission(&url, &modest, &["?sslmode=require", "?sslmode=verify-ca", "?sslmode=verify-full"])
        .await;
}

/// The bytes that a server without TLS receives when it asks for the password in the clear.
fn greedy(listener: &TcpListener) -> Vec<u8> {
    let (mut stream, _) = listener.accept().unwrap();
    let mut received = Vec::new();
    let message = |stream: &mut TcpStream, typed: bool| -> std::io::Result<Vec<u8>> {
        let mut head = vec![0; if typed { 5 } else { 4 }];
        stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes(head[head.len() - 4..].try_into().unwrap()) as usize;
        let mut body = vec![0; length.saturating_sub(4)];
        stream.read_exact(&mut body)?;
        Ok(body)
    };
    let mut first = match message(&mut stream, false) {
        Ok(first) => first,
        Err(_) => return received,
    };
    if first == 80_877_103_u32.to_be_bytes() {
        let _ = stream.write_all(b"N");
        received.extend(first);
        first = message(&mut stream, false).unwrap_or_default();
    }
    received.extend(first);
    // AuthenticationCleartextPassword.
    let _ = stream.write_all(b"R\0\0\0\x08\0\0\0\x03");
    received.extend(message(&mut stream, true).unwrap_or_default());
    received
}

#[tokio::test]
async fn password_is_not_sent_in_the_clear() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://tenure:secret@0.0.0.0:{}/shop", listener.local_addr().unwrap().port());
    // Twice: for the connection, and for the doctor.
    let server = std::thread::spawn(move || [greedy(&listener), greedy(&listener)].concat());
    names_the_way_out(&refused(&url, ConnectOptions::new()).await);
    let received = server.join().unwrap();
    assert!(!received.is_empty());
    assert!(
        !received.windows(6).any(|bytes| bytes == b"secret" || bytes == b"tenure"),
        "it got the user or the password"
    );
}
