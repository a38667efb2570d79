//! A server that answers a connection with one message: so the tests of the classifiers get real errors of the drivers.

use std::net::Ipv4Addr;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::error::DatabaseError;

/// The error of a driver that connects to a port of this machine, and gets this message.
pub(crate) async fn refused<C, F>(message: Vec<u8>, connect: impl FnOnce(u16) -> F) -> sqlx::Error
where
    F: Future<Output = Result<C, sqlx::Error>>,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let answer = async {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        stream.write_all(&message).await.expect("an answer");
        // Open until the driver has read the answer.
        stream
    };
    let (_stream, connected) = tokio::join!(answer, connect(port));
    connected.err().expect("it is refused")
}

/// The name of an error's variant.
pub(crate) fn variant(error: &DatabaseError) -> String {
    format!("{error:?}").chars().take_while(|character| character.is_alphanumeric()).collect()
}
