//! Names of resources, and what their rows say.

use leasehold::{FencingToken, Stale};

use crate::Error;

/// What fits the column of `MySQL`'s table.
const LONGEST: usize = 512;

/// Refuses what some database would cut off or take for another.
pub(crate) fn check(resource: &str) -> Result<(), Error> {
    if !resource.is_empty() && resource.len() <= LONGEST && !resource.contains('\0') {
        return Ok(());
    }
    Err(Error::Name {
        what: "resource",
        name: resource.chars().take(64).collect(),
        remedy: "use 1 to 512 bytes, without NUL",
    })
}

/// What a token found in the database says to one that is older.
pub(crate) fn stale(token: FencingToken, current: i64) -> Result<Stale, Error> {
    let current =
        FencingToken::try_from(current).map_err(|error| sqlx::Error::Decode(error.into()))?;
    Ok(Stale { token, current })
}
