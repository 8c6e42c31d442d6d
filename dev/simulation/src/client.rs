//! A simulated process that acquires locks.

use std::rc::Rc;
use std::time::Duration;

use fastrand::Rng;
use leasehold::LockManager;
use leasehold::backend::redis::{Connecting, Redis, Stream};
use tokio::task::spawn_local;
use tokio::time::sleep;
use turmoil::net::TcpStream;

use crate::history::Who;
use crate::lease_from_answer::LeaseFromAnswer;
use crate::once_call::OnceCall;
use crate::operation::Operation;
use crate::server::PORT;
use crate::shared::{ONCE_TASKS, PROCESSES, Shared, TASKS};

/// The host name of the server.
pub(crate) const SERVER: &str = "server";

/// The number of operations of a burst, and its frequency: one operation in `BURSTS` is a burst.
const BURST: usize = 12;
const BURSTS: u32 = 12;

/// The maximum time in milliseconds between operations of a burst that do not start together.
const APART: u64 = 150;

/// A lock for each process that no other process uses.
const OWN: [&str; PROCESSES] = ["own:0", "own:1", "own:2"];

const BETWEEN_CONNECTS: Duration = Duration::from_millis(200);

/// The command timeout. It is longer than connecting takes, because a command may include a connect.
const COMMAND: Duration = Duration::from_millis(600);

/// Acquires locks until the run ends, and shuts down.
pub(crate) async fn run(shared: Rc<Shared>, process: usize) -> turmoil::Result {
    let life = shared.begin(process);
    let mut who = Who {
        process,
        life,
        task: 0,
    };
    if let Some(locks) = connected(&shared).await {
        let locks = locks?;
        shared.note(who, "connected");
        let mut tasks = Vec::new();
        for task in 0..TASKS {
            who.task = task;
            tasks.push(spawn_local(work(Rc::clone(&shared), locks.clone(), who)));
        }
        for task in TASKS..TASKS + ONCE_TASKS {
            who.task = task;
            let calls = call_once(Rc::clone(&shared), locks.clone(), who);
            tasks.push(spawn_local(calls));
        }
        for task in tasks {
            task.await?;
        }
        let end = locks.shutdown().await;
        shared.note(who, format_args!("shutdown: {:?}", end.is_ok()));
    }
    shared.finish(process);
    Ok(())
}

/// Returns `None` if the run ended before the server could be reached.
async fn connected(shared: &Shared) -> Option<Result<LockManager, leasehold::Error>> {
    while !shared.is_over() {
        match Redis::builder().connect_over(connecting).await {
            Ok(redis) => {
                let builder = LockManager::builder().command_timeout(COMMAND);
                return Some(match shared.leases_count_from_answer {
                    true => builder.build(LeaseFromAnswer(redis)),
                    false => builder.build(redis),
                });
            }
            Err(_unreachable) => sleep(BETWEEN_CONNECTS).await,
        }
    }
    None
}

fn connecting() -> Connecting {
    Box::pin(async {
        let stream = TcpStream::connect((SERVER, PORT)).await?;
        let stream: Box<dyn Stream> = Box::new(stream);
        Ok(stream)
    })
}

/// Returns the random numbers of a task.
fn randomness(shared: &Shared, who: Who) -> Rng {
    let Who {
        process,
        life,
        task,
    } = who;
    let place = u64::from(life) << 16 | (process << 8 | task) as u64;
    Rng::with_seed(shared.seed ^ place.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

async fn call_once(shared: Rc<Shared>, locks: LockManager, who: Who) {
    let mut random = randomness(&shared, who);
    while !shared.is_over() {
        let call = OnceCall::by_chance(&mut random);
        call.run(&shared, &locks, who).await;
        sleep(Duration::from_millis(random.u64(0..300))).await;
    }
}

async fn work(shared: Rc<Shared>, locks: LockManager, who: Who) {
    let mut random = randomness(&shared, who);
    while !shared.is_over() {
        if random.u32(0..BURSTS) == 0 {
            burst(&shared, &locks, who, &mut random).await;
        }
        let operation = Operation::by_chance(&mut random);
        operation.run(&shared, &locks, who).await;
        sleep(Duration::from_millis(random.u64(0..150))).await;
    }
}

/// Starts many operations. They start together, so that their requests are batched and locks are handed off directly.
/// Or they start shortly after each other on the process's own lock, so that they are parked.
async fn burst(shared: &Rc<Shared>, locks: &LockManager, who: Who, random: &mut Rng) {
    let is_apart = random.bool();
    let keys = match is_apart {
        true => [OWN[who.process]; 2],
        false => ["a", "b"],
    };
    let mut under_way = Vec::new();
    for _ in 0..BURST {
        let (shared, locks) = (Rc::clone(shared), locks.clone());
        let key = keys[random.usize(0..2)];
        let operation = Operation::brief(random, key);
        let pause = Duration::from_millis(random.u64(0..APART) * u64::from(is_apart));
        under_way.push(spawn_local(async move {
            sleep(pause).await;
            operation.run(&shared, &locks, who).await;
        }));
    }
    for operation in under_way {
        // A panic has already failed the run.
        let _ended = operation.await;
    }
}
