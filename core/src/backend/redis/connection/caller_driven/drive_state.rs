//! Which caller drives the connection, and which wakers are called when there is input.

use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;

pub(super) type ConnectionFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The future of a connection, and those who poll it. It is a waker, too: of that future, whoever polls it.
pub(super) struct SharedDriveState(Mutex<DriveState>);

struct DriveState {
    exchange: FutureState,
    /// There is something to drive that nobody has looked at.
    is_woken: bool,
    /// The caller that is woken for it, and its number.
    caller: Option<(u64, Waker)>,
    /// It was woken, and has not come since.
    is_awaited: bool,
    /// Who is woken if there is none.
    fallback: Option<Waker>,
    /// The fallback driver looks whether the caller that was woken comes.
    is_watched: bool,
    callers: u64,
    /// How often a caller came that is woken, or took the place.
    comings: u64,
    /// How often somebody drove.
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
            // Nobody has polled it yet.
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

    /// Ends the connection, whoever drives it.
    pub(super) fn close(&self) {
        let exchange = mem::replace(&mut self.0.lock().exchange, FutureState::Over);
        drop(exchange);
    }

    /// What is left to the fallback driver, which is woken as `waker` says from now on; none if the connection is over.
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

    /// Relieves a caller that was woken before the last look, and has not come since, whoever else drove. There is
    /// nobody to watch any more if nobody is awaited and nobody drove since that look.
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

    /// Takes the future to drive it; none if another does, or if it is over.
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

    /// Has a caller woken in the task where it is now, if it is the one that is woken.
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
        let told = drive.told();
        drop(drive);
        told.wake();
        drop(earlier);
    }
}

/// What there is to do for the fallback driver.
pub(super) struct FallbackWork {
    pub(super) to_drive: bool,
    pub(super) to_watch: bool,
}

/// What the fallback driver saw when it looked after the caller.
#[derive(Default)]
pub(super) struct ReaderSnapshot {
    turns: u64,
    comings: u64,
    is_awaited: bool,
}

/// Who is to be woken, once nothing is locked.
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
    /// Has another caller woken, or none, and gives back the one before.
    fn replace_caller(&mut self, caller: Option<(u64, Waker)>) -> Option<(u64, Waker)> {
        self.comes();
        mem::replace(&mut self.caller, caller)
    }

    /// The caller that is woken is there.
    fn comes(&mut self) {
        self.is_awaited = false;
        self.comings = self.comings.wrapping_add(1);
    }

    /// Who is to be told that there is something to drive; nobody if there is not.
    fn told(&mut self) -> Wakeups {
        if !self.is_woken {
            return Wakeups::default();
        }
        self.is_awaited |= matches!(
            (&self.exchange, &self.caller),
            (FutureState::Here(_), Some(_))
        );
        match (&self.exchange, &self.caller) {
            // When who drives is done.
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
        let told = {
            let mut drive = self.0.lock();
            drive.is_woken = true;
            drive.told()
        };
        told.wake();
    }
}

/// Holds the future while it is driven.
pub(super) struct DriveGuard<'a> {
    shared: &'a Arc<SharedDriveState>,
    /// None once it has ended.
    exchange: Option<ConnectionFuture>,
    /// Who waits from now on.
    caller: Option<(u64, Waker)>,
    /// Who does not any more.
    leaver: Option<u64>,
}

impl DriveGuard<'_> {
    /// Writes what is asked, and reads what is answered.
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
        // A panic ends the connection, and is none of the caller's.
        let driven = catch_unwind(AssertUnwindSafe(|| exchange.as_mut().poll(&mut context)));
        if driven.is_ok_and(|it| it.is_pending()) {
            self.exchange = Some(exchange);
        }
    }

    /// Has the caller woken from now on, unless another is.
    fn wait(&mut self, caller: &mut DriveWaiter<'_>, waker: &Waker) {
        let number = *caller.number.get_or_insert_with(|| {
            let mut drive = self.shared.0.lock();
            drive.callers = drive.callers.wrapping_add(1);
            drive.callers
        });
        self.caller = Some((number, waker.clone()));
    }

    /// Has the caller not woken any more.
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
                // The fallback driver is to hear of it.
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
        let told = drive.told();
        drop(drive);
        told.wake();
        drop((left, earlier));
    }
}

/// Somebody who waits for an answer.
pub(super) struct DriveWaiter<'a> {
    shared: &'a Arc<SharedDriveState>,
    /// Once it has waited.
    number: Option<u64>,
}

impl<'a> DriveWaiter<'a> {
    pub(super) fn of(shared: &'a Arc<SharedDriveState>) -> Self {
        Self {
            shared,
            number: None,
        }
    }

    /// Polls the answer. If no other caller is driving the connection, this one does first.
    pub(super) fn poll<T>(
        &mut self,
        mut answer: Pin<&mut impl Future<Output = T>>,
        context: &mut Context<'_>,
    ) -> Poll<T> {
        // Where another drives at this moment somebody is woken after it for what is sent meanwhile.
        let Some(mut turn) = self.shared.begin() else {
            if let Some(number) = self.number {
                self.shared.follow(number, context.waker());
            }
            return answer.poll(context);
        };
        // The answer is polled again below, so that no waker is needed here.
        let mut silent = Context::from_waker(Waker::noop());
        let mut told = answer.as_mut().poll(&mut silent);
        if told.is_pending() {
            turn.drive();
            told = answer.poll(context);
        }
        if told.is_pending() {
            turn.wait(self, context.waker());
        } else {
            turn.leave(self);
        }
        told
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
        // It may have been woken and not come.
        let told = drive.told();
        drop(drive);
        told.wake();
        drop(left);
    }
}
