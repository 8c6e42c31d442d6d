/// What happens to a request whose lock is lost midway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// Its handler is dropped where it awaits, and the answer is a 503 of its own type; a body that holds the lock
    /// is cut off. A handler that had completed by then is answered in the same way, unless it failed by itself.
    #[default]
    Cancel,
    /// It goes on without the lock, and the trace says so. For handlers that give their token to all they write to.
    Continue,
}
