use http::request::Parts;

use super::Scoped;
use crate::Problem;

/// Says what a request locks.
///
/// # Examples
///
/// ```
/// use http::request::Parts;
/// use leasehold_tower::key::KeyExtractor;
/// use leasehold_tower::{Problem, ProblemKind};
///
/// /// One lock per tenant, by the name of the host.
/// struct Tenant;
///
/// impl KeyExtractor for Tenant {
///     fn key(&self, request: &mut Parts) -> Result<Option<String>, Problem> {
///         let host = request.headers.get("host").and_then(|host| host.to_str().ok());
///         let missing = || Problem::new(ProblemKind::MissingKey).with_detail("send `Host`");
///         Ok(Some(format!("tenant:{}", host.ok_or_else(missing)?)))
///     }
/// }
/// ```
pub trait KeyExtractor: Send + Sync + 'static {
    /// The key, or `None` for a request that locks nothing and passes through.
    ///
    /// The request is given mutably for the sake of extractors that need it so, such as axum's.
    ///
    /// # Errors
    ///
    /// The [`Problem`] with which the request is refused.
    fn key(&self, request: &mut Parts) -> Result<Option<String>, Problem>;

    /// Puts the principal before the key: `alice:key`. For keys that clients choose.
    ///
    /// `:` and `%` in the principal are escaped, so that no two principals share a key. A request of which
    /// `principal` does not know whose it is, is refused as misconfigured: this layer belongs inside of the one that
    /// authenticates.
    fn scope<F>(self, principal: F) -> Scoped<Self, F>
    where
        Self: Sized,
        F: Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    {
        Scoped::new(self, principal)
    }
}
