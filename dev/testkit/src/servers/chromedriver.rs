//! A browser of our own.

use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::error::ServerError;
use super::instance::{Instance, is_instance};
use crate::install;

/// The browser, seen from the folder of its driver, where a package was unpacked.
const BESIDE: &str = "../lib/chromium/chromium";
/// How its answers end.
const END: &[u8] = b"}}";

/// A `chromedriver` on a free port, which starts a headless Chromium for each session. It is killed when this is
/// dropped, and when the test process ends in whatever way; its browsers end with it.
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
    /// [`ServerError::Program`] if there is none to start, and the others if it does not come up.
    pub async fn start() -> Result<Self, ServerError> {
        let driver = Self {
            instance: Instance::prepare(&install::CHROMEDRIVER)?,
        };
        driver.launch().await?;
        Ok(driver)
    }

    /// Where to open a session: `http://127.0.0.1:37123`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.instance.port.address())
    }

    /// What to ask of a session, so that a browser comes up here, and ends with its driver.
    #[must_use]
    pub fn capabilities(&self) -> Map<String, Value> {
        let args = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            // The browser ends when nobody is at the other end of its pipe.
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
            // Profiles and caches of its browsers.
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
        // It says that it closes the connection, and keeps it open.
        let mut said = Vec::new();
        while !said.ends_with(END) && stream.read_buf(&mut said).await? > 0 {}
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok(said)
    }
}
