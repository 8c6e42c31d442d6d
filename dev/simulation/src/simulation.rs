//! Runs one seed.

use std::rc::Rc;
use std::time::Duration;

use fastrand::Rng;
use turmoil::{Builder, Sim};

use crate::client::{self, SERVER};
use crate::clock;
use crate::faults::{Fault, Plan};
use crate::history::Outcome;
use crate::judge::judge;
use crate::mistakes::Mistake;
use crate::outcomes::records;
use crate::requests::passes;
use crate::server::{SimulatedRedis, serve};
use crate::shared::{PROCESSES, Shared};

/// The resolution of the network's time. The time of processes is finer.
const TICK: Duration = Duration::from_millis(10);

/// The maximum latency of a message in a slow network, in milliseconds. So a reply may take most of the shortest lease.
const SLOW: u64 = 400;

/// The maximum latency of a message after all repairs.
const MENDED: Duration = Duration::from_millis(40);

/// The maximum duration of calls after all repairs. The longest wait is that for a dead waiter whose connection still
/// seems open at the server: 33 s. Several of them may be in the queue.
const PATIENCE: Duration = Duration::from_secs(150);

/// Runs a seed. In its own process, and with reproducible randomness, it always has the same history.
pub(crate) fn simulate(seed: u64, mistake: Option<Mistake>) -> turmoil::Result<Outcome> {
    fastrand::seed(seed);
    let mut random = Rng::with_seed(seed);
    let mut plan = Plan::of(seed, &mut random);
    let leases_count_from_answer = mistake.is_some_and(Mistake::counts_from_the_reply);
    let shared = Shared::new(
        seed,
        SimulatedRedis::mistaken(mistake)?,
        leases_count_from_answer,
    );
    let mut sim = network(seed, &mut random);
    let redis = Rc::clone(&shared.redis);
    sim.host(SERVER, move || {
        serve(Rc::clone(&redis), clock::micros_of_day)
    });
    for process in 0..PROCESSES {
        let shared = Rc::clone(&shared);
        sim.host(name(process), move || {
            client::run(Rc::clone(&shared), process)
        });
    }
    let end = plan.mended + PATIENCE;
    while !(shared.is_over() && shared.unfinished().is_empty()) && sim.elapsed() < end {
        while let Some(fault) = plan.due(sim.elapsed()) {
            carry_out(fault, &mut sim, &shared);
        }
        if sim.elapsed() >= plan.mended && !shared.is_over() {
            sim.set_max_message_latency(MENDED);
            shared.close();
        }
        sim.step()?;
    }
    // Let running tasks come to their end.
    for _ in 0..100 {
        sim.step()?;
    }
    let redis = shared.redis.borrow();
    let unfinished = shared.unfinished();
    let mut history = shared.history.take();
    let counts = &mut history.counts;
    (counts.passed, counts.parked, counts.together) = passes(redis.served());
    (counts.recorded, counts.refused) = records(redis.served());
    let violations = judge(&history, &redis, &plan, &unfinished);
    Ok(history.outcome(violations))
}

fn network<'a>(seed: u64, random: &mut Rng) -> Sim<'a> {
    let slowest = [2, 10, 20, 40][random.usize(0..4)];
    let is_slow = seed % 4 == 1 && seed % 20 != 1;
    let slowest = if is_slow { SLOW } else { slowest };
    Builder::new()
        .rng_seed(seed)
        .epoch(clock::beginning())
        .tick_duration(TICK)
        .simulation_duration(Duration::MAX)
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(Duration::from_millis(slowest))
        .tcp_capacity(1024)
        .enable_random_order()
        .build()
}

fn name(process: usize) -> String {
    format!("process-{process}")
}

fn carry_out(fault: Fault, sim: &mut Sim<'_>, shared: &Shared) {
    let now = sim.elapsed();
    match fault {
        Fault::Hold(process) => sim.hold(name(process), SERVER),
        Fault::Lose {
            process,
            sent,
            received,
        } => {
            if sent {
                sim.partition_oneway(name(process), SERVER);
            }
            if received {
                sim.partition_oneway(SERVER, name(process));
            }
        }
        Fault::Mend(process) => {
            sim.release(name(process), SERVER);
            sim.repair(name(process), SERVER);
        }
        Fault::KillServer { forgets } => {
            sim.crash(SERVER);
            if forgets {
                shared.redis.borrow_mut().forget();
                shared.history.borrow_mut().forgotten.push(now);
            } else {
                shared.redis.borrow_mut().forget_scripts();
            }
        }
        Fault::StartServer => start(sim, SERVER),
        Fault::KillProcess(process) => {
            sim.crash(name(process));
            shared.history.borrow_mut().killed(process, now);
        }
        Fault::StartProcess(process) => start(sim, &name(process)),
        Fault::ForgetScripts => shared.redis.borrow_mut().forget_scripts(),
    }
    let mut history = shared.history.borrow_mut();
    history.counts.faults += 1;
    history.note(now, format_args!("{fault:?}"));
}

fn start(sim: &mut Sim<'_>, host: &str) {
    if !sim.is_host_running(host) {
        sim.bounce(host);
    }
}
