//! Shows and releases locks that other processes hold.

use std::io::{self, Write};

use leasehold::backend::Inspection;
use serde_json::{Value, json};

use crate::args::{KeyArgs, ReleaseArgs};

/// Shows the holder of a lock.
pub(crate) async fn inspect(args: KeyArgs) -> anyhow::Result<u8> {
    let locks = args.connection.connect().await?;
    let seen = locks.inspect(&args.key).await?;
    match args.json {
        true => print(&as_json(&args.key, &seen).to_string())?,
        false => print(&as_text(&args.key, &seen))?,
    }
    Ok(0)
}

/// Releases a lock.
pub(crate) async fn release(args: ReleaseArgs) -> anyhow::Result<u8> {
    let KeyArgs {
        connection,
        key,
        json,
    } = args.lock;
    let locks = connection.connect().await?;
    let released = locks.force_release(&key).await?;
    let state = if released {
        "was released"
    } else {
        "was free already"
    };
    match json {
        true => print(&json!({ "key": key, "released": released }).to_string())?,
        false => print(&format!("`{}` {state}", key.escape_debug()))?,
    }
    Ok(0)
}

fn as_json(key: &str, seen: &Inspection) -> Value {
    json!({
        "key": key,
        "holders": seen.holders,
        "waiting": seen.waiting,
        "owner": seen.owner,
        "token": seen.token.map(leasehold::FencingToken::get),
        "expires_in_ms": seen.expires_in.map(|left| left.as_millis()),
    })
}

fn as_text(key: &str, seen: &Inspection) -> String {
    let mut lines = vec![format!("key      {}", key.escape_debug())];
    lines.push(format!("holders  {}", seen.holders));
    lines.push(format!("waiting  {}", seen.waiting));
    // Another program may have written the owner, and its text must not control the terminal.
    lines.extend(
        seen.owner
            .as_ref()
            .map(|it| format!("owner    {}", it.escape_debug())),
    );
    lines.extend(seen.token.map(|it| format!("token    {it}")));
    lines.extend(
        seen.expires_in
            .map(|it| format!("expires  in {:.1} s", it.as_secs_f64())),
    );
    lines.join("\n")
}

fn print(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}
