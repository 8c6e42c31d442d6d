//! The data that locks have left on a Redis server.

use leasehold_testkit::resp::Value;
use leasehold_testkit::servers::RedisServer;

use crate::BoxError;

/// Keys that may stay for a while: the counters of tokens, and the tombstones.
pub(super) const BRIEF: &[&str] = &["fence", "sealed"];

/// Like [`BRIEF`], and the queue positions of waiters. A server that has missed their end keeps them for a while. Such
/// a server is a node that did not reply in time, or a replica that took over.
pub(super) const BRIEF_IF_MISSED: &[&str] =
    &["fence", "sealed", "queue", "leases", "line", "places"];

/// Returns the keys of a server that must not stay: all except the brief ones, and also brief ones without a TTL.
pub(super) async fn of(server: &RedisServer, brief: &[&str]) -> Result<Vec<String>, BoxError> {
    let mut client = server.client().await?;
    let keys = client.command(["KEYS", "*lock:*"]).await?;
    let mut left = Vec::new();
    for key in keys.items().iter().filter_map(Value::text) {
        let expires = client.command(["PTTL", key]).await?.int();
        let companion = key.split_once(":lh1:").map_or("", |(_, it)| it);
        let companion = companion.split(':').next().unwrap_or_default();
        let may_stay = brief.contains(&companion);
        // The key may have expired since: -2.
        if expires == Some(-1) || (!may_stay && expires != Some(-2)) {
            left.push(key.to_owned());
        }
    }
    Ok(left)
}
