use std::fmt::Display;
use std::str::FromStr;

use http::request::Parts;

use super::parameter_normalization::Spelling;
use super::template::Template;
use super::{KeyExtractor, fill_path_parameters};
use crate::Problem;

/// Makes the key from a template with path parameters, such as `order:{id}`. The extractor decodes parameters:
/// `/orders/7` and `/orders/%37` have the same key. Write literal braces twice.
///
/// In the value of a parameter, the extractor escapes `:` as `%3A` and `%` as `%25`: see
/// [`Key::escape`](leasehold_core::Key::escape). Put a `:` between two parameters, so that two different pairs of values
/// never have the same key. Code that locks the same key elsewhere must escape the values, too.
///
/// **Say for each parameter how the handler reads it**: [`typed`](PathTemplate::typed) if it parses a number or a UUID,
/// [`raw`](PathTemplate::raw) if it uses the text. If the key used a number as text, `/orders/7` and `/orders/07` would
/// use two locks for one order, and clients could bypass the lock. A template becomes an extractor when you declare the
/// first parameter. If you do not declare another parameter, the layer refuses every request as misconfigured, with the
/// name of the parameter.
///
/// # Where the parameters come from
///
/// With the feature `axum`, the parameters come from axum's router. Add the layer with `Router::route_layer` or
/// `MethodRouter::layer`. Around the whole router, or in a fallback, axum does not provide parameters.
///
/// For any other service, the parameters come from the request's path. Describe the path with [`on`](PathKey::on).
///
/// If the route does not have a parameter, the layer refuses the request as misconfigured, with the name of the
/// parameter. `Router::layer` also wraps the fallback, so paths without a route then get a 500 instead of a 404.
///
/// # Panics
///
/// Panics if `template` is invalid, or has no parameter. Use a literal, so that a mistake causes a panic at startup.
///
/// # Examples
///
/// ```
/// use leasehold_tower::key;
///
/// let with_axum = key::path("order:{id}").typed::<u64>("id");
/// let anywhere = key::path("user:{name}").raw("name").on("/users/{name}/rename");
/// # let _keys = (with_axum, anywhere);
/// ```
#[track_caller]
#[allow(
    clippy::panic,
    reason = "the template is a literal, so a mistake shows at startup"
)]
pub fn path(template: &str) -> PathTemplate {
    match Template::parse(template) {
        Ok(parsed) if parsed.has_parameters() => PathTemplate(PathKey {
            template: parsed,
            spelling: Spelling::default(),
            route: None,
        }),
        Ok(_) => panic!(
            "the key `{template}` has no parameter; for one key for all requests use `key::from_fn`"
        ),
        Err(mistake) => panic!("the key `{template}` cannot be used: {mistake}"),
    }
}

/// A template whose parameters are not declared yet. [`path`] creates it.
#[derive(Debug, Clone)]
#[must_use = "declare its parameters with `typed` or `raw`"]
pub struct PathTemplate(PathKey);

impl PathTemplate {
    /// Declares that the handler parses a parameter as a `T`: see [`PathKey::typed`].
    ///
    /// # Panics
    ///
    /// Panics if the template does not have this parameter.
    #[must_use]
    #[track_caller]
    pub fn typed<T: FromStr + Display>(self, parameter: &str) -> PathKey {
        self.0.typed::<T>(parameter)
    }

    /// Declares that the handler uses a parameter as text: see [`PathKey::raw`].
    ///
    /// # Panics
    ///
    /// Panics if the template does not have this parameter.
    #[must_use]
    #[track_caller]
    pub fn raw(self, parameter: &str) -> PathKey {
        self.0.raw(parameter)
    }
}

/// Makes the key from a template with declared parameters. [`PathTemplate`] creates this extractor.
#[derive(Debug, Clone)]
pub struct PathKey {
    template: Template,
    spelling: Spelling,
    route: Option<matchit::Router<()>>,
}

impl PathKey {
    /// Declares that the handler parses a parameter as a `T`, and formats that `T` in the key. As a `u64`, `/orders/7`,
    /// `/orders/07` and `/orders/+7` have the same key. As a `Uuid`, all spellings of a UUID have the same key. The
    /// layer refuses a value that is not a valid `T` with 400.
    ///
    /// # Panics
    ///
    /// Panics if the template does not have this parameter.
    ///
    /// # Examples
    ///
    /// ```
    /// use leasehold_tower::key;
    ///
    /// let key = key::path("tenant:{tenant}:order:{id}").raw("tenant").typed::<u64>("id");
    /// # let _key = key;
    /// ```
    #[must_use]
    #[track_caller]
    pub fn typed<T: FromStr + Display>(mut self, parameter: &str) -> Self {
        self.check(parameter);
        self.spelling.is_of::<T>(parameter);
        self
    }

    /// Declares that the handler uses a parameter as text without any change. If the handler ignores case or spaces,
    /// implement [`KeyExtractor`] instead, so that all spellings have one key.
    ///
    /// # Panics
    ///
    /// Panics if the template does not have this parameter.
    #[must_use]
    #[track_caller]
    pub fn raw(mut self, parameter: &str) -> Self {
        self.check(parameter);
        self.spelling.is_raw(parameter);
        self
    }

    #[track_caller]
    #[allow(
        clippy::panic,
        reason = "the name is a literal, so a mistake shows at startup"
    )]
    fn check(&self, parameter: &str) {
        if !self.template.names(parameter) {
            panic!("the key has no parameter `{parameter}`; name one of those in its braces");
        }
    }

    /// Takes the parameters from the request's path, which must match `route`: `/orders/{id}`, or `/files/{*rest}` for
    /// the rest of the path. **A request with another path passes through unlocked**, so that a layer can wrap several
    /// routes.
    ///
    /// Layers inside of axum's `Router::nest` get the path without the prefix of the nest. With `nest("/api", ..)`
    /// these layers get `/orders/7` instead of `/api/orders/7`, and a `route` with the prefix never matches. Without
    /// `on`, the parameters are those of the whole path.
    ///
    /// Except for the parameters, the extractor compares the path as the client sent it. If the inner service treats
    /// `/orders/7/` or `/%6frders/7` as the same path, clients can bypass the lock.
    ///
    /// # Panics
    ///
    /// Panics if `route` is invalid. Use a literal, so that a mistake causes a panic at startup.
    #[must_use]
    #[track_caller]
    #[allow(
        clippy::panic,
        reason = "the route is a literal, so a mistake shows at startup"
    )]
    pub fn on(mut self, route: &str) -> Self {
        let mut router = matchit::Router::new();
        if let Err(mistake) = router.insert(route, ()) {
            panic!("the route `{route}` cannot be used: {mistake}");
        }
        self.route = Some(router);
        self
    }
}

impl KeyExtractor for PathKey {
    fn key(&self, request: &mut Parts) -> Result<Option<String>, Problem> {
        match &self.route {
            Some(route) => {
                fill_path_parameters::matched(&self.template, &self.spelling, route, request)
            }
            None => fill_path_parameters::routed(&self.template, &self.spelling, request).map(Some),
        }
    }
}
