//! Checks the names of resources and idempotency keys, and the tokens in their rows.

use leasehold_core::{FencingToken, Stale};

use crate::Error;

/// The length of the columns in the tables of `MySQL`.
const LONGEST: usize = 512;

/// Refuses names that some database would truncate or confuse with others. `what` is the kind of the name.
pub(crate) fn check(what: &'static str, name: &str) -> Result<(), Error> {
    if !name.is_empty() && name.len() <= LONGEST && !name.contains('\0') {
        return Ok(());
    }
    Err(Error::Name {
        what,
        name: name.chars().take(64).collect(),
        remedy: "use 1 to 512 bytes, without NUL",
    })
}

/// Returns the error for a token that is older than the token in the database.
pub(crate) fn stale(token: FencingToken, current: i64) -> Result<Stale, Error> {
    let current =
        FencingToken::try_from(current).map_err(|error| sqlx::Error::Decode(error.into()))?;
    Ok(Stale { token, current })
}
