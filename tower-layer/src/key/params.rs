//! Where decoded path parameters come from.

use http::request::Parts;
use percent_encoding::percent_decode_str;

use crate::{Problem, ProblemKind};

/// Decoded parameters by name.
#[derive(Debug)]
pub(super) struct Params(Vec<(String, String)>);

impl Params {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let named = self.0.iter().find(|(its, _)| its == name);
        named.map(|(_, value)| value.as_str())
    }

    /// What `route` finds in the request's path; `None` if that is another path.
    pub(super) fn matched(
        route: &matchit::Router<()>,
        request: &Parts,
    ) -> Result<Option<Self>, Problem> {
        let Ok(matched) = route.at(request.uri.path()) else {
            return Ok(None);
        };
        let decoded = matched.params.iter().map(|(name, raw)| {
            let value = percent_decode_str(raw).decode_utf8();
            let value = value.map_err(|_| not_text(name))?;
            Ok((name.to_owned(), value.into_owned()))
        });
        decoded
            .collect::<Result<_, _>>()
            .map(|params| Some(Self(params)))
    }

    /// What axum's router has found.
    #[cfg(feature = "axum")]
    pub(super) fn routed(request: &mut Parts) -> Result<Self, Problem> {
        use axum::extract::rejection::RawPathParamsRejection;
        use axum::extract::{FromRequestParts, RawPathParams};
        use futures_util::FutureExt;

        // It awaits nothing.
        match RawPathParams::from_request_parts(request, &()).now_or_never() {
            Some(Ok(params)) => {
                let owned = params
                    .iter()
                    .map(|(name, value)| (name.to_owned(), value.to_owned()));
                Ok(Self(owned.collect()))
            }
            Some(Err(RawPathParamsRejection::InvalidUtf8InPathParam(_))) => Err(not_text("path")),
            Some(Err(_)) | None => Ok(Self(Vec::new())),
        }
    }

    #[cfg(not(feature = "axum"))]
    #[allow(clippy::unnecessary_wraps, reason = "its twin can fail")]
    pub(super) fn routed(_: &mut Parts) -> Result<Self, Problem> {
        Ok(Self(Vec::new()))
    }
}

fn not_text(name: &str) -> Problem {
    let detail = format!("`{name}` in the path is not UTF-8");
    Problem::new(ProblemKind::InvalidKey).with_detail(detail)
}
