//! Adds the token to the rows of an `INSERT`.

use sqlparser::ast::{
    Ident, Insert, ObjectName, OnConflictAction, OnInsert, SelectItem, SetExpr, SqliteOnConflict,
    Statement, TableObject,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::TokenWithSpan;

use super::find_clauses::Top;
use super::parse::{check_again, interleaved, parsed, unreadable};
use super::parser_tokens::Piece;
use super::rewrite_error::Refusal;
use super::rewrite_request::Asked;
use super::rewritten::{Rewritten, TOKEN, shared};
use super::{fenced_syntax_tree, insert_into_text, written_table};

pub(super) const UPSERT: &str =
    "in `pool.begin()` run an UPDATE, and if it writes no row, an INSERT";

/// Rewrites an `INSERT`, whose verb is the piece `at` of `code`.
pub(super) fn fenced(
    asked: Asked<'_>,
    code: &[Piece],
    at: usize,
    pieces: &[Piece],
    tokens: Vec<TokenWithSpan>,
    depth: usize,
) -> Result<Rewritten, Refusal> {
    let start = code[at].start;
    let refused = |why: &str| unreadable(start, why);
    let found = positions(code, at);
    let first = found.as_ref().and_then(|it| it.1.first().copied());
    let begins = (start, first.unwrap_or(start));
    let (placeholders, mut statement) = parsed(asked, begins, pieces, tokens, depth)?;
    let insert = insert_of(&mut statement).ok_or_else(|| refused("it is not an INSERT"))?;
    check(insert, asked.column, start)?;
    let TableObject::TableName(table) = insert.table.clone() else {
        return Err(refused("it does not insert into a table"));
    };
    let returns_rows = insert.returning.is_some();
    let (columns, places) = found.ok_or_else(|| refused("its rows are unclear"))?;
    let token = &placeholders.token;
    let mut insertions = vec![(columns, format!(", {}", asked.column))];
    insertions.extend(places.iter().map(|it| (*it, format!(", {token}"))));
    let spliced = insert_into_text::inserted(asked.sql, insertions);
    add_to(insert, asked.column, token);
    check_again(asked.dialect, &spliced, &statement, depth).map_err(|why| refused(&why))?;
    Ok(Rewritten {
        sql: shared(spliced),
        probe: None,
        confirmed: None,
        path: written_table::path(asked.dialect, &table),
        table: table.to_string(),
        values: placeholders.values,
        interleaved: interleaved(asked.dialect, &placeholders, &places),
        probed: None,
        returns_rows,
        uses_variable: placeholders.token == TOKEN,
    })
}

fn insert_of(statement: &mut Statement) -> Option<&mut Insert> {
    match statement {
        Statement::Insert(insert) => Some(insert),
        Statement::Query(query) => match query.body.as_mut() {
            SetExpr::Insert(inner) => insert_of(inner),
            _ => None,
        },
        _ => None,
    }
}

/// Refuses an `INSERT` that may change existing rows, does not list its columns, or sets the token column.
fn check(insert: &Insert, column: &str, start: usize) -> Result<(), Refusal> {
    let refused = |problem: &'static str, remedy| Err(Refusal::new(start, problem, remedy));
    let writes_rows = match &insert.on {
        None => insert.replace_into || insert.or == Some(SqliteOnConflict::Replace),
        Some(OnInsert::OnConflict(it)) => it.action != OnConflictAction::DoNothing,
        Some(_) => true,
    };
    if writes_rows {
        return refused(
            "it may write existing rows, whose tokens are not compared",
            UPSERT,
        );
    }
    let mut names = insert.columns.iter().filter_map(fenced_syntax_tree::last);
    if names.any(|it| fenced_syntax_tree::same_column(&it.value, column)) {
        return refused(
            "a value for the token column",
            "remove it; the fence sets the column",
        );
    }
    match insert.columns.is_empty() {
        true => refused(
            "its columns are not listed",
            "write `INSERT INTO … (…) VALUES (…)`",
        ),
        false => Ok(()),
    }
}

/// Returns the position where the list of columns ends, and the positions where the rows end.
fn positions(code: &[Piece], at: usize) -> Option<(usize, Vec<usize>)> {
    let top = Top::of(code);
    let columns = top.closing(top.brackets(at).next()?);
    let body = top.first(columns, &[Keyword::VALUES, Keyword::VALUE, Keyword::SELECT])?;
    let ends = [
        Keyword::FROM,
        Keyword::WHERE,
        Keyword::ORDER,
        Keyword::LIMIT,
        Keyword::ON,
        Keyword::RETURNING,
    ];
    let end = top.first(body + 1, &ends).unwrap_or(code.len());
    let places = match code[body].keyword() {
        Keyword::SELECT => vec![code[end - 1].end],
        _ => top
            .brackets(body)
            .filter(|it| *it < end)
            .map(|it| code[top.closing(it)].start)
            .collect(),
    };
    Some((code[columns].start, places))
}

/// Makes the same change to the tree. Does not change any other source of rows, so that the check refuses it.
fn add_to(insert: &mut Insert, column: &str, token: &str) {
    insert.columns.push(ObjectName::from(Ident::new(column)));
    match insert.source.as_mut().map(|it| it.body.as_mut()) {
        Some(SetExpr::Values(values)) => {
            let rows = values.rows.iter_mut();
            rows.for_each(|row| row.content.push(fenced_syntax_tree::placeholder(token)));
        }
        Some(SetExpr::Select(select)) => {
            let token = fenced_syntax_tree::placeholder(token);
            select.projection.push(SelectItem::UnnamedExpr(token));
        }
        _ => {}
    }
}
