//! What clients asked of the scripts that take locks and give them up, alone or in a batch.

use crate::server::{Reply, Served};

/// How many keys and arguments the script is given that takes a lock: usually, and where more is to be said.
const ACQUIRE: (usize, usize) = (4, 4);
const ACQUIRE_IN_FULL: (usize, usize) = (4, 7);

/// The same of the one that ends what an owner has: usually, where copies of its requests may
/// be on their way, and where it names somebody to pass it on to.
const LEAVE: (usize, usize) = (2, 1);
const LEAVE_WITH_COPIES: (usize, usize) = (2, 2);
const LEAVE_NAMING: (usize, usize) = (3, 4);

/// What a batch says of all its requests: how many are releases, and two terms.
const TERMS: usize = 3;

/// How many keys and arguments each release has in a batch, and each attempt.
const LEAVE_IN_BATCH: (usize, usize) = (2, 3);
const TAKE_IN_BATCH: (usize, usize) = (4, 4);

/// What somebody asked about an exclusive lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    pub(crate) lock: &'a str,
    pub(crate) owner: &'a str,
    pub(crate) asked: Asked<'a>,
    /// A word, and what a release was told to have passed on.
    pub(crate) answer: (&'a str, Option<&'a str>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked<'a> {
    Leave {
        named: &'a str,
        /// The one that it names was parked.
        parked: bool,
    },
    Take {
        queueing: bool,
    },
}

/// The requests that a call carried, in the order in which they were carried out.
pub(crate) fn requests(served: &Served) -> Vec<Request<'_>> {
    let keys: Vec<&str> = served.keys.iter().map(String::as_str).collect();
    let arguments: Vec<&str> = served.arguments.iter().map(String::as_str).collect();
    // Of one lock an owner is told first, of several a number.
    if arguments.first().is_none_or(|it| it.parse::<u64>().is_ok()) {
        return batched(&keys, &arguments, &served.reply).unwrap_or_default();
    }
    let asked = match (keys.len(), arguments.len()) {
        LEAVE | LEAVE_WITH_COPIES | LEAVE_NAMING => Asked::Leave {
            named: arguments.get(2).unwrap_or(&""),
            parked: arguments.get(3).is_some_and(|expiry| !expiry.is_empty()),
        },
        ACQUIRE | ACQUIRE_IN_FULL
            if arguments.get(4).is_none_or(|mode| *mode == "x") && !keys[0].ends_with(":c") =>
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

/// The requests of a batch; none if it is something else.
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

/// How often releases passed a lock on, and to one that was parked, and how many requests came with another one.
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
