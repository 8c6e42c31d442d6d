//! The blocking API on a server, called from threads without a runtime.
use std::thread;
use std::time::Duration;

use leasehold::Error;
use leasehold::blocking::LockManager;

use crate::single::server::Server;

#[tokio::test]
async fn threads_without_async_exclude_each_other_and_their_leases_are_renewed() {
    let server = Server::start().await;
    let url = server.url();
    let ttl = Duration::from_secs(3);
    let body = move || -> Result<(), Error> {
        let (here, there) = (LockManager::connect(&url)?, LockManager::connect(&url)?);
        let guard = here.lock("k").ttl(ttl).acquire()?;
        thread::sleep(ttl + ttl / 2);
        assert!(guard.is_valid());
        assert!(there.lock("k").try_acquire()?.is_none());
        let waiting = thread::spawn({
            let there = there.clone();
            move || there.lock("k").wait(Duration::from_secs(9)).acquire()
        });
        let token = guard.token();
        guard.release()?;
        let next = waiting.join().unwrap()?;
        assert!(next.token() > token);
        next.release()?;
        here.shutdown()?;
        there.shutdown()
    };
    let thread = thread::spawn(body);
    let ran = tokio::task::spawn_blocking(move || thread.join().unwrap());
    ran.await.unwrap().unwrap();
}
