//! Listening to one member.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redis::aio::{AsyncPushSender, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Client, PushInfo, PushKind, Value};

use crate::backend::BackendError;
use crate::backend::redis::failure;
use crate::backend::redis::inbox::Inbox;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection for sharded channels, made anew when it is lost, or when the member gives a slot away.
pub(super) struct Ears {
    client: Client,
    inbox: Inbox,
    open: tokio::sync::Mutex<Option<Open>>,
}

struct Open {
    connection: MultiplexedConnection,
    channels: HashSet<Arc<str>>,
    ended: Arc<AtomicBool>,
}

impl Ears {
    pub(super) fn new(client: Client, inbox: Inbox) -> Self {
        Self {
            client,
            inbox,
            open: tokio::sync::Mutex::default(),
        }
    }

    /// Listens to a channel, if it does not yet.
    pub(super) async fn listen(&self, channel: &Arc<str>) -> Result<(), BackendError> {
        let mut open = self.open.lock().await;
        let ended = |open: &Open| open.ended.load(Ordering::Acquire);
        let mut listening = match open.take() {
            Some(listening) if !ended(&listening) => listening,
            _ => self.connect().await?,
        };
        if !listening.channels.contains(channel) {
            let mut subscribe = redis::cmd("SSUBSCRIBE");
            subscribe.arg(&**channel);
            let answer = listening.connection.send_packed_command(&subscribe).await;
            let refused = answer.and_then(Value::extract_error).err();
            if let Some(error) = refused {
                if !error.is_unrecoverable_error() {
                    *open = Some(listening);
                }
                return Err(failure(error));
            }
            listening.channels.insert(Arc::clone(channel));
        }
        *open = Some(listening);
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
        })
    }
}
