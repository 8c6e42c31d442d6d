//! The error of a text that is not a handover ticket.

/// The text is not a valid handover ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub struct InvalidTicket {
    pub(crate) is_outdated: bool,
}

impl InvalidTicket {
    /// Returns whether an earlier version of Leasehold wrote the ticket. Such tickets have no secret and are not
    /// accepted.
    #[must_use]
    pub const fn is_outdated(self) -> bool {
        self.is_outdated
    }

    const fn message(self) -> &'static str {
        match self.is_outdated {
            true => {
                "this handover ticket is from an earlier version without secrets; run the same version on both sides"
            }
            false => {
                "not a handover ticket; pass the text of `HandoverTicket::to_string` unchanged"
            }
        }
    }
}
