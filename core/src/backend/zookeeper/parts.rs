use std::sync::Arc;

use super::desk::Desk;
use super::link::Link;

/// What requests need.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) link: Arc<Link>,
    pub(super) desk: Arc<Desk>,
}
