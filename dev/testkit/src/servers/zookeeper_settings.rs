//! What a `ZooKeeper` server is told.

use std::fmt::Write as _;
use std::time::Duration;

#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) tick: Duration,
    pub(super) longest_session: Duration,
    pub(super) sync_limit: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(200),
            longest_session: Duration::from_secs(20),
            sync_limit: 5,
        }
    }
}

impl Settings {
    pub(super) fn lines(&self) -> String {
        let mut lines = String::new();
        for (name, value) in [
            ("tickTime", self.tick.as_millis()),
            ("maxSessionTimeout", self.longest_session.as_millis()),
            ("syncLimit", self.sync_limit.into()),
            ("initLimit", 50),
            ("maxClientCnxns", 0),
        ] {
            // Writing to a string cannot fail.
            let _written = writeln!(lines, "{name}={value}");
        }
        lines +=
            "clientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=srvr\n";
        lines
    }
}
