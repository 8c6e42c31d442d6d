//! The commands that scripts call.

use super::channels::Channels;
use super::keyspace::Keyspace;
use super::refused::Refused;
use super::reply::Reply;
use super::{hashes, sorted, texts};

/// Executes a command.
pub(super) fn call(
    data: &mut Keyspace,
    channels: &mut Channels,
    words: &[&str],
) -> Result<Reply, Refused> {
    let Some((name, rest)) = words.split_first() else {
        let told = "ERR Please specify at least one argument for this call";
        return Err(Refused(told.to_owned()));
    };
    match (name.to_ascii_uppercase().as_str(), rest) {
        ("TIME", []) => {
            let now = data.clock();
            let parts = [now / 1_000_000, now % 1_000_000];
            Ok(Reply::texts(parts.map(|it| it.to_string())))
        }
        ("GET", [key]) => texts::get(data, key),
        ("MGET", [_, ..]) => Ok(texts::get_all(data, rest)),
        ("SET", [_, _, ..]) => texts::set(data, rest),
        ("DEL", [_, ..]) => Ok(texts::delete(data, rest)),
        ("EXISTS", [_, ..]) => Ok(texts::exists(data, rest)),
        ("PTTL", [key]) => Ok(texts::pttl(data, key)),
        ("PEXPIRE", [key, millis]) => texts::pexpire(data, key, millis),
        ("PEXPIREAT", [key, millis]) => texts::pexpire_at(data, key, millis),
        ("HGET", [key, field]) => hashes::get(data, key, field),
        ("HGETALL", [key]) => hashes::all(data, key),
        ("HSET", [key, field, value]) => hashes::set(data, key, field, value),
        ("HDEL", [key, names @ ..]) if !names.is_empty() => hashes::delete(data, key, names),
        ("ZADD", [key, score, member]) => sorted::add(data, key, score, member),
        ("ZADD", [key, option, score, member]) if option.eq_ignore_ascii_case("NX") => {
            sorted::add_new(data, key, score, member)
        }
        ("ZCARD", [key]) => sorted::count(data, key),
        ("ZSCORE", [key, member]) => sorted::score_of(data, key, member),
        ("ZRANGE", [_, _, _, ..]) => sorted::range(data, rest, false),
        ("ZREVRANGE", [_, _, _, ..]) => sorted::range(data, rest, true),
        ("ZREM", [key, names @ ..]) if !names.is_empty() => sorted::remove(data, key, names),
        ("ZREMRANGEBYSCORE", [key, least, most]) => sorted::remove_by_score(data, key, least, most),
        ("PUBLISH", [channel, payload]) => Ok(Reply::count(channels.publish(channel, payload))),
        _ => Err(Refused(format!(
            "ERR the simulated server has no such command: {name}"
        ))),
    }
}
