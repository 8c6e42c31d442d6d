//! What each kind promises of its tokens.

use leasehold::FencingToken;
use leasehold::backend::Mode;
use leasehold_testkit::history::Specification;

use crate::step::specified;

/// The tokens of one key, as they were granted.
#[derive(Debug, Default)]
pub(crate) struct Tokens(Specification<()>);

impl Tokens {
    /// A grant that is no second copy. One and the same attempt may get again what it had, as long as nobody
    /// else was granted anything since.
    pub(crate) fn granted(
        &mut self,
        mode: Mode,
        former: Option<FencingToken>,
        token: FencingToken,
    ) {
        if former != Some(token) || self.0.largest() != Some(token.get()) {
            let breach = self.0.draw(specified(mode), token.get());
            assert_eq!(breach, None, "{token:?} in {self:?}");
        }
    }

    /// A second copy of a request whose answer was `first`.
    pub(crate) fn repeated(&mut self, mode: Mode, first: FencingToken, token: FencingToken) {
        match mode {
            // Nobody compares them but to tell holders apart.
            Mode::Permits { .. } => assert!(token >= first, "{token} after {first}"),
            _ => assert_eq!(token, first),
        }
        let _may_be_older = self.0.draw(specified(Mode::Shared), token.get());
    }
}
