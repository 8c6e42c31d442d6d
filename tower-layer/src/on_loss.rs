/// Determines what happens to a request if its lock is lost while its handler runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// The handler is dropped at its current `.await`, and the response is a 503 with the type `lost`. A body that
    /// holds the lock is cut off. If the handler has already completed, the response is the same 503, unless the
    /// handler itself returned an error response.
    #[default]
    Cancel,
    /// The handler continues without the lock, and an event reports it. Use this if the handlers pass their fencing
    /// token to every resource that they write to.
    Continue,
}
