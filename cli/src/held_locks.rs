//! Shows, lists and releases locks that other processes hold.

use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

use leasehold::backend::{HolderInfo, Inspection};
use leasehold::{FencingToken, ListedLock, LockManager};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::args::{Connection, KeyArgs, ListArgs, ReleaseArgs, WatchArgs};
use crate::list_as_table::{self, held_for, or_dash, rounded, seconds, shown};
use crate::stderr::print_error;

/// The longest search for locks with other prefixes, which reads all keys of a Redis server.
const SEARCH: Duration = Duration::from_secs(2);

/// The largest number of locks with other prefixes that are named.
const NAMED: usize = 5;

/// Shows the holders of a lock.
pub(crate) async fn inspect(args: KeyArgs) -> anyhow::Result<u8> {
    let locks = args.connection.connect().await?;
    let seen = locks.inspect(&args.key).await?;
    match args.json {
        true => print(as_json(&args.key, &seen))?,
        false => print(as_text(&args.connection.full_key(&args.key), &seen))?,
    }
    if seen.holders == 0 && !args.json {
        name_other_prefixes(&args.connection, &args.key).await;
    }
    Ok(0)
}

/// Names the locks that are held on the same key with other prefixes, because a forgotten prefix looks like a free lock. A
/// program that reads JSON does not need the search, which may read all keys of the server.
async fn name_other_prefixes(connection: &Connection, key: &str) {
    let Ok(found) = timeout(SEARCH, held_with_other_prefixes(connection, key)).await else {
        return;
    };
    for held in found.unwrap_or_default() {
        let prefix = held.strip_suffix(key).unwrap_or_default();
        let (held, prefix) = (held.escape_debug(), prefix.escape_debug());
        print_error(format_args!(
            "leasehold: `{held}` is another lock, and is held: if you mean it, pass --prefix '{prefix}'\n"
        ));
    }
}

async fn held_with_other_prefixes(
    connection: &Connection,
    key: &str,
) -> Result<Vec<String>, leasehold::Error> {
    let locks = connection.without_prefix().connect().await?;
    let full_key = connection.full_key(key);
    let (mut held, mut list) = (Vec::new(), locks.list(""));
    while held.len() < NAMED
        && let Some(lock) = list.next().await?
    {
        if lock.key.ends_with(key) && lock.key != full_key {
            held.push(lock.key);
        }
    }
    Ok(held)
}

/// Releases a lock, or takes it from one holder.
pub(crate) async fn release(args: ReleaseArgs) -> anyhow::Result<u8> {
    let KeyArgs {
        connection,
        key,
        json,
    } = args.lock;
    let locks = connection.connect().await?;
    let (released, otherwise) = match &args.holder {
        None => (
            locks.force_release(&key).await?,
            "was free already, so nothing was released".to_owned(),
        ),
        Some(holder) => (
            locks.force_release_holder(&key, holder).await?,
            format!("is not held by `{}`", holder.escape_debug()),
        ),
    };
    let state = match released {
        true => "was released",
        false => &otherwise,
    };
    match json {
        true => print(json!({ "key": key, "released": released }))?,
        false => {
            let key = connection.full_key(&key);
            print(format_args!("`{}` {state}", key.escape_debug()))?;
        }
    }
    if !released && !json {
        name_other_prefixes(&connection, &key).await;
    }
    Ok(0)
}

/// Lists the locks that are held: as a table that is sorted by key, or as JSON in the order of the backend.
pub(crate) async fn list(args: ListArgs) -> anyhow::Result<u8> {
    let locks = args.connection.connect().await?;
    if !args.json {
        let held = sorted(&locks, &args.key_prefix).await?;
        print(list_as_table::lines(&held).join("\n"))?;
        return Ok(0);
    }
    let mut list = locks.list(&args.key_prefix);
    while let Some(lock) = list.next().await? {
        print(as_json(&lock.key, &lock.state))?;
    }
    Ok(0)
}

/// Shows the locks that are held, again and again, until the backend fails or a signal ends the program.
pub(crate) async fn watch(args: WatchArgs) -> anyhow::Result<u8> {
    let ListArgs {
        connection,
        key_prefix,
        json,
    } = args.list;
    let locks = connection.connect().await?;
    loop {
        let held = sorted(&locks, &key_prefix).await?;
        match json {
            true => print(
                held.iter()
                    .map(|it| as_json(&it.key, &it.state))
                    .collect::<Value>(),
            )?,
            false => list_as_table::show(&held)?,
        }
        tokio::time::sleep(args.interval).await;
    }
}

/// Returns the locks that are held, sorted by key.
async fn sorted(locks: &LockManager, prefix: &str) -> Result<Vec<ListedLock>, leasehold::Error> {
    let mut held = Vec::new();
    let mut list = locks.list(prefix);
    while let Some(lock) = list.next().await? {
        held.push(lock);
    }
    held.sort_by(|one, other| one.key.cmp(&other.key));
    // A list may contain a lock twice.
    held.dedup_by(|one, other| one.key == other.key);
    Ok(held)
}

fn as_json(key: &str, seen: &Inspection) -> Value {
    let holder = |it: &HolderInfo| {
        json!({
            "id": it.id,
            "label": it.label,
            "permits": it.permits,
            "expires_in_ms": it.expires_in.map(|left| left.as_millis()),
        })
    };
    json!({
        "key": key,
        "holders": seen.holders,
        "held_by": seen.held_by.iter().map(holder).collect::<Value>(),
        "waiting": seen.waiting,
        "owner": seen.owner,
        "token": seen.token.map(FencingToken::get),
        "held_for_ms": held_for(seen).map(|time| time.as_millis()),
        "expires_in_ms": seen.expires_in.map(|left| left.as_millis()),
    })
}

fn as_text(key: &str, seen: &Inspection) -> String {
    let mut lines = vec![format!("key      {}", key.escape_debug())];
    lines.push(format!("holders  {}", seen.holders));
    lines.push(format!("waiting  {}", seen.waiting));
    lines.extend(seen.token.map(|it| format!("token    {it}")));
    lines.extend(held_for(seen).map(|it| format!("held for {}", rounded(it))));
    lines.extend(seen.held_by.iter().map(|it| {
        let name = shown(it);
        let left = or_dash(it.expires_in.map(|left| format!("in {}", seconds(left))));
        let id = it.id.escape_debug();
        format!(
            "held by  {name}, id {id}, permits {}, expires {left}",
            it.permits
        )
    }));
    lines.join("\n")
}

fn print(text: impl Display) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}
