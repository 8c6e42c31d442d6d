//! Which table a statement writes to.

use sqlparser::ast::{
    AssignmentTarget, Delete, FromTable, Ident, ObjectName, TableFactor, TableWithJoins, Update,
};

use super::dialect::Dialect;
use super::refusal::Refusal;
use super::tree::Write;

/// The name by which the statement calls the table it writes to.
pub(super) fn of(
    dialect: Dialect,
    write: &Write<'_>,
    wanted: Option<&str>,
    at: usize,
) -> Result<Ident, Refusal> {
    let found = match write {
        Write::Update(update) => of_update(dialect, update, wanted, at)?,
        Write::Delete(delete) => of_delete(dialect, delete, wanted, at)?,
    };
    match wanted {
        Some(name) if name != found.value => Err(no_such(name, at)),
        _ => Ok(found),
    }
}

fn of_update(
    dialect: Dialect,
    update: &Update,
    wanted: Option<&str>,
    at: usize,
) -> Result<Ident, Refusal> {
    if update.table.joins.is_empty() {
        return name(&update.table.relation).ok_or_else(|| unclear(at));
    }
    if dialect != Dialect::MySql {
        return Err(join(dialect, at));
    }
    let tables = tables(&update.table).ok_or_else(|| unclear(at))?;
    let mut qualifiers = Vec::new();
    for assignment in &update.assignments {
        match &assignment.target {
            AssignmentTarget::ColumnName(name) => qualifiers.push(qualifier(name, at)?),
            AssignmentTarget::Tuple(_) => return Err(unclear(at)),
        }
    }
    let first = qualifiers.iter().flatten().next();
    let target = match (wanted, first) {
        (Some(name), _) => name,
        (None, Some(first)) if qualifiers.iter().all(Option::is_some) => first.value.as_str(),
        (None, _) => return Err(unclear(at)),
    };
    if qualifiers.iter().flatten().any(|it| it.value != target) {
        return Err(Refusal::new(
            at,
            "assignments to more than one table, of which one would not be fenced",
            "write one statement per table",
        ));
    }
    the_one(&tables, target, at)
}

fn of_delete(
    dialect: Dialect,
    delete: &Delete,
    wanted: Option<&str>,
    at: usize,
) -> Result<Ident, Refusal> {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let [from] = from.as_slice() else {
        return Err(unclear(at));
    };
    if delete.using.is_some() && dialect != Dialect::Postgres {
        return Err(Refusal::new(
            at,
            "DELETE … USING",
            "write `DELETE t FROM t JOIN …` where the database has it, or a sub-select",
        ));
    }
    match delete.tables.as_slice() {
        [] if from.joins.is_empty() => name(&from.relation).ok_or_else(|| unclear(at)),
        [] => Err(join(dialect, at)),
        [one] if dialect == Dialect::MySql => {
            let tables = tables(from).ok_or_else(|| unclear(at))?;
            let [part] = one.0.as_slice() else {
                return Err(unclear(at));
            };
            let target = part.as_ident().ok_or_else(|| unclear(at))?;
            the_one(&tables, wanted.unwrap_or(&target.value), at).and_then(|it| {
                (it.value == target.value)
                    .then_some(it)
                    .ok_or_else(|| unclear(at))
            })
        }
        _ => Err(Refusal::new(
            at,
            "more than one table to delete from",
            "write one statement per table",
        )),
    }
}

/// The names of joined tables, or none if one of them has no name.
fn tables(joined: &TableWithJoins) -> Option<Vec<Ident>> {
    let others = joined.joins.iter().map(|it| &it.relation);
    std::iter::once(&joined.relation)
        .chain(others)
        .map(name)
        .collect()
}

fn the_one(tables: &[Ident], target: &str, at: usize) -> Result<Ident, Refusal> {
    let mut found = tables.iter().filter(|it| it.value == target);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one.clone()),
        _ => Err(no_such(target, at)),
    }
}

fn name(table: &TableFactor) -> Option<Ident> {
    match table {
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        } => Some(alias.name.clone()),
        TableFactor::Table {
            name, args: None, ..
        } => name.0.last()?.as_ident().cloned(),
        _ => None,
    }
}

/// The table before a column's name, if there is one.
fn qualifier(name: &ObjectName, at: usize) -> Result<Option<&Ident>, Refusal> {
    match name.0.as_slice() {
        [_] => Ok(None),
        [table, _] => Ok(table.as_ident()),
        _ => Err(Refusal::new(
            at,
            "an assignment to a column with a schema before its table",
            "give the table an alias, and use that",
        )),
    }
}

fn unclear(at: usize) -> Refusal {
    Refusal::new(
        at,
        "it is not clear which table is written to",
        "qualify each assignment (`SET t.a = …`), or name the table with `.target(\"t\")`",
    )
}

fn no_such(name: &str, at: usize) -> Refusal {
    Refusal::new(
        at,
        format!("the statement does not write to one table `{name}`"),
        "name the table as the statement calls it, by its alias if it has one",
    )
}

fn join(dialect: Dialect, at: usize) -> Refusal {
    Refusal::new(
        at,
        format!(
            "a JOIN before the table is clear; {} has none there",
            dialect.name()
        ),
        "use FROM or USING where the database has it, or a sub-select",
    )
}
