//! An axum route with a lock: one request per order at a time, over all instances.
//!
//! Run it with `cargo run --example axum_route`, and run `curl -iX POST localhost:3000/orders/42/ship` twice
//! concurrently: the second request gets a 409. Add `-- redis://127.0.0.1` to use Redis with several instances. Try:
//! `.wait(Duration::from_secs(5))` on the layer.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::time::Duration;

use axum::extract::Path;
use axum::{Router, routing::post};
use leasehold::LockManager;
use leasehold_tower::{BoxError, LockLayer, Locked, key};
use tokio::net::TcpListener;
use tokio::time::sleep;

/// Pass the token to the resource that you write to, so that it refuses older tokens.
async fn ship(Locked(lock): Locked, Path(order): Path<u64>) -> String {
    sleep(Duration::from_secs(2)).await;
    format!("order {order} is shipped, token {}\n", lock.token())
}

fn app(locks: LockManager) -> Router {
    // Parsed as in the handler: `/orders/42` and `/orders/042` use the same lock.
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
    async fn second_request_for_an_order_is_refused_and_one_for_another_order_is_not() {
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
