//! Listens to the Sentinels' failover messages.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redis::{AsyncConnectionConfig, PushInfo, PushKind};
use tokio::sync::Notify;

use super::primary::Primary;
use super::query::{self, SentinelReply};
use super::sentinels::Sentinels;
use crate::backend::redis::connection::target::Target;
use crate::clock::{self, LeaseInstant};

/// Who has heard nothing for so long asks: pushes get lost, and nobody sees it.
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
