//! Mistakes that somebody could make in a script: what finds none of them would find nothing.

/// A script with a mistake in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mistake {
    /// How it is called.
    pub name: &'static str,
    /// What is wrong then.
    pub says: &'static str,
    /// What the script says, and what instead.
    change: (&'static str, &'static str),
}

/// The mistakes that the simulation finds. Those that only the model's tests find are in `dev/model`.
pub const MISTAKES: [Mistake; 4] = [
    Mistake {
        name: "release-without-comparing",
        says: "a release or cleanup ends whatever lock is there, its owner's or not",
        change: (
            "local held = holder == owner",
            "local held = holder and not string.find(holder, '^leasehold:')",
        ),
    },
    Mistake {
        name: "no-floor",
        says: "tokens are only counted, and begin anew when the counter was lost",
        change: (
            "math.max((tonumber(string.match(record or '', '^%d+')) or 0) + 1, now)",
            "(tonumber(string.match(record or '', '^%d+')) or 0) + 1",
        ),
    },
    Mistake {
        name: "cleanup-only-deletes",
        says: "a release or cleanup hands the lock to nobody",
        change: (
            "if held or not holder or (waited and is_divided()) then",
            "if false then",
        ),
    },
    Mistake {
        name: "newest-first",
        says: "a lock that is handed on is for whoever came last",
        change: (
            "local waiter = redis.call('ZRANGE', queue, place, place)[1]",
            "local waiter = redis.call('ZREVRANGE', queue, place, place)[1]",
        ),
    },
];

impl Mistake {
    /// The mistake of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        MISTAKES.into_iter().find(|it| it.name == name)
    }

    /// Makes it in a script, if it has the place for it.
    pub(crate) fn make_in(self, script: &str) -> String {
        script.replace(self.change.0, self.change.1)
    }
}
