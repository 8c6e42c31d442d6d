//! Starts three candidates, kills one and stops one.

use std::collections::BTreeMap;
use std::time::Duration;

use leasehold_examples::{BoxError, Member};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use crate::candidate::{Candidate, LEADS, LEASE};
use crate::report::REPORTED;

const CANDIDATES: usize = 3;
/// How long each leader leads.
const TERM: Duration = Duration::from_millis(1200);
/// A timeout that is longer than any step, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The lines of the candidates, and the reports that they count.
#[derive(Debug)]
struct Election {
    begin: Instant,
    said: mpsc::UnboundedReceiver<(usize, String)>,
    /// How often each report was done.
    reports: BTreeMap<String, u32>,
}

/// An order to a candidate.
#[derive(Debug)]
enum Order {
    Die,
    Go,
}

pub(crate) async fn hold(url: &str) -> Result<(), BoxError> {
    let candidate = Candidate {
        url: url.to_owned(),
        prefix: format!("leasehold-leader:{:08x}:", fastrand::u32(..)),
    };
    let (say, said) = mpsc::unbounded_channel();
    let mut orders = Vec::new();
    for number in 0..CANDIDATES {
        let (order, ordered) = mpsc::channel(1);
        let member = Member::start(candidate.words())?;
        tokio::spawn(follow(number, member, say.clone(), ordered));
        orders.push(order);
    }
    // Only the tasks that follow a candidate keep a sender, so the channel closes when all candidates have ended.
    drop(say);
    let mut election = Election {
        begin: Instant::now(),
        said,
        reports: BTreeMap::new(),
    };

    let first = election.next_leader().await?;
    election.listen(TERM).await;
    let killed = Instant::now();
    election.note(first, "is killed");
    orders[first].send(Order::Die).await?;
    let second = election.next_leader().await?;
    let after_a_crash = killed.elapsed();
    election.listen(TERM).await;
    let gone = Instant::now();
    orders[second].send(Order::Go).await?;
    let third = election.next_leader().await?;
    let in_order = gone.elapsed();
    election.listen(TERM).await;
    orders[third].send(Order::Go).await?;

    println!(
        "\nAfter a crash there was no leader for {after_a_crash:.1?} (lease {LEASE:?}), and after a normal stop for {in_order:.1?}."
    );
    let twice = election
        .reports
        .values()
        .filter(|times| **times > 1)
        .count();
    println!(
        "{} reports were done, {twice} of them twice.",
        election.reports.len()
    );
    if after_a_crash > LEASE + Duration::from_secs(1) || in_order > LEASE / 2 || twice > 0 {
        return Err("the times or the reports are not as expected".into());
    }
    Ok(())
}

impl Election {
    fn note(&self, candidate: usize, what: &str) {
        let at = self.begin.elapsed().as_secs_f64();
        println!("{at:6.2} s   candidate {} {what}", candidate + 1);
    }

    /// Prints the lines of the candidates until one leads, and returns its number.
    async fn next_leader(&mut self) -> Result<usize, BoxError> {
        let wait = async {
            while let Some((candidate, line)) = self.said.recv().await {
                self.take(candidate, &line);
                if line.starts_with(LEADS) {
                    return Some(candidate);
                }
            }
            None
        };
        let leader = timeout(PATIENCE, wait).await;
        leader
            .ok()
            .flatten()
            .ok_or_else(|| "no candidate leads".into())
    }

    /// Prints the lines of the candidates for this time.
    async fn listen(&mut self, time: Duration) {
        let over = sleep(time);
        tokio::pin!(over);
        loop {
            tokio::select! {
                () = &mut over => return,
                Some((candidate, line)) = self.said.recv() => self.take(candidate, &line),
            }
        }
    }

    fn take(&mut self, candidate: usize, line: &str) {
        if let Some(slot) = line.strip_prefix(REPORTED) {
            *self.reports.entry(slot.to_owned()).or_default() += 1;
        }
        self.note(candidate, line);
    }
}

/// Forwards the lines of a candidate, and kills or stops it on request.
async fn follow(
    number: usize,
    mut member: Member,
    say: mpsc::UnboundedSender<(usize, String)>,
    mut ordered: mpsc::Receiver<Order>,
) {
    loop {
        tokio::select! {
            line = member.line() => match line {
                Ok(Some(line)) => {
                    // At the end the receiver is dropped.
                    let _heard = say.send((number, line));
                }
                _ => return,
            },
            order = ordered.recv() => match order {
                Some(Order::Go) => member.close(),
                // Dropping the member kills it.
                Some(Order::Die) | None => return,
            },
        }
    }
}
