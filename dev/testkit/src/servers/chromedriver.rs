//! A test browser.

use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::error::ServerError;
use super::instance::{Instance, is_instance};
use crate::install;

/// The path of the browser relative to its driver, if a package was unpacked.
const BESIDE: &str = "../lib/chromium/chromium";
/// The end of each response.
const END: &[u8] = b"}}";

/// A `chromedriver` on a free port, which starts a headless Chromium for each session. It is killed when this value is
/// dropped, and when the test process ends in any way. Its browsers end with it.
#[derive(Debug)]
#[must_use = "the driver is killed when this is dropped"]
pub struct ChromeDriver {
    instance: Instance,
}

is_instance!(ChromeDriver);

impl ChromeDriver {
    /// Starts a driver.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Program`] if the program is missing, and other errors if the driver does not start.
    pub async fn start() -> Result<Self, ServerError> {
        let driver = Self {
            instance: Instance::prepare(&install::CHROMEDRIVER)?,
        };
        driver.launch().await?;
        Ok(driver)
    }

    /// Returns the URL for sessions: `http://127.0.0.1:37123`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.instance.port.address())
    }

    /// Returns the capabilities of a session, with which the browser starts on this machine and ends with its driver.
    #[must_use]
    pub fn capabilities(&self) -> Map<String, Value> {
        let args = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            // With a pipe, the browser ends when the other end is closed.
            "--remote-debugging-pipe",
        ];
        let mut options = json!({ "args": args });
        let folder = self.instance.program.path.canonicalize();
        let beside = folder.ok().map(|it| it.with_file_name(BESIDE));
        if let Some(browser) = beside.filter(|it| it.is_file()) {
            options["binary"] = json!(browser.to_string_lossy());
        }
        Map::from_iter([("goog:chromeOptions".to_owned(), options)])
    }

    async fn launch(&self) -> Result<(), ServerError> {
        let mut command = self.instance.program.command();
        command
            .arg(format!("--port={}", self.instance.port.number()))
            // The folder for profiles and caches of the browsers.
            .env("TMPDIR", self.instance.folder.path())
            .env("HOME", self.instance.folder.path());
        self.instance.start(command, None)?;
        let ask = async || match self.status().await {
            Ok(said) if said.contains("\"ready\":true") => Ok(()),
            Ok(said) => Err(said),
            Err(error) => Err(error.to_string()),
        };
        self.instance.until_ready(ask).await
    }

    async fn status(&self) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(self.instance.port.address()).await?;
        let request = "GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).await?;
        // The driver announces that it closes the connection, but keeps it open.
        let mut said = Vec::new();
        while !said.ends_with(END) && stream.read_buf(&mut said).await? > 0 {}
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok(said)
    }
}
