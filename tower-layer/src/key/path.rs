use http::request::Parts;

use super::template::Template;
use super::{KeyExtractor, params};
use crate::Problem;

/// A text with path parameters in it, such as `order:{id}`. They are decoded: `/orders/7` and `/orders/%37` lock the
/// same. Braces that are meant are doubled.
///
/// # Where the parameters come from
///
/// From axum's router (feature `axum`), for a layer that is added with `Router::route_layer`, `Router::layer` or
/// `MethodRouter::layer`; around the whole router there are none yet, and in a fallback there are none at all. Or,
/// for any service, from the request's path: tell what it looks like with [`on`](Path::on).
///
/// A route without the parameter is the server's mistake: the request is refused as misconfigured, with the name.
///
/// # Panics
///
/// If `template` cannot be read. It is meant to be a literal, and found out at start.
///
/// # Examples
///
/// ```
/// use leasehold_tower::key;
///
/// let with_axum = key::path("order:{id}");
/// let anywhere = key::path("order:{id}").on("/orders/{id}/ship");
/// # let _keys = (with_axum, anywhere);
/// ```
#[must_use]
#[track_caller]
#[allow(clippy::panic, reason = "a literal, found out at start")]
pub fn path(template: &str) -> Path {
    match Template::parse(template) {
        Ok(template) => Path {
            template,
            route: None,
        },
        Err(mistake) => panic!("the key `{template}` cannot be used: {mistake}"),
    }
}

/// Made by [`path`].
#[derive(Debug, Clone)]
pub struct Path {
    template: Template,
    route: Option<matchit::Router<()>>,
}

impl Path {
    /// Takes the parameters from the request's path, which looks like `route`: `/orders/{id}`, or `/files/{*rest}`
    /// for all that follows. A request with another path passes through, unlocked.
    ///
    /// The path is compared as it was sent, but for its parameters. A service behind this that takes
    /// `/orders/7/`, or `/%6frders/7`, for the same path, lets clients go around the lock.
    ///
    /// # Panics
    ///
    /// If `route` cannot be read. It is meant to be a literal, and found out at start.
    #[must_use]
    #[track_caller]
    #[allow(clippy::panic, reason = "a literal, found out at start")]
    pub fn on(mut self, route: &str) -> Self {
        let mut router = matchit::Router::new();
        if let Err(mistake) = router.insert(route, ()) {
            panic!("the route `{route}` cannot be used: {mistake}");
        }
        self.route = Some(router);
        self
    }
}

impl KeyExtractor for Path {
    fn key(&self, request: &mut Parts) -> Result<Option<String>, Problem> {
        match &self.route {
            Some(route) => params::matched(&self.template, route, request),
            None => params::routed(&self.template, request).map(Some),
        }
    }
}
