//! Reads the statistics of a server.

use std::collections::HashMap;
use std::time::Duration;

use leasehold_testkit::servers::RedisServer;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client};

use crate::BoxError;

/// The timeout of a reply, which is long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection for reading statistics.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    connection: MultiplexedConnection,
}

/// The server's `INFO`.
#[derive(Debug)]
pub(crate) struct Reading {
    fields: HashMap<String, String>,
}

impl Meter {
    pub(crate) async fn of(server: &RedisServer) -> Result<Self, BoxError> {
        let client = Client::open(server.url())?;
        // By default, a reply may take only half a second.
        let patient = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        let connection = client.get_multiplexed_async_connection_with_config(&patient);
        Ok(Self {
            connection: connection.await?,
        })
    }

    pub(crate) async fn read(&self) -> Result<Reading, BoxError> {
        let mut info = redis::cmd("INFO");
        let info: String = info
            .arg("all")
            .query_async(&mut self.connection.clone())
            .await?;
        let fields = info.lines().filter_map(|line| line.split_once(':'));
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(Reading {
            fields: fields.collect(),
        })
    }
}

impl Reading {
    /// Returns a field, or an empty text if it does not exist.
    pub(crate) fn text(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", |it| it)
    }

    pub(crate) fn number(&self, field: &str) -> f64 {
        self.text(field).parse().unwrap_or(f64::NAN)
    }

    /// Returns the CPU time in seconds, on all cores together.
    pub(crate) fn cpu(&self) -> f64 {
        self.number("used_cpu_user") + self.number("used_cpu_sys")
    }

    /// Returns how often these commands were called.
    pub(crate) fn calls(&self, commands: &[&str]) -> f64 {
        let calls = commands.iter().map(|command| {
            let stats = self.text(&format!("cmdstat_{command}"));
            let calls = stats.split([',', '=']).nth(1).unwrap_or_default();
            calls.parse().unwrap_or(0.0)
        });
        calls.sum()
    }
}
