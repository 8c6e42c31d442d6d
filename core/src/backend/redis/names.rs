use crate::{Key, OwnerId};

/// The version of the layout of a lock's companions and of the scripts that read them: two versions may
/// meet on one server during a roll-out, and must not read each other's entries.
const LAYOUT: &str = "lh1";

/// The keys of one lock on the server, all in one slot of a Cluster.
#[derive(Debug)]
pub(super) struct Names {
    lock: String,
    fence: String,
    queue: String,
    leases: String,
    shares: String,
    stem: String,
}

impl Names {
    pub(super) fn of(key: &Key) -> Self {
        let lock = key.full().to_owned();
        let stem = stem(&lock);
        Self {
            fence: format!("{stem}fence"),
            queue: format!("{stem}queue"),
            leases: format!("{stem}leases"),
            shares: format!("{stem}shares"),
            lock,
            stem,
        }
    }

    /// In the order in which scripts name them.
    pub(super) fn all(&self) -> [&str; 5] {
        [
            &self.lock,
            &self.fence,
            &self.queue,
            &self.leases,
            &self.shares,
        ]
    }

    /// Where it is noted that an attempt is over, as long as copies of its request may come.
    pub(super) fn seal(&self, owner: OwnerId) -> String {
        format!("{}sealed:{owner}", self.stem)
    }
}

/// The fence of a lock alone, written into `name`.
pub(super) fn write_fence(key: &Key, name: &mut String) {
    let lock = key.full();
    let (open, close) = braces(lock);
    for part in [open, lock, close, ":", LAYOUT, ":fence"] {
        name.push_str(part);
    }
}

/// A key with a `{hash tag}` of its own is placed by it, and so are its companions. A `Key` has at most one `}`, and it
/// closes a tag.
fn braces(lock: &str) -> (&'static str, &'static str) {
    if lock.contains('}') {
        ("", "")
    } else {
        ("{", "}")
    }
}

fn stem(lock: &str) -> String {
    let (open, close) = braces(lock);
    format!("{open}{lock}{close}:{LAYOUT}:")
}

/// The keys of one lock on one of several independent nodes, for one round: one text, and where each ends in it.
#[derive(Debug)]
pub(super) struct NodeNames {
    text: String,
    ends: [usize; 6],
}

impl NodeNames {
    pub(super) fn of(key: &Key, round: OwnerId) -> Self {
        let (lock, mut paper) = (key.full(), OwnerId::paper());
        let (stem, round) = (stem(lock), round.written(&mut paper));
        let stem = stem.as_str();
        let names = [
            [lock, "", ""],
            [stem, "fence", ""],
            [stem, "line", ""],
            [stem, "places", ""],
            [stem, "turn", ""],
            [stem, "sealed:", round],
        ];
        let text = names.as_flattened().concat();
        let mut end = 0;
        let ends = names.map(|name| {
            end += name.map(str::len).iter().sum::<usize>();
            end
        });
        Self { text, ends }
    }

    /// In the order in which scripts name them.
    pub(super) fn all(&self) -> [&str; 6] {
        let mut begin = 0;
        self.ends
            .map(|end| &self.text[std::mem::replace(&mut begin, end)..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fence(full: &str) -> String {
        Names::of(&Key::new("", full).unwrap()).fence
    }

    #[test]
    fn companions_are_placed_with_their_lock() {
        assert_eq!(fence("lock:order:42"), "{lock:order:42}:lh1:fence");
        assert_eq!(fence("lock:{42}:order"), "lock:{42}:order:lh1:fence");
        // Without a `}` the whole name places the lock, and `{a{b}` has the tag `a{b`.
        assert_eq!(fence("a{b"), "{a{b}:lh1:fence");
        for full in ["lock:order:42", "lock:{42}:order", "a{b"] {
            let mut alone = String::new();
            write_fence(&Key::new("", full).unwrap(), &mut alone);
            assert_eq!(alone, fence(full));
        }
    }
}
