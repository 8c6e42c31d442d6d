//! Estimates the height of a statement's tree. `a = 1 OR a = 2 OR …` has a level for each operator, and this crate
//! compares and drops trees recursively.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use super::parser_stack::{Height, MOST};
use super::parser_tokens::Piece;
use super::rewrite_error::Refusal;

/// The role of a piece in an expression.
enum Part {
    Opens,
    OpensCase,
    Closes,
    /// The end of a `CASE`, or a name `end`.
    Ends,
    /// A separator between adjacent expressions.
    Parts,
    /// An operator between two queries.
    Combines,
    /// An operator between two conditions.
    Joins,
    /// A table that may be joined with the following tables before the preceding ones. The parser recurses here.
    JoinsTable,
    EndsJoin,
    Operates,
    /// A value or a name.
    Stands,
}

/// Computes the maximum height of the tree inside of one pair of brackets.
#[derive(Default)]
struct Level {
    /// The maximum height of the finished parts, which are adjacent or combined.
    highest_part: usize,
    combined: usize,
    highest_condition: usize,
    joined: usize,
    highest_bracket: usize,
    operators: usize,
    /// The number of tables whose joins have not ended.
    tables: usize,
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
        (self.highest_condition, self.joined, self.tables) = (0, 0, 0);
        (self.highest_bracket, self.operators) = (0, 0);
    }
}

/// Computes an upper bound for the height of the statement's tree, and refuses a tree that might be too high.
pub(super) fn height(pieces: &[Piece]) -> Result<Height, Refusal> {
    let (mut outer, mut here) = (Vec::new(), Level::default());
    let mut most = Height::default();
    for piece in pieces.iter().filter(|it| it.is_code()) {
        match part(piece) {
            it @ (Part::Opens | Part::OpensCase) => {
                // In `int[][]` and `t PIVOT (…) PIVOT (…)`, each following pair of brackets is another level.
                here.operators += 1;
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
            Part::JoinsTable => here.tables += 1,
            Part::EndsJoin => here.tables = here.tables.saturating_sub(1),
            Part::Operates => here.operators += 1,
            Part::Stands => {}
        }
        most.levels = most.levels.max(here.height());
        most.nested = most.nested.max(outer.len() + here.tables);
        if most.levels > MOST.levels {
            return Err(Refusal::new(
                piece.start,
                format!("more than {} operators are nested", MOST.levels),
                "write `IN (…)` or `= ANY($1)` instead of a chain of `OR`, or use several statements",
            ));
        }
        if most.nested > MOST.nested {
            return Err(Refusal::new(
                piece.start,
                format!("more than {} brackets or joins are nested", MOST.nested),
                "remove redundant ones, or use several statements",
            ));
        }
    }
    Ok(most)
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
            Keyword::JOIN => Part::JoinsTable,
            Keyword::ON | Keyword::USING => Part::EndsJoin,
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
    use std::time::{Duration, Instant};

    use super::Refusal;
    use crate::rewrite::parser_stack::{LOW, MOST};
    use crate::rewrite::statement_plan::plan;
    use crate::rewrite::{Asked, Dialect};

    const DIALECTS: [Dialect; 3] = [Dialect::Postgres, Dialect::MySql, Dialect::Sqlite];

    fn refused(dialect: Dialect, sql: &str) -> Option<Refusal> {
        let asked = Asked {
            dialect,
            column: "fencing_token",
            target: None,
            sql,
            is_bound: false,
        };
        plan(asked).err()
    }

    fn is_too_high(refused: &Refusal) -> bool {
        refused.problem.contains("are nested")
    }

    /// Returns a statement with a chain of `operators` operators.
    fn chain(operators: usize) -> String {
        let sum = " + 1".repeat(operators - 1);
        format!("UPDATE items SET a = 1 WHERE id = 1{sum}")
    }

    /// Returns statements with many nested operators, each of another kind.
    fn deep(operators: usize) -> [String; 11] {
        let ors = " OR a = 1".repeat(operators);
        let ends = " OR end = 1".repeat(operators);
        let half = " OR a = 1".repeat(operators / 2);
        let sum = " + 1".repeat(operators / 2);
        let brackets = format!("{})", " OR a = 1".repeat(operators / 10)).repeat(10);
        let unions = " UNION SELECT id FROM items WHERE a = 1".repeat(operators);
        let arrays = "[]".repeat(operators);
        let pivots = " PIVOT (max(a) FOR b IN ('x'))".repeat(operators);
        [
            chain(operators),
            format!("DELETE FROM items WHERE id = 1{ors}"),
            format!("DELETE FROM items WHERE end = 1{ends}"),
            format!("DELETE FROM items WHERE id IN (SELECT id FROM items WHERE a = 2{unions})"),
            format!("DELETE FROM items WHERE id = 1{sum}{half}"),
            format!("DELETE FROM items WHERE {}id = 1{brackets}", "(".repeat(10)),
            format!("DELETE FROM items WHERE id IN (1, (2{sum}), 3){half}"),
            format!("UPDATE items SET a = '{{}}'::int{arrays} WHERE id = 1"),
            format!("UPDATE items SET a = CAST(b AS int{arrays}) WHERE id = 1"),
            format!(
                "UPDATE items SET a = b{} WHERE id = 1",
                "[1]".repeat(operators)
            ),
            format!("DELETE FROM items WHERE id IN (SELECT id FROM items{pivots})"),
        ]
    }

    /// Returns statements with many nested brackets, each of another kind.
    fn nested(brackets: usize) -> [String; 7] {
        let around = |open: &str, close: &str| {
            let (open, close) = (open.repeat(brackets), close.repeat(brackets));
            format!("DELETE FROM items WHERE id = {open}1{close}")
        };
        let (open, close) = ("(".repeat(brackets - 2), ")".repeat(brackets - 2));
        let joins = " JOIN items".repeat(brackets - 1);
        [
            format!("DELETE FROM items WHERE id IN (SELECT id FROM items{joins})"),
            around("(", ")"),
            around("(a + ", ")"),
            around("abs(", ")"),
            around("(SELECT ", ")"),
            around("CASE WHEN a = 1 THEN ", " END"),
            format!(
                "DELETE FROM items WHERE id IN (SELECT id FROM {open}items AS i JOIN items AS j ON true{close})"
            ),
        ]
    }

    fn on_a_stack_of<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) {
        let thread = std::thread::Builder::new().stack_size(bytes);
        thread.spawn(work).unwrap().join().unwrap();
    }

    #[test]
    fn shallow_syntax_tree_fits_into_half_of_a_threads_stack() {
        on_a_stack_of(1 << 20, || {
            for dialect in DIALECTS {
                assert_eq!(refused(dialect, &chain(LOW.levels)), None);
                for sql in deep(LOW.levels - 20).iter().chain(&nested(LOW.nested)) {
                    // Ignore other refusals, because a name can be invalid in this dialect.
                    assert_eq!(refused(dialect, sql).filter(is_too_high), None);
                }
            }
        });
    }

    #[test]
    fn deep_syntax_tree_is_parsed_on_a_separate_stack() {
        on_a_stack_of(512 << 10, || {
            for dialect in DIALECTS {
                assert_eq!(refused(dialect, &chain(MOST.levels)), None);
                for sql in deep(MOST.levels - 20) {
                    let begun = Instant::now();
                    assert_eq!(refused(dialect, &sql).filter(is_too_high), None);
                    assert!(begun.elapsed() < Duration::from_secs(10), "{sql}");
                }
                for sql in nested(MOST.nested) {
                    let begun = Instant::now();
                    assert_eq!(refused(dialect, &sql), None, "{dialect:?}: {sql}");
                    assert!(begun.elapsed() < Duration::from_secs(2), "{sql}");
                }
            }
        });
    }

    #[test]
    fn too_deep_syntax_tree_is_refused_with_its_position() {
        for dialect in DIALECTS {
            for operators in [MOST.levels + 1, 200_000] {
                let sql = chain(operators);
                let refused = refused(dialect, &sql).unwrap();
                assert_eq!(refused.at, chain(MOST.levels).len() + 1, "{refused:?}");
                assert!(refused.remedy.contains("IN (…)"), "{refused:?}");
            }
            for sql in deep(20_000).iter().chain(&nested(20_000)) {
                let refused = refused(dialect, sql).unwrap();
                // On SQLite a bracket opens a quoted name.
                let unknown = dialect == Dialect::Sqlite && sql.contains('[');
                assert!(unknown || is_too_high(&refused), "{refused:?}");
            }
        }
    }

    #[test]
    fn long_lists_of_adjacent_expressions_are_accepted() {
        let list = ", 1".repeat(50_000);
        let cases = " WHEN id = 1 AND a = 2 THEN a + 1".repeat(1_000);
        let terms = " OR (a = 1 AND id = 2)".repeat(2_000);
        let ids = " OR id = 7".repeat(2_400);
        for dialect in DIALECTS {
            for sql in [
                format!("UPDATE items SET a = 1 WHERE id IN (1{list})"),
                format!("UPDATE items SET a = CASE{cases} ELSE 3 END WHERE id = 1"),
                format!("DELETE FROM items WHERE id = 1{terms}"),
                format!("DELETE FROM items WHERE id = 1{ids}"),
            ] {
                assert_eq!(refused(dialect, &sql), None);
            }
        }
    }
}
