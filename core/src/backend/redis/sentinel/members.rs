use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redis::{Client, ConnectionInfo};

use super::ask::{self, Asked};
use super::primary::Primary;
use crate::backend::BackendError;
use crate::backend::redis::failure;
use crate::backend::redis::hosts::at;
use crate::runtime::sleep;

/// Most have answered: how long the others are waited for.
const LATE: Duration = Duration::from_millis(100);

/// Those who know where the primary is.
#[derive(Clone)]
pub(in crate::backend::redis) struct Sentinels {
    pub(super) clients: Vec<Client>,
    pub(super) name: String,
    /// How to connect to the primary, wherever it is.
    pub(super) server: ConnectionInfo,
}

impl Sentinels {
    /// The primary, as the best informed of the Sentinels know it.
    pub(in crate::backend::redis) async fn primary(&self) -> Result<Primary, BackendError> {
        let ask = |client| ask::once(client, &self.name);
        let mut asked: FuturesUnordered<_> = self.clients.iter().map(ask).collect();
        let (mut newest, mut answers, mut failed) = (None, 0, None);
        while let Some(asked) = self.next(&mut asked, answers).await {
            match asked {
                Ok(primary) => {
                    answers += 1;
                    newest = newest.max(Some(primary));
                }
                Err(error) => failed = Some(error),
            }
        }
        newest.ok_or_else(|| self.unknown(failed))
    }

    /// A failover often takes a Sentinel with the primary, and nobody waits for it.
    async fn next(
        &self,
        asked: &mut (impl StreamExt<Item = Result<Primary, Asked>> + Unpin),
        answers: usize,
    ) -> Option<Result<Primary, Asked>> {
        let late = (answers > self.clients.len() / 2)
            .then(|| sleep(LATE))
            .flatten();
        match late {
            None => asked.next().await,
            Some(late) => tokio::select! {
                asked = asked.next() => asked,
                () = late => None,
            },
        }
    }

    pub(in crate::backend::redis) fn client_of(
        &self,
        primary: &Primary,
    ) -> Result<Client, BackendError> {
        Client::open(at(&self.server, &primary.host, primary.port)).map_err(failure)
    }

    fn unknown(&self, failed: Option<Asked>) -> BackendError {
        match failed {
            Some(Asked::Stranger(error)) => {
                let name = &self.name;
                let told = format!("the Sentinels know no primary `{name}`; check the URL");
                BackendError::not_applied(told)
                    .permanent()
                    .with_source(error)
            }
            Some(Asked::Failed(error)) => {
                let told = BackendError::not_applied("no Sentinel says where the primary is");
                told.with_source(error)
            }
            None => BackendError::not_applied("there are no Sentinels to ask").permanent(),
        }
    }
}
