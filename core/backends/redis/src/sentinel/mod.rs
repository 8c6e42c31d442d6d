//! Sentinels, and how they elect the primary to use.
//!
//! # Implementation details
//!
//! Sentinels do not always agree. After a disconnect, a Sentinel reports the old primary until another Sentinel sends
//! it the new primary. Also, an attacker may control a Sentinel. The server that this Sentinel reports would receive
//! the servers' password, and would grant all locks. So a majority of the Sentinels in the URL must agree, whatever
//! epoch the others report. The client does not connect until the Sentinels agree, which takes a short time after a
//! failover. Each failover has an epoch. The client changes to another primary only if a majority reports a later
//! epoch, so it never returns to the primary from before a failover.
//!
//! If most Sentinels do not respond, all Sentinels that respond must agree, even if only one responds. Sentinels often
//! fail together with the primary that they monitor, and locks should work with one of three Sentinels. The cost is
//! that an attacker succeeds by controlling one Sentinel and blocking the others.

mod examine;
mod primary;

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redis::{AsyncConnectionConfig, ConnectionInfo, PushInfo, PushKind};
use tokio::sync::Notify;

use crate::connection::transport::Target;
use crate::error::failure;
use crate::url::MultiHostUrl;
use leasehold_core::backend::support::clock::{self, LeaseInstant};
use leasehold_core::backend::{BackendError, ConnectError};
pub(super) use primary::Primary;
use primary::{SentinelReply, Votes, connect, query, query_once};

/// The Sentinels that report the address of the primary.
#[derive(Clone)]
pub(crate) struct Sentinels {
    targets: Vec<Target>,
    name: String,
    /// The settings for connections to the primary, whatever its address is.
    server: Target,
    /// Whether the Sentinels have reported a primary before. If so, the URL is valid even if the Sentinels report later
    /// that the name is unknown. Operators remove the name for a moment to reset the monitoring of the primary.
    was_known: Arc<AtomicBool>,
}

/// Formats the addresses of the Sentinels.
impl fmt::Display for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, target) in self.targets.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(f, "{comma}{}", target.addr())?;
        }
        Ok(())
    }
}

impl Sentinels {
    /// Returns the primary that a majority of the Sentinels reports. If too few Sentinels respond, returns the primary
    /// that all of the responding Sentinels report.
    pub(crate) async fn primary(&self) -> Result<Primary, BackendError> {
        let ask = |target| query_once(target, &self.name);
        let mut asked: FuturesUnordered<_> = self.targets.iter().map(ask).collect();
        let (mut votes, mut failed) = (Votes::of(self.targets.len()), None);
        // The loop stops at a majority, because a Sentinel on the host of a failed primary does not respond.
        while votes.elected().is_none()
            && let Some(asked) = asked.next().await
        {
            match asked {
                Ok(primary) => votes.count(primary),
                Err(error) => failed = Some(error),
            }
        }
        match votes.elected_by_those_who_answered() {
            Some(primary) => {
                self.was_known.store(true, Ordering::Relaxed);
                Ok(primary)
            }
            None if votes.are_none() => Err(self.unknown(failed)),
            None => Err(divided(&votes)),
        }
    }

    pub(crate) fn target_of(&self, primary: &Primary) -> Result<Target, BackendError> {
        self.server.at(&primary.host, primary.port).map_err(failure)
    }

    fn unknown(&self, failed: Option<SentinelReply>) -> BackendError {
        match failed {
            Some(SentinelReply::Stranger(error)) => {
                let name = &self.name;
                let unknown = format!("the Sentinels do not know a primary `{name}`");
                let unknown = match self.was_known.load(Ordering::Relaxed) {
                    true => BackendError::not_applied(format!("{unknown} any more")),
                    false => {
                        BackendError::not_applied(format!("{unknown}; check the URL")).permanent()
                    }
                };
                unknown.with_source(error)
            }
            Some(SentinelReply::Failed(error)) => {
                let no_primary = BackendError::not_applied("no Sentinel reports the primary");
                no_primary.with_source(error)
            }
            None => BackendError::not_applied("there are no Sentinels to ask").permanent(),
        }
    }
}

fn divided(votes: &Votes) -> BackendError {
    BackendError::not_applied(format!(
        "no majority of the Sentinels names the same primary: a failover is under way, they know it by several names, or \
         one of them cannot be trusted; they name {votes}"
    ))
}

/// The time without a message after which a listener queries the Sentinel, because a message may have been lost.
const LOOK: Duration = Duration::from_secs(5);

/// The pause after one Sentinel's report, before the client queries the other Sentinels. The pause doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The maximum of that pause, and the pause before the client retries a Sentinel without a subscription.
const PAUSE: Duration = Duration::from_secs(1);

impl Sentinels {
    /// Waits until the Sentinels report a failover since `known` to another server. The report of one Sentinel is not
    /// enough, because that Sentinel may be malicious, or report a failover early.
    pub(crate) async fn moved(&self, known: &Primary) {
        let mut pause = FIRST_PAUSE;
        loop {
            let watch = |target| watch(target, &self.name, known);
            let mut watched: FuturesUnordered<_> = self.targets.iter().map(watch).collect();
            watched.next().await;
            if self.primary().await.is_ok_and(|it| it.replaces(known)) {
                return;
            }
            clock::sleep_until(LeaseInstant::now().after(pause)).await;
            pause = PAUSE.min(pause * 2);
        }
    }
}

async fn watch(target: &Target, name: &str, known: &Primary) {
    while listen(target, name, known).await.is_err() {
        clock::sleep_until(LeaseInstant::now().after(PAUSE)).await;
    }
}

async fn listen(target: &Target, name: &str, known: &Primary) -> Result<(), SentinelReply> {
    let news = Arc::new(Notify::new());
    let teller = Arc::clone(&news);
    let config = AsyncConnectionConfig::new().set_push_sender(move |push: PushInfo| {
        if matches!(push.kind, PushKind::Message | PushKind::Disconnection) {
            teller.notify_one();
        }
        Ok::<(), Infallible>(())
    });
    let mut opened = connect(target, config).await?;
    let connection = &mut opened.connection;
    // Without permission to subscribe, the listener polls.
    let _not_allowed = connection.subscribe("+switch-master").await;
    while !query(target, connection, name).await?.replaces(known) {
        tokio::select! {
            () = news.notified() => {}
            () = clock::sleep_until(LeaseInstant::now().after(LOOK)) => {}
        }
    }
    Ok(())
}

const SHAPE: &str = "redis+sentinel://user:password@host:26379,host:26379/master-name/0";
const PORT: u16 = 26_379;

impl Sentinels {
    /// Returns the Sentinels in `url`. `prepare` adds our settings to the settings of the Sentinels and of the server.
    pub(crate) fn at(
        url: &str,
        prepare: impl Fn(ConnectionInfo) -> Result<Target, ConnectError>,
    ) -> Result<Self, ConnectError> {
        let mut parts = MultiHostUrl::read(url, SHAPE)?;
        let (name, database) = parts.path.split_once('/').unwrap_or((parts.path, ""));
        if name.is_empty() {
            let refused = format!("the primary's name is missing; it should look like {SHAPE}");
            return Err(ConnectError::url(refused));
        }
        let user = parts.take("sentinel_username").unwrap_or_default();
        let login = match parts.take("sentinel_password") {
            Some(password) => format!("{user}:{password}@"),
            None => String::new(),
        };
        parts.finish()?;
        let servers = parts.servers(PORT, database)?.into_iter();
        let server = servers.map(&prepare).next();
        let sentinels = parts.with_login(&login, PORT, "")?.into_iter();
        Ok(Self {
            // A credentials provider applies only to the servers, not to the Sentinels.
            targets: sentinels
                .map(|info| Ok(prepare(info)?.without_provider()))
                .collect::<Result<_, ConnectError>>()?,
            name: name.to_owned(),
            server: server.ok_or_else(|| ConnectError::url(SHAPE))??,
            was_known: Arc::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<Sentinels, ConnectError> {
        Sentinels::at(url, |info| Target::open(info).map_err(ConnectError::url))
    }

    #[test]
    fn sentinels_and_servers_have_separate_logins() {
        let sentinels =
            read("redis+sentinel://u:p@a,b:7/main/2?sentinel_username=s&sentinel_password=q%26r")
                .unwrap();
        assert_eq!(sentinels.name, "main");
        let server = sentinels.server.info().redis_settings();
        assert_eq!(
            (server.username(), server.password(), server.db()),
            (Some("u"), Some("p"), 2)
        );
        let shown = |target: &Target| {
            let info = target.info();
            let redis = info.redis_settings();
            let login = (
                redis.username().map(str::to_owned),
                redis.password().map(str::to_owned),
            );
            (info.addr().to_string(), login, redis.db())
        };
        let login = (Some("s".to_owned()), Some("q&r".to_owned()));
        let shown: Vec<_> = sentinels.targets.iter().map(shown).collect();
        let wanted = ["a:26379", "b:7"].map(|at| (at.to_owned(), login.clone(), 0));
        assert_eq!(shown, wanted);
    }

    #[test]
    fn a_url_without_a_name_or_with_an_unknown_setting_is_refused() {
        for (url, why) in [
            ("redis+sentinel://a,b", "name is missing"),
            (
                "redis+sentinel://a/main?tls=1",
                "`tls` is not a known setting",
            ),
            ("redis+sentinel://a/main/x", "database"),
        ] {
            let error = read(url).err().unwrap();
            let said = error.to_string();
            assert!(said.contains(why), "{url}: {said}");
        }
    }
}
