//! Adds the fence to a statement.
//!
//! # Implementation details
//!
//! 1. The tokens give the positions for the fence ([`clauses`]). The rest of the text stays unchanged, byte for byte.
//! 2. The fenced text is parsed again. The resulting tree must equal the original tree with the same change applied to
//!    it ([`tree`]). So a fence at a wrong position is refused.
//! 3. Both trees come from the same tokenizer. So a statement is refused if that tokenizer and a server might disagree
//!    ([`lexical`]).

mod clauses;
mod dialect;
mod fenced_syntax_tree;
mod insert;
mod insert_into_text;
mod parse;
mod parser_stack;
mod parser_tokens;
mod placeholders;
mod probe;
mod quoted_text_length;
mod refused_statement;
mod rewrite_cache;
mod rewritten;
mod statement_plan;
mod string_and_comment_spans;
mod tree_height;
mod unparsed_syntax;
mod update;
mod write_kind;
mod written_table;

pub(crate) use self::dialect::Dialect;
pub(crate) use self::refused_statement::Refusal;
pub(crate) use self::rewrite_cache::planned;
pub(crate) use self::rewritten::Rewritten;
pub(crate) use self::statement_plan::Plan;
pub(crate) use self::write_kind::Asked;
