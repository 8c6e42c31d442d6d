//! Who has left, and which server was told. Soon another one may be in charge, which was not.
//!
//! While a failover that somebody asked for is under way, two servers take themselves for the primary. What the old one
//! is told then the new one never hears: there whoever has left still holds the lock, or stands in line, and is granted
//! the lock in its turn. So what was confirmed a short while ago is said again to a server that comes after: whatever an
//! owner has there ends, and an owner that has left never comes back.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use redis::Value;
use tokio::runtime::Id;
use tokio::sync::watch;

use super::answer::{self, Left};
use super::inbox::Inbox;
use super::leave::Leave;
use super::live::Place;
use super::servers::Servers;
use crate::backend::BackendError;
use crate::clock::{self, Moment};
use crate::runtime::Runtime;
use crate::{Key, OwnerId};

/// How long it is known that somebody left. A failover takes less, from the handing over until all have followed.
const KNOWN: Duration = Duration::from_secs(30);

/// How many are known at most, the last ones.
const MOST: usize = 4096;

/// How many are told to a server in one go: nobody waits for the answers, but others have something to ask as well.
const AT_ONCE: usize = 64;

/// After a server could not be told, and twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The releases and cleanups of the last while.
#[derive(Debug)]
pub(super) struct Departures {
    /// Keys and servers stay together where there is only one address.
    is_needed: bool,
    book: Arc<Mutex<Book>>,
    moves: watch::Sender<u64>,
    inbox: Inbox,
}

#[derive(Debug, Default)]
struct Book {
    recent: VecDeque<Departure>,
    /// The runtimes that have a task which looks after it: if nobody drives the one, another does.
    keepers: Vec<Id>,
}

#[derive(Debug, Clone)]
pub(super) struct Departure {
    leave: Leave,
    /// Which server has confirmed it; none if nobody knows.
    told: Option<Place>,
    until: Moment,
}

impl Departures {
    pub(super) fn new(servers: &Servers, inbox: Inbox) -> Self {
        Self {
            is_needed: servers.may_move(),
            book: Arc::default(),
            moves: servers.moves(),
            inbox,
        }
    }

    /// Notes which server is about to be told that somebody leaves.
    pub(super) fn begin(
        &self,
        servers: &Servers,
        key: &Key,
        owner: OwnerId,
        outstanding: impl FnOnce() -> u64,
    ) -> Option<Departure> {
        self.is_needed.then(|| Departure {
            leave: Leave {
                key: key.clone(),
                owner,
                outstanding: outstanding(),
                named: None,
            },
            told: servers.place(key),
            until: Moment::now().after(KNOWN),
        })
    }

    /// A server has confirmed it.
    pub(super) fn confirmed(&self, servers: &Arc<Servers>, departure: Departure) {
        let Some(runtime) = Runtime::current() else {
            return;
        };
        let is_elsewhere = servers.place(&departure.leave.key) != departure.told;
        let mut book = self.book.lock();
        if book.recent.len() >= MOST {
            book.recent.pop_front();
        }
        book.recent.push_back(departure);
        let is_kept = book.keepers.contains(&runtime.id());
        if !is_kept {
            book.keepers.push(runtime.id());
        }
        drop(book);
        if is_elsewhere {
            // It moved while the answer was on its way, and nobody may look again.
            self.moves.send_modify(|count| *count += 1);
        }
        if !is_kept {
            let keeper = Keeper {
                book: Arc::clone(&self.book),
                runtime: runtime.id(),
                servers: Arc::downgrade(servers),
                moves: self.moves.subscribe(),
                inbox: self.inbox.clone(),
            };
            runtime.spawn(keeper.run());
        }
    }

    /// From here on nobody is told.
    pub(super) fn forget(&self) {
        self.book.lock().recent.clear();
    }
}

impl Book {
    fn forget_the_old(&mut self) {
        let now = Moment::now();
        while self.recent.front().is_some_and(|it| it.until <= now) {
            self.recent.pop_front();
        }
    }

    /// Those of whom the servers that are in charge now have not heard.
    fn owed(&mut self, servers: &Servers) -> Vec<Departure> {
        self.forget_the_old();
        let is_owed = |it: &&Departure| servers.place(&it.leave.key) != it.told;
        let owed = self.recent.iter().filter(is_owed);
        owed.take(AT_ONCE).cloned().collect()
    }

    fn told(&mut self, owner: OwnerId, place: Option<Place>) {
        let departures = self.recent.iter_mut();
        for departure in departures.filter(|it| it.leave.owner == owner) {
            departure.told = place;
        }
    }

    fn drop_owner(&mut self, owner: OwnerId) {
        self.recent.retain(|it| it.leave.owner != owner);
    }
}

/// Tells servers that are newly in charge, as long as there is somebody to tell of.
struct Keeper {
    book: Arc<Mutex<Book>>,
    runtime: Id,
    /// Connections end with the last one who uses them.
    servers: Weak<Servers>,
    moves: watch::Receiver<u64>,
    inbox: Inbox,
}

impl Keeper {
    async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        while self.is_needed() {
            // What changes from here on is looked at once more.
            let (moves, interruptions) =
                (*self.moves.borrow_and_update(), self.inbox.interruptions());
            match self.tell().await {
                None => return,
                Some(Ok(Told::All)) => {
                    pause = FIRST_PAUSE;
                    self.changed(moves, interruptions).await;
                }
                Some(Ok(Told::Some)) => pause = FIRST_PAUSE,
                Some(Err(_reported_to_others)) => {
                    clock::sleep_until(Moment::now().after(pause)).await;
                    pause = LONGEST_PAUSE.min(pause * 2);
                }
            }
        }
    }

    fn is_needed(&self) -> bool {
        let mut book = self.book.lock();
        book.forget_the_old();
        if book.recent.is_empty() {
            // As long as it is locked: who comes now needs another.
            book.keepers.retain(|it| *it != self.runtime);
        }
        !book.recent.is_empty()
    }

    /// Waits until keys may be elsewhere, or for so long that there may be nobody left to tell of.
    async fn changed(&mut self, moves: u64, interruptions: u64) {
        let Self {
            moves: counted,
            inbox,
            ..
        } = self;
        tokio::select! {
            _no_sender = counted.wait_for(|count| *count > moves) => {}
            _ = inbox.interrupted(interruptions) => {}
            () = clock::sleep_until(Moment::now().after(KNOWN)) => {}
        }
    }

    /// Tells some; none if there are no servers any more.
    async fn tell(&self) -> Option<Result<Told, BackendError>> {
        let servers = self.servers.upgrade()?;
        if let Err(error) = servers.ready().await {
            return Some(Err(error));
        }
        let owed = self.book.lock().owed(&servers);
        if owed.is_empty() {
            return Some(Ok(Told::All));
        }
        let places: Vec<_> = owed.iter().map(|it| servers.place(&it.leave.key)).collect();
        let commands = owed
            .iter()
            .map(|it| (&it.leave.key, it.leave.alone(!servers.is_one())));
        let answers = servers.call_each(commands.collect()).await;
        let mut failed = None;
        let mut answers = answers.into_iter();
        for (departure, place) in owed.iter().zip(places) {
            let answer = answers.next().unwrap_or_else(unanswered);
            let owner = departure.leave.owner;
            match answer.and_then(answer::left) {
                Ok(Left::Ended { .. }) => self.book.lock().told(owner, place),
                Ok(Left::Unsealed) => failed = Some(no_memory()),
                Err(error) if error.is_temporary() => failed = Some(error),
                Err(_refused_for_good) => self.book.lock().drop_owner(owner),
            }
        }
        Some(failed.map_or(Ok(Told::Some), Err))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Its runtime has ended.
        self.book.lock().keepers.retain(|it| *it != self.runtime);
    }
}

enum Told {
    All,
    /// There may be more.
    Some,
}

fn unanswered() -> Result<Value, BackendError> {
    Err(BackendError::unknown("the server did not answer"))
}

fn no_memory() -> BackendError {
    BackendError::unknown("the server has no memory left to note that an attempt is over")
}
