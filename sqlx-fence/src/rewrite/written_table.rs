//! Finds the table that a statement writes to.

use sqlparser::ast::{
    AssignmentTarget, Delete, FromTable, Ident, ObjectName, TableFactor, TableWithJoins, Update,
    UpdateTableFromKind,
};

use super::dialect::Dialect;
use super::fenced_syntax_tree::Write;
use super::rewrite_error::Refusal;

/// Returns the name or alias of the written table in the statement.
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
    let folded = found.value.to_lowercase();
    if others(dialect, write).any(|it| it.value.to_lowercase() == folded) {
        return Err(Refusal::new(
            at,
            format!("two tables have the name `{}`", found.value),
            "use another alias for one of them",
        ));
    }
    match wanted {
        Some(name) if name != found.value => Err(no_such(name, at)),
        _ => Ok(found),
    }
}

/// Returns the names of the tables after `FROM` or `USING`.
fn others<'a>(dialect: Dialect, write: &'a Write<'_>) -> impl Iterator<Item = Ident> + 'a {
    let others = match write {
        Write::Update(update) => match &update.from {
            Some(UpdateTableFromKind::AfterSet(tables)) => tables.as_slice(),
            _ => &[],
        },
        // On MySQL the written table is one of the tables after `USING`.
        Write::Delete(_) if dialect == Dialect::MySql => &[],
        Write::Delete(delete) => delete.using.as_deref().unwrap_or_default(),
    };
    others.iter().flat_map(relations).filter_map(name)
}

/// Returns all tables of a join. The names of tables in brackets are visible outside of the brackets.
fn relations(joined: &TableWithJoins) -> Vec<&TableFactor> {
    let others = joined.joins.iter().map(|it| &it.relation);
    let all = std::iter::once(&joined.relation).chain(others);
    all.flat_map(|it| match it {
        TableFactor::NestedJoin {
            table_with_joins,
            alias: None,
        } => relations(table_with_joins),
        one => vec![one],
    })
    .collect()
}

/// Returns the tables of the statement, including the written one.
fn written<'a>(write: &'a Write<'_>) -> &'a [TableWithJoins] {
    match write {
        Write::Update(update) => std::slice::from_ref(&update.table),
        Write::Delete(delete) => match &delete.from {
            FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from) => from,
        },
    }
}

/// Returns the name in the schema of a table with this name or alias.
pub(super) fn table(write: &Write<'_>, called: &Ident) -> ObjectName {
    let relations = written(write).iter().flat_map(relations);
    let mut named = relations.filter_map(|it| match it {
        TableFactor::Table { name: table, .. } if name(it).as_ref() == Some(called) => {
            Some(table.clone())
        }
        _ => None,
    });
    let named = named.next();
    named.unwrap_or_else(|| ObjectName::from(called.clone()))
}

/// Returns the parts of a table's name, as the database compares them.
pub(super) fn path(dialect: Dialect, table: &ObjectName) -> Vec<String> {
    let parts = table.0.iter().filter_map(|part| part.as_ident());
    parts
        .map(|it| dialect.folded(&it.value, it.quote_style.is_some()))
        .collect()
}

/// Refuses a query in `WITH` with the name of the written table. The statement would write the table, but the probe
/// would read the query.
pub(super) fn refuse_shadowed(write: &Write<'_>, with: &[Ident], at: usize) -> Result<(), Refusal> {
    let mut plain = written(write).iter().filter_map(|it| match &it.relation {
        TableFactor::Table { name, .. } => match name.0.as_slice() {
            [one] => one.as_ident(),
            _ => None,
        },
        _ => None,
    });
    // Databases have different rules for case, so treat names that may be equal as equal.
    let folded = |it: &Ident| it.value.to_lowercase();
    let shadowed = plain.find(|it| with.iter().any(|other| folded(other) == folded(it)));
    match shadowed {
        None => Ok(()),
        Some(name) => Err(Refusal::new(
            at,
            format!("`{name}` is both the written table and a query in WITH"),
            "use another name for the query in WITH",
        )),
    }
}

fn of_update(
    dialect: Dialect,
    update: &Update,
    wanted: Option<&str>,
    at: usize,
) -> Result<Ident, Refusal> {
    if let [one] = relations(&update.table).as_slice() {
        return name(one).ok_or_else(|| unclear(at));
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
            "assignments to more than one table: only one of them would be fenced",
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
    let more = || {
        Refusal::new(
            at,
            "more than one table to delete from",
            "write one statement per table",
        )
    };
    let (target, all) = match (
        dialect,
        delete.tables.as_slice(),
        &delete.using,
        from.as_slice(),
    ) {
        (Dialect::MySql, [one], None, all) => (one, all),
        (Dialect::MySql, [], Some(all), [one]) if one.joins.is_empty() => match &one.relation {
            TableFactor::Table { name, .. } => (name, all.as_slice()),
            _ => return Err(unclear(at)),
        },
        (Dialect::MySql, _, Some(_), _) => return Err(more()),
        (Dialect::Sqlite, _, Some(_), _) => {
            return Err(Refusal::new(
                at,
                "DELETE … USING, which SQLite does not have",
                "select the rows in a sub-query, `WHERE id IN (SELECT …)`",
            ));
        }
        (_, [], _, [one]) if one.joins.is_empty() => {
            return name(&one.relation).ok_or_else(|| unclear(at));
        }
        (_, [], _, [_]) => return Err(join(dialect, at)),
        _ => return Err(more()),
    };
    let [part] = target.0.as_slice() else {
        return Err(unclear(at));
    };
    let target = part.as_ident().ok_or_else(|| unclear(at))?;
    let tables: Option<Vec<_>> = all.iter().map(tables).collect();
    let tables = tables.ok_or_else(|| unclear(at))?.concat();
    the_one(&tables, wanted.unwrap_or(&target.value), at).and_then(|it| {
        (it.value == target.value)
            .then_some(it)
            .ok_or_else(|| unclear(at))
    })
}

/// Returns the names of joined tables, or `None` if one of them does not have a name.
fn tables(joined: &TableWithJoins) -> Option<Vec<Ident>> {
    relations(joined).into_iter().map(name).collect()
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
        }
        | TableFactor::JsonTable {
            alias: Some(alias), ..
        } => Some(alias.name.clone()),
        TableFactor::Table {
            name, args: None, ..
        } => name.0.last()?.as_ident().cloned(),
        _ => None,
    }
}

/// Returns the table that qualifies the name of a column, if there is one.
fn qualifier(name: &ObjectName, at: usize) -> Result<Option<&Ident>, Refusal> {
    match name.0.as_slice() {
        [_] => Ok(None),
        [table, _] => Ok(table.as_ident()),
        _ => Err(Refusal::new(
            at,
            "an assignment to a column with a schema in its name",
            "use an alias for the table",
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
        "use the name of the table in the statement, or its alias if it has one",
    )
}

fn join(dialect: Dialect, at: usize) -> Refusal {
    Refusal::new(
        at,
        format!("{} does not support a JOIN here", dialect.name()),
        "use FROM or USING if the database supports it, or a sub-query",
    )
}
