//! The state that the simulated processes and the observers share.

use std::array;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use crate::clock;
use crate::history::{History, Who};
use crate::server::SimulatedRedis;

/// The number of processes.
pub(crate) const PROCESSES: usize = 3;

/// The number of tasks of each process that acquire locks.
pub(crate) const TASKS: usize = 3;

/// The number of tasks of each process that call `once`.
pub(crate) const ONCE_TASKS: usize = 2;

pub(crate) struct Shared {
    pub(crate) seed: u64,
    pub(crate) redis: Rc<RefCell<SimulatedRedis>>,
    pub(crate) history: RefCell<History>,
    /// Whether clients count their leases from the arrival of the answer.
    pub(crate) leases_count_from_answer: bool,
    /// Whether tasks begin nothing new.
    is_over: Cell<bool>,
    lives: [Cell<u32>; PROCESSES],
    finished: [Cell<bool>; PROCESSES],
}

impl Shared {
    pub(crate) fn new(
        seed: u64,
        redis: SimulatedRedis,
        leases_count_from_answer: bool,
    ) -> Rc<Self> {
        Rc::new(Self {
            seed,
            leases_count_from_answer,
            redis: Rc::new(RefCell::new(redis)),
            history: RefCell::default(),
            is_over: Cell::new(false),
            lives: array::from_fn(|_| Cell::new(0)),
            finished: array::from_fn(|_| Cell::new(false)),
        })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    pub(crate) fn close(&self) {
        self.is_over.set(true);
    }

    /// Begins a process, and returns the number of its earlier starts.
    pub(crate) fn begin(&self, process: usize) -> u32 {
        let life = self.lives[process].get();
        self.lives[process].set(life + 1);
        self.finished[process].set(false);
        life
    }

    pub(crate) fn finish(&self, process: usize) {
        self.finished[process].set(true);
    }

    pub(crate) fn unfinished(&self) -> Vec<usize> {
        let processes = 0..PROCESSES;
        processes.filter(|&it| !self.finished[it].get()).collect()
    }

    pub(crate) fn note(&self, who: Who, what: impl fmt::Display) {
        let mut history = self.history.borrow_mut();
        history.note(clock::now(), format_args!("{who} {what}"));
    }
}
