//! Commands for strings, and for keys of every type.

use super::keyspace::{Keyspace, Value};
use super::refused::{Refused, number, wrong_type};
use super::reply::Reply;

pub(super) fn get(data: &Keyspace, key: &str) -> Result<Reply, Refused> {
    match data.get(key) {
        None => Ok(Reply::Nil),
        Some(Value::Text(text)) => Ok(Reply::text(text)),
        Some(_) => Err(wrong_type()),
    }
}

/// Returns nil for keys of other types.
pub(super) fn get_all(data: &Keyspace, keys: &[&str]) -> Reply {
    let found = keys.iter().map(|key| match data.get(key) {
        Some(Value::Text(text)) => Reply::text(text),
        _ => Reply::Nil,
    });
    Reply::List(found.collect())
}

pub(super) fn set(data: &mut Keyspace, words: &[&str]) -> Result<Reply, Refused> {
    let syntax = || Refused("ERR syntax error".to_owned());
    let [key, value, options @ ..] = words else {
        return Err(syntax());
    };
    let (mut ends, mut only_if_new, mut tells_the_old) = (None, false, false);
    let mut says_when_it_ends = false;
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let option = option.to_ascii_uppercase();
        if ["KEEPTTL", "PX", "PXAT"].contains(&option.as_str())
            && std::mem::replace(&mut says_when_it_ends, true)
        {
            return Err(syntax());
        }
        match option.as_str() {
            "NX" => only_if_new = true,
            "GET" => tells_the_old = true,
            "KEEPTTL" => ends = data.ends(key).filter(|_| data.has(key)),
            form @ ("PX" | "PXAT") => {
                let millis = number(options.next().ok_or_else(syntax)?)?;
                if millis <= 0 {
                    let told = "ERR invalid expire time in 'set' command";
                    return Err(Refused(told.to_owned()));
                }
                let from = if form == "PX" { data.millis() } else { 0 };
                ends = Some(from.saturating_add(millis));
            }
            _ => return Err(syntax()),
        }
    }
    let old = match tells_the_old {
        true => Some(get(data, key)?),
        false => None,
    };
    let is_written = !only_if_new || !data.has(key);
    if is_written {
        data.put(key, Value::Text((*value).to_owned()), ends);
    }
    let done = if is_written { Reply::ok() } else { Reply::Nil };
    Ok(old.unwrap_or(done))
}

pub(super) fn delete(data: &mut Keyspace, keys: &[&str]) -> Reply {
    let gone = keys.iter().filter(|key| data.remove(key));
    Reply::count(gone.count())
}

pub(super) fn exists(data: &Keyspace, keys: &[&str]) -> Reply {
    let there = keys.iter().filter(|key| data.has(key));
    Reply::count(there.count())
}

pub(super) fn pttl(data: &Keyspace, key: &str) -> Reply {
    Reply::Int(match data.ends(key) {
        _ if !data.has(key) => -2,
        None => -1,
        Some(ends) => ends - data.millis(),
    })
}

pub(super) fn pexpire(data: &mut Keyspace, key: &str, millis: &str) -> Result<Reply, Refused> {
    let at = data.millis().saturating_add(number(millis)?);
    Ok(Reply::flag(data.end_at(key, at)))
}

pub(super) fn pexpire_at(data: &mut Keyspace, key: &str, millis: &str) -> Result<Reply, Refused> {
    let at = number(millis)?;
    Ok(Reply::flag(data.end_at(key, at)))
}
