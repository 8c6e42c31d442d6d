//! gRPC calls with a lock: one call per order at a time, over all instances of the service.
//!
//! The lock is a layer of tonic's server, and its key is a header of the call. A call whose lock is busy gets the
//! status `ABORTED`, so clients know that they may retry.
//!
//! Run it with `cargo run --example tonic_call`: a client calls twice concurrently for one order. `shipping.rs` is the
//! code that `tonic-prost-build` would generate from a `.proto`. Try: `.wait(Duration::from_secs(5))` on the layer.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

mod shipping;

use std::net::SocketAddr;
use std::time::Duration;

use leasehold::LockManager;
use leasehold_tower::{LockLayer, key};
use tokio::net::TcpListener;
use tokio::time::sleep;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic::{Request, Status};

use crate::shipping::{Shipping, ShippingClient, ShippingServer};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, Clone, Copy)]
struct Shop;

impl Shipping for Shop {
    async fn ship(self, order: String) -> Result<String, Status> {
        sleep(Duration::from_millis(300)).await;
        Ok(format!("order {order} is shipped"))
    }
}

/// Starts the service.
async fn serve(locks: LockManager) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let at = listener.local_addr()?;
    let server = Server::builder()
        .layer(LockLayer::new(locks, key::header("order")))
        .add_service(ShippingServer(Shop));
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    Ok(at)
}

async fn ship(channel: Channel, order: &str) -> Result<String, BoxError> {
    let mut request = Request::new(order.to_owned());
    request.metadata_mut().insert("order", order.parse()?);
    Ok(ShippingClient(channel).ship(request).await?)
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let at = serve(LockManager::in_process()).await?;
    let channel = Channel::from_shared(format!("http://{at}"))?
        .connect()
        .await?;
    let calls = tokio::join!(
        ship(channel.clone(), "42"),
        ship(channel.clone(), "42"),
        ship(channel, "7")
    );
    for answer in <[_; 3]>::from(calls) {
        match answer {
            Ok(shipped) => println!("{shipped}"),
            Err(refused) => println!("{refused}"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    #[tokio::test]
    async fn second_call_for_an_order_is_aborted() {
        let at = serve(LockManager::in_process()).await.unwrap();
        let channel = Channel::from_shared(format!("http://{at}")).unwrap();
        let channel = channel.connect().await.unwrap();
        let calls = tokio::join!(ship(channel.clone(), "42"), ship(channel.clone(), "42"));
        let (shipped, refused): (Vec<_>, Vec<_>) =
            <[_; 2]>::from(calls).into_iter().partition(Result::is_ok);
        assert_eq!(shipped[0].as_ref().unwrap(), "order 42 is shipped");
        let refused = refused[0].as_ref().unwrap_err().downcast_ref::<Status>();
        assert_eq!(refused.map(Status::code), Some(Code::Aborted));
        assert!(ship(channel, "42").await.is_ok(), "the lock is free again");
    }
}
