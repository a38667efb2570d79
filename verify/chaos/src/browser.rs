//! A browser, as far as forms need one: HTTP requests that a person may stop.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_web::browser_key::BrowserKey;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::subject::{Answer, Refusal};

/// How long a person looks at a page that does not come.
const PATIENCE: Duration = Duration::from_secs(12);

/// A browser with its cookies.
#[derive(Debug, Clone)]
pub(crate) struct Browser {
    address: SocketAddr,
    key: BrowserKey,
    person: String,
}

impl Browser {
    /// Of a person, who is signed in.
    pub(crate) fn new(address: SocketAddr, person: &str) -> Self {
        Browser { address, key: BrowserKey::random(), person: person.to_owned() }
    }

    /// The token that all pages in this browser have.
    pub(crate) fn csrf(&self) -> String {
        self.key.csrf(Some(&self.person)).to_string()
    }

    /// Loads a page.
    pub(crate) async fn get(&self, path: &str) -> Answer<String> {
        self.request("GET", path, String::new(), PATIENCE).await
    }

    /// Sends a form, and waits for the answer as long as the person does.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)], patience: Option<Duration>) -> Answer<String> {
        let fields = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
        self.request("POST", path, fields.collect::<Vec<_>>().join("&"), patience.unwrap_or(PATIENCE)).await
    }

    async fn request(&self, method: &str, path: &str, body: String, patience: Duration) -> Answer<String> {
        // What was not sent has surely not happened.
        let Ok(mut stream) = TcpStream::connect(self.address).await else {
            return Err(Refusal::sure("connection-lost"));
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncookie: browser={}; person={}\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n",
            self.address,
            self.key.reveal(),
            self.person,
            body.len()
        );
        let exchange = async {
            let mut text = Vec::new();
            stream.write_all((head + &body).as_bytes()).await?;
            stream.read_to_end(&mut text).await?;
            std::io::Result::Ok(String::from_utf8_lossy(&text).into_owned())
        };
        // Dropped, it closes the connection: that is what the button does.
        let text = tokio::time::timeout(patience, exchange).await.ok().and_then(std::result::Result::ok);
        text.as_deref().and_then(response).unwrap_or_else(|| Err(Refusal::unknown("outcome-unknown")))
    }
}

/// The body of a success, the code of a problem, or nothing if the response is cut.
fn response(text: &str) -> Option<Answer<String>> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status: u16 = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    if length.trim().parse::<usize>().ok()? != body.len() {
        return None;
    }
    if (200..300).contains(&status) {
        return Some(Ok(body.to_owned()));
    }
    let problem: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    let said = |member: &str| problem[member].as_str().map(str::to_owned);
    let code = match said("code") {
        Some(code) if code == "refused" => said("detail"),
        code => code,
    };
    // Without a code it is no answer of the application.
    let code = code.unwrap_or_else(|| "failed".to_owned());
    let unknown = matches!(code.as_str(), "outcome-unknown" | "commit-unknown");
    Some(Err(Refusal { unknown, text: (status == 500).then(|| body.to_owned()), code }))
}

/// The value of a field of a page.
pub(crate) fn field<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(&format!(r#"name="{name}" value=""#))?;
    rest.split_once('"').map(|(value, _)| value)
}

fn encoded(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    value.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_response_is_no_answer() {
        let whole = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nsaid";
        assert_eq!(response(whole), Some(Ok("said".to_owned())));
        assert_eq!(response(&whole[..whole.len() - 1]), None);
    }

    #[test]
    fn problem_is_its_code() {
        let of = |status, body: &str| {
            response(&format!("HTTP/1.1 {status} No\r\ncontent-length: {}\r\n\r\n{body}", body.len()))
        };
        let refusal = |code: &str| Some(Err(Refusal::sure(code)));
        assert_eq!(of(409, r#"{"code":"version-conflict"}"#), refusal("version-conflict"));
        assert_eq!(of(503, r#"{"code":"commit-unknown"}"#), Some(Err(Refusal::unknown("commit-unknown"))));
        assert_eq!(of(503, r#"{"code":"refused","detail":"already-exists"}"#), refusal("already-exists"));
        assert!(matches!(of(500, "oh"), Some(Err(Refusal { code, .. })) if code == "failed"));
    }

    #[test]
    fn fields_of_a_page_are_found() {
        let page = r#"<input name="version" value="v7.1"> <output name="len" value="6">"#;
        assert_eq!((field(page, "version"), field(page, "len"), field(page, "no")), (Some("v7.1"), Some("6"), None));
        assert_eq!(encoded("a b&c"), "a%20b%26c");
    }
}
