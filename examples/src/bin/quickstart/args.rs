use crate::branch::Branch;

pub(crate) const USAGE: &str = "\
quickstart                      buyers and locks in this process
quickstart --url redis://HOST   buyers in two processes, which share the lock
quickstart --url … --kill       the same, and one of them is killed midway";

/// What this process is to do.
#[derive(Debug)]
pub(crate) enum Role {
    Sale {
        url: Option<String>,
        kill: bool,
    },
    /// A process that a sale has started.
    Branch(Branch),
    Unknown,
}

pub(crate) fn role(arguments: impl Iterator<Item = String>) -> Role {
    let arguments: Vec<String> = arguments.collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => Role::Sale {
            url: None,
            kill: false,
        },
        ["--url", url] => Role::Sale {
            url: Some(url.to_owned()),
            kill: false,
        },
        ["--url", url, "--kill"] => Role::Sale {
            url: Some(url.to_owned()),
            kill: true,
        },
        ["branch", database] => Role::Branch(Branch::new(database, None)),
        ["branch", database, url] => Role::Branch(Branch::new(database, Some(url))),
        _ => Role::Unknown,
    }
}
