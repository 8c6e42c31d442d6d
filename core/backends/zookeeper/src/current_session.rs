//! The current session. The session keeper replaces the session when it has ended.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use zookeeper_client::Error;

use super::error::no_thread;
use super::session::Session;
use super::settings::ZooKeeperSettings;
use crate::runtime_thread::RuntimeThread;
use leasehold_core::backend::BackendError;
use leasehold_core::backend::support::{runtime, wait_for_interruption};

/// The longest time for which a request waits for a session.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub(super) enum LinkState {
    Up(Arc<Session>),
    /// No session is open. The value is the error of the last try to open a session, if any.
    Down(Option<Arc<str>>),
    Closed,
}

#[derive(Debug)]
pub(super) struct CurrentSession {
    pub(super) state: watch::Sender<LinkState>,
    pub(super) interruptions: watch::Sender<u64>,
    /// The session keeper must close sessions up to this number.
    pub(super) given_up: watch::Sender<u64>,
    pub(super) settings: ZooKeeperSettings,
    thread: RuntimeThread,
}

impl CurrentSession {
    pub(super) async fn connect(settings: ZooKeeperSettings) -> Result<Arc<Self>, Error> {
        let thread =
            RuntimeThread::start("leasehold-zookeeper").map_err(|error| no_thread(&error))?;
        let first = Session::open(1, &settings, true).await?;
        Ok(Arc::new(Self {
            state: watch::Sender::new(LinkState::Up(Arc::new(first))),
            interruptions: watch::Sender::default(),
            given_up: watch::Sender::default(),
            settings,
            thread,
        }))
    }

    pub(super) fn thread(&self) -> &RuntimeThread {
        &self.thread
    }

    /// Waits for a session, and returns it.
    pub(super) async fn session(&self) -> Result<Arc<Session>, BackendError> {
        self.settled().await;
        self.session_at_once()
    }

    pub(super) fn is_settled(&self) -> bool {
        !matches!(&*self.state.borrow(), LinkState::Down(_))
    }

    /// Waits a while for a session, or until the backend is closed.
    pub(super) async fn settled(&self) {
        if self.is_settled() {
            return;
        }
        let mut states = self.state.subscribe();
        let settled = states.wait_for(|state| !matches!(state, LinkState::Down(_)));
        if let Some(settled) = runtime::timeout(PATIENCE, settled) {
            // Callers read the state after this wait, so they do not need the result.
            let _in_time = settled.await;
        }
    }

    /// Returns the open session, without waiting for one.
    pub(super) fn session_at_once(&self) -> Result<Arc<Session>, BackendError> {
        let state = self.state.borrow().clone();
        match state {
            LinkState::Up(session) => Ok(session),
            LinkState::Down(said) => {
                let remedy = match self.settings.is_secure {
                    true => {
                        ", and that their certificates are still trusted here, and the client's there"
                    }
                    false => "",
                };
                let error = BackendError::not_applied(format!(
                    "there is no session with {}; check that a majority of them is up{remedy}",
                    self.settings.address()
                ));
                Err(match said {
                    Some(said) => error.with_source(String::from(&*said)),
                    None => error,
                })
            }
            LinkState::Closed => {
                Err(BackendError::not_applied("the backend is closed").permanent())
            }
        }
    }

    /// Returns the session with this number, if that session has not ended.
    pub(super) fn session_numbered(&self, number: u64) -> Option<Arc<Session>> {
        match &*self.state.borrow() {
            LinkState::Up(session) if session.number == number && !session.is_over() => {
                Some(Arc::clone(session))
            }
            _ => None,
        }
    }

    /// Discards this session and all its nodes, including nodes that the client could not delete.
    pub(super) fn give_up(&self, number: u64) {
        self.given_up.send_if_modified(|given_up| {
            let more = number > *given_up;
            *given_up = number.max(*given_up);
            more
        });
    }

    pub(super) async fn interrupted(&self, seen: u64) -> u64 {
        wait_for_interruption::more_than(seen, &self.interruptions).await
    }

    /// Changes the state, unless the link is closed.
    pub(super) fn replace(&self, next: LinkState) -> bool {
        self.state.send_if_modified(|state| {
            let open = !matches!(state, LinkState::Closed);
            if open {
                *state = next;
            }
            open
        })
    }

    /// Ends the session, and waits until the server has received the request.
    pub(super) async fn close(&self) {
        let last = self.state.send_replace(LinkState::Closed);
        if let LinkState::Up(session) = last {
            session.close().await;
        }
    }
}
