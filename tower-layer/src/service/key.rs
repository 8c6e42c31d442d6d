use leasehold_core::LockHandle;

/// Extracts the key from a request of any type. Functions from a request to an `Option<String>` implement this trait.
///
/// # Examples
///
/// ```
/// use leasehold::{FencingToken, LockHandle};
/// use leasehold_tower::service::LockKey;
///
/// struct Ship {
///     order: u64,
///     token: Option<FencingToken>,
/// }
///
/// struct ByOrder;
///
/// impl LockKey<Ship> for ByOrder {
///     fn key(&self, request: &Ship) -> Option<String> {
///         Some(format!("order:{}", request.order))
///     }
///
///     fn locked(&self, request: &mut Ship, lock: &LockHandle) {
///         request.token = Some(lock.token());
///     }
/// }
/// ```
pub trait LockKey<R> {
    /// Returns the key, or `None` for a request that passes through unlocked.
    fn key(&self, request: &R) -> Option<String>;

    /// Adds data of the acquired lock, such as its fencing token, to the request. Does nothing by default.
    fn locked(&self, request: &mut R, lock: &LockHandle) {
        let _unused = (request, lock);
    }
}

impl<R, F> LockKey<R> for F
where
    F: Fn(&R) -> Option<String>,
{
    fn key(&self, request: &R) -> Option<String> {
        self(request)
    }
}
