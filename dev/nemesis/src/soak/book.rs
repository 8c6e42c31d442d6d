use std::collections::HashMap;

use leasehold::FencingToken;
use parking_lot::Mutex;

use super::tally::Tally;

/// Whether a guard that entered is still valid. It may be asked when the guard is gone.
type IsValid = Box<dyn Fn() -> bool + Send>;

#[derive(Default)]
struct Page {
    alone: Option<(FencingToken, IsValid)>,
    /// Of those who held it alone.
    largest_alone: Option<FencingToken>,
    largest: Option<FencingToken>,
}

/// Who holds which key, as far as this process knows.
#[derive(Default)]
pub(super) struct Book(Mutex<HashMap<String, Page>>);

impl Book {
    /// A guard that is to be the only valid one.
    pub(super) fn enter(&self, key: &str, token: FencingToken, is_valid: IsValid, tally: &Tally) {
        let mut pages = self.0.lock();
        let page = pages.entry(key.to_owned()).or_default();
        // In this order: a guard that is valid now was valid then, for it was granted before.
        let other = page.alone.as_ref().is_some_and(|(_, valid)| valid());
        if !is_valid() {
            return;
        }
        if other {
            tally.overlaps();
        }
        if page.largest >= Some(token) {
            tally.unordered();
        }
        page.largest = Some(token);
        page.largest_alone = Some(token);
        page.alone = Some((token, is_valid));
    }

    /// A reader, who may be beside readers: one of them may have been a writer, and has kept its smaller token.
    pub(super) fn visit(
        &self,
        key: &str,
        token: FencingToken,
        is_valid: &dyn Fn() -> bool,
        tally: &Tally,
    ) {
        let mut pages = self.0.lock();
        let page = pages.entry(key.to_owned()).or_default();
        let other = page.alone.as_ref().is_some_and(|(_, valid)| valid());
        if !is_valid() {
            return;
        }
        if other {
            tally.overlaps();
        }
        if page.largest_alone > Some(token) {
            tally.unordered();
        }
        page.largest = page.largest.max(Some(token));
    }

    /// The guard under this token is about to be given up.
    pub(super) fn leave(&self, key: &str, token: FencingToken) {
        if let Some(page) = self.0.lock().get_mut(key) {
            page.alone.take_if(|(entered, _)| *entered == token);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "helpers of tests")]
mod tests {
    use super::*;

    fn token(number: i64) -> FencingToken {
        FencingToken::try_from(number).unwrap()
    }

    fn always(valid: bool) -> IsValid {
        Box::new(move || valid)
    }

    #[test]
    fn two_valid_guards_are_an_overlap() {
        let (book, tally) = (Book::default(), Tally::default());
        book.enter("k", token(1), always(true), &tally);
        book.enter("k", token(2), always(false), &tally);
        book.enter("other", token(2), always(true), &tally);
        assert_eq!(tally.counts().overlaps, 0);
        book.visit("k", token(2), &always(true), &tally);
        book.enter("k", token(2), always(true), &tally);
        assert_eq!(tally.counts().overlaps, 2);
        book.leave("k", token(1));
        book.enter("k", token(3), always(true), &tally);
        assert_eq!(tally.counts().overlaps, 3, "2 has not left");
        book.leave("k", token(3));
        book.enter("k", token(4), always(true), &tally);
        assert_eq!(tally.counts().overlaps, 3);
    }

    #[test]
    fn tokens_must_grow_and_a_readers_may_stay() {
        let (book, tally) = (Book::default(), Tally::default());
        for number in [1, 2, 3] {
            book.enter("k", token(number), always(true), &tally);
            book.leave("k", token(number));
        }
        book.visit("k", token(4), &always(true), &tally);
        book.visit("k", token(3), &always(true), &tally);
        assert_eq!(tally.counts().unordered, 0);
        book.visit("k", token(2), &always(true), &tally);
        book.enter("k", token(4), always(true), &tally);
        assert_eq!(tally.counts().unordered, 2);
    }
}
