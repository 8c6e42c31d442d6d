//! The way to the servers: one session at a time, and a new one when it is over.

use std::future::pending;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;
use zookeeper_client::{Client, Error, SessionState, StateWatcher};

use super::failure::failed;
use super::proof::PULSES;
use super::session::Session;
use super::settings::Settings;
use crate::backend::BackendError;
use crate::clock::{self, Moment};
use crate::runtime::{self, OwnThread};

/// How long a request waits for a session before it says that there is none.
const PATIENCE: Duration = Duration::from_secs(1);

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
enum State {
    Up(Arc<Session>),
    /// And what the last try said.
    Down(Option<Arc<str>>),
    Closed,
}

#[derive(Debug)]
pub(super) struct Link {
    state: watch::Sender<State>,
    interruptions: watch::Sender<u64>,
    /// Sessions up to this one are to be closed.
    given_up: watch::Sender<u64>,
    settings: Settings,
    thread: OwnThread,
}

impl Link {
    pub(super) async fn connect(settings: Settings) -> Result<Arc<Self>, Error> {
        let thread = OwnThread::start("leasehold-zookeeper")
            .map_err(|error| Error::UnexpectedError(format!("no thread: {error}")))?;
        let (asked_for, client) = open(&thread, &settings, true).await?;
        let first = Session::new(1, client, settings.acl(), asked_for);
        let link = Arc::new(Self {
            state: watch::Sender::new(State::Up(Arc::new(first))),
            interruptions: watch::Sender::default(),
            given_up: watch::Sender::default(),
            settings,
            thread,
        });
        link.thread.spawn(keep(Arc::downgrade(&link)));
        Ok(link)
    }

    pub(super) fn thread(&self) -> &OwnThread {
        &self.thread
    }

    /// The session, as soon as there is one.
    pub(super) async fn session(&self) -> Result<Arc<Session>, BackendError> {
        if let State::Up(session) = &*self.state.borrow() {
            return Ok(Arc::clone(session));
        }
        let mut states = self.state.subscribe();
        let settled = states.wait_for(|state| !matches!(state, State::Down(_)));
        let state = match runtime::timeout(PATIENCE, settled) {
            Some(settled) => settled.await.ok().and_then(Result::ok).map(|s| s.clone()),
            None => None,
        };
        match state.unwrap_or_else(|| self.state.borrow().clone()) {
            State::Up(session) => Ok(session),
            State::Down(said) => {
                let error = BackendError::not_applied(
                    "there is no session with the servers; check that a majority of them is up",
                );
                Err(match said {
                    Some(said) => error.with_source(String::from(&*said)),
                    None => error,
                })
            }
            State::Closed => Err(BackendError::not_applied("the backend is closed").permanent()),
        }
    }

    /// The session of this number, if it is not over.
    pub(super) fn session_numbered(&self, number: u64) -> Option<Arc<Session>> {
        match &*self.state.borrow() {
            State::Up(session) if session.number == number && !session.is_over() => {
                Some(Arc::clone(session))
            }
            _ => None,
        }
    }

    /// Closes this session, and with it all that it has: what else failed to go goes so.
    pub(super) fn give_up(&self, number: u64) {
        self.given_up.send_if_modified(|given_up| {
            let more = number > *given_up;
            *given_up = number.max(*given_up);
            more
        });
    }

    pub(super) async fn interrupted(&self, seen: u64) -> u64 {
        let mut interruptions = self.interruptions.subscribe();
        let more = interruptions.wait_for(|count| *count > seen).await;
        let count = more.map(|count| *count);
        // It fails only without a sender, and this is one.
        match count {
            Ok(count) => count,
            Err(_no_sender) => pending().await,
        }
    }

    /// Ends the session, and waits until the server has heard of it or is out of reach.
    pub(super) async fn close(&self) {
        let last = self.state.send_replace(State::Closed);
        if let State::Up(session) = last {
            let mut states = session.states();
            drop(session);
            while !states.peek_state().is_terminated() {
                states.changed().await;
            }
        }
    }
}

async fn open(
    thread: &OwnThread,
    settings: &Settings,
    first: bool,
) -> Result<(Moment, Client), Error> {
    let settings = settings.clone();
    let asked_for = Moment::now();
    // There, since it goes on on the runtime that it was called on.
    match thread
        .spawn(async move { settings.open(first).await })
        .await
    {
        Ok(client) => Ok((asked_for, client?)),
        Err(_ended) => Err(Error::ClientClosed),
    }
}

/// Watches over the session, and opens another when it is over. Ends with the link.
async fn keep(link: Weak<Link>) {
    let mut number = 1;
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(kept) = link.upgrade() else { return };
        let state = kept.state.borrow().clone();
        match state {
            State::Closed => return,
            State::Up(session) => {
                let (states, pulse) = (session.states(), session.timeout() / PULSES);
                let (interruptions, given_up) =
                    (kept.interruptions.clone(), kept.given_up.subscribe());
                let (session, link) = (Arc::downgrade(&session), (kept, session).0);
                let stop = link.state.subscribe();
                drop(link);
                watch_over(
                    session,
                    states,
                    pulse,
                    interruptions,
                    given_up,
                    stop,
                    number,
                )
                .await;
            }
            State::Down(_) => {
                number += 1;
                let opened = open(&kept.thread, &kept.settings, false).await;
                let next = match opened {
                    Ok((asked_for, client)) => {
                        pause = FIRST_PAUSE;
                        let acl = kept.settings.acl();
                        State::Up(Arc::new(Session::new(number, client, acl, asked_for)))
                    }
                    Err(error) => {
                        let said = failed(&error);
                        let source = std::error::Error::source(&said).map(ToString::to_string);
                        State::Down(Some(source.unwrap_or_default().into()))
                    }
                };
                let failed = matches!(next, State::Down(_));
                kept.replace(next);
                drop(kept);
                if failed {
                    clock::sleep_until(Moment::now().after(pause)).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                continue;
            }
        }
        let Some(kept) = link.upgrade() else { return };
        kept.replace(State::Down(None));
        kept.interruptions.send_modify(|count| *count += 1);
    }
}

impl Link {
    fn replace(&self, next: State) {
        self.state.send_if_modified(|state| {
            if matches!(state, State::Closed) {
                return false;
            }
            *state = next;
            true
        });
    }
}

/// Returns when the session is over, or is to be.
async fn watch_over(
    session: Weak<Session>,
    mut states: StateWatcher,
    pulse: Duration,
    interruptions: watch::Sender<u64>,
    mut given_up: watch::Receiver<u64>,
    mut stop: watch::Receiver<State>,
    number: u64,
) {
    stop.mark_unchanged();
    let watching = async {
        loop {
            match states.changed().await {
                state if state.is_terminated() => return,
                SessionState::SyncConnected => interruptions.send_modify(|count| *count += 1),
                _ => {}
            }
        }
    };
    let pulsing = async {
        loop {
            clock::sleep_until(Moment::now().after(pulse)).await;
            let Some(session) = session.upgrade() else {
                return;
            };
            // What it proves is noted there; a failure is the session's own to notice.
            let _answer = session.pulse().await;
        }
    };
    tokio::select! {
        () = watching => {}
        () = pulsing => {}
        _ = given_up.wait_for(|given_up| *given_up >= number) => {}
        _ = stop.changed() => {}
    }
}
