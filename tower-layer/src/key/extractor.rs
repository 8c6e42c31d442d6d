use std::fmt;

use http::request::Parts;
use leasehold::Key;

use crate::{Problem, ProblemKind};

/// Says what a request locks.
///
/// # Examples
///
/// ```
/// use http::request::Parts;
/// use leasehold_tower::key::KeyExtractor;
/// use leasehold_tower::{Problem, ProblemKind};
///
/// /// Whose request it is, which an authenticating layer outside of this one has left.
/// #[derive(Clone)]
/// struct Tenant(u64);
///
/// /// One lock per tenant. A request of which it is not known is refused, and never runs unlocked.
/// struct ByTenant;
///
/// impl KeyExtractor for ByTenant {
///     fn key(&self, request: &mut Parts) -> Result<Option<String>, Problem> {
///         let tenant = request.extensions.get::<Tenant>();
///         let nobodys = || Problem::new(ProblemKind::Misconfigured).with_detail("no tenant");
///         let Tenant(id) = tenant.ok_or_else(nobodys)?;
///         Ok(Some(format!("tenant:{id}")))
///     }
/// }
/// ```
pub trait KeyExtractor: Send + Sync + 'static {
    /// The key, or `None` for a request that locks nothing and passes through, **unlocked**. Where something is missing
    /// from which the key is made, refuse.
    ///
    /// The request is given mutably for the sake of extractors that need it so, such as axum's.
    ///
    /// # Errors
    ///
    /// The [`Problem`] with which the request is refused.
    fn key(&self, request: &mut Parts) -> Result<Option<String>, Problem>;

    /// Puts the principal behind the key: `key:alice`. For keys that clients choose.
    ///
    /// `:` and `%` in the principal are [escaped](Key::escape), so that no two principals share a key. What a key begins with stays yours to
    /// say, and keeps it apart from the keys of other layers. A request of which `principal` does not know whose it is, is
    /// refused as misconfigured: this layer belongs inside of the one that authenticates.
    fn scope<F>(self, principal: F) -> Scoped<Self, F>
    where
        Self: Sized,
        F: Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    {
        Scoped {
            key: self,
            principal,
        }
    }
}

/// A key within what belongs to a principal. Made by [`KeyExtractor::scope`].
#[derive(Clone, Copy)]
pub struct Scoped<K, F> {
    key: K,
    principal: F,
}

impl<K, F> KeyExtractor for Scoped<K, F>
where
    K: KeyExtractor,
    F: Fn(&Parts) -> Option<String> + Send + Sync + 'static,
{
    fn key(&self, request: &mut Parts) -> Result<Option<String>, Problem> {
        let Some(key) = self.key.key(request)? else {
            return Ok(None);
        };
        let Some(principal) = (self.principal)(request) else {
            let detail = "it is not known whose key this is; add the layer inside of the one that authenticates";
            return Err(Problem::new(ProblemKind::Misconfigured).with_detail(detail));
        };
        Ok(Some(format!("{key}:{}", Key::escape(&principal))))
    }
}

impl<K: fmt::Debug, F> fmt::Debug for Scoped<K, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scoped")
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
        let scoped = header("k").scope(move |_| principal.clone());
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
    fn a_key_of_nobodys_is_refused() {
        assert_eq!(key(None, "k"), Err(ProblemKind::Misconfigured));
    }
}
