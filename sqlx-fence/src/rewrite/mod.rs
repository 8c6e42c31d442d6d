//! Adds the fence to a statement.
//!
//! # Implementation details
//!
//! 1. The tokens give the positions for the fence ([`clauses`]). The rest of the text stays unchanged, byte for byte.
//! 2. The fenced text is parsed again. The resulting tree must equal the original tree with the same change applied to
//!    it ([`fenced_syntax_tree`]). So a fence at a wrong position is refused.
//! 3. Both trees come from the same tokenizer. So a statement is refused if that tokenizer and a server might disagree
//!    ([`string_and_comment_spans`]).

mod dialect;
mod fenced_syntax_tree;
mod find_clauses;
mod find_placeholders;
mod insert;
mod insert_into_text;
mod parse;
mod parser_stack;
mod parser_tokens;
mod probe;
mod quoted_text_length;
mod replace_unsupported_syntax;
mod rewrite_cache;
mod rewrite_error;
mod rewrite_request;
mod rewritten;
mod statement_plan;
mod string_and_comment_spans;
mod tree_height;
mod update;
mod written_table;

pub(crate) use self::dialect::Dialect;
pub(crate) use self::rewrite_cache::planned;
pub(crate) use self::rewrite_error::Refusal;
pub(crate) use self::rewrite_request::Asked;
pub(crate) use self::rewritten::Rewritten;
pub(crate) use self::statement_plan::Plan;
