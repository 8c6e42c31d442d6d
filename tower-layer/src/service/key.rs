use leasehold::LockHandle;

/// Says what a request of any kind locks. Functions from a request to an `Option<String>` do.
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
    /// The key, or `None` for a request that locks nothing and passes through.
    fn key(&self, request: &R) -> Option<String>;

    /// Tells the request the lock that it got, token and all. By default it is not told.
    fn locked(&self, request: &mut R, lock: &LockHandle) {
        let _untold = (request, lock);
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
