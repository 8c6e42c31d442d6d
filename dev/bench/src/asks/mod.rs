//! The requirements of the library, as ratios within one run, and the measured values.

mod growth;
mod names;
mod network;

use self::names::{BARE, ON_ZOOKEEPER, ONE_ROUND_TRIP, OURS, RECIPE, SCRIPTS};
use crate::answer::{Answer, Bound, answer};
use crate::contestant::databases::BY_HAND;
use crate::ledger::{Ledger, Place};
use crate::workload::{
    contended, handoff, held, in_process, nodes, overhead, sql, sql_locks, tower, uncontended,
    waiters,
};

pub(crate) fn all(ledger: &Ledger) -> Vec<Answer> {
    let mut answers = uncontended(ledger);
    answers.extend(one_key(ledger));
    answers.extend(redlock(ledger));
    answers.extend(hand_off(ledger));
    answers.extend(many(ledger));
    answers.extend(in_process(ledger));
    answers.extend(growth::asks(ledger));
    answers.extend(fenced_pool(ledger));
    answers.extend(sql_locks(ledger));
    answers.extend(network::asks(ledger));
    answers
}

fn uncontended(ledger: &Ledger) -> Vec<Answer> {
    let one = Place {
        workload: &uncontended::name(1),
        metric: "p50_us",
    };
    let many = Place {
        workload: &uncontended::name(64),
        metric: "pairs_per_s",
    };
    let ratio = |place, to| ledger.ratio(place, OURS, to);
    let apart = |tasks, metric, to| {
        let workload = &uncontended::name_apart(tasks);
        ledger.ratio(Place { workload, metric }, OURS, to)
    };
    vec![
        answer(
            "1. uncontended, 1 task: p50 by bare SET NX PX",
            Bound::AtMost(1.1),
            " ×",
            ratio(one, BARE),
        ),
        answer(
            "1. uncontended, 1 task, a core each: p50 by bare SET NX PX",
            Bound::AtMost(1.1),
            " ×",
            apart(1, "p50_us", BARE),
        ),
        answer(
            "1. uncontended, 16 tasks, a core each: pairs by same scripts",
            Bound::AtLeast(1.0),
            " ×",
            apart(16, "pairs_per_s", SCRIPTS),
        ),
        answer(
            "1. uncontended, 64 tasks, a core each: pairs by bare SET NX PX",
            Bound::AtLeast(0.75),
            " ×",
            apart(64, "pairs_per_s", BARE),
        ),
        answer(
            "1. uncontended, 64 tasks: pairs by same scripts",
            Bound::AtLeast(0.95),
            " ×",
            ratio(many, SCRIPTS),
        ),
        answer(
            "1. uncontended, 64 tasks: pairs by bare SET NX PX",
            Bound::AtLeast(0.75),
            " ×",
            ratio(many, BARE),
        ),
        answer(
            "1. uncontended, 64 tasks: pairs by the best peer, which has no tokens",
            Bound::AtLeast(1.0),
            " ×",
            ledger.best_peer(many, true).and_then(|it| ratio(many, it)),
        ),
    ]
}

fn one_key(ledger: &Ledger) -> Vec<Answer> {
    let (here, there) = (contended::name(8, 0, 1), contended::name(8, 0, 4));
    let at = |workload, metric| Place { workload, metric };
    let waits = at(&here, "wait_p999_ms");
    let peer = ledger.best_peer(waits, false);
    let fairness = "fairness_min_max";
    vec![
        answer(
            "2. one key, 8 tasks: grants by one round trip a grant",
            Bound::AtLeast(0.8),
            " ×",
            ledger.ratio(at(&here, "acquisitions_per_s"), OURS, ONE_ROUND_TRIP),
        ),
        answer(
            "2. one key, 8 tasks: fairness, fewest by most",
            Bound::AtLeast(0.95),
            "",
            ledger.value(at(&here, fairness), OURS),
        ),
        answer(
            "2. one key, 8 tasks: changes of owner by rslock",
            Bound::AtLeast(100.0),
            " ×",
            ledger.ratio(at(&here, "owner_changes_per_s"), OURS, "rslock"),
        ),
        answer(
            "2. one key, 8 tasks, ZooKeeper: changes of owner by the recipe by hand",
            Bound::AtLeast(0.9),
            " ×",
            ledger.ratio(at(&here, "owner_changes_per_s"), ON_ZOOKEEPER, RECIPE),
        ),
        answer(
            format!(
                "2. one key, 8 tasks: p99.9 wait by the best peer's ({})",
                peer.unwrap_or("?")
            ),
            Bound::AtMost(0.05),
            " ×",
            peer.and_then(|it| ledger.ratio(waits, OURS, it)),
        ),
        answer(
            "2. one key, 8 tasks in 4 processes: changes of owner by same scripts",
            Bound::AtLeast(0.8),
            " ×",
            ledger.ratio(at(&there, "owner_changes_per_s"), OURS, SCRIPTS),
        ),
        answer(
            "2. one key, 8 tasks in 4 processes: fairness, fewest by most",
            Bound::AtLeast(0.95),
            "",
            ledger.value(at(&there, fairness), OURS),
        ),
    ]
}

fn redlock(ledger: &Ledger) -> Vec<Answer> {
    let at = |workload, metric| Place { workload, metric };
    let contended = |metric, contestant| ledger.value(at(nodes::CONTENDERS, metric), contestant);
    // The scripts by hand run in one task, so they need one section for each acquisition.
    let sections = || {
        let waited = contended("wait_p50_ms", OURS)?;
        Some(waited * contended("acquisitions_per_s", SCRIPTS)? / 1e3)
    };
    vec![
        answer(
            "2. redlock, 5 nodes, 1 task: pairs by same scripts",
            Bound::AtLeast(0.95),
            " ×",
            ledger.ratio(at(nodes::ALONE, "pairs_per_s"), OURS, SCRIPTS),
        ),
        answer(
            "2. redlock, 8 tasks on one key: median wait by a section",
            Bound::AtMost(8.0),
            " ×",
            sections(),
        ),
    ]
}

fn hand_off(ledger: &Ledger) -> Vec<Answer> {
    let place = Place {
        workload: handoff::NAME,
        metric: "p50_ms",
    };
    let slower = |peer| ledger.ratio(place, peer, OURS);
    let peer = ledger.best_peer(place, false);
    vec![
        answer(
            "3. hand-off: p50 by same scripts",
            Bound::AtMost(1.3),
            " ×",
            ledger.ratio(place, OURS, SCRIPTS),
        ),
        answer(
            "3. hand-off: quicker than rslock",
            Bound::AtLeast(80.0),
            " ×",
            slower("rslock"),
        ),
        answer(
            format!(
                "3. hand-off: quicker than the best poller ({})",
                peer.unwrap_or("?")
            ),
            Bound::AtLeast(10.0),
            " ×",
            peer.and_then(slower),
        ),
    ]
}

fn many(ledger: &Ledger) -> Vec<Answer> {
    let get = |workload, metric| ledger.value(Place { workload, metric }, OURS);
    vec![
        answer(
            "4. 1 000 waiters: commands per waiter in 10 s",
            Bound::AtMost(1.0),
            "",
            get(waiters::NAME, "commands_per_waiter_10_s"),
        ),
        answer(
            "4. 1 000 waiters: live heap per waiter",
            Bound::AtMost(4.0),
            " KiB",
            get(waiters::NAME, "heap_kib_per_waiter"),
        ),
        answer(
            "5. 10 000 held locks, TTL 30 s: the client's core",
            Bound::AtMost(2.0),
            " %",
            get(held::NAME, "client_cpu_percent"),
        ),
    ]
}

fn in_process(ledger: &Ledger) -> Vec<Answer> {
    let place = Place {
        workload: in_process::NAME,
        metric: "pair_ns",
    };
    let call = Place {
        workload: overhead::NAME,
        metric: overhead::METRIC,
    };
    let request = Place {
        workload: tower::IN_PROCESS,
        metric: tower::METRIC,
    };
    vec![
        answer(
            "6. in process: acquire and release",
            Bound::AtMost(1_000.0),
            " ns",
            ledger.value(place, OURS),
        ),
        answer(
            "6. in process: by tokio::sync::Mutex",
            Bound::AtMost(8.0),
            " ×",
            ledger.ratio(place, OURS, "tokio::sync::Mutex"),
        ),
        answer(
            "6. an annotated call by the same lock by hand, in process",
            Bound::AtMost(1.15),
            " ×",
            ledger.ratio(call, overhead::ANNOTATED, overhead::BY_HAND),
        ),
        answer(
            "6. LockLayer by the same lock by hand, in process",
            Bound::AtMost(1.2),
            " ×",
            ledger.ratio(request, tower::LAYER, tower::BY_HAND),
        ),
    ]
}

fn fenced_pool(ledger: &Ledger) -> Vec<Answer> {
    let ratio = |workload| {
        let metric = sql::METRIC;
        ledger.ratio(Place { workload, metric }, sql::POOL, sql::BY_HAND)
    };
    vec![
        answer(
            "8. an UPDATE through a FencedPool by one fenced by hand, Postgres",
            Bound::AtMost(1.1),
            " ×",
            ratio(sql::POSTGRES),
        ),
        // By hand the test of the connection and the statement are two round trips, and a FencedPool needs three.
        answer(
            "8. the same, MariaDB, with one more round trip",
            Bound::AtMost(1.6),
            " ×",
            ratio(sql::MARIADB),
        ),
        answer(
            "8. an UPDATE through a FencedPool by one fenced by hand, SQLite",
            Bound::AtMost(1.1),
            " ×",
            ratio(sql::SQLITE),
        ),
    ]
}

fn sql_locks(ledger: &Ledger) -> Vec<Answer> {
    let databases = [sql_locks::POSTGRES, sql_locks::MARIADB, sql_locks::SQLITE];
    let ask = |workload: &'static str| {
        let metric = sql_locks::PAIR;
        answer(
            format!("9. {workload}, 1 task: p50 by the same SQL by hand"),
            Bound::AtMost(1.2),
            " ×",
            ledger.ratio(Place { workload, metric }, OURS, BY_HAND),
        )
    };
    databases.map(ask).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_ledger_leaves_each_requirement_unmeasured() {
        let answers = all(&Ledger::default());
        assert!(answers.iter().all(|it| it.met.is_none()));
    }
}
