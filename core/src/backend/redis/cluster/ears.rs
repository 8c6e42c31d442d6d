//! Listening to one member.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redis::aio::{AsyncPushSender, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Client, PushInfo, PushKind, Value};
use tokio::sync::oneshot;

use crate::backend::BackendError;
use crate::backend::redis::door::in_time;
use crate::backend::redis::failure;
use crate::backend::redis::inbox::Inbox;
use crate::backend::redis::times::CONNECT_TIMEOUT;
use crate::runtime::Runtime;

/// A connection for sharded channels, made anew when it is lost, or when the member gives a slot away.
pub(super) struct Ears {
    client: Client,
    inbox: Inbox,
    open: tokio::sync::Mutex<Option<Open>>,
}

/// Dropped with channels on which somebody may wait, it has all who wait look.
struct Open {
    connection: MultiplexedConnection,
    channels: HashSet<Arc<str>>,
    ended: Arc<AtomicBool>,
    inbox: Inbox,
}

impl Open {
    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn hears(&self, channel: &Arc<str>) -> bool {
        self.channels.contains(channel) && !self.has_ended()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.ended.swap(true, Ordering::AcqRel) && !self.channels.is_empty() {
            self.inbox.interruption();
        }
    }
}

impl Ears {
    pub(super) fn new(client: Client, inbox: Inbox) -> Self {
        Self {
            client,
            inbox,
            open: tokio::sync::Mutex::default(),
        }
    }

    /// Listens to a channel, if it does not yet. A task does it: whoever gives up, or is not polled, deafens nobody.
    pub(super) async fn listen(self: &Arc<Self>, channel: &Arc<str>) -> Result<(), BackendError> {
        let open = self.open.try_lock();
        if open.is_ok_and(|open| open.as_ref().is_some_and(|it| it.hears(channel))) {
            return Ok(());
        }
        let Some(runtime) = Runtime::current() else {
            return Err(BackendError::not_applied("there is no tokio runtime here").permanent());
        };
        let (tell, told) = oneshot::channel();
        let (ears, channel) = (Arc::clone(self), Arc::clone(channel));
        runtime.spawn(async move {
            let _nobody_waits = tell.send(ears.subscribe(&channel).await);
        });
        told.await.unwrap_or_else(|_ended| {
            Err(BackendError::not_applied(
                "the runtime ended that was subscribing",
            ))
        })
    }

    async fn subscribe(&self, channel: &Arc<str>) -> Result<(), BackendError> {
        let mut open = self.open.lock().await;
        if open.as_ref().is_none_or(Open::has_ended) {
            *open = None;
        }
        let listening = match &mut *open {
            Some(listening) => listening,
            none => none.insert(self.connect().await?),
        };
        if listening.hears(channel) {
            return Ok(());
        }
        let mut subscribe = redis::cmd("SSUBSCRIBE");
        subscribe.arg(&**channel);
        let asked = listening.connection.send_packed_command(&subscribe);
        let answer = match in_time(async { Ok(asked.await) }).await {
            Ok(answer) => answer.and_then(Value::extract_error),
            Err(silent) => {
                *open = None;
                return Err(silent);
            }
        };
        if let Err(error) = answer {
            if error.is_unrecoverable_error() {
                *open = None;
            }
            return Err(failure(error));
        }
        listening.channels.insert(Arc::clone(channel));
        Ok(())
    }

    async fn connect(&self) -> Result<Open, BackendError> {
        let ended = Arc::new(AtomicBool::new(false));
        let (inbox, end) = (self.inbox.clone(), Arc::clone(&ended));
        let sender = move |push: PushInfo| {
            if matches!(push.kind, PushKind::SUnsubscribe | PushKind::Disconnection) {
                end.store(true, Ordering::Release);
                inbox.interruption();
            } else {
                // It takes whatever comes.
                let _taken = inbox.send(push);
            }
            Ok::<(), Infallible>(())
        };
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(None)
            .set_push_sender(sender);
        let connecting = self
            .client
            .get_multiplexed_async_connection_with_config(&config);
        Ok(Open {
            connection: connecting.await.map_err(failure)?,
            channels: HashSet::new(),
            ended,
            inbox: self.inbox.clone(),
        })
    }
}
