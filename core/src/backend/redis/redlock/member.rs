use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use redis::{Client, Cmd, Pipeline, Value};

use super::deadline::Limit;
use super::debts::Debts;
use super::health::Health;
use super::request::Leave;
use super::round::Round;
use super::script;
use super::settings::Settings;
use crate::backend::BackendError;
use crate::backend::redis::admission::Admission;
use crate::backend::redis::answer;
use crate::backend::redis::copies::Copies;
use crate::backend::redis::door::Door;
use crate::backend::redis::inbox::Inbox;
use crate::backend::redis::node::Node;
use crate::backend::redis::roster::Roster;
use crate::runtime::timeout;

/// One of several nodes.
///
/// One that failed to answer in time is down: it is asked nothing until it has answered a PING, and what is owed to it
/// is paid first. So nodes that hang cost others nothing, and do not find a flood of old requests when they come back.
pub(super) struct Member {
    pub(super) place: usize,
    address: String,
    pub(super) node: Node,
    pub(super) copies: Copies,
    pub(super) node_timeout: Duration,
    pub(super) health: Health,
    pub(super) debts: Debts,
    pub(super) this: Weak<Self>,
}

/// A release that is under way: should it be dropped, it is owed.
struct Owed<'a> {
    member: &'a Member,
    leave: &'a Leave,
    settled: bool,
}

impl Drop for Owed<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.member.debts.owe(self.leave.debt.clone());
            self.member.watch();
        }
    }
}

impl Member {
    fn new(
        place: usize,
        client: Client,
        inbox: Inbox,
        settings: &Settings,
        roster: &Arc<Roster>,
    ) -> Arc<Self> {
        let address = address_of(&client);
        let mut door = Door::new(client, inbox, script::ALL);
        door.admission = Some(Admission::of(place, roster, settings.away()));
        let node = Node::new(door);
        Arc::new_cyclic(|this| Self {
            place,
            address,
            node,
            // A node that was restarted has forgotten which requests are to be refused, and stays out for longer.
            copies: Copies::lasting(settings.max_ttl),
            node_timeout: settings.node_timeout,
            health: Health::default(),
            debts: Debts::default(),
            this: Weak::clone(this),
        })
    }

    /// One for each client.
    pub(super) fn all(clients: Vec<Client>, inbox: &Inbox, settings: &Settings) -> Vec<Arc<Self>> {
        let roster = Arc::new(Roster::of(clients.iter().map(address_of)));
        let clients = clients.into_iter().enumerate();
        clients
            .map(|(place, client)| Self::new(place, client, inbox.clone(), settings, &roster))
            .collect()
    }

    /// What the nodes' errors call it.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Sends a command, unless the node is down.
    pub(super) async fn call(&self, limit: &Limit, command: &Cmd) -> Result<Value, BackendError> {
        self.look()?;
        self.within(limit, pin!(self.node.call(command))).await
    }

    /// Sends several commands at once, unless the node is down.
    pub(super) async fn call_all(
        &self,
        limit: &Limit,
        commands: &Pipeline,
        count: usize,
    ) -> Result<Vec<Result<Value, BackendError>>, BackendError> {
        self.look()?;
        self.within(limit, pin!(self.node.call_all(commands, count)))
            .await
    }

    /// Ends what a round has here, and the waiter's place: true if it held the lock. What cannot be told to the node
    /// is owed to it.
    pub(super) async fn leave(
        &self,
        limit: &Limit,
        round: &Round,
        leave: &Leave,
    ) -> Result<bool, BackendError> {
        let (concerned, settled) = match leave.debt.waiter {
            // Each of its rounds may have given it a place, and may do so yet.
            Some(_) => (
                round.may_wait_at(self.place),
                round.attempt_is_settled(self.place),
            ),
            None => (round.was_asked(self.place), round.is_settled(self.place)),
        };
        if !concerned {
            return Ok(false);
        }
        let mut owed = Owed {
            member: self,
            leave,
            settled: false,
        };
        let mut left = self.told(limit, leave).await;
        if !settled && !matches!(left, Ok(true)) {
            // The request may have come after it. What is not known to have come is sealed off.
            left = Box::pin(self.told_again(limit.length(), round, leave)).await;
        }
        // A node that refuses for good is owed nothing.
        owed.settled = left.as_ref().map_or_else(|e| !e.is_temporary(), |_| true);
        left
    }

    async fn told_again(
        &self,
        limit: Duration,
        round: &Round,
        leave: &Leave,
    ) -> Result<bool, BackendError> {
        let settled = async {
            match leave.debt.waiter {
                Some(_) => round.attempt_settled(self.place).await,
                None => round.settled(self.place).await,
            }
        };
        if let Some(settled) = timeout(limit * 2, settled) {
            // Whoever drives the request may have gone, and is not waited for.
            let _in_time = settled.await;
        }
        self.told(&limit.into(), leave).await
    }

    async fn told(&self, limit: &Limit, leave: &Leave) -> Result<bool, BackendError> {
        self.look()?;
        self.within(limit, pin!(self.pay(leave))).await
    }

    pub(super) async fn pay(&self, leave: &Leave) -> Result<bool, BackendError> {
        let copies_until = self.copies.outstanding(leave.debt.round);
        let answer = self.node.call(&leave.command(copies_until)).await?;
        let answer: String = answer::read(answer)?;
        if answer == "unsealed" {
            return Err(BackendError::unknown(
                "the node has no memory left to note that a round is over",
            ));
        }
        self.copies.forget(leave.debt.round, copies_until);
        Ok(answer == "left")
    }

    /// Waits for an answer, and takes the node for down if there is none.
    async fn within<T>(
        &self,
        limit: &Limit,
        mut call: Pin<&mut impl Future<Output = Result<T, BackendError>>>,
    ) -> Result<T, BackendError> {
        let answer = match limit {
            Limit::Own(length) => match timeout(*length, call) {
                Some(answer) => answer.await.ok(),
                None => return Err(outside_of_runtimes()),
            },
            Limit::Shared(deadline) if deadline.is_kept() => {
                let answer = poll_fn(|cx| match call.as_mut().poll(cx) {
                    Poll::Ready(answer) => Poll::Ready(Some(answer)),
                    Poll::Pending if deadline.has_passed() => Poll::Ready(None),
                    Poll::Pending => Poll::Pending,
                });
                answer.await
            }
            Limit::Shared(_) => return Err(outside_of_runtimes()),
        };
        let Some(answer) = answer else {
            let silent = format!("it did not answer within {:?}", limit.length());
            self.health.fell(silent.clone());
            self.watch();
            return Err(BackendError::unknown(silent));
        };
        // A server that refuses a command is there.
        if let Err(error) = &answer
            && !self.node.is_connected()
        {
            self.health.fell(error.to_string());
            self.watch();
        }
        answer
    }
}

#[cfg(test)]
impl Member {
    /// Nodes that nobody can reach.
    pub(super) fn unreachable(count: usize, inbox: &Inbox) -> Vec<Arc<Self>> {
        let client = |place| Client::open(format!("redis://127.0.0.{}:1", place + 1)).unwrap();
        let clients = (0..count).map(client).collect();
        Self::all(clients, inbox, &Settings::default())
    }
}

fn address_of(client: &Client) -> String {
    client.get_connection_info().addr().to_string()
}

fn outside_of_runtimes() -> BackendError {
    BackendError::not_applied("a node can only be asked inside a tokio runtime").permanent()
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("address", &self.address)
            .field("health", &self.health)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::super::deadline::Deadline;
    use super::*;
    use crate::backend::Applied;

    #[test]
    fn outside_of_runtimes_nothing_is_asked() {
        let member = &Member::unreachable(1, &Inbox::new())[0];
        let length = member.node_timeout;
        for limit in [Limit::Own(length), Limit::Shared(Deadline::of(length))] {
            let asked = member.call(&limit, &redis::cmd("PING")).now_or_never();
            let refused = asked.unwrap().unwrap_err();
            assert_eq!(refused.applied(), Applied::No, "{refused}");
            assert!(!refused.is_temporary() && member.health.trouble().is_none());
        }
    }
}
