//! Both clients, from the first word to the last.

use std::time::Duration;

use leasehold_examples::{BoxError, Member};
use tokio::time::sleep;

use crate::account::{Account, FIRST_BALANCE};
use crate::client::{LEASE, Task};
use crate::event::{Event, now};

/// What the clients deposit: the first, who is stopped, and the second.
const AMOUNTS: [i64; 2] = [10, 50];
/// How long client 1 sleeps on after client 2 is done.
const LATER: Duration = Duration::from_millis(300);

/// What happened, and what is left.
#[derive(Debug)]
pub(crate) struct Story {
    pub(crate) fenced: bool,
    /// Since the beginning, by client.
    pub(crate) events: [Vec<(Duration, Event)>; 2],
    pub(crate) balance: i64,
}

pub(crate) async fn play(url: &str, fenced: bool) -> Result<Story, BoxError> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("bank.sqlite");
    let account = Account::open(&file, fenced).await?;
    account.create().await?;
    let task = |client: usize| Task {
        url: url.to_owned(),
        key: format!("leasehold-pause:{}", std::process::id()),
        file: file.clone(),
        fenced,
        amount: AMOUNTS[client],
        stops: client == 0,
    };

    println!("{:>9}  {:38}client 2", "", "client 1");
    let begin = now();
    let mut story = Story {
        fenced,
        events: [Vec::new(), Vec::new()],
        balance: FIRST_BALANCE,
    };
    let mut one = Member::start(task(0).words())?;
    story.follow(0, &mut one, begin, &Event::Stops).await?;
    let mut two = Member::start(task(1).words())?;
    story.follow(1, &mut two, begin, &Event::Released).await?;
    sleep(LATER).await;
    one.signal("CONT").await?;
    story
        .follow(0, &mut one, begin, &Event::AlreadyLost)
        .await?;
    story.balance = account.balance().await?;
    println!(
        "\nThe account had {FIRST_BALANCE}, got {} and {}, and has {}.",
        AMOUNTS[0], AMOUNTS[1], story.balance
    );
    Ok(story)
}

impl Story {
    /// Notes and shows what a client says, up to that.
    async fn follow(
        &mut self,
        client: usize,
        member: &mut Member,
        begin: Duration,
        last: &Event,
    ) -> Result<(), BoxError> {
        while let Some(line) = member.line().await? {
            let said = Event::of_line(&line);
            let (at, event) = said.ok_or_else(|| format!("a client says {line:?}"))?;
            let at = at.saturating_sub(begin);
            let column = if client == 0 { 0 } else { 38 };
            println!("{:7.3} s  {:column$}{event}", at.as_secs_f64(), "");
            let done = event == *last;
            self.events[client].push((at, event));
            if done {
                return Ok(());
            }
        }
        Err(format!("client {} ended before its time; why is above", client + 1).into())
    }

    /// When a client did something.
    pub(crate) fn when(&self, client: usize, what: impl Fn(&Event) -> bool) -> Option<Duration> {
        let mut events = self.events[client].iter();
        events.find(|(_, event)| what(event)).map(|(at, _)| *at)
    }

    /// Whether the story is as it should be, and what it means.
    pub(crate) fn verdict(&self) -> Result<(), BoxError> {
        let refused = self
            .when(0, |it| matches!(it, Event::Refused { .. }))
            .is_some();
        let (whole, lost) = (FIRST_BALANCE + AMOUNTS[1], FIRST_BALANCE + AMOUNTS[0]);
        match (self.fenced, refused, self.balance) {
            (true, true, balance) if balance == whole => {
                println!("Client 1 knows that nothing of its deposit was done: it can begin anew.");
                Ok(())
            }
            (false, false, balance) if balance == lost => {
                println!("The {} of client 2 are lost, and nobody knows.", AMOUNTS[1]);
                Ok(())
            }
            _ => Err(format!("that is not how a lease of {LEASE:?} should end").into()),
        }
    }
}
