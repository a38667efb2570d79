//! ChromeDriver, and the Chromium that it starts for each person.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use thirtyfour::{CapabilitiesHelper, ChromiumLikeCapabilities, DesiredCapabilities, WebDriver};

/// Chromium without a screen, without its own sandbox (tests may run as root), and without background requests: those are
/// refused in a closed network, in large numbers, and slow everything down.
const FLAGS: [&str; 8] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// A ChromeDriver of one story. It ends with it.
pub struct Driver {
    process: Child,
    address: String,
}

impl Driver {
    /// Starts one on a free port. It takes that of IPv4, and ends if another program has the same of IPv6.
    pub fn start() -> Driver {
        (0..3).find_map(|_| Driver::on_a_port()).expect("chromedriver says on which port it listens")
    }

    fn on_a_port() -> Option<Driver> {
        let process = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut process = process.expect("chromedriver starts; `cargo xtask test --only browser` installs it");
        let output = process.stdout.take().expect("its output is piped");
        let port = BufReader::new(output).lines().map_while(Result::ok).find_map(|line| {
            // "ChromeDriver was started successfully on port 12345."
            line.rsplit_once("successfully on port ")?.1.trim_end_matches('.').parse::<u16>().ok()
        });
        let Some(port) = port else {
            process.wait().expect("its output has ended");
            return None;
        };
        Some(Driver { process, address: format!("http://127.0.0.1:{port}") })
    }

    /// A browser with this profile, of a person who reads this language. With `has_memory` it shows a left page from its back/forward
    /// cache; without, it loads the page again and restores the fields.
    pub async fn browser(&self, profile: &Path, language: &str, has_memory: bool) -> WebDriver {
        let browser = async {
            let mut wishes = DesiredCapabilities::chrome();
            for flag in FLAGS {
                wishes.add_arg(flag)?;
            }
            if !has_memory {
                wishes.add_arg("--disable-features=BackForwardCache")?;
            }
            wishes.add_arg(&format!("--user-data-dir={}", profile.display()))?;
            wishes.add_arg("--window-size=1280,900")?;
            wishes.add_experimental_option("prefs", json!({ "intl.accept_languages": language }))?;
            wishes.set("goog:loggingPrefs", json!({ "browser": "ALL" }))?;
            WebDriver::new(&self.address, wishes).await
        };
        browser.await.expect("chromium starts")
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The browsers are closed by then: people leave before the story ends.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
