//! Parses the requests of clients that acquire or release locks, alone or in a batch.

use crate::server::{Reply, Served};

/// The number of keys and arguments of the script that acquires a lock, usually and with all optional arguments.
const ACQUIRE: (usize, usize) = (4, 4);
const ACQUIRE_IN_FULL: (usize, usize) = (4, 7);

/// The number of keys and arguments of the script that releases a lock. The second is used if duplicates of its
/// requests may be in flight, and the third if it names a waiter.
const LEAVE: (usize, usize) = (2, 1);
const LEAVE_WITH_COPIES: (usize, usize) = (2, 2);
const LEAVE_NAMING: (usize, usize) = (3, 4);

/// The number of arguments of a whole batch: the number of releases, and two durations.
const TERMS: usize = 3;

/// The number of keys and arguments of each release and each attempt in a batch.
const LEAVE_IN_BATCH: (usize, usize) = (2, 3);
const TAKE_IN_BATCH: (usize, usize) = (4, 4);

/// A request for an exclusive lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    pub(crate) lock: &'a str,
    pub(crate) owner: &'a str,
    pub(crate) asked: Asked<'a>,
    /// The first word of the answer, and the token of a direct hand-off.
    pub(crate) answer: (&'a str, Option<&'a str>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked<'a> {
    Leave {
        named: &'a str,
        /// Whether the named waiter was parked.
        parked: bool,
    },
    Take {
        queueing: bool,
    },
}

/// Returns the requests of a call, in the order of their execution.
pub(crate) fn requests(served: &Served) -> Vec<Request<'_>> {
    let keys: Vec<&str> = served.keys.iter().map(String::as_str).collect();
    let arguments: Vec<&str> = served.arguments.iter().map(String::as_str).collect();
    // A request for one lock begins with an owner, and a batch begins with a number.
    if arguments.first().is_none_or(|it| it.parse::<u64>().is_ok()) {
        return batched(&keys, &arguments, &served.reply).unwrap_or_default();
    }
    let asked = match (keys.len(), arguments.len()) {
        LEAVE | LEAVE_WITH_COPIES | LEAVE_NAMING => Asked::Leave {
            named: arguments.get(2).unwrap_or(&""),
            parked: arguments.get(3).is_some_and(|expiry| !expiry.is_empty()),
        },
        ACQUIRE | ACQUIRE_IN_FULL
            if arguments
                .get(4)
                .is_none_or(|mode| matches!(*mode, "x" | "u"))
                && !keys[0].ends_with(":c") =>
        {
            Asked::Take {
                queueing: !arguments[3].is_empty(),
            }
        }
        _ => return Vec::new(),
    };
    vec![Request {
        lock: keys[0],
        owner: arguments[0],
        asked,
        answer: answer(&served.reply),
    }]
}

/// Returns the requests of a batch, or none if the call is not a batch.
fn batched<'a>(
    keys: &[&'a str],
    arguments: &[&'a str],
    reply: &'a Reply,
) -> Option<Vec<Request<'a>>> {
    let leaves: usize = arguments.first()?.parse().ok()?;
    let takes = keys.len().checked_sub(leaves * LEAVE_IN_BATCH.0)? / TAKE_IN_BATCH.0;
    let words = TERMS + leaves * LEAVE_IN_BATCH.1 + takes * TAKE_IN_BATCH.1;
    let Reply::List(answers) = reply else {
        return None;
    };
    if arguments.len() != words || answers.len() != leaves + takes + 1 {
        return None;
    }
    let (of_leaves, of_takes) = keys.split_at(leaves * LEAVE_IN_BATCH.0);
    let (said_of_leaves, said_of_takes) = arguments[TERMS..].split_at(leaves * LEAVE_IN_BATCH.1);
    let left = of_leaves
        .chunks(LEAVE_IN_BATCH.0)
        .zip(said_of_leaves.chunks(LEAVE_IN_BATCH.1))
        .map(|(keys, said)| Request {
            lock: keys[0],
            owner: said[0],
            asked: Asked::Leave {
                named: said[2].split(' ').next().unwrap_or_default(),
                parked: said[2].split(' ').nth(1).is_some_and(|it| !it.is_empty()),
            },
            answer: ("", None),
        });
    let taken = of_takes
        .chunks(TAKE_IN_BATCH.0)
        .zip(said_of_takes.chunks(TAKE_IN_BATCH.1))
        .map(|(keys, said)| Request {
            lock: keys[0],
            owner: said[0],
            asked: Asked::Take {
                queueing: said[2] == "1",
            },
            answer: ("", None),
        });
    let asked = left.chain(taken).zip(&answers[1..]);
    let answered = asked.map(|(request, reply)| Request {
        answer: match (reply, request.asked) {
            (Reply::Text(word), Asked::Leave { .. }) if word == "1" => ("left", None),
            (Reply::Text(word), Asked::Take { .. }) if word == "0" => ("", None),
            (Reply::Text(word), Asked::Take { .. }) if !word.contains(' ') => ("granted", None),
            _ => answer(reply),
        },
        ..request
    });
    Some(answered.filter(|it| !it.lock.ends_with(":c")).collect())
}

fn answer(reply: &Reply) -> (&str, Option<&str>) {
    let Reply::Text(said) = reply else {
        return ("", None);
    };
    match said.split_once(' ') {
        Some((word, more)) => (word, Some(more)),
        None => (said, None),
    }
}

/// Returns the number of direct hand-offs, of those to parked waiters, and of requests in a batch with others.
pub(crate) fn passes(served: &[Served]) -> (u64, u64, u64) {
    let (mut passed, mut passed_to_parked, mut together) = (0, 0, 0);
    for call in served.iter().map(requests) {
        if call.len() > 1 {
            together += call.len() as u64;
        }
        for request in call {
            if let Asked::Leave { parked, .. } = request.asked
                && request.answer.1.is_some_and(|told| told != "unawaited")
            {
                passed += 1;
                passed_to_parked += u64::from(parked);
            }
        }
    }
    (passed, passed_to_parked, together)
}
