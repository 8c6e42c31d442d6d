/// Determines what happens to a request if its lock is lost while its handler runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// The layer drops the handler at its current `.await`, and responds with a 503 of the type `lost`. A body that
    /// holds the lock ends with an error. If the handler has already completed, the layer responds with the same 503,
    /// unless the handler itself returned an error response.
    #[default]
    Cancel,
    /// The handler continues without the lock, and an event reports it. Use this variant if the handlers pass their
    /// fencing token to every resource that they write to.
    Continue,
}
