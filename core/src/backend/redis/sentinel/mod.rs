//! Sentinels, and what they say of a primary.
//!
//! # Implementation details
//!
//! Sentinels do not agree at every moment: one that was away names the old primary until it hears of the failover. And one
//! of them may be in the wrong hands: whoever it names is sent the servers' password, and decides about all locks. So a
//! majority of those that the URL names has to agree, whatever epoch the others tell; where the votes are divided nobody
//! is connected to, until they agree again, which takes them a moment after a failover. Each failover has an epoch: a
//! primary is left for another one only if a majority vouches for a later one, so that nobody goes back behind a failover.
//!
//! Where most do not answer at all, those that do have to be unanimous, one alone included: Sentinels often go with the
//! primary that they watch over, and a lock that can be had with one of three left is worth more than to withstand
//! somebody who has one in his hands and keeps the others from answering.

mod primary;
mod query;

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redis::{AsyncConnectionConfig, ConnectionInfo, PushInfo, PushKind};
use tokio::sync::Notify;

use crate::backend::redis::connection::transport::Target;
use crate::backend::redis::error::failure;
use crate::backend::redis::url::MultiHostUrl;
use crate::backend::{BackendError, ConnectError};
use crate::clock::{self, LeaseInstant};
pub(super) use primary::Primary;
use primary::Votes;
use query::SentinelReply;

/// Those who know where the primary is.
#[derive(Clone)]
pub(crate) struct Sentinels {
    targets: Vec<Target>,
    name: String,
    /// How to connect to the primary, wherever it is.
    server: Target,
    /// Whether the Sentinels have named a primary before. If they do not know the name later, the URL is right all the same: an
    /// operator removes the name for a moment when the Sentinels are to monitor the primary anew.
    was_known: Arc<AtomicBool>,
}

/// Where they are.
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
    /// The primary that a majority of the Sentinels name; where too few answer for that, the one that all of those name.
    pub(crate) async fn primary(&self) -> Result<Primary, BackendError> {
        let ask = |target| query::once(target, &self.name);
        let mut asked: FuturesUnordered<_> = self.targets.iter().map(ask).collect();
        let (mut votes, mut failed) = (Votes::of(self.targets.len()), None);
        // Stops at a majority: a Sentinel on the host of a failed primary does not answer.
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
                let unknown = format!("the Sentinels know no primary `{name}`");
                let unknown = match self.was_known.load(Ordering::Relaxed) {
                    true => BackendError::not_applied(format!("{unknown} any more")),
                    false => {
                        BackendError::not_applied(format!("{unknown}; check the URL")).permanent()
                    }
                };
                unknown.with_source(error)
            }
            Some(SentinelReply::Failed(error)) => {
                let told = BackendError::not_applied("no Sentinel says where the primary is");
                told.with_source(error)
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

/// A listener that has received no message for this long asks the Sentinel, because a lost message leaves no trace.
const LOOK: Duration = Duration::from_secs(5);

/// Before the others are asked again about what one has told, and twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest of these, and before a Sentinel that cannot be listened to is tried again.
const PAUSE: Duration = Duration::from_secs(1);

impl Sentinels {
    /// Returns when the Sentinels tell of a failover since `known` that led elsewhere. One alone may lie, or be early.
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
    let mut opened = query::connect(target, config).await?;
    let connection = &mut opened.connection;
    // Where that is not allowed, asking has to do.
    let _not_allowed = connection.subscribe("+switch-master").await;
    while !query::on(target, connection, name).await?.replaces(known) {
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
    /// The Sentinels that `url` names; `prepare` adds to their settings, and the server's, what ours are.
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
            targets: sentinels.map(prepare).collect::<Result<_, _>>()?,
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
    fn sentinels_and_servers_have_logins_of_their_own() {
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
    fn a_url_without_a_name_or_with_a_strange_setting_is_refused() {
        for (url, why) in [
            ("redis+sentinel://a,b", "name is missing"),
            ("redis+sentinel://a/main?tls=1", "`tls` is no setting"),
            ("redis+sentinel://a/main/x", "database"),
        ] {
            let error = read(url).err().unwrap();
            let said = std::error::Error::source(&error).unwrap().to_string();
            assert!(said.contains(why), "{url}: {said}");
        }
    }
}
