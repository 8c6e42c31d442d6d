//! Sends many requests for few orders, and checks that each order has one request at a time.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::Barrier;

/// Counts the requests of each order, and the overlaps.
#[derive(Clone)]
pub(crate) struct Shop {
    state: Arc<Mutex<State>>,
    /// The first requests of all orders wait here for each other, so they must run in parallel.
    meeting: Arc<Barrier>,
}

#[derive(Default)]
struct State {
    /// The number of requests of each order, and whether one runs now.
    orders: HashMap<u64, (usize, bool)>,
    overlaps: usize,
}

impl Shop {
    pub(crate) fn of(orders: usize) -> Self {
        Self {
            state: Arc::default(),
            meeting: Arc::new(Barrier::new(orders)),
        }
    }

    pub(crate) async fn ship(&self, order: u64) {
        let first = {
            let mut state = self.state.lock();
            let (times, busy) = state.orders.entry(order).or_default();
            *times += 1;
            let (first, overlaps) = (*times == 1, *busy);
            *busy = true;
            state.overlaps += usize::from(overlaps);
            first
        };
        if first {
            self.meeting.wait().await;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.state.lock().orders.entry(order).or_default().1 = false;
    }

    /// Sends 200 requests concurrently, and checks that they did not overlap.
    pub(crate) async fn is_orderly<F: Future<Output = bool>>(
        &self,
        orders: u64,
        send: impl Fn(u64, usize) -> F,
    ) {
        const REQUESTS: u64 = 200;
        let all = (0..REQUESTS).map(|request| send(request % orders, (request / orders) as usize));
        let all = tokio::time::timeout(Duration::from_secs(120), join_all(all)).await;
        let good = all
            .expect("all should be answered")
            .into_iter()
            .filter(|it| *it)
            .count();
        assert_eq!(good as u64, REQUESTS);
        let state = self.state.lock();
        assert_eq!(state.overlaps, 0, "two at one order");
        assert_eq!(state.orders.len() as u64, orders);
        for (times, _) in state.orders.values() {
            assert_eq!(*times as u64, REQUESTS / orders);
        }
    }
}
