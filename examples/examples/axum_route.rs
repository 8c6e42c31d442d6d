//! A route of axum under a lock: one request per order at a time, over all instances.
//!
//! Run it with `cargo run --example axum_route`, and twice at once
//! `curl -iX POST localhost:3000/orders/42/ship`: the second one is answered with 409. With `-- redis://127.0.0.1` the
//! lock is there, for as many instances as you like. Try: `.wait(Duration::from_secs(5))` on the layer.

#![allow(clippy::print_stdout, reason = "an example talks to its reader")]

use std::time::Duration;

use axum::extract::Path;
use axum::{Router, routing::post};
use leasehold::LockManager;
use leasehold_tower::{BoxError, LockLayer, Locked, key};
use tokio::net::TcpListener;
use tokio::time::sleep;

/// Give the token to what you write to: it refuses older ones.
async fn ship(Locked(lock): Locked, Path(order): Path<u64>) -> String {
    sleep(Duration::from_secs(2)).await;
    format!("order {order} is shipped, token {}\n", lock.token())
}

fn app(locks: LockManager) -> Router {
    // As the handler reads it: `/orders/42` and `/orders/042` are one.
    let key = key::path("order:{order}").typed::<u64>("order");
    Router::new()
        .route("/orders/{order}/ship", post(ship))
        .route_layer(LockLayer::new(locks, key))
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let locks = match std::env::args().nth(1) {
        Some(url) => LockManager::connect(&url).await?,
        None => LockManager::in_process(),
    };
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("curl -iX POST {}/orders/42/ship", listener.local_addr()?);
    axum::serve(listener, app(locks)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_second_request_for_an_order_is_refused_and_one_for_another_is_not() {
        let app = app(LockManager::in_process());
        let ship = async |path: &str| {
            let request = Request::post(path).body(Body::empty()).unwrap();
            app.clone()
                .oneshot(request)
                .await
                .unwrap()
                .status()
                .as_u16()
        };
        let [one, two, three] = ["/orders/42/ship", "/orders/%3042/ship", "/orders/7/ship"];
        let answers = tokio::join!(ship(one), ship(two), ship(three));
        assert_eq!(answers, (200, 409, 200));
        assert_eq!(ship(two).await, 200);
    }
}
