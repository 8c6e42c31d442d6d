// Callers, a fallback driver and a server on an in-memory connection. This file is included once for each source.

use std::future::{Future, poll_fn};
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use loom::future::block_on;
use loom::thread::{self, JoinHandle};

use super::drive_state::{DriveWaiter, ReaderSnapshot, SharedDriveState};
use crate::Mutex;

/// The state that the connection and its callers share.
#[derive(Default)]
struct Wire {
    /// The callers whose replies have arrived and are unread.
    input: Vec<usize>,
    connection: Option<Waker>,
    answered: [bool; 2],
    callers: [Option<Waker>; 2],
}

#[derive(Clone)]
struct Connection {
    wire: Arc<Mutex<Wire>>,
    shared: Arc<SharedDriveState>,
}

impl Connection {
    fn open() -> Self {
        let wire: Arc<Mutex<Wire>> = Arc::new(Mutex::new(Wire::default()));
        let exchange = exchange(Arc::clone(&wire));
        let shared = SharedDriveState::new(Box::pin(exchange));
        Self { wire, shared }
    }

    /// Makes the server reply to a caller.
    fn reply_to(&self, caller: usize) {
        let mut wire = self.wire.lock();
        wire.input.push(caller);
        let connection = wire.connection.take();
        drop(wire);
        if let Some(connection) = connection {
            connection.wake();
        }
    }

    fn answer(&self, caller: usize) -> impl Future<Output = ()> + use<> {
        let wire = Arc::clone(&self.wire);
        poll_fn(move |context| {
            let mut wire = wire.lock();
            if wire.answered[caller] {
                return Poll::Ready(());
            }
            wire.callers[caller] = Some(context.waker().clone());
            Poll::Pending
        })
    }

    fn ask(&self, number: usize) {
        block_on(async {
            let mut caller = DriveWaiter::of(&self.shared);
            let mut answer = pin!(self.answer(number));
            poll_fn(|context| caller.poll(answer.as_mut(), context)).await;
        });
    }

    /// Acts like the fallback driver, which polls `looks` times, and immediately after a caller was woken.
    fn drive_as_fallback(&self, mut looks: usize) {
        let mut last = ReaderSnapshot::default();
        block_on(poll_fn(|context| {
            loop {
                let Some(left) = self.shared.register_fallback(context.waker()) else {
                    return Poll::Ready(());
                };
                if left.to_drive
                    && let Some(mut turn) = self.shared.begin()
                {
                    turn.drive();
                }
                if !left.to_watch || looks == 0 {
                    return Poll::Pending;
                }
                looks -= 1;
                self.shared.check_waiter(&mut last);
            }
        }));
    }

    fn in_a_thread(&self, task: impl FnOnce(&Self) + 'static) -> JoinHandle<()> {
        let connection = self.clone();
        thread::spawn(move || task(&connection))
    }

    fn close(&self, fallback: JoinHandle<()>) {
        self.shared.close();
        self.shared.wake_by_ref();
        fallback.join().unwrap();
    }
}

/// The future of the connection, which reads the replies and wakes their callers.
fn exchange(wire: Arc<Mutex<Wire>>) -> impl Future<Output = ()> + Send {
    poll_fn(move |context| {
        let mut woken = Vec::new();
        {
            let mut wire = wire.lock();
            wire.connection = Some(context.waker().clone());
            for caller in mem::take(&mut wire.input) {
                wire.answered[caller] = true;
                woken.extend(wire.callers[caller].take());
            }
        }
        woken.into_iter().for_each(Waker::wake);
        Poll::Pending
    })
}

pub(crate) fn two_ask() {
    let connection = Connection::open();
    let fallback = connection.in_a_thread(|it| it.drive_as_fallback(0));
    let callers = [0, 1].map(|number| connection.in_a_thread(move |it| it.ask(number)));
    connection.reply_to(0);
    connection.reply_to(1);
    for caller in callers {
        caller.join().unwrap();
    }
    connection.close(fallback);
}

pub(crate) fn one_leaves() {
    let connection = Connection::open();
    let mut leaver = DriveWaiter::of(&connection.shared);
    poll_once(&mut leaver, connection.answer(0));
    let caller = connection.in_a_thread(|it| it.ask(1));
    let fallback = connection.in_a_thread(|it| it.drive_as_fallback(0));
    connection.reply_to(1);
    drop(leaver);
    caller.join().unwrap();
    connection.close(fallback);
}

pub(crate) fn one_is_not_polled() {
    let connection = Connection::open();
    let mut idle = DriveWaiter::of(&connection.shared);
    poll_once(&mut idle, connection.answer(0));
    mem::forget(idle);
    let caller = connection.in_a_thread(|it| it.ask(1));
    let fallback = connection.in_a_thread(|it| it.drive_as_fallback(3));
    connection.reply_to(1);
    caller.join().unwrap();
    connection.close(fallback);
}

fn poll_once(caller: &mut DriveWaiter<'_>, answer: impl Future<Output = ()>) {
    let mut answer = pin!(answer);
    let mut context = Context::from_waker(Waker::noop());
    let _pending = caller.poll(answer.as_mut(), &mut context);
}
