//! A graceful shutdown: the server finishes its running requests, then releases its locks.
//!
//! First axum stops accepting requests and finishes the running ones, each under its lock. Only then the manager is
//! shut down: it refuses new locks, removes its waiters from their queues, and releases the locks that are still held.
//! The shutdown waits until the backend has confirmed the releases. In the opposite order, the running requests would
//! lose their locks.
//!
//! Run it with `cargo run --example graceful_shutdown`, send `curl -X POST localhost:3000/orders/42/ship`, and press
//! Ctrl-C before the response. Try: `-- redis://127.0.0.1`, and `kill -9` instead of Ctrl-C: the lock stays held for
//! its TTL.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::future::Future;
use std::time::Duration;

use axum::extract::State;
use axum::{Router, routing::post};
use leasehold::LockManager;
use leasehold_tower::{BoxError, Problem};
use tokio::net::TcpListener;
use tokio::time::sleep;

async fn ship(State(locks): State<LockManager>) -> Result<&'static str, Problem> {
    let lock = locks.lock("order:42").wait(Duration::from_secs(5));
    lock.run(async |_lock| {
        sleep(Duration::from_secs(2)).await;
        Ok("shipped\n")
    })
    .await
}

async fn serve(
    listener: TcpListener,
    locks: LockManager,
    end: impl Future<Output = ()> + Send + 'static,
) -> Result<(), BoxError> {
    let app = Router::new()
        .route("/orders/42/ship", post(ship))
        .with_state(locks.clone());
    axum::serve(listener, app)
        .with_graceful_shutdown(end)
        .await?;
    locks.shutdown().await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let locks = match std::env::args().nth(1) {
        Some(url) => LockManager::connect(&url).await?,
        None => LockManager::in_process(),
    };
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!(
        "curl -X POST {}/orders/42/ship, and then Ctrl-C",
        listener.local_addr()?
    );
    let pressed = async {
        // If the signal handler cannot be installed, the server shuts down immediately.
        let _pressed = tokio::signal::ctrl_c().await;
        println!("shutting down …");
    };
    serve(listener, locks, pressed).await
}

#[cfg(test)]
mod tests {
    use leasehold::Error;
    use leasehold::backend::InProcess;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn shutdown_finishes_the_running_request_and_releases_its_lock() {
        let world = InProcess::new();
        let (locks, others) = (LockManager::new(world.clone()), LockManager::new(world));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (end, ended) = oneshot::channel::<()>();
        let end_of_it = async { drop(ended.await) };
        let server = tokio::spawn(serve(listener, locks.clone(), end_of_it));
        let request = b"POST /orders/42/ship HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n";
        client.write_all(request).await.unwrap();
        while others.inspect("order:42").await.unwrap().is_free() {
            sleep(Duration::from_millis(5)).await;
        }
        end.send(()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.ends_with("shipped\n"),
            "{answer}"
        );
        server.await.unwrap().unwrap();
        assert!(
            others
                .lock("order:42")
                .try_acquire()
                .await
                .unwrap()
                .is_some()
        );
        let refused = locks.lock("order:42").acquire().await;
        assert!(matches!(refused, Err(Error::Closed { .. })), "{refused:?}");
    }
}
