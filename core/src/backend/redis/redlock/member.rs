use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use redis::{Client, Cmd, Pipeline, Value};

use super::debts::Debts;
use super::request::Leave;
use super::round::Round;
use super::script;
use super::settings::Settings;
use crate::backend::BackendError;
use crate::backend::redis::answer;
use crate::backend::redis::copies::Copies;
use crate::backend::redis::inbox::Inbox;
use crate::backend::redis::node::Node;
use crate::clock::{self, Moment};
use crate::runtime::{Runtime, timeout};

/// Pauses between looks at a node that is down: from the first to the longest.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// One of several nodes.
///
/// One that failed to answer in time is down: it is asked nothing until it has answered a PING, and what is owed to it
/// is paid first. So nodes that hang cost others nothing, and do not find a flood of old requests when they come back.
pub(super) struct Member {
    pub(super) place: usize,
    address: String,
    pub(super) node: Node,
    pub(super) copies: Copies,
    health: Mutex<Health>,
    debts: Debts,
    this: Weak<Self>,
}

#[derive(Debug)]
enum Health {
    Up,
    Down { why: String, watched: bool },
}

impl Member {
    pub(super) fn new(
        place: usize,
        client: Client,
        inbox: Inbox,
        settings: &Settings,
    ) -> Arc<Self> {
        let address = client.get_connection_info().addr().to_string();
        let mut node = Node::new(client, inbox, script::ALL);
        if let Some(admission) = settings.admission() {
            node = node.admitting(admission);
        }
        Arc::new_cyclic(|this| Self {
            place,
            address,
            node,
            // A node that was restarted has forgotten which requests are to be refused, and stays out for longer.
            copies: Copies::lasting(settings.max_ttl),
            health: Mutex::new(Health::Up),
            debts: Debts::default(),
            this: Weak::clone(this),
        })
    }

    /// What the nodes' errors call it.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Sends a command, unless the node is down.
    pub(super) async fn call(&self, limit: Duration, command: &Cmd) -> Result<Value, BackendError> {
        self.look()?;
        self.within(limit, self.node.call(command)).await
    }

    /// Sends several commands at once, unless the node is down.
    pub(super) async fn call_all(
        &self,
        limit: Duration,
        commands: &Pipeline,
        count: usize,
    ) -> Result<Vec<Result<Value, BackendError>>, BackendError> {
        self.look()?;
        self.within(limit, self.node.call_all(commands, count))
            .await
    }

    /// Ends what a round has here, and the waiter's place: true if it held the lock. What cannot be told to the node
    /// is owed to it.
    pub(super) async fn leave(
        &self,
        limit: Duration,
        round: &Round,
        leave: &Leave,
    ) -> Result<bool, BackendError> {
        if !round.was_asked(self.place) {
            return Ok(false);
        }
        let early = !round.is_settled(self.place);
        let mut left = self.told(limit, leave).await;
        if early && !matches!(left, Ok(true)) {
            // The request may have come after it. What is not known to have come is sealed off.
            round.settled(self.place).await;
            left = self.told(limit, leave).await;
        }
        if left.is_err() {
            self.debts.owe(leave.debt.clone());
            // It may be up again: what is owed is paid when it is looked at.
            self.watch();
        }
        left
    }

    async fn told(&self, limit: Duration, leave: &Leave) -> Result<bool, BackendError> {
        self.look()?;
        self.within(limit, self.pay(leave)).await
    }

    async fn pay(&self, leave: &Leave) -> Result<bool, BackendError> {
        let copies_until = self.copies.outstanding(leave.debt.round);
        let answer = self.node.call(&leave.command(copies_until)).await?;
        let answer: String = answer::read(answer)?;
        if answer == "unsealed" {
            return Err(BackendError::unknown(
                "the node has no memory left to note that a round is over",
            ));
        }
        self.copies.forget(leave.debt.round);
        Ok(answer == "left")
    }

    /// Waits for an answer, and takes the node for down if there is none.
    async fn within<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, BackendError>>,
    ) -> Result<T, BackendError> {
        let Some(bounded) = timeout(limit, call) else {
            return Err(BackendError::not_applied(
                "a node can only be asked inside a tokio runtime",
            )
            .permanent());
        };
        let answer = bounded.await.unwrap_or_else(|_elapsed| {
            Err(BackendError::unknown(format!(
                "it did not answer within {limit:?}"
            )))
        });
        match &answer {
            Err(error) if error.is_temporary() => self.fell(error.to_string()),
            _ => {}
        }
        answer
    }

    /// Fails if the node is down.
    pub(super) fn look(&self) -> Result<(), BackendError> {
        let why = match &*self.health.lock() {
            Health::Up => return Ok(()),
            Health::Down { why, .. } => why.clone(),
        };
        self.watch();
        Err(BackendError::not_applied(why))
    }

    fn fell(&self, reason: String) {
        let mut health = self.health.lock();
        match &mut *health {
            Health::Up => {
                *health = Health::Down {
                    why: reason,
                    watched: false,
                };
            }
            Health::Down { why, .. } => *why = reason,
        }
        drop(health);
        self.watch();
    }

    /// Looks at the node until it is up again; one task does.
    fn watch(&self) {
        let Some(runtime) = Runtime::current() else {
            return;
        };
        let mut health = self.health.lock();
        if matches!(&*health, Health::Up) && !self.debts.is_empty() {
            *health = Health::Down {
                why: "what is owed to it has to be paid first".to_owned(),
                watched: false,
            };
        }
        let Health::Down { watched, .. } = &mut *health else {
            return;
        };
        if std::mem::replace(watched, true) {
            return;
        }
        drop(health);
        let watch = Watch(Weak::clone(&self.this));
        runtime.spawn_here(watch.keep());
    }

    /// Whether the node answers, and has been paid.
    async fn is_back(&self) -> bool {
        let ping = redis::cmd("PING");
        match timeout(LONGEST_LOOK, self.node.call(&ping)) {
            Some(answers) => match answers.await {
                Ok(Ok(_pong)) => {}
                Ok(Err(error)) => return self.stays(error.to_string()),
                Err(_elapsed) => return false,
            },
            None => return false,
        }
        while let Some(debt) = self.debts.next() {
            let leave = Leave::new(debt);
            let Some(paid) = timeout(LONGEST_LOOK, self.pay(&leave)) else {
                return false;
            };
            match paid.await {
                Ok(Ok(_)) => self.debts.paid(&leave.debt),
                Ok(Err(error)) if error.is_temporary() => return self.stays(error.to_string()),
                // A node that refuses for good is owed nothing.
                Ok(Err(_refused)) => self.debts.paid(&leave.debt),
                Err(_elapsed) => return false,
            }
        }
        true
    }

    /// Something may have come to be owed meanwhile.
    fn rises(&self) -> bool {
        let mut health = self.health.lock();
        let paid = self.debts.is_empty();
        if paid {
            *health = Health::Up;
        }
        paid
    }

    fn stays(&self, reason: String) -> bool {
        if let Health::Down { why, .. } = &mut *self.health.lock() {
            *why = reason;
        }
        false
    }
}

/// The task that looks at a node which is down. Should its runtime end, another can begin.
struct Watch(Weak<Member>);

impl Watch {
    async fn keep(self) {
        let mut pause = FIRST_LOOK;
        loop {
            let Some(member) = self.0.upgrade() else {
                return;
            };
            if member.is_back().await && member.rises() {
                return;
            }
            drop(member);
            clock::sleep_until(Moment::now().after(pause)).await;
            pause = (pause * 2).min(LONGEST_LOOK);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(member) = self.0.upgrade()
            && let Health::Down { watched, .. } = &mut *member.health.lock()
        {
            *watched = false;
        }
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("address", &self.address)
            .field("health", &self.health.lock())
            .finish_non_exhaustive()
    }
}
