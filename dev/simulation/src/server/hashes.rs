//! Commands for hashes.

use super::keyspace::{Keyspace, Value};
use super::refused::{Refused, wrong_type};
use super::reply::Reply;

fn fields<'a>(data: &'a Keyspace, key: &str) -> Result<&'a [(String, String)], Refused> {
    match data.get(key) {
        None => Ok(&[]),
        Some(Value::Hash(fields)) => Ok(fields),
        Some(_) => Err(wrong_type()),
    }
}

fn fields_mut<'a>(
    data: &'a mut Keyspace,
    key: &str,
) -> Result<&'a mut Vec<(String, String)>, Refused> {
    match data.get_or(key, Value::Hash(Vec::new())) {
        Value::Hash(fields) => Ok(fields),
        _ => Err(wrong_type()),
    }
}

pub(super) fn get(data: &Keyspace, key: &str, field: &str) -> Result<Reply, Refused> {
    let found = fields(data, key)?.iter().find(|(name, _)| name == field);
    Ok(Reply::maybe(found.map(|(_, value)| value.as_str())))
}

pub(super) fn all(data: &Keyspace, key: &str) -> Result<Reply, Refused> {
    let fields = fields(data, key)?.iter();
    Ok(Reply::texts(fields.flat_map(|(name, value)| [name, value])))
}

pub(super) fn set(
    data: &mut Keyspace,
    key: &str,
    field: &str,
    value: &str,
) -> Result<Reply, Refused> {
    let fields = fields_mut(data, key)?;
    let found = fields.iter_mut().find(|(name, _)| name == field);
    let is_new = found.is_none();
    match found {
        Some((_, old)) => value.clone_into(old),
        None => fields.push((field.to_owned(), value.to_owned())),
    }
    Ok(Reply::flag(is_new))
}

pub(super) fn delete(data: &mut Keyspace, key: &str, names: &[&str]) -> Result<Reply, Refused> {
    if fields(data, key)?.is_empty() {
        return Ok(Reply::Int(0));
    }
    let fields = fields_mut(data, key)?;
    let before = fields.len();
    fields.retain(|(name, _)| !names.contains(&name.as_str()));
    let gone = before - fields.len();
    data.tidy(key);
    Ok(Reply::count(gone))
}
