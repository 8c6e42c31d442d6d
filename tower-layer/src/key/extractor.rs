use std::fmt;

use http::request::Parts;
use leasehold_core::Key;

use crate::{Problem, ProblemKind};

/// Extracts the key that a request locks.
///
/// # Examples
///
/// ```
/// use http::request::Parts;
/// use leasehold_tower::key::KeyExtractor;
/// use leasehold_tower::{Problem, ProblemKind};
///
/// /// The tenant of the request, set by an outer authenticating layer.
/// #[derive(Clone)]
/// struct Tenant(u64);
///
/// /// One lock per tenant. A request without a tenant is refused, so it never runs unlocked.
/// struct ByTenant;
///
/// impl KeyExtractor for ByTenant {
///     fn key(&self, request: &mut Parts) -> Result<Option<String>, Problem> {
///         let tenant = request.extensions.get::<Tenant>();
///         let unknown = || Problem::new(ProblemKind::Misconfigured).with_detail("no tenant");
///         let Tenant(id) = tenant.ok_or_else(unknown)?;
///         Ok(Some(format!("tenant:{id}")))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not extract keys",
    note = "a path template needs `.typed::<T>(\"id\")` or `.raw(\"id\")` for each of its parameters",
    note = "use a function with `key::from_fn`, or implement `KeyExtractor`"
)]
pub trait KeyExtractor: Send + Sync + 'static {
    /// Returns the key, or `None` for a request that passes through **unlocked**. If a part of the key is missing from
    /// the request, return an error.
    ///
    /// The request is mutable because some extractors, such as those of axum, require it.
    ///
    /// # Errors
    ///
    /// Returns the [`Problem`] with which the layer refuses the request.
    fn key(&self, request: &mut Parts) -> Result<Option<String>, Problem>;

    /// Appends the principal to the key: `key:alice`. Use it for keys that clients choose.
    ///
    /// `:` and `%` in the principal are [escaped](Key::escape), so that no two principals share a key. The key still
    /// begins with the same word, so it differs from the keys of other layers. If `principal` returns `None`, the layer
    /// refuses the request as misconfigured. Add this layer inside of the authenticating layer.
    fn with_principal<F>(self, principal: F) -> WithPrincipal<Self, F>
    where
        Self: Sized,
        F: Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    {
        WithPrincipal {
            key: self,
            principal,
        }
    }
}

/// The extractor that [`KeyExtractor::with_principal`] returns. Its keys include the principal.
#[derive(Clone, Copy)]
pub struct WithPrincipal<K, F> {
    key: K,
    principal: F,
}

impl<K, F> KeyExtractor for WithPrincipal<K, F>
where
    K: KeyExtractor,
    F: Fn(&Parts) -> Option<String> + Send + Sync + 'static,
{
    fn key(&self, request: &mut Parts) -> Result<Option<String>, Problem> {
        let Some(key) = self.key.key(request)? else {
            return Ok(None);
        };
        let Some(principal) = (self.principal)(request) else {
            let detail = "the principal of the request is unknown; add the layer inside of the authenticating layer";
            return Err(Problem::new(ProblemKind::Misconfigured).with_detail(detail));
        };
        Ok(Some(format!("{key}:{}", Key::escape(&principal))))
    }
}

impl<K: fmt::Debug, F> fmt::Debug for WithPrincipal<K, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithPrincipal")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::header;

    fn key(principal: Option<&str>, key: &str) -> Result<String, ProblemKind> {
        let request = http::Request::builder().header("k", key);
        let mut request = request.body(()).unwrap().into_parts().0;
        let principal = principal.map(str::to_owned);
        let scoped = header("k").with_principal(move |_| principal.clone());
        scoped
            .key(&mut request)
            .map(Option::unwrap_or_default)
            .map_err(|problem| problem.kind())
    }

    #[test]
    fn no_two_principals_share_a_key() {
        assert_eq!(key(Some("alice"), "k").unwrap(), "k:k:alice");
        assert_ne!(key(Some("a"), "k:b"), key(Some("b:a"), "k"));
        assert_ne!(key(Some("a%3Ab"), "k"), key(Some("a:b"), "k"));
    }

    #[test]
    fn key_without_principal_is_refused() {
        assert_eq!(key(None, "k"), Err(ProblemKind::Misconfigured));
    }
}
