//! The arguments of `redis-server`.

use super::certificates::{AUTHORITY, SERVER, SERVER_KEY};
use super::folder::Folder;
use super::settings::{Settings, Tls};

/// Returns the arguments. The server always has a unix socket, so that its readiness can be checked with any settings
/// for clients.
pub(super) fn of(settings: &Settings, port: u16, folder: &Folder) -> Vec<String> {
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let mut args = Vec::new();
    let mut add = |name: &str, values: &[&str]| {
        args.push(format!("--{name}"));
        args.extend(values.iter().map(|&it| it.to_owned()));
    };
    let port = port.to_string();
    add("bind", &["127.0.0.1"]);
    add("dir", &[&folder.path().to_string_lossy()]);
    add("save", &[""]);
    add("unixsocket", &[&folder.socket().to_string_lossy()]);
    match settings.tls {
        None => add("port", &[&port]),
        Some(tls) => {
            add("port", &["0"]);
            add("tls-port", &[&port]);
            add("tls-ca-cert-file", &[&file(AUTHORITY)]);
            add("tls-cert-file", &[&file(SERVER)]);
            add("tls-key-file", &[&file(SERVER_KEY)]);
            add(
                "tls-auth-clients",
                &[if tls == Tls::Mutual { "yes" } else { "no" }],
            );
        }
    }
    if settings.keeps_data {
        add("appendonly", &["yes"]);
        add("appendfsync", &["always"]);
    }
    if let Some((limit, policy)) = &settings.memory {
        add("maxmemory", &[limit]);
        add("maxmemory-policy", &[policy]);
    }
    if let Some(number) = settings.databases {
        add("databases", &[&number.to_string()]);
    }
    if let Some(password) = &settings.password {
        add("requirepass", &[password]);
    }
    for user in &settings.users {
        let password = format!(">{}", user.password);
        let mut words = vec![user.name.as_str(), "on", &password];
        words.extend(user.rules.split_whitespace());
        add("user", &words);
    }
    args.extend(settings.extra.iter().cloned());
    args
}
