//! One session: its requests, and what their replies prove about it.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use zookeeper_client::{
    Acl, Acls, Client, CreateMode, Error, MultiWriteError, SessionState, StateWatcher,
};

use super::error::{ends_session, no_thread};
use super::node_queue::NodeQueue;
use super::session_liveness::{PULSES, SessionLiveness};
use super::settings::Settings;
use super::watch_budget::{BudgetedWatch, WatchBudget};
use crate::clock::{self, LeaseInstant};
use crate::runtime::RuntimeThread;

/// How often a container that vanishes when it is empty is made anew for one node.
const CONTAINER_TRIES: usize = 5;

/// A node that was made.
#[derive(Debug, Clone)]
pub(super) struct CreatedNode {
    pub(super) path: String,
    /// When it was made, as the server counts: the token.
    pub(super) created: i64,
}

impl CreatedNode {
    /// Its name in its container.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

pub(super) struct Session {
    /// Which session of this backend it is.
    pub(super) number: u64,
    client: Client,
    /// Where the client runs, and with which it ends: by itself it goes on for as long as anything is unanswered.
    thread: Arc<RuntimeThread>,
    /// Nothing is asked any more, and no answer is waited for.
    over: CancellationToken,
    acl: Vec<Acl>,
    liveness: Mutex<SessionLiveness>,
    watches: WatchBudget,
}

impl Session {
    /// Opens a session; see [`Settings::open`].
    pub(super) async fn open(number: u64, settings: &Settings, first: bool) -> Result<Self, Error> {
        let thread =
            RuntimeThread::start("leasehold-session").map_err(|error| no_thread(&error))?;
        let asked_for = LeaseInstant::now();
        let opening = {
            let settings = settings.clone();
            thread.spawn(async move { settings.open(first).await })
        };
        let client = opening.await.map_err(|_ended| Error::ClientClosed)??;
        let liveness = Mutex::new(SessionLiveness::new(client.session_timeout(), asked_for));
        let over = CancellationToken::new();
        Ok(Self {
            number,
            client,
            thread: Arc::new(thread),
            acl: settings.acl(),
            liveness,
            watches: WatchBudget::within(&settings.folder, over.clone()),
            over,
        })
    }

    /// Ends it, and waits until the server has heard of it. Who does not wait for that lets it end soon.
    pub(super) async fn close(self: Arc<Self>) {
        self.over.cancel();
        let (mut states, _thread) = (self.states(), Arc::clone(&self.thread));
        drop(self);
        while !states.peek_state().is_terminated() {
            states.changed().await;
        }
    }

    /// Ends it without a word to the server, which lets others in when the session's timeout is over: no sooner than the
    /// leases of its guards are.
    pub(super) async fn kill(self: Arc<Self>) {
        self.over.cancel();
        // The client would say it, if it were dropped before.
        self.thread.end().await;
    }

    pub(super) fn timeout(&self) -> Duration {
        self.client.session_timeout()
    }

    /// How often it gives a sign of life.
    pub(super) fn heartbeat_interval(&self) -> Duration {
        self.timeout() / PULSES
    }

    pub(super) fn states(&self) -> StateWatcher {
        self.client.state_watcher()
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.is_cancelled() || self.client.state().is_terminated()
    }

    /// How long the session surely lives, counted from `begun`.
    pub(super) fn lease_from(&self, begun: LeaseInstant) -> Duration {
        self.liveness.lock().lease_from(begun)
    }

    async fn read<T, F>(&self, request: impl FnOnce() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let (sent, answer) = self.answer(request).await;
        if answer.as_ref().map_or_else(is_an_answer, |_| true) {
            self.liveness.lock().sign_of_life(sent, LeaseInstant::now());
        }
        answer
    }

    async fn write<T, F>(&self, request: impl FnOnce() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let (sent, answer) = self.answer(request).await;
        if answer.as_ref().map_or_else(is_an_answer, |_| true) {
            let mut liveness = self.liveness.lock();
            liveness.confirmed(sent);
            liveness.sign_of_life(sent, LeaseInstant::now());
        }
        answer
    }

    /// The answer, and when its request was sent: the client sends when it is called, and not when it is polled.
    async fn answer<T, F>(&self, request: impl FnOnce() -> F) -> (LeaseInstant, Result<T, Error>)
    where
        F: Future<Output = Result<T, Error>>,
    {
        let sent = LeaseInstant::now();
        let answer = tokio::select! {
            biased;
            () = self.over.cancelled() => Err(Error::ClientClosed),
            answer = request() => answer,
        };
        (sent, answer)
    }

    /// A sign of life, or that there is none: false if a request is not answered over a connection that stands for as long
    /// as a session lasts, or if nobody carries it any more.
    pub(super) async fn heartbeat(&self) -> bool {
        let mut states = self.states();
        let silence = async {
            loop {
                while states.peek_state() != SessionState::SyncConnected {
                    states.changed().await;
                }
                tokio::select! {
                    () = clock::sleep_until(LeaseInstant::now().after(self.timeout())) => return,
                    _cut = states.changed() => {}
                }
            }
        };
        tokio::select! {
            biased;
            // What it proves is noted there; other failures are the session's own to notice.
            answer = self.read(|| self.client.check_stat("/")) => {
                !matches!(answer, Err(Error::UnexpectedError(_)))
            }
            () = silence => false,
        }
    }

    /// Makes a node in a container, and the container if need be; answers with the line as it is then.
    pub(super) async fn enter(
        &self,
        container: &str,
        name: &str,
    ) -> Result<(CreatedNode, Result<NodeQueue, Error>), Error> {
        let acls = Acls::new(&self.acl);
        let prefix = format!("{container}/{name}");
        for _ in 0..CONTAINER_TRIES {
            let options = CreateMode::EphemeralSequential.with_acls(acls);
            // Both are sent at once; the server sees to it that the second sees what the first did.
            let (made, queue) = futures_util::join!(
                self.write(|| self.client.create(&prefix, b"", &options)),
                self.queue(container)
            );
            match made {
                Ok((stat, number)) => {
                    let node = CreatedNode {
                        path: format!("{prefix}{number}"),
                        created: stat.czxid,
                    };
                    return Ok((node, queue));
                }
                Err(Error::NoNode) => self.make_container(container).await?,
                Err(error) => return Err(error),
            }
        }
        Err(Error::NoNode)
    }

    async fn make_container(&self, container: &str) -> Result<(), Error> {
        let options = CreateMode::Container.with_acls(Acls::new(&self.acl));
        match self
            .write(|| self.client.create(container, b"", &options))
            .await
        {
            Ok(_) | Err(Error::NodeExists) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn queue(&self, container: &str) -> Result<NodeQueue, Error> {
        match self.read(|| self.client.list_children(container)).await {
            Ok(names) => Ok(NodeQueue::of(&names)),
            Err(Error::NoNode) => Ok(NodeQueue::default()),
            Err(error) => Err(error),
        }
    }

    /// As [`queue`](Self::queue), with a watch on all of it.
    pub(super) async fn watched_queue(
        &self,
        container: &str,
    ) -> Result<(NodeQueue, BudgetedWatch), Error> {
        let Some(permit) = self.watches.reserve(container) else {
            return Ok((
                self.queue(container).await?,
                BudgetedWatch::unacknowledged(),
            ));
        };
        let (names, watcher) = self
            .read(|| self.client.list_and_watch_children(container))
            .await?;
        Ok((NodeQueue::of(&names), BudgetedWatch::by(watcher, permit)))
    }

    /// As [`queue`](Self::queue), with all that the leader knew when this was asked.
    pub(super) async fn latest_queue(&self, container: &str) -> Result<NodeQueue, Error> {
        self.read(|| self.client.sync("/")).await?;
        self.queue(container).await
    }

    /// As [`queue`](Self::queue), with all that a majority knew when this was asked: a leader that is none any more is not
    /// believed.
    pub(super) async fn confirmed_queue(&self, container: &str) -> Result<NodeQueue, Error> {
        let folder = ["/".to_owned()];
        let (confirmed, queue) =
            futures_util::join!(self.first_missing(&folder), self.queue(container));
        confirmed?;
        queue
    }

    /// A node's data and when it was made, if it is there.
    pub(super) async fn data(&self, path: &str) -> Result<Option<(Vec<u8>, i64, i32)>, Error> {
        match self.read(|| self.client.get_data(path)).await {
            Ok((data, stat)) => Ok(Some((data, stat.czxid, stat.version))),
            Err(Error::NoNode) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A node's data and a watch on it, if it is there.
    pub(super) async fn watched_data(
        &self,
        path: &str,
    ) -> Result<Option<(Vec<u8>, BudgetedWatch)>, Error> {
        let Some(permit) = self.watches.reserve(path) else {
            let seen = self.data(path).await?;
            return Ok(seen.map(|(data, _, _)| (data, BudgetedWatch::unacknowledged())));
        };
        match self.read(|| self.client.get_and_watch_data(path)).await {
            Ok((data, _, watcher)) => Ok(Some((data, BudgetedWatch::by(watcher, permit)))),
            Err(Error::NoNode) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Finds out whether a node is there and of this session, not of one before.
    pub(super) async fn own_node(&self, path: String) -> Result<Option<CreatedNode>, Error> {
        let stat = self.read(|| self.client.check_stat(&path)).await?;
        let own = stat.filter(|stat| stat.ephemeral_owner == self.client.session_id().0);
        Ok(own.map(|stat| CreatedNode {
            path,
            created: stat.czxid,
        }))
    }

    /// Writes a node's data; false if the node is gone or was written before.
    pub(super) async fn write_data(
        &self,
        path: &str,
        data: &[u8],
        version: Option<i32>,
    ) -> Result<bool, Error> {
        match self
            .write(|| self.client.set_data(path, data, version))
            .await
        {
            Ok(_) => Ok(true),
            Err(Error::NoNode | Error::BadVersion) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes a node; false if it was gone.
    pub(super) async fn delete(&self, path: &str) -> Result<bool, Error> {
        match self.write(|| self.client.delete(path, None)).await {
            Ok(()) => Ok(true),
            Err(Error::NoNode) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Asks the leader whether all these nodes are there: the number of the first that is not. What it answers was
    /// so at one moment, agreed on by a majority.
    pub(super) async fn first_missing(&self, paths: &[String]) -> Result<Option<usize>, Error> {
        let mut checks = self.client.new_multi_writer();
        for path in paths {
            checks.add_check_version(path, -1)?;
        }
        let answer = self.write(|| {
            let commit = checks.commit();
            async move {
                match commit.await {
                    Ok(_) => Ok(None),
                    Err(MultiWriteError::OperationFailed {
                        index,
                        source: Error::NoNode,
                    }) => Ok(Some(index)),
                    Err(error) => Err(Error::from(error)),
                }
            }
        });
        answer.await
    }
}

/// An error that the server itself has answered with.
fn is_an_answer(error: &Error) -> bool {
    !ends_session(error)
        && matches!(
            error,
            Error::NoNode | Error::NodeExists | Error::BadVersion | Error::NotEmpty
        )
}

impl Drop for Session {
    fn drop(&mut self) {
        // Before the thread ends: the client's watches panic if nobody tells them any more.
        self.over.cancel();
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.client.session_id())
            .field("timeout", &self.timeout())
            .finish_non_exhaustive()
    }
}
