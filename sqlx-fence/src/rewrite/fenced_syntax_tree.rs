//! Parses a statement, and adds the fence to its syntax tree.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment, AssignmentTarget, BinaryOperator, Delete, Expr, Ident, ObjectName, SetExpr,
    SqliteOnConflict, Statement, TableFactor, Update, UpdateTableFromKind, Value, ValueWithSpan,
    Visit, Visitor,
};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Span, TokenWithSpan};

use super::dialect::Dialect;
use super::replace_unsupported_syntax;
use super::rewrite_error::Refusal;
use super::rewritten::TOKEN;

/// Parses exactly one statement. `depth` is the recursion limit of the parser.
pub(super) fn parse(
    dialect: Dialect,
    tokens: Vec<TokenWithSpan>,
    depth: usize,
) -> Result<Statement, String> {
    let mut parser = Parser::new(dialect.grammar())
        .with_recursion_limit(depth)
        .with_tokens_with_locations(replace_unsupported_syntax::plainer(dialect, tokens));
    let mut statements = parser.parse_statements().map_err(|it| it.to_string())?;
    match (statements.pop(), statements.pop()) {
        (Some(one), None) => Ok(one),
        _ => Err("it is not one statement".to_owned()),
    }
}

/// The write of a statement: the statement itself, or the part after its `WITH`.
#[derive(Debug)]
pub(super) enum Write<'a> {
    Update(&'a mut Update),
    Delete(&'a mut Delete),
}

pub(super) fn write_of(statement: &mut Statement) -> Option<Write<'_>> {
    match statement {
        Statement::Update(update) => Some(Write::Update(update)),
        Statement::Delete(delete) => Some(Write::Delete(delete)),
        Statement::Query(query) => match query.body.as_mut() {
            SetExpr::Update(inner) | SetExpr::Delete(inner) => write_of(inner),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the names of the queries in `WITH`.
pub(super) fn with(statement: &Statement) -> Vec<Ident> {
    let Statement::Query(query) = statement else {
        return Vec::new();
    };
    let with = query.with.iter().flat_map(|it| &it.cte_tables);
    with.map(|it| it.alias.name.clone()).collect()
}

impl Write<'_> {
    pub(super) const fn returns_rows(&self) -> bool {
        match self {
            Self::Update(update) => update.returning.is_some(),
            Self::Delete(delete) => delete.returning.is_some(),
        }
    }

    /// Returns the table whose policies can hide rows from an `UPDATE` but not from a `SELECT`.
    pub(super) fn guarded(&self, dialect: Dialect) -> Option<String> {
        let Self::Update(update) = self else {
            return None;
        };
        let TableFactor::Table { name, .. } = &update.table.relation else {
            return None;
        };
        // A quote or a backslash would end the string that contains the name.
        let name = Some(name.to_string()).filter(|it| !it.contains(['\'', '\\']));
        name.filter(|_| dialect == Dialect::Postgres)
    }

    /// Returns whether the statement joins further tables with each other.
    pub(super) fn joins_others(&self) -> bool {
        match self {
            Self::Update(update) => match &update.from {
                Some(UpdateTableFromKind::AfterSet(tables)) => {
                    tables.len() > 1 || tables.iter().any(|it| !it.joins.is_empty())
                }
                _ => false,
            },
            Self::Delete(_) => false,
        }
    }

    /// Returns whether the statement has `ORDER BY` and `LIMIT`.
    const fn takes_the_first(&self) -> bool {
        let (order, limit) = match self {
            Self::Update(update) => (&update.order_by, &update.limit),
            Self::Delete(delete) => (&delete.order_by, &delete.limit),
        };
        !order.is_empty() && limit.is_some()
    }

    /// Refuses writes that cannot be fenced.
    pub(super) fn check(
        &self,
        dialect: Dialect,
        column: &str,
        start: usize,
    ) -> Result<(), Refusal> {
        if self.takes_the_first() {
            return Err(Refusal::new(
                start,
                "ORDER BY with LIMIT would write the next rows instead of rows with newer tokens",
                "select the rows in a sub-query, \
                 `WHERE id IN (SELECT id FROM (SELECT id … ORDER BY … LIMIT …) AS chosen)`",
            ));
        }
        let Self::Update(update) = self else {
            return Ok(());
        };
        if update.or == Some(SqliteOnConflict::Replace) {
            return Err(Refusal::new(
                start,
                "OR REPLACE deletes rows whose tokens are not compared",
                "delete them with a separate fenced statement",
            ));
        }
        if matches!(update.from, Some(UpdateTableFromKind::BeforeSet(_))) {
            return Err(Refusal::new(
                start,
                "FROM is before SET",
                "write it after the assignments",
            ));
        }
        if update.returning.is_some() && dialect == Dialect::MySql {
            return Err(Refusal::new(
                start,
                "MySQL and MariaDB have no UPDATE … RETURNING",
                "remove RETURNING, and read the row in the same transaction",
            ));
        }
        let assigned = update.assignments.iter().flat_map(|it| names(&it.target));
        match assigned
            .filter_map(last)
            .find(|it| same_column(&it.value, column))
        {
            None => Ok(()),
            Some(name) => Err(Refusal::new(
                start,
                format!(
                    "an assignment to `{}`, which belongs to the fence",
                    name.value
                ),
                "remove it; the fence sets the column",
            )),
        }
    }

    /// Makes the same change to the tree as the splice makes to the text.
    pub(super) fn fence(&mut self, fence: &Added) {
        let selection = match self {
            Self::Update(update) => {
                update.assignments.push(Assignment {
                    target: AssignmentTarget::ColumnName(ObjectName::from(fence.assigned.clone())),
                    value: placeholder(&fence.placeholder),
                });
                &mut update.selection
            }
            Self::Delete(delete) => &mut delete.selection,
        };
        let column = Expr::CompoundIdentifier(fence.compared.clone());
        let unset = Expr::IsNull(Box::new(column.clone()));
        let older = binary(
            column,
            BinaryOperator::LtEq,
            placeholder(&fence.placeholder),
        );
        let added = binary(unset, BinaryOperator::Or, older);
        let nested = |it| Expr::Nested(Box::new(it));
        *selection = Some(match selection.take() {
            None => added,
            Some(own) => binary(nested(own), BinaryOperator::And, nested(added)),
        });
    }
}

/// The parts that are added to a tree.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) assigned: Vec<Ident>,
    pub(super) compared: Vec<Ident>,
    pub(super) placeholder: String,
}

pub(super) fn placeholder(text: &str) -> Expr {
    if text == TOKEN {
        return Expr::Identifier(Ident::new(text));
    }
    Expr::Value(ValueWithSpan {
        value: Value::Placeholder(text.to_owned()),
        span: Span::empty(),
    })
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    }
}

fn names(target: &AssignmentTarget) -> &[ObjectName] {
    match target {
        AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
        AssignmentTarget::Tuple(names) => names,
    }
}

pub(super) fn last(name: &ObjectName) -> Option<&Ident> {
    name.0.last().and_then(|part| part.as_ident())
}

/// Returns whether two names may be the same column. Servers have different rules for case, so this function treats
/// names that may be equal as equal.
pub(super) fn same_column(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// The parts of a statement, including its sub-queries.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The number of parts that write.
    pub(super) writes: usize,
    /// The placeholders, sorted.
    pub(super) placeholders: Vec<String>,
}

impl Contents {
    pub(super) fn of(statement: &Statement) -> Self {
        let mut contents = Self::default();
        // The visitor never breaks.
        let _: ControlFlow<()> = statement.visit(&mut contents);
        contents.placeholders.sort_unstable();
        contents
    }
}

impl Visitor for Contents {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        if !matches!(statement, Statement::Query(_)) {
            self.writes += 1;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
        if let Value::Placeholder(text) = &value.value {
            self.placeholders.push(text.clone());
        }
        ControlFlow::Continue(())
    }
}
