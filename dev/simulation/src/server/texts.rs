//! Commands about strings, and about keys of every type.

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

/// Nothing for keys of other types.
pub(super) fn get_all(data: &Keyspace, keys: &[&str]) -> Reply {
    let found = keys.iter().map(|key| match data.get(key) {
        Some(Value::Text(text)) => Reply::text(text),
        _ => Reply::Nil,
    });
    Reply::List(found.collect())
}

pub(super) fn set(data: &mut Keyspace, words: &[&str]) -> Result<Reply, Refused> {
    if let [rest @ .., option] = words
        && rest.len() >= 2
        && option.eq_ignore_ascii_case("NX")
    {
        return match data.has(words[0]) {
            true => Ok(Reply::Nil),
            false => set(data, rest),
        };
    }
    let (key, value, ends) = match *words {
        [key, value] => (key, value, None),
        [key, value, option, time] => {
            let millis = number(time)?;
            let ends = match option.to_ascii_uppercase().as_str() {
                "PX" if millis > 0 => data.millis().saturating_add(millis),
                "PXAT" if millis > 0 => millis,
                "PX" | "PXAT" => {
                    return Err(Refused(
                        "ERR invalid expire time in 'set' command".to_owned(),
                    ));
                }
                _ => return Err(Refused("ERR syntax error".to_owned())),
            };
            (key, value, Some(ends))
        }
        _ => return Err(Refused("ERR syntax error".to_owned())),
    };
    data.put(key, Value::Text(value.to_owned()), ends);
    Ok(Reply::ok())
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
