use http::request::Parts;

use super::{Header, KeyExtractor, header};
use crate::{Problem, ProblemKind};

const NAME: &str = "idempotency-key";

/// Makes the key from the header `Idempotency-Key`, for an [`IdempotencyLayer`](crate::IdempotencyLayer):
/// `idempotency-key:8e03978e`.
///
/// In the IETF draft the header is a string of structured fields: `Idempotency-Key: "8e03978e"`. Most clients send the
/// bare value: `Idempotency-Key: 8e03978e`. Both have the same key. The layer refuses a request with 400 if the header
/// is missing, empty or invalid, or if there is more than one.
///
/// The client chooses the key, so scope it to a principal and limit the requests of each client: see [`header`].
///
/// # Examples
///
/// ```
/// use leasehold_tower::key::{self, KeyExtractor};
///
/// let key = key::idempotency_key().with_principal(|request| {
///     // The id of the user, set by an outer authenticating layer.
///     request.extensions.get::<String>().cloned()
/// });
/// # let _key = key;
/// ```
#[must_use]
pub fn idempotency_key() -> IdempotencyKey {
    IdempotencyKey {
        header: header(NAME),
        optional: false,
    }
}

/// The extractor that [`idempotency_key`] returns.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    header: Header,
    optional: bool,
}

impl IdempotencyKey {
    /// Lets requests without the header pass through. Such a request runs without a lock, and its response is not
    /// recorded.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

impl KeyExtractor for IdempotencyKey {
    fn key(&self, request: &mut Parts) -> Result<Option<String>, Problem> {
        if self.optional && !request.headers.contains_key(NAME) {
            return Ok(None);
        }
        let Some(key) = self.header.key(request)? else {
            return Ok(None);
        };
        let value = key.strip_prefix(NAME).and_then(|it| it.strip_prefix(':'));
        match value.and_then(|it| it.strip_prefix('"')) {
            None => Ok(Some(key)),
            Some(quoted) => match unquoted(quoted) {
                Some(value) if !value.is_empty() => Ok(Some(format!("{NAME}:{value}"))),
                _ => {
                    let detail = format!("`{NAME}` is not a string like \"8e03978e\"");
                    Err(Problem::new(ProblemKind::InvalidKey).with_detail(detail))
                }
            },
        }
    }
}

/// Returns the value of a string of RFC 9651 after its opening quote. Ignores parameters after the closing quote.
fn unquoted(quoted: &str) -> Option<String> {
    let mut value = String::new();
    let mut rest = quoted.chars();
    loop {
        match rest.next()? {
            '"' => break,
            '\\' => value.push(rest.next().filter(|it| matches!(it, '"' | '\\'))?),
            plain => value.push(plain),
        }
    }
    let after = rest.as_str();
    (after.is_empty() || after.starts_with(';')).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(value: &str) -> Result<Option<String>, ProblemKind> {
        let request = http::Request::builder().header(NAME, value);
        let mut request = request.body(()).unwrap().into_parts().0;
        let found = idempotency_key().key(&mut request);
        found.map_err(|problem| problem.kind())
    }

    #[test]
    fn string_and_bare_value_are_the_same_key() {
        for (value, expected) in [
            ("\"8e03978e-40d5\"", "8e03978e-40d5"),
            ("8e03978e-40d5", "8e03978e-40d5"),
            ("  \"k\"  ", "k"),
            ("\"a \\\" b \\\\ c\"", "a \" b \\ c"),
            ("\"k\";version=1", "k"),
            ("k;version=1", "k;version=1"),
            ("a\"b", "a\"b"),
        ] {
            let expected = format!("idempotency-key:{expected}");
            assert_eq!(key(value).unwrap(), Some(expected), "{value}");
        }
    }

    #[test]
    fn invalid_string_is_refused() {
        for value in [
            "\"",
            "\"\"",
            "\"a",
            "\"a\\",
            "\"a\\b\"",
            "\"a\"b",
            "\"a\", \"b\"",
            "\u{e9}",
        ] {
            assert_eq!(key(value), Err(ProblemKind::InvalidKey), "{value}");
        }
        assert_eq!(key(" "), Err(ProblemKind::MissingKey));
    }

    #[test]
    fn missing_header_is_refused_unless_the_key_is_optional() {
        let mut request = http::Request::new(()).into_parts().0;
        let refused = idempotency_key().key(&mut request).unwrap_err();
        assert_eq!(refused.kind(), ProblemKind::MissingKey);
        assert_eq!(idempotency_key().optional().key(&mut request), Ok(None));
    }
}
