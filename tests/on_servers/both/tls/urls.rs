//! TLS settings in a URL, and which part of the URL is printed.

use tenure::{Database, db::ConnectOptions};

use super::refused;

#[tokio::test]
async fn a_setting_about_tls_that_the_driver_ignores_is_refused() {
    for url in [
        "postgres://tenure:secret@127.0.0.1:1/shop?ssl_mode=verify-full",
        "postgres://tenure:secret@127.0.0.1:1/shop?sslcrl=revoked.pem",
        "mysql://tenure:secret@127.0.0.1:1/shop?ssl_mode=VERIFY_IDENTITY",
        "mysql://tenure:secret@127.0.0.1:1/shop?sslrootcert=ca.pem",
    ] {
        let text = refused(url, ConnectOptions::new()).await;
        assert!(text.contains("is no setting of this driver"), "{text}");
    }
}

#[tokio::test]
async fn a_password_in_the_query_is_never_shown() {
    for url in [
        "postgres://tenure@127.0.0.1:1/shop?password=secret",
        "postgres://tenure@127.0.0.1:1/shop?password=secret&sslmode=sometimes",
        "postgres://tenure@127.0.0.1:port/shop?password=secret",
        "mysql://tenure@127.0.0.1:1/shop?password=secret",
        "mysql://tenure@127.0.0.1:1/shop?password=secret&ssl-mode=sometimes",
        "sqlite:///nowhere/shop.db?password=secret",
        "sqlite::memory:?password=secret",
        "oracle://tenure@127.0.0.1:1/shop?password=secret",
    ] {
        let error = Database::connect(url).await.expect_err("it was connected");
        let looked = Database::diagnose(url).await.expect_err("the doctor went there");
        for error in [error, looked] {
            assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
        }
    }
}
