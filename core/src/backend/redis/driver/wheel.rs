//! Who drives, and who is woken when there is something to drive.

use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use parking_lot::Mutex;

pub(super) type Exchange = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The future of a connection, and those who poll it. It is a waker, too: of that future, whoever polls it.
pub(super) struct Shared(Mutex<Wheel>);

struct Wheel {
    exchange: State,
    /// There is something to drive that nobody has looked at.
    is_woken: bool,
    /// The caller that is woken for it, and its number.
    caller: Option<(u64, Waker)>,
    /// It was woken, and has not come since.
    is_awaited: bool,
    /// Who is woken if there is none.
    standby: Option<Waker>,
    /// The standby looks whether the caller that was woken comes.
    is_watched: bool,
    callers: u64,
    /// How often a caller came that is woken, or took the place.
    comings: u64,
    /// How often somebody drove.
    turns: u64,
}

enum State {
    Here(Exchange),
    Driven,
    Over,
}

impl Shared {
    pub(super) fn new(exchange: Exchange) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Wheel {
            exchange: State::Here(exchange),
            // Nobody has polled it yet.
            is_woken: true,
            caller: None,
            is_awaited: false,
            standby: None,
            is_watched: false,
            callers: 0,
            comings: 0,
            turns: 0,
        })))
    }

    /// Ends the connection, whoever drives it.
    pub(super) fn close(&self) {
        let exchange = mem::replace(&mut self.0.lock().exchange, State::Over);
        drop(exchange);
    }

    /// What is left to the standby, which is woken as `waker` says from now on; none if the connection is over.
    pub(super) fn stand_by(&self, waker: &Waker) -> Option<Left> {
        let mut wheel = self.0.lock();
        if matches!(wheel.exchange, State::Over) {
            return None;
        }
        let earlier = wheel.standby.replace(waker.clone());
        let left = Left {
            to_drive: wheel.is_woken && wheel.caller.is_none(),
            to_watch: wheel.is_watched,
        };
        drop(wheel);
        drop(earlier);
        Some(left)
    }

    /// Relieves a caller that was woken before the last look, and has not come since, whoever else drove. There is
    /// nobody to watch any more if nobody is awaited and nobody drove since that look.
    pub(super) fn look_after_caller(&self, last: &mut Look) {
        let mut wheel = self.0.lock();
        let look = Look {
            turns: wheel.turns,
            comings: wheel.comings,
            is_awaited: wheel.is_awaited,
        };
        let has_not_come = last.is_awaited && last.comings == look.comings;
        let relieved = if look.is_awaited && has_not_come {
            wheel.seat(None)
        } else {
            None
        };
        wheel.is_watched = (look.is_awaited && relieved.is_none()) || last.turns != look.turns;
        *last = look;
        drop(wheel);
        drop(relieved);
    }

    #[cfg(test)]
    pub(super) fn is_watched(&self) -> bool {
        self.0.lock().is_watched
    }

    /// Takes the future to drive it; none if another does, or if it is over.
    pub(super) fn begin(self: &Arc<Self>) -> Option<Turn<'_>> {
        let mut wheel = self.0.lock();
        match mem::replace(&mut wheel.exchange, State::Driven) {
            State::Here(exchange) => Some(Turn {
                shared: self,
                exchange: Some(exchange),
                caller: None,
                leaver: None,
            }),
            other => {
                wheel.exchange = other;
                None
            }
        }
    }

    /// Has a caller woken in the task where it is now, if it is the one that is woken.
    fn follow(&self, number: u64, waker: &Waker) {
        let mut wheel = self.0.lock();
        let earlier = match &wheel.caller {
            Some((it, woken)) if *it == number && !woken.will_wake(waker) => {
                wheel.seat(Some((number, waker.clone())))
            }
            Some((it, _)) if *it == number => {
                wheel.comes();
                return;
            }
            _ => return,
        };
        let told = wheel.told();
        drop(wheel);
        told.wake();
        drop(earlier);
    }
}

/// What there is to do for the standby.
pub(super) struct Left {
    pub(super) to_drive: bool,
    pub(super) to_watch: bool,
}

/// What the standby saw when it looked after the caller.
#[derive(Default)]
pub(super) struct Look {
    turns: u64,
    comings: u64,
    is_awaited: bool,
}

/// Who is to be woken, once nothing is locked.
#[derive(Default)]
struct Told {
    driver: Option<Waker>,
    watcher: Option<Waker>,
}

impl Told {
    fn wake(self) {
        for waker in [self.watcher, self.driver].into_iter().flatten() {
            waker.wake();
        }
    }
}

impl Wheel {
    /// Has another caller woken, or none, and gives back the one before.
    fn seat(&mut self, caller: Option<(u64, Waker)>) -> Option<(u64, Waker)> {
        self.comes();
        mem::replace(&mut self.caller, caller)
    }

    /// The caller that is woken is there.
    fn comes(&mut self) {
        self.is_awaited = false;
        self.comings = self.comings.wrapping_add(1);
    }

    /// Who is to be told that there is something to drive; nobody if there is not.
    fn told(&mut self) -> Told {
        if !self.is_woken {
            return Told::default();
        }
        self.is_awaited |= matches!((&self.exchange, &self.caller), (State::Here(_), Some(_)));
        match (&self.exchange, &self.caller) {
            // When who drives is done.
            (State::Driven, _) => Told::default(),
            (State::Here(_), Some((_, caller))) => Told {
                driver: Some(caller.clone()),
                watcher: if mem::replace(&mut self.is_watched, true) {
                    None
                } else {
                    self.standby.clone()
                },
            },
            (State::Here(_), None) | (State::Over, _) => Told {
                driver: self.standby.clone(),
                watcher: None,
            },
        }
    }
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let told = {
            let mut wheel = self.0.lock();
            wheel.is_woken = true;
            wheel.told()
        };
        told.wake();
    }
}

/// Holds the future while it is driven.
pub(super) struct Turn<'a> {
    shared: &'a Arc<Shared>,
    /// None once it has ended.
    exchange: Option<Exchange>,
    /// Who waits from now on.
    caller: Option<(u64, Waker)>,
    /// Who does not any more.
    leaver: Option<u64>,
}

impl Turn<'_> {
    /// Writes what is asked, and reads what is answered.
    pub(super) fn drive(&mut self) {
        {
            let mut wheel = self.shared.0.lock();
            wheel.is_woken = false;
            wheel.turns = wheel.turns.wrapping_add(1);
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
    pub(super) fn wait(&mut self, caller: &mut Caller<'_>, waker: &Waker) {
        let number = *caller.number.get_or_insert_with(|| {
            let mut wheel = self.shared.0.lock();
            wheel.callers = wheel.callers.wrapping_add(1);
            wheel.callers
        });
        self.caller = Some((number, waker.clone()));
    }

    /// Has the caller not woken any more.
    pub(super) fn leave(&mut self, caller: &Caller<'_>) {
        self.leaver = caller.number;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut wheel = self.shared.0.lock();
        let was_closed = matches!(wheel.exchange, State::Over);
        let left = match self.exchange.take() {
            Some(exchange) if !was_closed => {
                wheel.exchange = State::Here(exchange);
                None
            }
            left => {
                wheel.exchange = State::Over;
                // The standby is to hear of it.
                wheel.is_woken = true;
                left
            }
        };
        let mut earlier = self.caller.take();
        if let Some((number, _)) = &earlier
            && wheel.caller.as_ref().is_none_or(|(it, _)| it == number)
        {
            earlier = wheel.seat(earlier);
        }
        if wheel
            .caller
            .as_ref()
            .is_some_and(|(it, _)| Some(*it) == self.leaver)
        {
            earlier = wheel.seat(None);
        }
        let told = wheel.told();
        drop(wheel);
        told.wake();
        drop((left, earlier));
    }
}

/// Somebody who waits for an answer.
pub(super) struct Caller<'a> {
    shared: &'a Arc<Shared>,
    /// Once it has waited.
    number: Option<u64>,
}

impl<'a> Caller<'a> {
    pub(super) fn of(shared: &'a Arc<Shared>) -> Self {
        Self {
            shared,
            number: None,
        }
    }

    pub(super) fn begin(&self) -> Option<Turn<'a>> {
        self.shared.begin()
    }

    /// Is woken as `waker` says from now on, if it is at all.
    pub(super) fn follow(&self, waker: &Waker) {
        if let Some(number) = self.number {
            self.shared.follow(number, waker);
        }
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else {
            return;
        };
        let mut wheel = self.shared.0.lock();
        if wheel.caller.as_ref().is_none_or(|(it, _)| *it != number) {
            return;
        }
        let left = wheel.seat(None);
        // It may have been woken and not come.
        let told = wheel.told();
        drop(wheel);
        told.wake();
        drop(left);
    }
}
