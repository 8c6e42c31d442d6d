use super::{Contestant, Visitor};
use crate::BoxError;

/// Acquires and releases a key, so that the contestant opens its connections.
#[derive(Debug)]
pub(crate) struct Once {
    pub(crate) key: String,
}

impl Visitor for Once {
    type Output = Result<(), BoxError>;

    async fn visit<C: Contestant>(&self, contestant: &C) -> Self::Output {
        let held = contestant.acquire(&self.key).await?;
        contestant.release(held).await
    }
}
