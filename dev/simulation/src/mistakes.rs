//! Seeded mistakes, which test whether the simulation finds mistakes.

/// A mistake in a script or in a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mistake {
    /// The name of the mistake.
    pub name: &'static str,
    /// A description of the mistake.
    pub says: &'static str,
    /// A seed that found it, at which a search begins. After a change of the protocol, another seed may find it first.
    pub seed: u64,
    change: Change,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Texts of scripts, and their replacements.
    Scripts(&'static [(&'static str, &'static str)]),
    /// The client counts its leases from the arrival of the answer.
    Deadline,
}

/// The mistakes that the simulation finds. The mistakes that only the model's tests find are in `dev/model`.
pub const MISTAKES: [Mistake; 12] = [
    Mistake {
        name: "release-without-comparing",
        says: "a release or cleanup ends whatever lock is there, its owner's or not",
        seed: 1,
        change: Change::Scripts(&[
            (
                "held = holder == owner",
                "held = holder and not string.find(holder, '^leasehold:')",
            ),
            (
                "  if holder == owner then
    redis.call('DEL', lock)",
                "  if holder and not string.find(holder, '^leasehold:') then
    redis.call('DEL', lock)",
            ),
        ]),
    },
    Mistake {
        name: "no-floor",
        says: "tokens are only counted, and begin anew when the counter was lost",
        seed: 3,
        change: Change::Scripts(&[
            (
                "if mode == 'x' and previous_owner == '' and now < expires_at",
                "if false",
            ),
            (
                "  if not last or last >= now then
    last = tonumber(string.match(record, '^%d+')) or 0
    now = math.max(last + 1, now)
",
                "  do
    last = tonumber(string.match(record, '^%d+')) or 0
    now = last + 1
",
            ),
        ]),
    },
    Mistake {
        name: "cleanup-only-deletes",
        says: "a release or cleanup hands the lock to nobody",
        seed: 4,
        change: Change::Scripts(&[(
            "if held or not holder or (waited and has_many_holders()) then",
            "if false then",
        )]),
    },
    Mistake {
        name: "newest-first",
        says: "a lock that is handed on is for whoever came last",
        seed: 4,
        change: Change::Scripts(&[(
            "local waiter = redis.call('ZRANGE', queue, place, place)[1]",
            "local waiter = redis.call('ZREVRANGE', queue, place, place)[1]",
        )]),
    },
    Mistake {
        name: "candidates-not-notified",
        says: "a release does not notify the candidates of an election",
        seed: 140,
        change: Change::Scripts(&[("if not caller and not holder then", "if false then")]),
    },
    Mistake {
        name: "passed-for-too-short",
        says: "what is passed on inside a process is its waiter's for less than it may rely on",
        seed: 1,
        change: Change::Scripts(&[
            (
                "'SET', lock, successor, 'PX', GRANT_MS",
                "'SET', lock, successor, 'PX', 60",
            ),
            ("grant(waiter, mode, GRANT_MS,", "grant(waiter, mode, 60,"),
        ]),
    },
    Mistake {
        name: "parked-out-of-turn",
        says: "a release passes the lock on to a parked waiter of its process, whoever is in the queue",
        seed: 96,
        change: Change::Scripts(&[(
            "redis.call('EXISTS', queue, successor_tombstone) == 0",
            "redis.call('EXISTS', successor_tombstone) == 0",
        )]),
    },
    Mistake {
        name: "batch-takes-twice",
        says: "of several acquires of a free lock in one batch each succeeds",
        seed: 1,
        change: Change::Scripts(&[(
            "redis.pcall('SET', lock, owner, 'PX', ttl_ms, 'NX')",
            "redis.pcall('SET', lock, owner, 'PX', ttl_ms)",
        )]),
    },
    Mistake {
        name: "record-by-anyone",
        says: "a record compares neither the owner nor the token",
        seed: 11,
        change: Change::Scripts(&[(
            "if holder ~= owner or (redis.call('GET', fence) or drawn) ~= drawn then",
            "if false then",
        )]),
    },
    Mistake {
        name: "record-notifies-no-waiter",
        says: "a record does not notify the waiters",
        seed: 4,
        change: Change::Scripts(&[(
            "  if inbox then
    -- A missing permission",
            "  if false then
    -- A missing permission",
        )]),
    },
    Mistake {
        name: "outcome-not-found",
        says: "an acquire does not check whether the server keeps an outcome",
        seed: 1,
        change: Change::Scripts(&[(
            "if outcome then
  local _, now_text",
            "if false then
  local _, now_text",
        )]),
    },
    Mistake {
        name: "deadline-from-the-reply",
        says: "a lease counts from when the answer came, not from when the request was sent",
        seed: 33,
        change: Change::Deadline,
    },
];

impl Mistake {
    /// Returns the mistake with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        MISTAKES.into_iter().find(|it| it.name == name)
    }

    /// Makes the mistake in a script, if the script contains the text.
    pub(crate) fn make_in(self, script: &str) -> String {
        match self.change {
            Change::Scripts(changes) => changes
                .iter()
                .fold(script.to_owned(), |it, (right, wrong)| {
                    it.replace(right, wrong)
                }),
            Change::Deadline => script.to_owned(),
        }
    }

    /// Returns whether the client makes the mistake.
    pub(crate) fn counts_from_the_reply(self) -> bool {
        self.change == Change::Deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_a_seeded_bug_replaces_exists_in_a_script() {
        let scripts = [
            include_str!("../../../core/backends/redis/src/scripts/acquire_fast.lua"),
            include_str!("../../../core/backends/redis/src/scripts/prelude.lua"),
            include_str!("../../../core/backends/redis/src/scripts/fencing_token.lua"),
            include_str!("../../../core/backends/redis/src/scripts/release_fast.lua"),
            include_str!("../../../core/backends/redis/src/scripts/release_handoff.lua"),
            include_str!("../../../core/backends/redis/src/scripts/batch.lua"),
            include_str!("../../../core/backends/redis/src/scripts/queue.lua"),
            include_str!("../../../core/backends/redis/src/scripts/release.lua"),
            include_str!("../../../core/backends/redis/src/scripts/find_outcome.lua"),
            include_str!("../../../core/backends/redis/src/scripts/record_outcome.lua"),
        ];
        for mistake in MISTAKES {
            if let Change::Scripts(changes) = mistake.change {
                for (right, _) in changes {
                    let is_there = scripts.iter().any(|script| script.contains(right));
                    assert!(is_there, "{}: {right}", mistake.name);
                }
            }
        }
    }
}
