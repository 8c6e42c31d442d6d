//! Faults of the network, the server and the processes.

use std::time::Duration;

use fastrand::Rng;

use crate::shared::PROCESSES;

/// A fault or its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Messages between the process and the server are held back in both directions.
    Hold(usize),
    /// Messages from the process, to the process, or both are lost.
    Lose {
        process: usize,
        sent: bool,
        received: bool,
    },
    /// The link between the process and the server works again.
    Mend(usize),
    KillServer {
        forgets: bool,
    },
    StartServer,
    KillProcess(usize),
    StartProcess(usize),
    /// The server loses its scripts.
    ForgetScripts,
}

/// The faults with their times, and the time of the last repair.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The steps in reverse order.
    steps: Vec<(Duration, Fault)>,
    pub(crate) is_calm: bool,
    pub(crate) kills_processes: bool,
    /// After this time no more faults occur, and everything works.
    pub(crate) mended: Duration,
}

impl Plan {
    pub(crate) fn of(seed: u64, random: &mut Rng) -> Self {
        let is_calm = seed.is_multiple_of(4);
        let forgets = seed % 4 == 3;
        let seconds = if seed % 20 == 1 { 30 } else { random.u64(3..7) };
        let mended = Duration::from_secs(seconds);
        let mut steps = Vec::new();
        let faults = if is_calm {
            0
        } else {
            random.u64(3..seconds * 2)
        };
        for _ in 0..faults {
            let at = random.u64(500..seconds * 1000);
            let lasts = match random.u32(0..3) {
                0 => random.u64(10..80),
                1 => random.u64(80..700),
                _ => random.u64(700..3000),
            };
            let (fault, repair) = by_chance(random, forgets);
            steps.push((Duration::from_millis(at), fault));
            let repair = repair.map(|it| (Duration::from_millis(at + lasts), it));
            steps.extend(repair);
        }
        steps.retain(|(at, _)| *at < mended);
        steps.extend((0..PROCESSES).map(|it| (mended, Fault::Mend(it))));
        steps.push((mended, Fault::StartServer));
        steps.extend((0..PROCESSES).map(|it| (mended, Fault::StartProcess(it))));
        steps.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let kills = |(_, it): &(_, _)| matches!(it, Fault::KillProcess(_));
        Self {
            is_calm,
            kills_processes: steps.iter().any(kills),
            steps,
            mended,
        }
    }

    /// Returns the next step that is due.
    pub(crate) fn due(&mut self, now: Duration) -> Option<Fault> {
        let (at, _) = self.steps.last()?;
        if *at > now {
            return None;
        }
        self.steps.pop().map(|(_, fault)| fault)
    }
}

/// Returns a random fault, and the step that ends it.
fn by_chance(random: &mut Rng, forgets: bool) -> (Fault, Option<Fault>) {
    let process = random.usize(0..PROCESSES);
    let lose = |sent, received| Fault::Lose {
        process,
        sent,
        received,
    };
    let mend = Some(Fault::Mend(process));
    match random.u32(0..16) {
        0..4 => (Fault::Hold(process), mend),
        4..6 => (lose(true, true), mend),
        6..8 => (lose(true, false), mend),
        8..10 => (lose(false, true), mend),
        10..13 => {
            let forgets = forgets && random.bool();
            (Fault::KillServer { forgets }, Some(Fault::StartServer))
        }
        13..15 => (
            Fault::KillProcess(process),
            Some(Fault::StartProcess(process)),
        ),
        _ => (Fault::ForgetScripts, None),
    }
}
