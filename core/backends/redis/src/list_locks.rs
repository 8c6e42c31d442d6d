//! Inspects keys and lists the locks on all servers, without a command that takes long.

use redis::{Cmd, Value};

use super::Redis;
use super::keys::{KeyBuilder, LockKeys};
use super::protocol::inspection::KeyView;
use super::protocol::reply::{self, ReleaseReply};
use leasehold_core::backend::{BackendError, Inspection, ListCursor, ListPage};
use leasehold_core::{AttemptId, Key};

/// The number of keys that the server visits in one command.
const SCANNED: u32 = 100;

/// The largest number of shares of one key in a list, and the longest queue in which the server counts precisely.
const MOST_SHARES: &str = "100";

/// The position of a page: a server, and the server's own cursor.
#[derive(Debug, Clone, Copy, Default)]
struct Position {
    server: usize,
    cursor: u64,
}

impl Redis {
    pub(super) async fn view(&self, key: &Key) -> Result<KeyView, BackendError> {
        let command = self.scripts.inspect.call(&LockKeys::of(key).all(), &[]);
        KeyView::read(self.servers.call(key, &command).await?)
    }

    /// Ends the lock of one holder as a release by this holder does.
    pub(super) async fn end_holder(&self, key: &Key, id: &str) -> Result<bool, BackendError> {
        let view = self.view(key).await?;
        let Some(holder) = view.holder(id) else {
            return Ok(false);
        };
        let mut names = KeyBuilder::of(key);
        let mut release = self.scripts.release.begin(6, 1, key.full().len() * 6 + 256);
        release
            .arg(key.full())
            .arg(names.queue())
            .arg(names.fence());
        // The release sets no tombstone, because it does not know of duplicate requests.
        release.arg(names.seal(AttemptId::from_bytes([0; 16])));
        release.arg(names.leases()).arg(names.shares()).arg(holder);
        let released = reply::released(self.servers.call(key, &release).await?)?;
        Ok(matches!(released, ReleaseReply::Ended { held: true, .. }))
    }

    pub(super) async fn page(
        &self,
        prefix: &str,
        cursor: Option<&ListCursor>,
    ) -> Result<ListPage, BackendError> {
        let Position { server, cursor } = cursor
            .and_then(ListCursor::position)
            .copied()
            .unwrap_or_default();
        let scan = scan(prefix, cursor);
        let Some(found) = self.servers.call_server(server, &scan).await? else {
            return Ok(ListPage::new(Vec::new(), None));
        };
        let (cursor, keys) = found_keys(found)?;
        let server = if cursor == 0 { server + 1 } else { server };
        let next = Some(ListCursor::new(Position { server, cursor }));
        Ok(ListPage::new(self.held(keys).await?, next))
    }

    /// Returns the keys on which managers hold locks.
    async fn held(&self, keys: Vec<Key>) -> Result<Vec<(String, Inspection)>, BackendError> {
        let lengths = self.each(&keys, length).await?.into_iter();
        let keys = lengths.filter(|(_, length)| may_be_owner(length));
        let keys: Vec<Key> = keys.map(|(key, _)| key).collect();
        let views = self.each(&keys, |key| {
            let keys = LockKeys::of(key);
            self.scripts.inspect.call(&keys.all(), &[MOST_SHARES])
        });
        let mut held = Vec::new();
        for (key, view) in views.await? {
            let view = KeyView::read(view)?;
            if view.is_held_by_managers() {
                held.push((key.full().to_owned(), view.shown()));
            }
        }
        Ok(held)
    }

    /// Executes one command for each key, and returns the replies.
    async fn each(
        &self,
        keys: &[Key],
        command: impl Fn(&Key) -> Cmd,
    ) -> Result<Vec<(Key, Value)>, BackendError> {
        let commands = keys.iter().map(|key| (key, command(key)));
        let replies = self.servers.call_each(commands.collect()).await;
        let replies = keys.iter().zip(replies);
        replies
            .map(|(key, reply)| Ok((key.clone(), reply?)))
            .collect()
    }
}

/// Returns the command that visits the next keys of a server.
pub(crate) fn scan(prefix: &str, cursor: u64) -> Cmd {
    let mut scan = redis::cmd("SCAN");
    scan.arg(cursor).arg("MATCH").arg(pattern(prefix));
    scan.arg("COUNT").arg(SCANNED).arg("TYPE").arg("string");
    scan
}

/// Parses the reply to [`scan`]: the cursor, which is 0 after the last keys, and the keys.
pub(crate) fn found_keys(found: Value) -> Result<(u64, Vec<Key>), BackendError> {
    let (cursor, names): (u64, Vec<Vec<u8>>) = reply::read(found)?;
    let names = names
        .into_iter()
        .filter_map(|it| String::from_utf8(it).ok());
    let keys = names.filter_map(|it| Key::new("", &it).ok());
    Ok((cursor, keys.collect()))
}

/// Returns the command that reads the length of a value. Keys under a prefix that are not locks are auxiliary keys, or
/// belong to other programs. Their values may be large, so a list reads only values that may be an owner.
pub(crate) fn length(key: &Key) -> Cmd {
    let mut length = redis::cmd("STRLEN");
    length.arg(key.full());
    length
}

/// Returns whether a value of this length may be an owner.
pub(crate) fn may_be_owner(length: &Value) -> bool {
    let length = reply::read(length.clone());
    length.is_ok_and(|length: usize| length <= AttemptId::buffer().len())
}

/// Returns a pattern for keys that begin with `prefix`.
fn pattern(prefix: &str) -> String {
    let mut pattern = String::with_capacity(prefix.len() + 1);
    for char in prefix.chars() {
        if matches!(char, '*' | '?' | '[' | ']' | '\\') {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern.push('*');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_of_a_prefix_are_escaped_in_the_pattern() {
        assert_eq!(pattern("lock:"), "lock:*");
        assert_eq!(pattern(r"a*b?[c]\"), r"a\*b\?\[c\]\\*");
    }
}
