//! Servers and clients that communicate over TCP.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(20);

/// Serves until the test's runtime ends.
pub(crate) async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

/// A client with a connection pool.
#[derive(Clone)]
pub(crate) struct Browser(Client<HttpConnector, Empty<bytes::Bytes>>);

impl Browser {
    pub(crate) fn new() -> Self {
        Self(Client::builder(TokioExecutor::new()).build_http())
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        at: SocketAddr,
        path: &str,
    ) -> Response<Incoming> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{at}{path}"));
        let sent = self.0.request(request.body(Empty::new()).unwrap());
        timeout(PATIENCE, sent)
            .await
            .expect("it should answer")
            .unwrap()
    }

    pub(crate) async fn post(&self, at: SocketAddr, path: &str) -> u16 {
        let response = self.send(Method::POST, at, path).await;
        let status = response.status().as_u16();
        response.into_body().collect().await.unwrap();
        status
    }

    pub(crate) async fn get(&self, at: SocketAddr, path: &str) -> u16 {
        self.send(Method::GET, at, path).await.status().as_u16()
    }
}

/// A client that sends and reads bytes, and can disconnect at any time.
pub(crate) struct Socket(TcpStream);

impl Socket {
    pub(crate) async fn connect(at: SocketAddr) -> Self {
        Self(TcpStream::connect(at).await.unwrap())
    }

    /// Opens a connection, and sends a request without a body.
    pub(crate) async fn asking(at: SocketAddr, method: &str, path: &str) -> Self {
        let mut socket = Self::connect(at).await;
        let request =
            format!("{method} {path} HTTP/1.1\r\nhost: test\r\ncontent-length: 0\r\n\r\n");
        socket.write(&request).await;
        socket
    }

    pub(crate) async fn write(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads until the read text ends with `end`.
    pub(crate) async fn read_until(&mut self, end: &str) -> String {
        let mut read = String::new();
        let reading = async {
            while !read.ends_with(end) {
                let mut byte = [0];
                assert_ne!(
                    self.0.read(&mut byte).await.unwrap(),
                    0,
                    "ended after {read:?}"
                );
                read.push(char::from(byte[0]));
            }
        };
        timeout(PATIENCE, reading).await.expect("it should come");
        read
    }

    /// Returns whether the server closes the connection without sending another byte.
    pub(crate) async fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        let read = timeout(PATIENCE, self.0.read(&mut byte))
            .await
            .expect("it should end");
        matches!(read, Ok(0) | Err(_))
    }
}
