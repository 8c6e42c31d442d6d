//! Adds the token to the rows of an `INSERT`.

use sqlparser::ast::{
    Ident, Insert, ObjectName, OnConflictAction, OnInsert, SelectItem, SetExpr, SqliteOnConflict,
    Statement, TableObject,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::asked::Asked;
use super::clauses::Top;
use super::literal::Literals;
use super::parsed::{check_again, interleaved, parsed, unreadable};
use super::pieces::Piece;
use super::refusal::Refusal;
use super::rewritten::{Rewritten, shared};
use super::{splice, target, tree};

pub(super) const UPSERT: &str =
    "in `pool.begin()` run an UPDATE, and if it writes no row, an INSERT";

/// The words that can follow the list of a `SELECT`.
const AFTER_LIST: [Keyword; 10] = [
    Keyword::FROM,
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::WINDOW,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::RETURNING,
];

/// Rewrites an `INSERT`, whose verb is the piece `at` of `code`.
pub(super) fn fenced(
    asked: Asked<'_>,
    code: &[Piece],
    at: usize,
    pieces: &[Piece],
    tokens: Vec<TokenWithSpan>,
    depth: usize,
) -> Result<Rewritten, Refusal> {
    let Asked {
        dialect,
        column,
        sql,
        ..
    } = asked;
    let start = code[at].start;
    let (placeholders, mut statement) = parsed(asked, start, pieces, tokens, depth)?;
    let insert =
        insert_of(&mut statement).ok_or_else(|| unreadable(start, "it is not an INSERT"))?;
    check(insert, column, start)?;
    let TableObject::TableName(table) = &insert.table else {
        return Err(unreadable(start, "it does not insert into a table"));
    };
    let table = table.clone();
    let returns_rows = insert.returning.is_some();
    let (names, places) =
        positions(code, at).ok_or_else(|| unreadable(start, "its rows are unclear"))?;
    let mut insertions = vec![(names, format!(", {column}"))];
    insertions.extend(
        places
            .iter()
            .map(|it| (*it, format!(", {}", placeholders.token))),
    );
    let spliced = splice::inserted(sql, insertions);
    add_to(insert, column, &placeholders.token);
    check_again(dialect, &spliced, &statement, depth).map_err(|why| unreadable(start, &why))?;
    let interleaved = interleaved(dialect, &placeholders, &places);
    Ok(Rewritten {
        literals: Literals::of(asked, &interleaved, &spliced, None)?,
        sql: shared(spliced),
        probe: None,
        confirmed: None,
        path: target::path(dialect, &table),
        table: table.to_string(),
        values: placeholders.values,
        interleaved,
        probed: None,
        returns_rows,
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

/// Refuses an `INSERT` that may change existing rows, or whose rows are not listed by column.
fn check(insert: &Insert, column: &str, start: usize) -> Result<(), Refusal> {
    let leaves_rows = match &insert.on {
        None => true,
        Some(OnInsert::OnConflict(conflict)) => {
            matches!(conflict.action, OnConflictAction::DoNothing)
        }
        Some(_) => false,
    };
    if !leaves_rows || insert.replace_into || insert.or == Some(SqliteOnConflict::Replace) {
        let problem = "it may write existing rows, whose tokens are not compared";
        return Err(Refusal::new(start, problem, UPSERT));
    }
    if insert.columns.is_empty() {
        return Err(Refusal::new(
            start,
            "the columns of the new row are not listed",
            "write `INSERT INTO … (…) VALUES (…)`",
        ));
    }
    let mut names = insert.columns.iter().filter_map(tree::last);
    match names.find(|it| tree::same_column(&it.value, column)) {
        None => Ok(()),
        Some(name) => Err(Refusal::new(
            start,
            format!("a value for `{}`, which belongs to the fence", name.value),
            "remove it; the fence sets the column",
        )),
    }
}

/// Returns the position where the list of columns ends, and the positions where the rows end.
fn positions(code: &[Piece], at: usize) -> Option<(usize, Vec<usize>)> {
    let top = Top::of(code);
    let columns = top.closing(at)?;
    let list = [Keyword::VALUES, Keyword::VALUE, Keyword::SELECT];
    let body = top.first(columns, &list)?;
    if code[body].keyword() == Keyword::SELECT {
        let end = top.first(body + 1, &AFTER_LIST).unwrap_or(code.len());
        return Some((
            code[columns].start,
            vec![code.get(end.checked_sub(1)?)?.end],
        ));
    }
    let mut rows = Vec::new();
    let mut next = body + 1;
    while code.get(next).is_some_and(|it| it.token == Token::LParen) {
        let end = top.closing(next)?;
        rows.push(code[end].start);
        next = end + 1;
        if code.get(next).is_some_and(|it| it.token == Token::Comma) {
            next += 1;
        }
    }
    Some((code[columns].start, rows))
}

/// Makes the same change to the tree. Any other source of rows stays unchanged, and is then refused.
fn add_to(insert: &mut Insert, column: &str, token: &str) {
    insert.columns.push(ObjectName::from(Ident::new(column)));
    match insert.source.as_mut().map(|it| it.body.as_mut()) {
        Some(SetExpr::Values(values)) => {
            let rows = values.rows.iter_mut();
            rows.for_each(|row| row.content.push(tree::placeholder(token)));
        }
        Some(SetExpr::Select(select)) => {
            select
                .projection
                .push(SelectItem::UnnamedExpr(tree::placeholder(token)));
        }
        _ => {}
    }
}
