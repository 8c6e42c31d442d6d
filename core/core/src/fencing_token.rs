//! Fencing tokens.

use std::fmt;
use std::num::NonZeroI64;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use super::escaped_text::Shown;

/// A number that increases with every acquisition of a key, so that a resource can reject a stale holder.
///
/// A lock alone cannot stop a holder that was paused past its lease from writing late. The resource can reject that
/// write. The resource stores the last seen token, and accepts a write only if the write's token is not smaller (M.
/// Kleppmann, "How to do distributed locking", 2016). Tokens are positive and fit a signed 64-bit column (`BIGINT`).
/// Compare only tokens of one key from one backend.
///
/// # Examples
///
/// ```
/// use leasehold::FencingToken;
///
/// let token = FencingToken::try_from(1_795_219_200_123_457)?;
/// assert_eq!(token.to_string().parse::<FencingToken>()?, token);
/// assert!(FencingToken::try_from(0).is_err());
/// # Ok::<(), leasehold::InvalidToken>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(NonZeroI64);

impl FencingToken {
    /// Returns the token as a number, for a database or a header.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0.get()
    }

    /// Returns when a backend generated the token, if its tokens are microseconds since 1970.
    #[must_use]
    pub fn generated_at(self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_micros(self.0.get().unsigned_abs())
    }
}

impl TryFrom<i64> for FencingToken {
    type Error = InvalidToken;

    fn try_from(value: i64) -> Result<Self, InvalidToken> {
        match NonZeroI64::new(value) {
            Some(token) if value > 0 => Ok(Self(token)),
            _ => Err(InvalidToken(value.to_string())),
        }
    }
}

impl FromStr for FencingToken {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        let invalid = || InvalidToken(text.chars().take(32).collect());
        // `parse` alone would also accept "+7" and "007", but a token has one spelling.
        if text.starts_with('0') || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(invalid());
        }
        let value: i64 = text.parse().map_err(|_| invalid())?;
        Self::try_from(value).map_err(|_| invalid())
    }
}

impl From<FencingToken> for i64 {
    fn from(token: FencingToken) -> Self {
        token.get()
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The value is not a [`FencingToken`]: a positive 64-bit integer without leading zeros.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a fencing token; tokens are whole numbers from 1 to {max}, without leading zeros",
    Shown(_0),
    max = i64::MAX
)]
pub struct InvalidToken(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_positive_integers_are_parsed_as_tokens() {
        for bad in [
            "",
            "0",
            "007",
            "-1",
            "+7",
            " 7",
            "7.0",
            "9223372036854775808",
            "seven",
        ] {
            assert!(bad.parse::<FencingToken>().is_err(), "{bad:?}");
        }
        assert_eq!(
            "9223372036854775807".parse::<FencingToken>().unwrap().get(),
            i64::MAX
        );
        assert!(FencingToken::try_from(i64::MIN).is_err());
    }

    #[test]
    fn tokens_are_ordered_as_numbers() {
        let token = |n: i64| FencingToken::try_from(n).unwrap();
        assert!(token(9) < token(10));
        assert_eq!(i64::from(token(9)), 9);
    }
}
