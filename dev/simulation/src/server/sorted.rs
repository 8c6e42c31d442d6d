//! Commands for sorted sets.

use super::convert::{score, written};
use super::keyspace::{Keyspace, Value};
use super::refused::{Refused, number, wrong_type};
use super::reply::Reply;

type Members = Vec<(f64, String)>;

fn members<'a>(data: &'a Keyspace, key: &str) -> Result<&'a [(f64, String)], Refused> {
    match data.get(key) {
        None => Ok(&[]),
        Some(Value::Sorted(members)) => Ok(members),
        Some(_) => Err(wrong_type()),
    }
}

fn members_mut<'a>(data: &'a mut Keyspace, key: &str) -> Result<&'a mut Members, Refused> {
    match data.get_or(key, Value::Sorted(Vec::new())) {
        Value::Sorted(members) => Ok(members),
        _ => Err(wrong_type()),
    }
}

pub(super) fn add(
    data: &mut Keyspace,
    key: &str,
    given: &str,
    member: &str,
) -> Result<Reply, Refused> {
    let given = score(given).ok_or_else(no_float)?;
    let members = members_mut(data, key)?;
    let before = members.len();
    members.retain(|(_, it)| it != member);
    let is_new = members.len() == before;
    members.push((given, member.to_owned()));
    members.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    Ok(Reply::flag(is_new))
}

/// Adds a member, unless it exists.
pub(super) fn add_new(
    data: &mut Keyspace,
    key: &str,
    given: &str,
    member: &str,
) -> Result<Reply, Refused> {
    score(given).ok_or_else(no_float)?;
    if members(data, key)?.iter().any(|(_, it)| it == member) {
        return Ok(Reply::flag(false));
    }
    add(data, key, given, member)
}

pub(super) fn count(data: &Keyspace, key: &str) -> Result<Reply, Refused> {
    Ok(Reply::count(members(data, key)?.len()))
}

pub(super) fn score_of(data: &Keyspace, key: &str, member: &str) -> Result<Reply, Refused> {
    let found = members(data, key)?.iter().find(|(_, it)| it == member);
    Ok(found.map_or(Reply::Nil, |(score, _)| Reply::Text(written(*score))))
}

/// Executes `ZRANGE`, or `ZREVRANGE` if `is_backwards` is set.
pub(super) fn range(data: &Keyspace, words: &[&str], is_backwards: bool) -> Result<Reply, Refused> {
    let (key, first, last, with_scores) = match *words {
        [key, first, last] => (key, first, last, false),
        [key, first, last, option] if option.eq_ignore_ascii_case("WITHSCORES") => {
            (key, first, last, true)
        }
        _ => return Err(Refused("ERR syntax error".to_owned())),
    };
    let mut members = members(data, key)?.to_vec();
    if is_backwards {
        members.reverse();
    }
    let length = i64::try_from(members.len()).unwrap_or(i64::MAX);
    let place = |place: i64| if place < 0 { place + length } else { place };
    let (first, last) = (place(number(first)?).max(0), place(number(last)?));
    let mut found = Vec::new();
    for (place, (score, member)) in (0..).zip(members) {
        if (first..=last).contains(&place) {
            found.push(member);
            found.extend(with_scores.then(|| written(score)));
        }
    }
    Ok(Reply::texts(found))
}

pub(super) fn remove(data: &mut Keyspace, key: &str, names: &[&str]) -> Result<Reply, Refused> {
    retain(data, key, |_, member| !names.contains(&member))
}

pub(super) fn remove_by_score(
    data: &mut Keyspace,
    key: &str,
    least: &str,
    most: &str,
) -> Result<Reply, Refused> {
    let least = score(least).ok_or_else(no_float)?;
    let most = score(most).ok_or_else(no_float)?;
    retain(data, key, |score, _| !(least..=most).contains(&score))
}

fn retain(
    data: &mut Keyspace,
    key: &str,
    stays: impl Fn(f64, &str) -> bool,
) -> Result<Reply, Refused> {
    if members(data, key)?.is_empty() {
        return Ok(Reply::Int(0));
    }
    let members = members_mut(data, key)?;
    let before = members.len();
    members.retain(|(score, member)| stays(*score, member));
    let gone = before - members.len();
    data.tidy(key);
    Ok(Reply::count(gone))
}

fn no_float() -> Refused {
    Refused("ERR value is not a valid float".to_owned())
}
