//! Inserts the fence into the text.

use sqlparser::ast::Ident;

use super::dialect::Dialect;
use super::fenced_syntax_tree::Added;
use super::find_clauses::Clauses;

/// A fenced text, and the added parts.
#[derive(Debug)]
pub(super) struct Spliced {
    pub(super) sql: String,
    pub(super) added: Added,
    /// The positions of the token in the user's text.
    pub(super) places: Vec<usize>,
}

pub(super) fn splice(
    dialect: Dialect,
    sql: &str,
    clauses: &Clauses,
    token: &str,
    target: &Ident,
    column: &str,
) -> Spliced {
    let column = Ident::new(column);
    let compared = vec![target.clone(), column.clone()];
    let assigned = match dialect {
        // The name is qualified, because several of the joined tables may have a column with this name.
        Dialect::MySql => compared.clone(),
        // Postgres and SQLite refuse a qualified name in an assignment.
        Dialect::Postgres | Dialect::Sqlite => vec![column.clone()],
    };
    let owned = format!("{target}.{column}");
    let condition = format!("{owned} IS NULL OR {owned} <= {token}");
    let mut insertions = Vec::new();
    let mut places = Vec::new();
    if let Some(set) = &clauses.set {
        let name = if assigned.len() == 1 {
            column.to_string()
        } else {
            owned
        };
        insertions.push((set.end, format!(", {name} = {token}")));
        places.push(set.end);
    }
    match &clauses.condition {
        Some(own) => {
            insertions.push((own.start, "(".to_owned()));
            insertions.push((own.end, format!(") AND ({condition})")));
            places.push(own.end);
        }
        None => {
            insertions.push((clauses.tail, format!(" WHERE {condition}")));
            places.push(clauses.tail);
        }
    }
    Spliced {
        sql: inserted(sql, insertions),
        added: Added {
            assigned,
            compared,
            placeholder: token.to_owned(),
        },
        places,
    }
}

/// Inserts texts at ascending positions.
pub(super) fn inserted(sql: &str, insertions: Vec<(usize, String)>) -> String {
    let mut text = String::with_capacity(sql.len() + 128);
    let mut done = 0;
    for (at, insertion) in insertions {
        text.push_str(&sql[done..at]);
        text.push_str(&insertion);
        done = at;
        let glued =
            sql[at..].starts_with(|it: char| it.is_alphanumeric() || it == '_' || it == '(');
        if glued && !insertion.ends_with('(') {
            text.push(' ');
        }
    }
    text.push_str(&sql[done..]);
    text
}
