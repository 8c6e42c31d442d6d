//! The error of a command.

/// The reason why a command was not executed, starting with its code.
#[derive(Debug)]
pub(super) struct Refused(pub(super) String);

pub(super) fn wrong_type() -> Refused {
    let told = "WRONGTYPE Operation against a key holding the wrong kind of value";
    Refused(told.to_owned())
}

pub(super) fn number(text: &str) -> Result<i64, Refused> {
    let refused = |_| Refused("ERR value is not an integer or out of range".to_owned());
    text.parse().map_err(refused)
}
