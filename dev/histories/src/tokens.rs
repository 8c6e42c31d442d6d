//! Checks the tokens of each kind.

use leasehold::FencingToken;
use leasehold::backend::Mode;
use leasehold_testkit::history::Specification;

use crate::step::specified;

/// The granted tokens of one key.
#[derive(Debug, Default)]
pub(crate) struct Tokens(Specification<()>);

impl Tokens {
    /// Checks a grant that is not a duplicate. The same attempt may get its token again, if no other attempt was
    /// granted in between.
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

    /// Checks the answer to a duplicate of a request whose answer was `first`.
    pub(crate) fn repeated(&mut self, mode: Mode, first: FencingToken, token: FencingToken) {
        match mode {
            // Tokens of permits only distinguish holders.
            Mode::Permits { .. } => assert!(token >= first, "{token} after {first}"),
            _ => assert_eq!(token, first),
        }
        let _may_be_older = self.0.draw(specified(Mode::Shared), token.get());
    }
}
