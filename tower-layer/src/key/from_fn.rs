use std::fmt;

use http::request::Parts;

use super::KeyExtractor;
use crate::Problem;

/// The key that a function makes of the request's head.
///
/// **`None` passes through, unlocked.** Make the key of what is there whatever the client does: what an authenticating
/// layer outside of this one has left, and no header that can be left out or, as `Host` over HTTP/2, is not there. If a
/// request without a key is to be refused, implement [`KeyExtractor`], as its example does. Texts that clients choose are
/// [escaped](leasehold::Key::escape) where several stand in a key.
///
/// # Examples
///
/// ```
/// use leasehold_tower::key;
///
/// /// Whose request it is, which an authenticating layer outside of this one has left.
/// #[derive(Clone)]
/// enum Caller {
///     Tenant(u64),
///     Operator,
/// }
///
/// let per_tenant = key::from_fn(|request| match request.extensions.get::<Caller>() {
///     Some(Caller::Tenant(id)) => Some(format!("tenant:{id}")),
///     // Needs no lock.
///     Some(Caller::Operator) => None,
///     // It is not known who asks: better one lock for all of these than none.
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

/// Made by [`from_fn`].
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
