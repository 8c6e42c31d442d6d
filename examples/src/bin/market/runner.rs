//! Runs one cell: starts the players, lets them trade, and collects their scores.

use leasehold_examples::{BoxError, Member, connection};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::audit;
use crate::cell::{Cell, Pace};
use crate::keys::Keys;
use crate::outcome::Outcome;
use crate::player::{DONE, READY, Side, Task};
use crate::report::Progress;
use crate::score::Score;

pub(crate) async fn run(
    url: &str,
    cell: Cell,
    pace: Pace,
    mut progress: Progress,
) -> Result<Outcome, BoxError> {
    let prefix = format!("leasehold-market:{:08x}:", fastrand::u32(..));
    let keys = Keys::new(&prefix);
    let mut redis = connection(url).await?;

    let tasks = tasks(url, &prefix, cell, pace);
    let mut members = Vec::new();
    for task in &tasks {
        let mut member = Member::start(task.words())?;
        if member.line().await?.as_deref() != Some(READY) {
            return Err(format!("{} did not start; see its error above", task.player()).into());
        }
        members.push(member);
    }
    let (send, mut receive) = mpsc::channel(64);
    let mut playing = JoinSet::new();
    for (place, mut member) in members.into_iter().enumerate() {
        member.tell("go").await?;
        playing.spawn(follow(place, member, send.clone()));
    }
    drop(send);
    let mut scores = vec![Score::default(); tasks.len()];
    while let Some((place, score)) = receive.recv().await {
        scores[place] = score;
        progress.show(&Score::sum(&scores));
    }
    while let Some(played) = playing.join_next().await {
        played??;
    }
    let all = Score::sum(&scores);
    let players: Vec<(Task, Score)> = tasks.into_iter().zip(scores).collect();
    let balanced = audit::balance(&mut redis, &players).await;
    audit::sweep(&mut redis, &keys).await?;
    balanced?;
    progress.end(&all);
    Ok(Outcome::of(cell, &all))
}

/// Forwards the scores of a player until it ends.
async fn follow(
    place: usize,
    mut member: Member,
    send: mpsc::Sender<(usize, Score)>,
) -> Result<(), BoxError> {
    let mut done = false;
    while let Some(line) = member.line().await? {
        done = line.starts_with(DONE);
        let line = line.strip_prefix(DONE).unwrap_or(&line);
        let score =
            Score::of_line(line).ok_or_else(|| format!("unexpected line of a player: {line:?}"))?;
        send.send((place, score)).await?;
    }
    match member.end().await? && done {
        true => Ok(()),
        false => Err("a player failed; see its error above".into()),
    }
}

fn tasks(url: &str, prefix: &str, cell: Cell, pace: Pace) -> Vec<Task> {
    let sellers = (1..=cell.load.sellers).map(|number| (Side::Seller, number));
    let buyers = (1..=cell.load.buyers).map(|number| (Side::Buyer, number));
    let task = |(side, number)| Task {
        url: url.to_owned(),
        prefix: prefix.to_owned(),
        method: cell.method,
        side,
        number,
        pace,
    };
    sellers.chain(buyers).map(task).collect()
}
