use http::request::Parts;

use super::KeyExtractor;
use crate::{Problem, ProblemKind};

/// The path of the route as axum knows it, such as `/orders/:id` for `/orders/{id}`: one lock for all requests of the
/// route, whatever their parameters and their method. Braces mean something else in a lock's name, hence the colon.
///
/// axum tells it to layers that are added to routes. Where it is missing, in a fallback or around the whole router,
/// the request is refused as misconfigured: use `Router::route_layer`.
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

/// Made by [`matched_path`].
#[derive(Debug, Clone, Copy)]
pub struct MatchedPath {}

impl KeyExtractor for MatchedPath {
    fn key(&self, request: &mut Parts) -> Result<Option<String>, Problem> {
        let matched = request.extensions.get::<axum::extract::MatchedPath>();
        let Some(matched) = matched else {
            let detail = "no route was matched; add the layer with `Router::route_layer`";
            return Err(Problem::new(ProblemKind::Misconfigured).with_detail(detail));
        };
        Ok(Some(named(matched.as_str())))
    }
}

/// `/orders/{id}/{*rest}` as `/orders/:id/*rest`, and doubled braces as they are meant.
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
    fn parameters_have_a_colon_in_place_of_braces() {
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
