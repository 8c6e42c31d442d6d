//! What each kind promises of its tokens.

use leasehold::FencingToken;
use leasehold::backend::Mode;

/// The tokens of one key, as they were granted.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    highest: Option<FencingToken>,
    /// The highest that somebody had who held the lock alone.
    highest_alone: Option<FencingToken>,
}

impl Tokens {
    /// A grant that is no second copy. One and the same attempt may get again what it had, as long as nobody
    /// else was granted anything since.
    pub(crate) fn granted(
        &mut self,
        mode: Mode,
        former: Option<FencingToken>,
        token: FencingToken,
    ) {
        let token = Some(token);
        if token == former && token == self.highest {
            return;
        }
        match mode {
            // Readers share one, above every writer's before them.
            Mode::Shared => {
                assert!(token >= self.highest, "{token:?} in {self:?}");
                assert!(token > self.highest_alone, "{token:?} in {self:?}");
            }
            _ => assert!(token > self.highest, "{token:?} in {self:?}"),
        }
        if mode == Mode::Exclusive {
            self.highest_alone = token;
        }
        self.highest = token;
    }

    /// A second copy of a request whose answer was `first`.
    pub(crate) fn repeated(&mut self, mode: Mode, first: FencingToken, token: FencingToken) {
        match mode {
            // Nobody compares them but to tell holders apart.
            Mode::Permits { .. } => assert!(token >= first, "{token} after {first}"),
            _ => assert_eq!(token, first),
        }
        self.highest = self.highest.max(Some(token));
    }
}
