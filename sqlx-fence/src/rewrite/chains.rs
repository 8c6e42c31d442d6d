//! How high a statement's tree would be. `a = 1 OR a = 2 OR …` has a level for each operator, and trees are compared and
//! dropped level by level, on the stack.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use super::pieces::Piece;
use super::refusal::Refusal;

/// More operators that are within one another are refused.
const MOST: usize = 250;

/// What a piece is to an expression.
enum Part {
    Opens,
    OpensCase,
    Closes,
    /// The end of a `CASE`, or a name.
    Ends,
    /// It stands between two that are beside one another.
    Parts,
    /// It stands between two queries.
    Combines,
    /// It stands between two conditions.
    Joins,
    Operates,
    /// A value, or a name.
    Stands,
}

/// How high the tree of what stands within one pair of brackets may be.
#[derive(Default)]
struct Level {
    /// The highest of what is over, beside one another or combined.
    highest_part: usize,
    combined: usize,
    highest_condition: usize,
    joined: usize,
    highest_bracket: usize,
    operators: usize,
    is_case: bool,
}

impl Level {
    fn condition(&self) -> usize {
        self.highest_bracket + self.operators
    }

    fn part(&self) -> usize {
        self.highest_condition.max(self.condition()) + self.joined
    }

    fn height(&self) -> usize {
        self.highest_part.max(self.part()) + self.combined
    }

    fn end_condition(&mut self) {
        self.highest_condition = self.highest_condition.max(self.condition());
        (self.highest_bracket, self.operators) = (0, 0);
    }

    fn end_part(&mut self) {
        self.highest_part = self.highest_part.max(self.part());
        (self.highest_condition, self.joined) = (0, 0);
        (self.highest_bracket, self.operators) = (0, 0);
    }
}

/// Refuses a statement whose tree might be too high. It may take it for higher than it is.
pub(super) fn check(pieces: &[Piece]) -> Result<(), Refusal> {
    let (mut outer, mut here) = (Vec::new(), Level::default());
    for piece in pieces.iter().filter(|it| it.is_code()) {
        match part(piece) {
            it @ (Part::Opens | Part::OpensCase) => {
                outer.push(here);
                here = Level {
                    is_case: matches!(it, Part::OpensCase),
                    ..Level::default()
                };
            }
            Part::Ends if !here.is_case => {}
            Part::Closes | Part::Ends => {
                let within = here.height();
                here = outer.pop().unwrap_or_default();
                here.highest_bracket = here.highest_bracket.max(within);
            }
            Part::Parts => here.end_part(),
            Part::Combines => {
                here.end_part();
                here.combined += 1;
            }
            Part::Joins => {
                here.end_condition();
                here.joined += 1;
            }
            Part::Operates => here.operators += 1,
            Part::Stands => {}
        }
        if here.height() > MOST {
            return Err(Refusal::new(
                piece.start,
                format!("more than {MOST} operators are within one another"),
                "write `IN (…)` or `= ANY($1)` in place of a chain of `OR`, or several statements",
            ));
        }
    }
    Ok(())
}

fn part(piece: &Piece) -> Part {
    match &piece.token {
        Token::LParen | Token::LBracket | Token::LBrace => Part::Opens,
        Token::RParen | Token::RBracket | Token::RBrace => Part::Closes,
        Token::Comma | Token::SemiColon => Part::Parts,
        Token::Word(_) => match piece.keyword() {
            Keyword::CASE => Part::OpensCase,
            Keyword::END => Part::Ends,
            Keyword::WHEN | Keyword::THEN | Keyword::ELSE | Keyword::SET | Keyword::WHERE => {
                Part::Parts
            }
            Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::MINUS => {
                Part::Combines
            }
            Keyword::AND | Keyword::OR | Keyword::XOR => Part::Joins,
            Keyword::NOT
            | Keyword::NOTNULL
            | Keyword::IS
            | Keyword::IN
            | Keyword::BETWEEN
            | Keyword::LIKE
            | Keyword::ILIKE
            | Keyword::RLIKE
            | Keyword::REGEXP
            | Keyword::SIMILAR
            | Keyword::GLOB
            | Keyword::MATCH
            | Keyword::DIV
            | Keyword::MOD
            | Keyword::COLLATE
            | Keyword::AT
            | Keyword::OVERLAPS
            | Keyword::MEMBER
            | Keyword::OPERATOR => Part::Operates,
            _ => Part::Stands,
        },
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::NationalStringLiteral(_)
        | Token::EscapedStringLiteral(_)
        | Token::UnicodeStringLiteral(_)
        | Token::DollarQuotedString(_)
        | Token::HexStringLiteral(_)
        | Token::Placeholder(_)
        | Token::Period => Part::Stands,
        _ => Part::Operates,
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::MOST;
    use crate::rewrite::{Dialect, Refusal, rewrite};

    const DIALECTS: [Dialect; 3] = [Dialect::Postgres, Dialect::MySql, Dialect::Sqlite];

    fn refused(dialect: Dialect, sql: &str) -> Option<Refusal> {
        rewrite(dialect, "fencing_token", None, sql).err()
    }

    /// A statement with so many operators in one chain.
    fn chain(operators: usize) -> String {
        let sum = " + 1".repeat(operators - 1);
        format!("UPDATE items SET a = 1 WHERE id = 1{sum}")
    }

    /// Statements with many operators within one another, each of another kind.
    fn deep(operators: usize) -> [String; 7] {
        let ors = " OR a = 1".repeat(operators);
        let ends = " OR end = 1".repeat(operators);
        let half = " OR a = 1".repeat(operators / 2);
        let sum = " + 1".repeat(operators / 2);
        let brackets = format!("{})", " OR a = 1".repeat(operators / 10)).repeat(10);
        let unions = " UNION SELECT id FROM items WHERE a = 1".repeat(operators);
        [
            chain(operators),
            format!("DELETE FROM items WHERE id = 1{ors}"),
            format!("DELETE FROM items WHERE end = 1{ends}"),
            format!("DELETE FROM items WHERE id IN (SELECT id FROM items WHERE a = 2{unions})"),
            format!("DELETE FROM items WHERE id = 1{sum}{half}"),
            format!("DELETE FROM items WHERE {}id = 1{brackets}", "(".repeat(10)),
            format!("DELETE FROM items WHERE id IN (1, (2{sum}), 3){half}"),
        ]
    }

    #[test]
    fn the_deepest_tree_that_is_taken_fits_into_half_of_a_threads_stack() {
        let small = thread::Builder::new().stack_size(1 << 20);
        let taken = small.spawn(|| {
            for dialect in DIALECTS {
                assert_eq!(refused(dialect, &chain(MOST)), None);
                for sql in deep(MOST - 5) {
                    // A name that is none there is another matter.
                    let refused = refused(dialect, &sql);
                    let deep = refused.filter(|it| it.problem.contains("within one another"));
                    assert_eq!(deep, None);
                }
            }
        });
        taken.unwrap().join().unwrap();
    }

    #[test]
    fn a_chain_that_would_use_up_the_stack_is_refused_with_its_place() {
        for dialect in DIALECTS {
            for operators in [MOST + 1, 200_000] {
                let sql = chain(operators);
                let refused = refused(dialect, &sql).unwrap();
                assert_eq!(refused.at, chain(MOST).len() + 1, "{refused:?}");
                assert!(refused.remedy.contains("IN (…)"), "{refused:?}");
            }
            for sql in deep(5_000) {
                let refused = refused(dialect, &sql).unwrap();
                assert!(
                    refused.problem.contains("within one another"),
                    "{refused:?}"
                );
            }
        }
    }

    #[test]
    fn what_stands_side_by_side_may_be_long() {
        let list = ", 1".repeat(5_000);
        let cases = " WHEN id = 1 AND a = 2 THEN a + 1".repeat(1_000);
        let terms = " OR (a = 1 AND id = 2)".repeat(MOST / 2);
        for dialect in DIALECTS {
            for sql in [
                format!("UPDATE items SET a = 1 WHERE id IN (1{list})"),
                format!("UPDATE items SET a = CASE{cases} ELSE 3 END WHERE id = 1"),
                format!("DELETE FROM items WHERE id = 1{terms}"),
            ] {
                assert_eq!(refused(dialect, &sql), None);
            }
        }
    }
}
