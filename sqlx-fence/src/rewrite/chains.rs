//! How high a statement's tree would be. `a = 1 OR a = 2 OR …` has a level for each operator, and trees are compared and
//! dropped level by level, on the stack.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use super::pieces::Piece;
use super::refusal::Refusal;
use super::stack::{Height, MOST};

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
    /// A table that may be joined with what follows before it is joined with what precedes: the parser goes deeper.
    JoinsTable,
    EndsJoin,
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
    /// Tables whose joins have not ended.
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

/// How high the statement's tree may be. It may take it for higher than it is, and refuses what might be too high.
pub(super) fn height(pieces: &[Piece]) -> Result<Height, Refusal> {
    let (mut outer, mut here) = (Vec::new(), Level::default());
    let mut most = Height::default();
    for piece in pieces.iter().filter(|it| it.is_code()) {
        match part(piece) {
            it @ (Part::Opens | Part::OpensCase) => {
                // `int[][]`, `t PIVOT (…) PIVOT (…)`: what stands behind another is a level of its own, too.
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
                format!("more than {} operators are within one another", MOST.levels),
                "write `IN (…)` or `= ANY($1)` in place of a chain of `OR`, or several statements",
            ));
        }
        if most.nested > MOST.nested {
            return Err(Refusal::new(
                piece.start,
                format!(
                    "more than {} brackets or joins are within one another",
                    MOST.nested
                ),
                "leave out those that change nothing, or write several statements",
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

    use crate::rewrite::stack::{LOW, MOST};
    use crate::rewrite::{Dialect, Refusal, rewrite};

    const DIALECTS: [Dialect; 3] = [Dialect::Postgres, Dialect::MySql, Dialect::Sqlite];

    fn refused(dialect: Dialect, sql: &str) -> Option<Refusal> {
        rewrite(dialect, "fencing_token", None, sql).err()
    }

    fn is_too_high(refused: &Refusal) -> bool {
        refused.problem.contains("within one another")
    }

    /// A statement with so many operators in one chain.
    fn chain(operators: usize) -> String {
        let sum = " + 1".repeat(operators - 1);
        format!("UPDATE items SET a = 1 WHERE id = 1{sum}")
    }

    /// Statements with many operators within one another, each of another kind.
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

    /// Statements with many brackets within one another, each of another kind.
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
    fn the_highest_tree_that_is_taken_fits_into_half_of_a_threads_stack() {
        on_a_stack_of(1 << 20, || {
            for dialect in DIALECTS {
                assert_eq!(refused(dialect, &chain(LOW.levels)), None);
                for sql in deep(LOW.levels - 20).iter().chain(&nested(LOW.nested)) {
                    // A name that is none there is another matter.
                    assert_eq!(refused(dialect, sql).filter(is_too_high), None);
                }
            }
        });
    }

    #[test]
    fn a_higher_one_is_read_on_a_stack_of_its_own() {
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
    fn a_tree_that_would_use_up_the_stack_is_refused_with_its_place() {
        for dialect in DIALECTS {
            for operators in [MOST.levels + 1, 200_000] {
                let sql = chain(operators);
                let refused = refused(dialect, &sql).unwrap();
                assert_eq!(refused.at, chain(MOST.levels).len() + 1, "{refused:?}");
                assert!(refused.remedy.contains("IN (…)"), "{refused:?}");
            }
            for sql in deep(20_000).iter().chain(&nested(20_000)) {
                let refused = refused(dialect, sql).unwrap();
                // A bracket opens a name there.
                let unknown = dialect == Dialect::Sqlite && sql.contains('[');
                assert!(unknown || is_too_high(&refused), "{refused:?}");
            }
        }
    }

    #[test]
    fn what_stands_side_by_side_may_be_long() {
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
