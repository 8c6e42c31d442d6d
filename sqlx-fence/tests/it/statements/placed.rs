//! The placeholders, comments and rows of random statements.

use crate::statements::joins::Joins;
use crate::statements::random::Flavour;

/// A random statement.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) values: Vec<Option<i64>>,
    /// Whether it returns `line`, `touched` and `noted` of its rows.
    pub(crate) returning: bool,
}

impl Joins {
    /// Replaces marked values by placeholders, and some spaces by comments.
    pub(crate) fn placed(&mut self, marked: &str) -> Statement {
        let gaps = ["\n", " /* ? $1 ' */ ", " -- ; WHERE \"\n"];
        let style = self.rng.u8(0..3);
        let numbered =
            self.flavour == Flavour::Postgres || self.flavour == Flavour::Sqlite && style < 2;
        let mark = match (self.flavour, style) {
            (Flavour::Sqlite, 0) => '?',
            _ => '$',
        };
        let mut values: Vec<Option<i64>> = Vec::new();
        // Use numbers in any order, and some more than once.
        let mut numbers: Vec<usize> = (1..=marked.matches('\u{1}').count()).collect();
        let mut places = Vec::new();
        let mut sql = String::with_capacity(marked.len());
        let mut rest = marked;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            match letter {
                '\u{1}' => {
                    let (text, behind) = rest.split_once('\u{2}').unwrap();
                    rest = behind;
                    let value = text.parse().ok();
                    let known = values.iter().position(|it| *it == value);
                    let index = known.filter(|_| numbered && self.rng.bool());
                    places.push(index.unwrap_or(values.len()));
                    if index.is_none() {
                        values.push(value);
                    }
                    sql.push(letter);
                }
                ' ' if self.rng.u8(0..60) == 0 => {
                    sql.push_str(gaps[self.rng.usize(0..gaps.len())]);
                }
                _ => sql.push(letter),
            }
        }
        numbers.truncate(values.len());
        self.rng.shuffle(&mut numbers);
        for place in places {
            let placeholder = match (numbered, self.flavour) {
                (false, _) => "?".to_owned(),
                (true, Flavour::Postgres) => format!("${}::bigint", numbers[place]),
                (true, _) => format!("{mark}{}", numbers[place]),
            };
            sql = sql.replacen('\u{1}', &placeholder, 1);
        }
        if numbered {
            let mut by_number = vec![None; values.len()];
            for (number, value) in numbers.iter().zip(&values) {
                by_number[number - 1] = *value;
            }
            values = by_number;
        }
        let single = marked.starts_with("DELETE FROM") && !marked.contains(" USING ");
        let has_returning = self.flavour != Flavour::MySql
            || single && !marked.contains(" ORDER BY line DESC") && !marked.contains("LIMIT 100");
        let returning = has_returning && self.rng.u8(0..4) == 0;
        if returning {
            let row = match self.flavour {
                Flavour::Sqlite | Flavour::MySql => String::new(),
                Flavour::Postgres => format!("{}.", self.names[0]),
            };
            sql.push_str(&format!(" RETURNING {row}line, {row}touched, {row}noted"));
        }
        Statement {
            sql,
            values,
            returning,
        }
    }
}
