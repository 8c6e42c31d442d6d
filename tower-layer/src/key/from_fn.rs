use std::fmt;

use http::request::Parts;

use super::KeyExtractor;
use crate::Problem;

/// The key that a function makes of the request's head; `None` passes through.
///
/// # Examples
///
/// ```
/// use leasehold_tower::key;
///
/// let per_tenant = key::from_fn(|request| {
///     let host = request.headers.get("host")?.to_str().ok()?;
///     Some(format!("tenant:{host}"))
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
