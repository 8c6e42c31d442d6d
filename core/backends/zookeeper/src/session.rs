//! One session: sends requests, and calculates from their replies how long the session lasts.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use zookeeper_client::{
    Acl, Acls, Client, CreateMode, Error, MultiWriteError, SessionState, StateWatcher,
};

use super::error::{ends_session, no_thread};
use super::node_queue::NodeQueue;
use super::session_deadline::{PULSES, SessionLiveness};
use super::settings::ZooKeeperSettings;
use super::watch_budget::{BudgetedWatch, WatchBudget};
use crate::runtime_thread::RuntimeThread;
use leasehold_core::backend::support::clock::{self, LeaseInstant};

/// The largest number of tries to create one node in its container. The server removes empty containers, so a try may
/// fail.
const CONTAINER_TRIES: usize = 5;

/// A node that the client has created.
#[derive(Debug, Clone)]
pub(super) struct CreatedNode {
    pub(super) path: String,
    /// The number of the transaction that created the node. This number is the token.
    pub(super) created: i64,
    /// Set when the leader has confirmed the release of the exclusive lock that this node held.
    pub(super) is_released: Arc<AtomicBool>,
}

impl CreatedNode {
    /// Returns the node's name in its container.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

pub(super) struct Session {
    /// The number of this session in this backend.
    pub(super) number: u64,
    client: Client,
    /// The thread of the client. This thread ends with the session, because the client would otherwise run until each
    /// request has a reply.
    thread: Arc<RuntimeThread>,
    /// Cancelled when the session must stop sending requests and waiting for replies.
    over: CancellationToken,
    acl: Vec<Acl>,
    liveness: Mutex<SessionLiveness>,
    watches: WatchBudget,
}

impl Session {
    /// Opens a session; see [`ZooKeeperSettings::open`].
    pub(super) async fn open(
        number: u64,
        settings: &ZooKeeperSettings,
        first: bool,
    ) -> Result<Self, Error> {
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

    /// Ends the session, and waits until the server has received the request. If the caller does not wait, the session
    /// still ends soon.
    pub(super) async fn close(self: Arc<Self>) {
        self.over.cancel();
        let (mut states, _thread) = (self.states(), Arc::clone(&self.thread));
        drop(self);
        while !states.peek_state().is_terminated() {
            states.changed().await;
        }
    }

    /// Ends the session without a message to the server. The server frees its locks after the session timeout, and not
    /// before the leases of its guards have ended.
    pub(super) async fn kill(self: Arc<Self>) {
        self.over.cancel();
        // The client would send a message if it were dropped before its thread ends.
        self.thread.end().await;
    }

    pub(super) fn timeout(&self) -> Duration {
        self.client.session_timeout()
    }

    /// Returns the interval of heartbeats.
    pub(super) fn heartbeat_interval(&self) -> Duration {
        self.timeout() / PULSES
    }

    pub(super) fn states(&self) -> StateWatcher {
        self.client.state_watcher()
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.is_cancelled() || self.client.state().is_terminated()
    }

    /// Returns for how long the session definitely lasts, counted from `begun`.
    pub(super) fn lease_from(&self, begun: LeaseInstant) -> Duration {
        self.liveness.lock().lease_from(begun)
    }

    /// Returns whether a lease that begins now has the documented length without another write.
    pub(super) fn is_recently_confirmed(&self) -> bool {
        self.lease_from(LeaseInstant::now()) >= self.timeout() * 7 / 12
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

    /// Returns the reply, and the time at which the client sent the request. The client sends a request when `request`
    /// is called, not when the future is polled.
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

    /// Sends a heartbeat. Returns false if a request has no reply for a session timeout over an open connection, or if
    /// the client's thread has ended.
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
            // The request itself records its result, and the session detects other failures.
            answer = self.read(|| self.client.check_stat("/")) => {
                !matches!(answer, Err(Error::UnexpectedError(_)))
            }
            () = silence => false,
        }
    }

    /// Creates a node in a container, and the container if necessary. Also returns the queue, in its state after the
    /// creation.
    pub(super) async fn enter(
        &self,
        container: &str,
        name: &str,
    ) -> Result<(CreatedNode, Result<NodeQueue, Error>), Error> {
        let acls = Acls::new(&self.acl);
        let prefix = format!("{container}/{name}");
        for _ in 0..CONTAINER_TRIES {
            let options = CreateMode::EphemeralSequential.with_acls(acls);
            // This sends both requests concurrently, and the server executes the second after the first.
            let (made, queue) = futures_util::join!(
                self.write(|| self.client.create(&prefix, b"", &options)),
                self.queue(container)
            );
            match made {
                Ok((stat, number)) => {
                    let node = CreatedNode {
                        path: format!("{prefix}{number}"),
                        created: stat.czxid,
                        is_released: Arc::default(),
                    };
                    return Ok((node, queue));
                }
                Err(Error::NoNode) => self.make_container(container).await?,
                Err(error) => return Err(error),
            }
        }
        Err(Error::NoNode)
    }

    /// Creates an ephemeral node in a container, and the container if necessary. Returns false if the node exists.
    pub(super) async fn create_ephemeral(
        &self,
        container: &str,
        path: &str,
        data: &[u8],
    ) -> Result<bool, Error> {
        for _ in 0..CONTAINER_TRIES {
            let options = CreateMode::Ephemeral.with_acls(Acls::new(&self.acl));
            match self
                .write(|| self.client.create(path, data, &options))
                .await
            {
                Ok(_) => return Ok(true),
                Err(Error::NodeExists) => return Ok(false),
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

    pub(super) async fn children(&self, path: &str) -> Result<Vec<String>, Error> {
        self.read(|| self.client.list_children(path)).await
    }

    pub(super) async fn queue(&self, container: &str) -> Result<NodeQueue, Error> {
        match self.read(|| self.client.list_children(container)).await {
            Ok(names) => Ok(NodeQueue::of(&names)),
            Err(Error::NoNode) => Ok(NodeQueue::default()),
            Err(error) => Err(error),
        }
    }

    /// Works like [`queue`](Self::queue), with a watch on the whole queue.
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

    /// Works like [`queue`](Self::queue), but includes all writes that the leader had applied when the client sent the
    /// request.
    pub(super) async fn latest_queue(&self, container: &str) -> Result<NodeQueue, Error> {
        self.read(|| self.client.sync("/")).await?;
        self.queue(container).await
    }

    /// Works like [`queue`](Self::queue), but includes all writes that a majority had applied when the client sent the
    /// request. So this does not accept the reply of a former leader.
    pub(super) async fn confirmed_queue(&self, container: &str) -> Result<NodeQueue, Error> {
        let folder = ["/".to_owned()];
        let (confirmed, queue) =
            futures_util::join!(self.first_missing(&folder), self.queue(container));
        confirmed?;
        queue
    }

    /// Returns the data of a node, its creation and its version, or `None` if the node does not exist.
    pub(super) async fn data(&self, path: &str) -> Result<Option<(Vec<u8>, i64, i32)>, Error> {
        match self.read(|| self.client.get_data(path)).await {
            Ok((data, stat)) => Ok(Some((data, stat.czxid, stat.version))),
            Err(Error::NoNode) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the data of a node, and a watch on the node, or `None` if the node does not exist.
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

    /// Returns the node if it exists and belongs to this session, not to an earlier one.
    pub(super) async fn own_node(&self, path: String) -> Result<Option<CreatedNode>, Error> {
        let stat = self.read(|| self.client.check_stat(&path)).await?;
        let own = stat.filter(|stat| stat.ephemeral_owner == self.client.session_id().0);
        Ok(own.map(|stat| CreatedNode {
            path,
            created: stat.czxid,
            is_released: Arc::default(),
        }))
    }

    /// Writes a node's data. Returns false if the node was deleted or written before.
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

    /// Deletes a node. Returns false if the node did not exist.
    pub(super) async fn delete(&self, path: &str) -> Result<bool, Error> {
        match self.write(|| self.client.delete(path, None)).await {
            Ok(()) => Ok(true),
            Err(Error::NoNode) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Checks with the leader whether all these nodes exist, and returns the index of the first missing node. The reply
    /// describes the state at one moment, on which a majority agrees.
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

/// Returns whether the server itself replied with this error.
fn is_an_answer(error: &Error) -> bool {
    !ends_session(error)
        && matches!(
            error,
            Error::NoNode | Error::NodeExists | Error::BadVersion | Error::NotEmpty
        )
}

impl Drop for Session {
    fn drop(&mut self) {
        // This must happen before the thread ends, because the client's watches panic if their sender is dropped.
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
