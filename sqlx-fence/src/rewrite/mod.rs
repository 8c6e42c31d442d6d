//! Adds the fence to a statement.
//!
//! # Implementation details
//!
//! 1. The tokens give the positions for the fence ([`clauses`]). The rest of the text stays unchanged, byte for byte.
//! 2. The fenced text is parsed again. The resulting tree must equal the original tree with the same change applied to
//!    it ([`tree`]). So a fence at a wrong position is refused.
//! 3. Both trees come from the same tokenizer. So a statement is refused if that tokenizer and a server might disagree
//!    ([`lexical`]).

mod asked;
mod cache;
mod chains;
mod clauses;
mod dialect;
mod forms;
mod insert;
mod lexical;
mod parsed;
mod pieces;
mod placeholders;
mod plan;
mod probe;
mod quotes;
mod refusal;
mod rewritten;
mod splice;
mod stack;
mod target;
mod tree;
mod update;

pub(crate) use self::asked::Asked;
pub(crate) use self::cache::planned;
pub(crate) use self::dialect::Dialect;
pub(crate) use self::plan::Plan;
pub(crate) use self::refusal::Refusal;
pub(crate) use self::rewritten::Rewritten;
