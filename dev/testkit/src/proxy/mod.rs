//! A network that fails on command: a proxy between clients and one server.
//!
//! The proxy reads both directions message by message, so faults affect whole requests, replies and pushes. Streams
//! with another protocol than that of Redis are read in chunks. Each connection of a client has its own connection to
//! the server.
//!
//! All faults can also happen with TCP. Requests keep their order, and a stream has no gaps. So a connection that has
//! lost a message in one direction stays silent in this direction, including its end, until it is cut or abandoned. New
//! connections work. (If a proxy dropped one reply and forwarded the next one, the client would get the reply to
//! another request.) Only pushes may be lost individually, because Redis can lose them, too.
//!
//! For measurements, [`LatencyProxy`] delays a stream by less than a millisecond and has no other faults.
//!
//! ```no_run
//! # use leasehold_testkit::proxy::{Proxy, Which};
//! # use leasehold_testkit::servers::RedisServer;
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let server = RedisServer::start().await?;
//! let proxy = Proxy::start(server.port()).await?;
//! let url = server.url_at(proxy.port());
//!
//! // The next SET is executed, but the client gets no reply.
//! proxy.lose_replies(Which::named("SET").times(1));
//! // The SET after it arrives late, when its client has already disconnected.
//! proxy.hold_requests(Which::named("SET").times(1));
//! // …
//! proxy.until("the SET is held", |stats| stats.held == 1).await?;
//! proxy.cut();
//! // …
//! proxy.deliver_held().await?;
//! # Ok(())
//! # }
//! ```

mod chaos;
mod connection;
mod error;
mod expected;
mod gate;
mod judge;
mod lanes;
mod latency;
mod link;
mod listener;
mod messages;
#[allow(
    clippy::module_inception,
    reason = "the proxy itself, among the parts it is made of"
)]
mod proxy;
mod rules;
mod shared;
mod stats;
mod which;

pub use chaos::ChaosPlan;
pub use error::ProxyError;
pub use latency::LatencyProxy;
pub use proxy::Proxy;
pub use rules::{Direction, Traffic};
pub use stats::Stats;
pub use which::Which;
