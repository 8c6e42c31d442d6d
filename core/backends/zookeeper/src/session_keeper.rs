//! Renews a session, and opens another when it has ended.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;
use zookeeper_client::SessionState;

use super::current_session::{CurrentSession, LinkState};
use super::session::Session;
use super::session_deadline::PULSES;
use leasehold_core::backend::support::clock::{self, LeaseInstant};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The parts of the link that the task needs. The link itself may be dropped while the task runs.
struct KeeperChannels {
    interruptions: watch::Sender<u64>,
    given_up: watch::Receiver<u64>,
    state: watch::Receiver<LinkState>,
}

/// Opens a new session whenever one has ended, until the link is dropped.
pub(super) async fn keep(link: Weak<CurrentSession>) {
    let mut number = 1;
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(kept) = link.upgrade() else { return };
        let state = kept.state.borrow().clone();
        match state {
            LinkState::Closed => return,
            LinkState::Up(session) => {
                let mut strings = KeeperChannels {
                    interruptions: kept.interruptions.clone(),
                    given_up: kept.given_up.subscribe(),
                    state: kept.state.subscribe(),
                };
                drop(kept);
                let timeout = session.timeout();
                let session = Arc::downgrade(&{ session });
                watch_over(&session, timeout, &mut strings, number).await;
                drop(strings);
                let Some(kept) = link.upgrade() else { return };
                let old = session.upgrade();
                let is_open = kept.replace(LinkState::Down(None));
                // A closed link ends its session with a message to the server, so the task must not kill that session.
                if let Some(old) = old.filter(|_| is_open) {
                    old.kill().await;
                }
                kept.interruptions.send_modify(|count| *count += 1);
            }
            LinkState::Down(_) => {
                let settings = kept.settings.clone();
                drop(kept);
                number += 1;
                let next = match Session::open(number, &settings, false).await {
                    Ok(session) => {
                        pause = FIRST_PAUSE;
                        LinkState::Up(Arc::new(session))
                    }
                    Err(error) => {
                        clock::sleep_until(LeaseInstant::now().after(pause)).await;
                        pause = (pause * 2).min(LONGEST_PAUSE);
                        LinkState::Down(Some(error.to_string().into()))
                    }
                };
                let Some(kept) = link.upgrade() else { return };
                kept.replace(next);
            }
        }
    }
}

/// Waits until the session has ended, or until the keeper must end the session.
async fn watch_over(
    session: &Weak<Session>,
    timeout: Duration,
    strings: &mut KeeperChannels,
    number: u64,
) {
    let Some(mut states) = session.upgrade().map(|session| session.states()) else {
        return;
    };
    strings.state.mark_unchanged();
    let interruptions = &strings.interruptions;
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
            clock::sleep_until(LeaseInstant::now().after(timeout / PULSES)).await;
            // The session may have ended before this task watched it.
            let Some(session) = session.upgrade().filter(|it| !it.is_over()) else {
                return;
            };
            // After a change of leader, servers of version 3.8 may leave requests unanswered forever, and still reply
            // to pings.
            if !session.heartbeat().await {
                return;
            }
        }
    };
    tokio::select! {
        () = watching => {}
        () = pulsing => {}
        _ = strings.given_up.wait_for(|given_up| *given_up >= number) => {}
        _ = strings.state.changed() => {}
    }
}
