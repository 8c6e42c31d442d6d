//! Decides which caller drives the connection, and which wakers to call when there is input.

use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;

pub(super) type ConnectionFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The future of a connection, and the callers that poll it. This type is also the waker of that future, for every
/// caller.
pub(super) struct SharedDriveState(Mutex<DriveState>);

struct DriveState {
    exchange: FutureState,
    /// Whether there is work for which no task has polled the connection yet.
    is_woken: bool,
    /// The caller to wake for this work, and its number.
    caller: Option<(u64, Waker)>,
    /// Whether the caller was woken and has not polled since.
    is_awaited: bool,
    /// Wakes the fallback driver if no caller waits.
    fallback: Option<Waker>,
    /// Whether the fallback driver checks that the woken caller polls.
    is_watched: bool,
    callers: u64,
    /// Counts how often the caller to wake polled or changed.
    comings: u64,
    /// Counts how often a task drove the connection.
    turns: u64,
}

enum FutureState {
    Here(ConnectionFuture),
    Driven,
    Over,
}

impl SharedDriveState {
    pub(super) fn new(exchange: ConnectionFuture) -> Arc<Self> {
        Arc::new(Self(Mutex::new(DriveState {
            exchange: FutureState::Here(exchange),
            // No task has polled the future yet.
            is_woken: true,
            caller: None,
            is_awaited: false,
            fallback: None,
            is_watched: false,
            callers: 0,
            comings: 0,
            turns: 0,
        })))
    }

    /// Ends the connection, even while a task drives it.
    pub(super) fn close(&self) {
        let exchange = mem::replace(&mut self.0.lock().exchange, FutureState::Over);
        drop(exchange);
    }

    /// Stores `waker` for the fallback driver, and returns the driver's work. Returns `None` if the connection has
    /// ended.
    pub(super) fn register_fallback(&self, waker: &Waker) -> Option<FallbackWork> {
        let mut drive = self.0.lock();
        if matches!(drive.exchange, FutureState::Over) {
            return None;
        }
        let earlier = drive.fallback.replace(waker.clone());
        let left = FallbackWork {
            to_drive: drive.is_woken && drive.caller.is_none(),
            to_watch: drive.is_watched,
        };
        drop(drive);
        drop(earlier);
        Some(left)
    }

    /// Removes the caller to wake if that caller was woken before the last check and has not polled since. Drives by
    /// other tasks do not matter. The checks end if no caller is awaited and no task has driven since the last check.
    pub(super) fn check_waiter(&self, last: &mut ReaderSnapshot) {
        let mut drive = self.0.lock();
        let look = ReaderSnapshot {
            turns: drive.turns,
            comings: drive.comings,
            is_awaited: drive.is_awaited,
        };
        let has_not_come = last.is_awaited && last.comings == look.comings;
        let relieved = if look.is_awaited && has_not_come {
            drive.replace_caller(None)
        } else {
            None
        };
        drive.is_watched = (look.is_awaited && relieved.is_none()) || last.turns != look.turns;
        *last = look;
        drop(drive);
        drop(relieved);
    }

    #[cfg(test)]
    pub(super) fn is_watched(&self) -> bool {
        self.0.lock().is_watched
    }

    /// Returns the future to drive. Returns `None` if another task is driving the future, or if the future has ended.
    pub(super) fn begin(self: &Arc<Self>) -> Option<DriveGuard<'_>> {
        let mut drive = self.0.lock();
        match mem::replace(&mut drive.exchange, FutureState::Driven) {
            FutureState::Here(exchange) => Some(DriveGuard {
                shared: self,
                exchange: Some(exchange),
                caller: None,
                leaver: None,
            }),
            other => {
                drive.exchange = other;
                None
            }
        }
    }

    /// Updates the waker of the caller to wake, if that caller has moved to another task.
    fn follow(&self, number: u64, waker: &Waker) {
        let mut drive = self.0.lock();
        let earlier = match &drive.caller {
            Some((it, woken)) if *it == number && !woken.will_wake(waker) => {
                drive.replace_caller(Some((number, waker.clone())))
            }
            Some((it, _)) if *it == number => {
                drive.comes();
                return;
            }
            _ => return,
        };
        let wakeups = drive.wakeups();
        drop(drive);
        wakeups.wake();
        drop(earlier);
    }
}

/// The work for the fallback driver.
pub(super) struct FallbackWork {
    pub(super) to_drive: bool,
    pub(super) to_watch: bool,
}

/// The counters at the last check of the fallback driver.
#[derive(Default)]
pub(super) struct ReaderSnapshot {
    turns: u64,
    comings: u64,
    is_awaited: bool,
}

/// The wakers to call after unlocking the mutex.
#[derive(Default)]
struct Wakeups {
    driver: Option<Waker>,
    watcher: Option<Waker>,
}

impl Wakeups {
    fn wake(self) {
        for waker in [self.watcher, self.driver].into_iter().flatten() {
            waker.wake();
        }
    }
}

impl DriveState {
    /// Replaces the caller to wake, and returns the previous caller.
    fn replace_caller(&mut self, caller: Option<(u64, Waker)>) -> Option<(u64, Waker)> {
        self.comes();
        mem::replace(&mut self.caller, caller)
    }

    /// Records that the caller to wake has polled.
    fn comes(&mut self) {
        self.is_awaited = false;
        self.comings = self.comings.wrapping_add(1);
    }

    /// Returns the wakers to call, which are none without work.
    fn wakeups(&mut self) -> Wakeups {
        if !self.is_woken {
            return Wakeups::default();
        }
        self.is_awaited |= matches!(
            (&self.exchange, &self.caller),
            (FutureState::Here(_), Some(_))
        );
        match (&self.exchange, &self.caller) {
            // The current driver calls the wakers when it is done.
            (FutureState::Driven, _) => Wakeups::default(),
            (FutureState::Here(_), Some((_, caller))) => Wakeups {
                driver: Some(caller.clone()),
                watcher: if mem::replace(&mut self.is_watched, true) {
                    None
                } else {
                    self.fallback.clone()
                },
            },
            (FutureState::Here(_), None) | (FutureState::Over, _) => Wakeups {
                driver: self.fallback.clone(),
                watcher: None,
            },
        }
    }
}

impl Wake for SharedDriveState {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let wakeups = {
            let mut drive = self.0.lock();
            drive.is_woken = true;
            drive.wakeups()
        };
        wakeups.wake();
    }
}

/// Contains the future while a task drives it.
pub(super) struct DriveGuard<'a> {
    shared: &'a Arc<SharedDriveState>,
    /// `None` once the future has ended.
    exchange: Option<ConnectionFuture>,
    /// The caller that starts to wait.
    caller: Option<(u64, Waker)>,
    /// The caller that stops waiting.
    leaver: Option<u64>,
}

impl DriveGuard<'_> {
    /// Writes requests, and reads replies.
    pub(super) fn drive(&mut self) {
        {
            let mut drive = self.shared.0.lock();
            drive.is_woken = false;
            drive.turns = drive.turns.wrapping_add(1);
        }
        let Some(mut exchange) = self.exchange.take() else {
            return;
        };
        let waker = Waker::from(Arc::clone(self.shared));
        let mut context = Context::from_waker(&waker);
        // A panic ends the connection, and must not propagate to the caller.
        let driven = catch_unwind(AssertUnwindSafe(|| exchange.as_mut().poll(&mut context)));
        if driven.is_ok_and(|it| it.is_pending()) {
            self.exchange = Some(exchange);
        }
    }

    /// Makes this caller the caller to wake, unless there already is one.
    fn wait(&mut self, caller: &mut DriveWaiter<'_>, waker: &Waker) {
        let number = *caller.number.get_or_insert_with(|| {
            let mut drive = self.shared.0.lock();
            drive.callers = drive.callers.wrapping_add(1);
            drive.callers
        });
        self.caller = Some((number, waker.clone()));
    }

    /// Removes a caller that stops waiting.
    fn leave(&mut self, caller: &DriveWaiter<'_>) {
        self.leaver = caller.number;
    }
}

impl Drop for DriveGuard<'_> {
    fn drop(&mut self) {
        let mut drive = self.shared.0.lock();
        let was_closed = matches!(drive.exchange, FutureState::Over);
        let left = match self.exchange.take() {
            Some(exchange) if !was_closed => {
                drive.exchange = FutureState::Here(exchange);
                None
            }
            left => {
                drive.exchange = FutureState::Over;
                // This wakes the fallback driver, which then ends.
                drive.is_woken = true;
                left
            }
        };
        let mut earlier = self.caller.take();
        if let Some((number, _)) = &earlier
            && drive.caller.as_ref().is_none_or(|(it, _)| it == number)
        {
            earlier = drive.replace_caller(earlier);
        }
        if drive
            .caller
            .as_ref()
            .is_some_and(|(it, _)| Some(*it) == self.leaver)
        {
            earlier = drive.replace_caller(None);
        }
        let wakeups = drive.wakeups();
        drop(drive);
        wakeups.wake();
        drop((left, earlier));
    }
}

/// A caller that waits for a reply.
pub(super) struct DriveWaiter<'a> {
    shared: &'a Arc<SharedDriveState>,
    /// Set once the caller has waited.
    number: Option<u64>,
}

impl<'a> DriveWaiter<'a> {
    pub(super) fn of(shared: &'a Arc<SharedDriveState>) -> Self {
        Self {
            shared,
            number: None,
        }
    }

    /// Polls the reply. If no other caller is driving the connection, this caller first drives the connection.
    pub(super) fn poll<T>(
        &mut self,
        mut answer: Pin<&mut impl Future<Output = T>>,
        context: &mut Context<'_>,
    ) -> Poll<T> {
        // If another task is driving now, that task calls a waker afterwards, because callers may have made new
        // requests during the drive.
        let Some(mut turn) = self.shared.begin() else {
            if let Some(number) = self.number {
                self.shared.follow(number, context.waker());
            }
            return answer.poll(context);
        };
        // The code below polls the reply again, so this poll does not need a waker.
        let mut silent = Context::from_waker(Waker::noop());
        let mut polled = answer.as_mut().poll(&mut silent);
        if polled.is_pending() {
            turn.drive();
            polled = answer.poll(context);
        }
        if polled.is_pending() {
            turn.wait(self, context.waker());
        } else {
            turn.leave(self);
        }
        polled
    }
}

impl Drop for DriveWaiter<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else {
            return;
        };
        let mut drive = self.shared.0.lock();
        if drive.caller.as_ref().is_none_or(|(it, _)| *it != number) {
            return;
        }
        let left = drive.replace_caller(None);
        // This caller may have been woken without polling since, so this wakes another task.
        let wakeups = drive.wakeups();
        drop(drive);
        wakeups.wake();
        drop(left);
    }
}
