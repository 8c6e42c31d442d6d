//! Runs both clients, and records their events.

use std::time::Duration;

use leasehold_examples::{BoxError, Member};
use sqlx::query_scalar;
use tokio::time::sleep;

use crate::account::{self, FIRST_BALANCE};
use crate::client::{LEASE, Task};
use crate::event::{Event, now};

/// The deposits of the two clients. The first client is stopped.
const AMOUNTS: [i64; 2] = [10, 50];
/// How long client 1 stays stopped after client 2 has ended.
const LATER: Duration = Duration::from_millis(300);

/// The events, and the final balance.
#[derive(Debug)]
pub(crate) struct Story {
    pub(crate) fenced: bool,
    /// The events of each client, with their time since the beginning.
    pub(crate) events: [Vec<(Duration, Event)>; 2],
    pub(crate) balance: i64,
}

pub(crate) async fn play(url: &str, fenced: bool) -> Result<Story, BoxError> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("bank.sqlite");
    let account = account::create(&file).await?;
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
    story.balance = query_scalar("SELECT balance FROM account")
        .fetch_one(&account)
        .await?;
    println!(
        "\nThe account had {FIRST_BALANCE}, got {} and {}, and has {}.",
        AMOUNTS[0], AMOUNTS[1], story.balance
    );
    Ok(story)
}

impl Story {
    /// Records and prints the events of a client up to `last`.
    async fn follow(
        &mut self,
        client: usize,
        member: &mut Member,
        begin: Duration,
        last: &Event,
    ) -> Result<(), BoxError> {
        while let Some(line) = member.line().await? {
            let said = Event::of_line(&line);
            let (at, event) =
                said.ok_or_else(|| format!("unexpected line of a client: {line:?}"))?;
            let at = at.saturating_sub(begin);
            let column = if client == 0 { 0 } else { 38 };
            println!("{:7.3} s  {:column$}{event}", at.as_secs_f64(), "");
            let done = event == *last;
            self.events[client].push((at, event));
            if done {
                return Ok(());
            }
        }
        Err(format!("client {} ended too early; see its error above", client + 1).into())
    }

    /// Returns when an event of a client happened.
    pub(crate) fn when(&self, client: usize, what: impl Fn(&Event) -> bool) -> Option<Duration> {
        let mut events = self.events[client].iter();
        events.find(|(_, event)| what(event)).map(|(at, _)| *at)
    }

    /// Checks the events and the balance, and prints the result.
    pub(crate) fn verdict(&self) -> Result<(), BoxError> {
        let refused = self
            .when(0, |it| matches!(it, Event::Refused { .. }))
            .is_some();
        let (whole, lost) = (FIRST_BALANCE + AMOUNTS[1], FIRST_BALANCE + AMOUNTS[0]);
        match (self.fenced, refused, self.balance) {
            (true, true, balance) if balance == whole => {
                println!("Lost with the fenced pool: 0.");
                println!("Client 1 knows that its deposit had no effect: it can start again.");
                Ok(())
            }
            (false, false, balance) if balance == lost => {
                println!("Lost with the plain pool: {}.", AMOUNTS[1]);
                println!("The {} of client 2 are lost without an error.", AMOUNTS[1]);
                Ok(())
            }
            _ => Err(format!("unexpected result for a lease of {LEASE:?}").into()),
        }
    }
}
