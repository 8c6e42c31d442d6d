//! The requirements of the library, as ratios within one run, and the measured values.

use crate::answer::{Answer, Bound, answer};
use crate::contestant::databases::BY_HAND;
use crate::ledger::{Ledger, Place};
use crate::workload::{
    contended, growth, handoff, held, in_process, sql, sql_locks, uncontended, waiters,
};

const OURS: &str = "leasehold";
const SCRIPTS: &str = "same scripts by hand";
const BARE: &str = "SET NX PX by hand";
const RECORD: &str = "SET and token by hand";
const ONE_ROUND_TRIP: &str = "1 round trip by hand";

pub(crate) fn all(ledger: &Ledger) -> Vec<Answer> {
    let mut answers = uncontended(ledger);
    answers.extend(one_key(ledger));
    answers.extend(hand_off(ledger));
    answers.extend(many(ledger));
    answers.extend(in_process(ledger));
    answers.extend(growth(ledger));
    answers.extend(fenced_pool(ledger));
    answers.extend(sql_locks(ledger));
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
            Bound::AtLeast(0.95),
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
            Bound::AtLeast(0.95),
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
    vec![
        answer(
            "6. in process: acquire and release",
            Bound::AtMost(1_000.0),
            " ns",
            ledger.value(place, OURS),
        ),
        answer(
            "6. in process: by tokio::sync::Mutex",
            Bound::AtMost(40.0),
            " ×",
            ledger.ratio(place, OURS, "tokio::sync::Mutex"),
        ),
    ]
}

/// The cost of an operation is the CPU time of client and server.
fn growth(ledger: &Ledger) -> Vec<Answer> {
    let cost = |workload: &String| ledger.cost(workload, OURS);
    let tasks: Vec<_> = uncontended::TASKS
        .iter()
        .copied()
        .map(uncontended::name)
        .collect();
    let by_the_fewest = |contestant, metric| {
        let pair = (metric, growth::SIZES[0].1);
        ledger.growth(growth::NAME, contestant, pair)
    };
    let most = |growth: &dyn Fn(&'static str) -> Option<f64>| {
        let larger = growth::SIZES[1..].iter();
        larger
            .filter_map(|(_, metric)| growth(metric))
            .reduce(f64::max)
    };
    vec![
        answer(
            "7. growth: dearest operation of 4 to 1 000 tasks by that of 1",
            Bound::AtMost(1.1),
            " ×",
            worst(&tasks, cost),
        ),
        answer(
            "7. growth: dearest operation of 10⁴ to 10⁶ keys by that of 10³",
            Bound::AtMost(1.1),
            " ×",
            most(&|metric| by_the_fewest(OURS, metric)),
        ),
        answer(
            "7. growth: the same, by how a SET and a token by hand grow",
            Bound::AtMost(1.1),
            " ×",
            most(&|metric| Some(by_the_fewest(OURS, metric)? / by_the_fewest(RECORD, metric)?)),
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

/// Returns the largest figure of the others, divided by the first figure.
fn worst(names: &[String], figure: impl Fn(&String) -> Option<f64>) -> Option<f64> {
    let (first, others) = names.split_first()?;
    let largest = others.iter().filter_map(&figure).reduce(f64::max);
    Some(largest? / figure(first)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_measured_is_nothing_met() {
        let answers = all(&Ledger::default());
        assert!(answers.iter().all(|it| it.met.is_none()));
    }
    #[test]
    fn growth_is_the_largest_of_the_others_by_the_first() {
        let names = ["2", "3", "6", "4"].map(str::to_owned);
        assert_eq!(worst(&names, |it| it.parse().ok()), Some(3.0));
        assert_eq!(worst(&names[..1], |it| it.parse().ok()), None);
    }
}
