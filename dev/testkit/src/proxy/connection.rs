//! Runs a connection.

use std::future::pending;
use std::net::SocketAddr;

use tokio::net::TcpStream;
use tokio::sync::mpsc::unbounded_channel;

use super::lanes;
use super::link::Link;

/// Runs until the server's side has ended and the client has got its end. Data that a client sent before its
/// disconnection still arrives.
pub(super) async fn run(link: Link, client: TcpStream, server: SocketAddr) {
    // If the server is down, the connection of the client ends immediately.
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    for stream in [&client, &server] {
        drop(stream.set_nodelay(true));
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let (requests_in, requests_out) = unbounded_channel();
    let (replies_in, replies_out) = unbounded_channel();
    let requests = async {
        tokio::join!(
            lanes::take_requests(&link, from_client, requests_in),
            lanes::send_requests(&link, to_server, requests_out),
        );
        pending::<()>().await;
    };
    let replies = async {
        tokio::join!(
            lanes::take_replies(&link, from_server, replies_in),
            lanes::send_replies(&link, to_client, replies_out),
        );
    };
    tokio::select! {
        () = requests => {}
        () = replies => {}
    }
}
