use http::request::Parts;

use super::KeyExtractor;
use crate::{Problem, ProblemKind};

/// Uses the path of the axum route as the key, such as `/orders/:id` for `/orders/{id}`. All requests of the route
/// share one lock, independent of their parameters and method. The key contains colons instead of braces, because
/// braces have another meaning in a key.
///
/// axum provides the path to layers on routes. In a fallback, or around the whole router, the path is missing, and the
/// layer refuses the request as misconfigured. Use `Router::route_layer`.
///
/// # Examples
///
/// ```
/// use axum::{Router, routing::post};
/// use leasehold::LockManager;
/// use leasehold_tower::{LockLayer, key};
///
/// let locks = LockManager::in_process();
/// let app: Router = Router::new()
///     .route("/reports/daily", post(async || "done"))
///     .route_layer(LockLayer::new(locks, key::matched_path()));
/// ```
#[must_use]
pub const fn matched_path() -> MatchedPath {
    MatchedPath {}
}

/// The extractor that [`matched_path`] returns.
#[derive(Debug, Clone, Copy)]
pub struct MatchedPath {}

impl KeyExtractor for MatchedPath {
    fn key(&self, request: &mut Parts) -> Result<Option<String>, Problem> {
        let matched = request.extensions.get::<axum::extract::MatchedPath>();
        let Some(matched) = matched else {
            let detail = "no route matched; add the layer with `Router::route_layer`";
            return Err(Problem::new(ProblemKind::Misconfigured).with_detail(detail));
        };
        Ok(Some(named(matched.as_str())))
    }
}

/// Converts `/orders/{id}/{*rest}` to `/orders/:id/*rest`, and doubled braces to single ones.
fn named(route: &str) -> String {
    let mut key = String::with_capacity(route.len());
    let mut rest = route.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '{' if rest.next_if_eq(&'{').is_some() => key.push('{'),
            '{' if rest.peek() == Some(&'*') => {}
            '{' => key.push(':'),
            '}' if rest.next_if_eq(&'}').is_some() => key.push('}'),
            '}' => {}
            other => key.push(other),
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn named_replaces_braces_with_a_colon() {
        for (route, key) in [
            ("/orders", "/orders"),
            ("/orders/{id}/ship/{way}", "/orders/:id/ship/:way"),
            ("/files/{*rest}", "/files/*rest"),
            ("/a{{b", "/a{b"),
        ] {
            assert_eq!(named(route), key);
        }
    }
}
