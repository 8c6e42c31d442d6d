//! Fills a template with decoded path parameters.

use http::request::Parts;
use percent_encoding::percent_decode_str;

use super::parameter_normalization::Spelling;
use super::template::Template;
use crate::{Problem, ProblemKind};

/// Uses the parameters that `route` finds in the request's path. Returns `None` if the path does not match.
pub(super) fn matched(
    template: &Template,
    spelling: &Spelling,
    route: &matchit::Router<()>,
    request: &Parts,
) -> Result<Option<String>, Problem> {
    let Ok(matched) = route.at(request.uri.path()) else {
        return Ok(None);
    };
    let filled = template.fill(|name| {
        let raw = matched.params.get(name).ok_or_else(|| missing(name))?;
        let decoded = percent_decode_str(raw).decode_utf8();
        spelling.of(name, &decoded.map_err(|_| not_text(name))?)
    });
    filled.map(Some)
}

/// Uses the parameters that axum's router has found.
#[cfg(feature = "axum")]
pub(super) fn routed(
    template: &Template,
    spelling: &Spelling,
    request: &mut Parts,
) -> Result<String, Problem> {
    use axum::extract::rejection::RawPathParamsRejection;
    use axum::extract::{FromRequestParts, RawPathParams};
    use futures_util::FutureExt;

    // The extractor never awaits.
    let params = match RawPathParams::from_request_parts(request, &()).now_or_never() {
        Some(Ok(params)) => Some(params),
        Some(Err(RawPathParamsRejection::InvalidUtf8InPathParam(_))) => {
            return Err(not_text("path"));
        }
        Some(Err(_)) | None => None,
    };
    template.fill(|name| {
        let mut params = params.iter().flatten();
        let named = params.find(|(its, _)| *its == name);
        let (_, value) = named.ok_or_else(|| missing(name))?;
        spelling.of(name, value)
    })
}

#[cfg(not(feature = "axum"))]
pub(super) fn routed(template: &Template, _: &Spelling, _: &mut Parts) -> Result<String, Problem> {
    template.fill(|name| Err(missing(name)))
}

fn missing(name: &str) -> Problem {
    let detail =
        format!("the lock's key needs the parameter `{name}`, which this route does not have");
    Problem::new(ProblemKind::Misconfigured).with_detail(detail)
}

fn not_text(name: &str) -> Problem {
    let detail = format!("`{name}` in the path is not UTF-8");
    Problem::new(ProblemKind::InvalidKey).with_detail(detail)
}
