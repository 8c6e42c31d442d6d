use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use redis::aio::{AsyncPushSender, SendError};
use redis::{PushInfo, PushKind, from_redis_value};
use tokio::sync::{Notify, watch};

use crate::clock::{self, Moment};
use crate::{Key, OwnerId};

/// The channel on which this client is told that it is a waiter's turn: one for all its locks.
#[derive(Debug, Clone)]
pub(super) struct Inbox {
    channel: Arc<str>,
    /// It is only what the channels of a Cluster are named after.
    sharded: bool,
    seats: Arc<Mutex<Seats>>,
    interruptions: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Seats {
    waiters: HashMap<OwnerId, Arc<WakeUps>>,
    lines: HashMap<Key, VecDeque<OwnerId>>,
}

/// What a waiter was told.
#[derive(Debug, Default)]
pub(super) struct WakeUps {
    told: AtomicUsize,
    bell: Notify,
    /// Rung when nobody of this process waits before it any more.
    promotion: Notify,
}

impl WakeUps {
    fn tell(&self) {
        self.told.fetch_add(1, Ordering::AcqRel);
        self.bell.notify_one();
    }

    /// Waits until it is told, if it was not already.
    pub(super) async fn next(&self) {
        self.bell.notified().await;
    }

    /// Waits until it should look by itself: it is the first of its process since somebody else left, and was not
    /// served for so long. It was told to look seldom while another one did, and where the lock went all who would hand
    /// it on may have died.
    pub(super) async fn promoted(&self, since: Duration) {
        self.promotion.notified().await;
        clock::sleep_until(Moment::now().after(since)).await;
    }

    /// How often it was told.
    pub(super) fn told(&self) -> usize {
        self.told.load(Ordering::Acquire)
    }

    /// What it was told is old news from here on.
    pub(super) fn forget(&self) {
        self.told.store(0, Ordering::Release);
        let _old_news = self.bell.notified().now_or_never();
    }
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self {
            channel: format!("leasehold:inbox:{}", OwnerId::random()).into(),
            sharded: false,
            seats: Arc::default(),
            interruptions: watch::Sender::default(),
        }
    }

    /// One that is told on a channel for each slot.
    #[cfg(feature = "cluster")]
    pub(super) fn sharded() -> Self {
        Self {
            sharded: true,
            ..Self::new()
        }
    }

    pub(super) fn is_sharded(&self) -> bool {
        self.sharded
    }

    pub(super) fn channel(&self) -> Arc<str> {
        Arc::clone(&self.channel)
    }

    /// Gives `owner` a seat from before its request is sent: a wake-up may come before the answer.
    pub(super) fn enter<'a>(&'a self, key: &'a Key, owner: OwnerId) -> Seat<'a> {
        let mut seats = self.seats.lock();
        if let Entry::Vacant(seat) = seats.waiters.entry(owner) {
            seat.insert(Arc::default());
            seats.lines.entry(key.clone()).or_default().push_back(owner);
        }
        Seat {
            inbox: self,
            key,
            owner,
            kept: false,
        }
    }

    pub(super) fn leave(&self, key: &Key, owner: OwnerId) {
        let mut seats = self.seats.lock();
        let Seats { waiters, lines } = &mut *seats;
        if waiters.remove(&owner).is_some()
            && let Some(line) = lines.get_mut(key)
        {
            let was_first = line.front() == Some(&owner);
            line.retain(|waiter| *waiter != owner);
            match line.front().and_then(|first| waiters.get(first)) {
                Some(first) if was_first => first.promotion.notify_one(),
                Some(_) => {}
                None => drop(lines.remove(key)),
            }
        }
    }

    pub(super) fn wake_ups(&self, owner: OwnerId) -> Option<Arc<WakeUps>> {
        self.seats.lock().waiters.get(&owner).cloned()
    }

    /// Whether nobody of this process has waited longer for `key`.
    pub(super) fn is_first(&self, key: &Key, owner: OwnerId) -> bool {
        let seats = self.seats.lock();
        seats.lines.get(key).and_then(VecDeque::front) == Some(&owner)
    }

    /// There was no connection, or there is none: what was sent meanwhile is lost, and the server may have
    /// forgotten what it knew. All who wait look again, and so do all who hold.
    pub(super) fn interruption(&self) {
        self.interruptions.send_modify(|count| *count += 1);
        let seats = self.seats.lock();
        seats.waiters.values().for_each(|waiter| waiter.tell());
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
}

impl AsyncPushSender for Inbox {
    fn send(&self, push: PushInfo) -> Result<(), SendError> {
        if push.kind == PushKind::Disconnection {
            self.interruption();
        }
        // A message has a channel and a payload; here the payload is the waiter's id.
        if matches!(push.kind, PushKind::Message | PushKind::SMessage)
            && let Some(payload) = push.data.into_iter().nth(1)
            && let Ok(owner) = from_redis_value::<String>(payload)
            && let Some(owner) = OwnerId::read(&owner)
            && let Some(waiter) = self.seats.lock().waiters.get(&owner)
        {
            waiter.tell();
        }
        Ok(())
    }
}

/// A waiter's place at the inbox, given up unless it is kept.
#[derive(Debug)]
pub(super) struct Seat<'a> {
    inbox: &'a Inbox,
    key: &'a Key,
    owner: OwnerId,
    kept: bool,
}

impl Seat<'_> {
    pub(super) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.inbox.leave(self.key, self.owner);
        }
    }
}
