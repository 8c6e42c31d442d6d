use http::{HeaderMap, HeaderName, HeaderValue};
use leasehold::FencingToken;

use crate::{Problem, ProblemKind};

/// The header that carries a fencing token: `x-fencing-token: 1795219200123457`.
pub const FENCING_TOKEN: HeaderName = HeaderName::from_static("x-fencing-token");

pub(super) fn write(headers: &mut HeaderMap, token: FencingToken) {
    headers.insert(FENCING_TOKEN, HeaderValue::from(token.get()));
}

pub(super) fn read(headers: &HeaderMap) -> Result<FencingToken, Problem> {
    let mut values = headers.get_all(FENCING_TOKEN).into_iter();
    let Some(value) = values.next() else {
        let detail = format!("send the token of your lock as `{FENCING_TOKEN}`");
        return Err(Problem::new(ProblemKind::MissingToken).with_detail(detail));
    };
    if values.next().is_some() {
        let detail = format!("`{FENCING_TOKEN}` was sent more than once; send one");
        return Err(Problem::new(ProblemKind::InvalidToken).with_detail(detail));
    }
    // What is not text is not a number either.
    Ok(value.to_str().unwrap_or_default().parse()?)
}
