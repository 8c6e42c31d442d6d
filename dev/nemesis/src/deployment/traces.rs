//! What locks have left in a Redis server.

use leasehold_testkit::resp::Value;
use leasehold_testkit::servers::RedisServer;

use crate::BoxError;

/// What may stay for a while: the counters of tokens, and the marks of what is over.
pub(super) const BRIEF: &[&str] = &["fence", "sealed"];

/// As [`BRIEF`], and the places of waiters: a server that has missed that they left keeps them for a while, be it a node
/// that nobody waited for, or a replica that took over.
pub(super) const BRIEF_IF_MISSED: &[&str] =
    &["fence", "sealed", "queue", "leases", "line", "places"];

/// The keys of a server that are not to stay: all but the brief ones, and those as well if they have no TTL.
pub(super) async fn of(server: &RedisServer, brief: &[&str]) -> Result<Vec<String>, BoxError> {
    let mut client = server.client().await?;
    let keys = client.command(["KEYS", "*lock:*"]).await?;
    let mut left = Vec::new();
    for key in keys.items().iter().filter_map(Value::text) {
        let expires = client.command(["PTTL", key]).await?.int();
        let companion = key.split_once(":lh1:").map_or("", |(_, it)| it);
        let companion = companion.split(':').next().unwrap_or_default();
        let may_stay = brief.contains(&companion);
        // It may have gone since: -2.
        if expires == Some(-1) || (!may_stay && expires != Some(-2)) {
            left.push(key.to_owned());
        }
    }
    Ok(left)
}
