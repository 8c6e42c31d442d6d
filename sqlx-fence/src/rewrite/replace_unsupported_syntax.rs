//! Replaces syntax that servers support but the parser does not support.
//!
//! The parser gets replacement tokens with the same structure. The parser only finds the clauses and tables, and checks
//! that the fence is at the right position. The statement keeps its original syntax when it is sent.

use std::collections::BTreeMap;

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::dialect::Dialect;

/// Words after which a condition or a value begins.
const BEGINNINGS: [&str; 17] = [
    "where", "and", "or", "xor", "not", "on", "when", "then", "else", "case", "select", "having",
    "by", "between", "is", "in", "like",
];

/// Returns the tokens in a form that the parser supports.
pub(super) fn plainer(dialect: Dialect, tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut forms = Forms::of(&tokens);
    for at in 0..forms.code.len() {
        match dialect {
            Dialect::Postgres => forms.postgres(at),
            Dialect::MySql => forms.mysql(at),
            Dialect::Sqlite => forms.sqlite(at),
        }
    }
    match dialect {
        Dialect::Postgres => forms.subscripts(),
        Dialect::MySql => forms.joined_by_commas(),
        Dialect::Sqlite => {}
    }
    let mut edits = forms.edits;
    if edits.is_empty() {
        return tokens;
    }
    let edited = tokens.into_iter().enumerate().flat_map(|(at, it)| {
        let span = it.span;
        let edit = edits.remove(&at).unwrap_or_else(|| vec![it.token]);
        edit.into_iter()
            .map(move |token| TokenWithSpan { token, span })
    });
    edited.collect()
}

struct Forms<'a> {
    /// The tokens except whitespace and comments, each with its index among all tokens.
    code: Vec<(usize, &'a Token)>,
    edits: BTreeMap<usize, Vec<Token>>,
}

impl<'a> Forms<'a> {
    fn of(tokens: &'a [TokenWithSpan]) -> Self {
        let code = tokens.iter().enumerate().map(|(at, it)| (at, &it.token));
        Self {
            code: code
                .filter(|(_, it)| !matches!(it, Token::Whitespace(_) | Token::EOF))
                .collect(),
            edits: BTreeMap::new(),
        }
    }

    fn token(&self, at: usize) -> Option<&'a Token> {
        self.code.get(at).map(|it| it.1)
    }

    /// Returns whether the token at `at` is an unquoted word of `words`, in any case.
    fn is(&self, at: usize, words: &[&str]) -> bool {
        match self.token(at) {
            Some(Token::Word(word)) if word.quote_style.is_none() => {
                words.iter().any(|it| word.value.eq_ignore_ascii_case(it))
            }
            _ => false,
        }
    }

    fn follows(&self, at: usize, words: &[&str]) -> bool {
        at.checked_sub(1).is_some_and(|it| self.is(it, words))
    }

    /// Returns whether the previous token ends a value or a name.
    fn follows_a_value(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else {
            return false;
        };
        match self.token(before) {
            Some(Token::Word(_)) => !self.is(before, &BEGINNINGS),
            Some(
                Token::RParen
                | Token::RBracket
                | Token::Placeholder(_)
                | Token::Number(..)
                | Token::SingleQuotedString(_),
            ) => true,
            _ => false,
        }
    }

    fn put(&mut self, at: usize, tokens: Vec<Token>) {
        if let Some((index, _)) = self.code.get(at) {
            self.edits.insert(*index, tokens);
        }
    }

    fn leave_out(&mut self, range: std::ops::RangeInclusive<usize>) {
        range.for_each(|at| self.put(at, Vec::new()));
    }

    fn postgres(&mut self, at: usize) {
        self.is_null(at);
        let lists = at > 0 && self.token(at - 1) == Some(&Token::Comma);
        let opens_table = lists || self.follows(at, &["update", "from", "using", "join"]);
        if self.is(at, &["only"]) && opens_table {
            self.leave_out(at..=at);
            if let Some(end) = self.end_of(at + 1) {
                self.leave_out(at + 1..=at + 1);
                self.leave_out(end..=end);
            }
        }
        if self.is(at, &["for"]) && self.is(at + 1, &["no"]) && self.is(at + 2, &["key"]) {
            self.leave_out(at + 1..=at + 2);
        }
        if self.is(at, &["for"]) && self.is(at + 1, &["key"]) {
            self.leave_out(at + 1..=at + 1);
        }
        if self.is(at, &["between"]) && self.is(at + 1, &["symmetric", "asymmetric"]) {
            self.leave_out(at + 1..=at + 1);
        }
    }

    /// Replaces `a ISNULL`. On `MySQL`, `ISNULL` is a function.
    fn is_null(&mut self, at: usize) {
        if self.is(at, &["isnull"]) && self.follows_a_value(at) {
            self.put(at, words(&["IS", "NULL"]));
        }
    }

    fn mysql(&mut self, at: usize) {
        if self.is(at, &["mod"]) && self.follows_a_value(at) {
            self.put(at, vec![Token::Mod]);
        }
        if self.token(at) == Some(&Token::ExclamationMark) {
            self.put(at, words(&["NOT"]));
        }
        // A variable, as in `@a := 1`, is assigned inside of an expression.
        let is_column = |it: &Token| matches!(it, Token::Word(it) if !it.value.starts_with('@'));
        let before = at.checked_sub(1).and_then(|it| self.token(it));
        if self.token(at) == Some(&Token::Assignment) && before.is_some_and(is_column) {
            self.put(at, vec![Token::Eq]);
        }
    }

    fn sqlite(&mut self, at: usize) {
        self.is_null(at);
        let not = usize::from(self.is(at + 1, &["not"]));
        let known = ["null", "true", "false", "distinct"];
        if self.is(at, &["is"]) && !self.is(at + 1 + not, &known) {
            self.put(at, vec![if not == 1 { Token::Neq } else { Token::Eq }]);
            self.leave_out(at + 1..=at + not);
        }
        if self.is(at, &["not"]) && self.is(at + 1, &["glob", "match", "regexp"]) {
            self.leave_out(at..=at);
        }
        if self.is(at, &["not"]) && self.is(at + 1, &["null"]) && self.follows_a_value(at) {
            self.put(at, words(&["IS", "NOT"]));
        }
        if self.is(at, &["not"]) && self.is(at + 1, &["indexed"]) && self.follows_a_value(at) {
            self.leave_out(at..=at + 1);
        }
        if self.is(at, &["indexed"]) && self.is(at + 1, &["by"]) {
            self.leave_out(at..=at + 2);
        }
        let not = usize::from(self.is(at, &["not"]));
        if self.follows(at, &["as"]) && self.is(at + not, &["materialized"]) {
            self.leave_out(at..=at + not);
        }
        if let Some(Token::ShiftLeft | Token::ShiftRight) = self.token(at) {
            self.put(at, vec![Token::Plus]);
        }
    }

    /// Replaces subscripts: `SET doc['x'] = …`.
    fn subscripts(&mut self) {
        let Some(mut at) = self.at_top(&["set"]) else {
            return;
        };
        loop {
            at += 2;
            let mut open = at;
            while let Some(end) = self.token(open).and_then(|it| match it {
                Token::LBracket => self.end_of(open),
                _ => None,
            }) {
                let first = if open == at {
                    vec![Token::Eq]
                } else {
                    Vec::new()
                };
                self.put(open, [first, vec![Token::LParen]].concat());
                self.put(end, vec![Token::RParen, Token::StringConcat]);
                open = end + 1;
            }
            if open > at {
                self.leave_out(open..=open);
            }
            let mut depth = 0_usize;
            let comma = (at..self.code.len()).find(|&it| {
                let is_next = depth == 0 && self.token(it) == Some(&Token::Comma);
                self.step(it, &mut depth);
                is_next
            });
            match comma {
                Some(comma) => at = comma,
                None => return,
            }
        }
    }

    /// Replaces commas between tables: `UPDATE a, b SET …`.
    fn joined_by_commas(&mut self) {
        let (Some(start), Some(end)) = (self.at_top(&["update"]), self.at_top(&["set"])) else {
            return;
        };
        let mut depth = 0_usize;
        for at in start..end {
            if depth == 0 && self.token(at) == Some(&Token::Comma) {
                self.put(at, words(&["CROSS", "JOIN"]));
            }
            self.step(at, &mut depth);
        }
    }

    /// Returns the first of these words outside of brackets.
    fn at_top(&self, words: &[&str]) -> Option<usize> {
        let mut depth = 0_usize;
        (0..self.code.len()).find(|&at| {
            self.step(at, &mut depth);
            depth == 0 && self.is(at, words)
        })
    }

    /// Returns the position of the closing bracket.
    fn end_of(&self, at: usize) -> Option<usize> {
        let mut depth = 0_usize;
        self.step(at, &mut depth);
        if depth == 0 {
            return None;
        }
        (at + 1..self.code.len()).find(|&it| {
            self.step(it, &mut depth);
            depth == 0
        })
    }

    fn step(&self, at: usize, depth: &mut usize) {
        match self.token(at) {
            Some(Token::LParen | Token::LBracket | Token::LBrace) => *depth += 1,
            Some(Token::RParen | Token::RBracket | Token::RBrace) => {
                *depth = depth.saturating_sub(1);
            }
            _ => {}
        }
    }
}

fn words(words: &[&str]) -> Vec<Token> {
    words.iter().map(|it| Token::make_keyword(it)).collect()
}
