//! A network that fails on command: a proxy between clients and one server.
//!
//! It reads both directions message by message (where they are not the protocol
//! of Redis, chunk by chunk), so that faults hit whole requests, replies and
//! pushes. For each connection of a client it makes one to the server.
//!
//! Whatever happens is something that TCP can do. Requests keep their order. A
//! stream has no holes: a connection that has lost a message in a direction
//! stays mute in it for good, its end included, until it is cut or given up;
//! new connections work. (A proxy that drops one reply and forwards the next
//! would hand the client the answer to another question.) Pushes alone may be
//! lost one by one, as Redis does lose them.
//!
//! ```no_run
//! # use leasehold_testkit::proxy::{Proxy, Which};
//! # use leasehold_testkit::servers::RedisServer;
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let server = RedisServer::start().await?;
//! let proxy = Proxy::start(server.port()).await?;
//! let url = server.url_at(proxy.port());
//!
//! // The next SET is done, and the client does not learn of it.
//! proxy.lose_replies(Which::named("SET").times(1));
//! // The one after that arrives late, its client being gone.
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
pub use proxy::Proxy;
pub use rules::{Direction, Traffic};
pub use stats::Stats;
pub use which::Which;
