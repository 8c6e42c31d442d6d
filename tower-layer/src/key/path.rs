use std::fmt::Display;
use std::str::FromStr;

use http::request::Parts;

use super::spelling::Spelling;
use super::template::Template;
use super::{KeyExtractor, params};
use crate::Problem;

/// A text with path parameters in it, such as `order:{id}`. They are decoded: `/orders/7` and `/orders/%37` lock the
/// same. Braces that are meant are doubled.
///
/// In the value of a parameter `:` is escaped as `%3A` and `%` as `%25`, see [`Key::escape`](leasehold::Key::escape): put a
/// `:` between two parameters, and no two pairs of values have one key. Who locks the same thing elsewhere escapes the
/// values, too.
///
/// **A parameter is a text, unless it is said to be [`typed`](Path::typed).** If the handler reads it as a number or an
/// UUID, `/orders/7` and `/orders/07` are the same order under two locks otherwise, and clients can go around the lock.
///
/// # Where the parameters come from
///
/// From axum's router (feature `axum`), for a layer that is added with `Router::route_layer` or `MethodRouter::layer`;
/// around the whole router there are none yet, and in a fallback there are none at all. Or, for any service, from the
/// request's path: tell what it looks like with [`on`](Path::on).
///
/// A route without the parameter is the server's mistake: the request is refused as misconfigured, with the name.
/// `Router::layer` is around the fallback, too: paths that no route has are answered with that 500, in place of a 404.
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
/// let with_axum = key::path("order:{id}").typed::<u64>("id");
/// let anywhere = key::path("user:{name}").on("/users/{name}/rename");
/// # let _keys = (with_axum, anywhere);
/// ```
#[must_use]
#[track_caller]
#[allow(clippy::panic, reason = "a literal, found out at start")]
pub fn path(template: &str) -> Path {
    match Template::parse(template) {
        Ok(template) => Path {
            template,
            spelling: Spelling::default(),
            route: None,
        },
        Err(mistake) => panic!("the key `{template}` cannot be used: {mistake}"),
    }
}

/// Made by [`path`].
#[derive(Debug, Clone)]
pub struct Path {
    template: Template,
    spelling: Spelling,
    route: Option<matchit::Router<()>>,
}

impl Path {
    /// Reads a parameter as a `T`, as the handler does, and has it stand in the key as `T` is written: `/orders/7`,
    /// `/orders/07` and `/orders/+7` lock the same where it is a `u64`, and so do all spellings of an UUID where it is a
    /// `Uuid`. What is no `T` is a 400.
    ///
    /// # Panics
    ///
    /// If the template has no such parameter.
    ///
    /// # Examples
    ///
    /// ```
    /// use leasehold_tower::key;
    ///
    /// let key = key::path("tenant:{tenant}:order:{id}").typed::<u64>("id");
    /// # let _key = key;
    /// ```
    #[must_use]
    #[track_caller]
    #[allow(clippy::panic, reason = "a literal, found out at start")]
    pub fn typed<T: FromStr + Display>(mut self, parameter: &str) -> Self {
        if !self.template.names(parameter) {
            panic!("the key has no parameter `{parameter}`; name one of those in its braces");
        }
        self.spelling.is_of::<T>(parameter);
        self
    }

    /// Takes the parameters from the request's path, which looks like `route`: `/orders/{id}`, or `/files/{*rest}`
    /// for all that follows. **A request with another path passes through, unlocked**, so that a layer can be around
    /// several routes.
    ///
    /// Inside of axum's `Router::nest` that is the path without the nest's prefix, for layers of the inner router and its
    /// routes: `nest("/api", ..)` makes `/orders/{id}` of `/api/orders/{id}`, and a `route` with the prefix never matches
    /// there. Without `on`, the parameters are those of the whole path.
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
            Some(route) => params::matched(&self.template, &self.spelling, route, request),
            None => params::routed(&self.template, &self.spelling, request).map(Some),
        }
    }
}
