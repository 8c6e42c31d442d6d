use std::fmt;

use http::request::Parts;

use super::KeyExtractor;
use crate::Problem;

/// Makes the key with a function of the request's head.
///
/// **If the function returns `None`, the request passes through unlocked.** So use only data that the client cannot
/// omit, such as the data of an outer authenticating layer. A client can omit a header, and HTTP/2 does not have the
/// header `Host`. To refuse requests without a key, implement [`KeyExtractor`], as in its example.
///
/// If a key contains several texts that clients choose, [escape](leasehold_core::Key::escape) them.
///
/// # Examples
///
/// ```
/// use leasehold_tower::key;
///
/// /// The caller of the request, set by an outer authenticating layer.
/// #[derive(Clone)]
/// enum Caller {
///     Tenant(u64),
///     Operator,
/// }
///
/// let per_tenant = key::from_fn(|request| match request.extensions.get::<Caller>() {
///     Some(Caller::Tenant(id)) => Some(format!("tenant:{id}")),
///     // An operator needs no lock.
///     Some(Caller::Operator) => None,
///     // One lock for all unknown callers is safer than none.
///     None => Some("tenant:unknown".to_owned()),
/// });
/// # let _key = per_tenant;
/// ```
pub fn from_fn<F>(function: F) -> FromFn<F>
where
    F: Fn(&Parts) -> Option<String> + Send + Sync + 'static,
{
    FromFn { function }
}

/// The extractor that [`from_fn`] returns.
#[derive(Clone, Copy)]
pub struct FromFn<F> {
    function: F,
}

impl<F> KeyExtractor for FromFn<F>
where
    F: Fn(&Parts) -> Option<String> + Send + Sync + 'static,
{
    fn key(&self, request: &mut Parts) -> Result<Option<String>, Problem> {
        Ok((self.function)(request))
    }
}

impl<F> fmt::Debug for FromFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromFn").finish_non_exhaustive()
    }
}
