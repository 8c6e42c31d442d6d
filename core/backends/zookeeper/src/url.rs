//! Parses `zookeeper://user:password@a:2181,b:2181/folder` and `zookeeper+tls://…` URLs.

use std::time::Duration;

use super::settings::{TLS, ZooKeeperSettings};
#[cfg(feature = "tls-rustls")]
use super::tls::can_have_certificate;
use leasehold_core::backend::ConnectError;

const PLAIN: &str = "zookeeper";
const SECURE: &str = "zookeeper+tls";

const DEFAULT_PORT: &str = "2181";

/// The default session timeout. A server with default settings grants 4 to 40 s.
const SESSION_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn read(url: &str) -> Result<ZooKeeperSettings, ConnectError> {
    let refuse = |why: &str| Err(ConnectError::url(why));
    let (is_secure, rest) = match url.split_once("://") {
        Some((PLAIN, rest)) => (false, rest),
        Some((SECURE, _)) if !cfg!(feature = "tls-rustls") => {
            let feature = "tls-rustls";
            return Err(ConnectError::MissingFeature { feature });
        }
        Some((SECURE, rest)) => (true, rest),
        _ => return refuse("it does not begin with `zookeeper://` or `zookeeper+tls://`"),
    };
    let (rest, folder) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let folder = match folder.trim_end_matches('/') {
        "" => "/",
        folder => folder,
    };
    if folder.contains(['?', '#']) {
        return refuse("it has `?` or `#`; options are set on `ZooKeeper::builder`");
    }
    if folder != "/"
        && folder
            .split('/')
            .skip(1)
            .any(|name| matches!(name, "" | "." | ".."))
    {
        return refuse("its path has an empty name, `.` or `..`");
    }
    let (login, hosts) = match rest.rsplit_once('@') {
        Some((login, hosts)) => (Some(login), hosts),
        None => (None, rest),
    };
    if login.is_none() && folder.contains('@') {
        return refuse("its user or password has a `/`; write %2F");
    }
    let mut servers = Vec::new();
    for host in hosts.split(',') {
        if host.is_empty() || host.contains(char::is_whitespace) {
            return refuse("it should name the servers as in `a:2181,b:2181`");
        }
        let port = host.rsplit_once(':');
        let port = port.filter(|(before, _)| !before.contains(':') || before.ends_with(']'));
        if port.is_some_and(|(_, port)| port.parse::<u16>().is_err()) {
            return refuse("a server's port is not a number below 65536");
        }
        let has_port = port.is_some();
        if is_secure && !has_port {
            return refuse(
                "it should name each server's port for TLS, `secureClientPort`, as in `a:2281,b:2281`",
            );
        }
        #[cfg(feature = "tls-rustls")]
        if is_secure && !can_have_certificate(host) {
            return refuse("a server's name is neither a DNS name nor an IP address");
        }
        servers.push(if is_secure {
            format!("{TLS}{host}")
        } else if has_port {
            host.to_owned()
        } else {
            format!("{host}:{DEFAULT_PORT}")
        });
    }
    let digest = match login.map(|login| login.split_once(':')) {
        None => None,
        Some(Some((user, password))) => match (decoded(user), decoded(password)) {
            (Some(user), Some(password)) => Some((user, password)),
            _ => {
                return refuse(
                    "its user or password has a `%` without two hexadecimal digits after it",
                );
            }
        },
        Some(None) => return refuse("it has a user without a password; write `user:password@`"),
    };
    Ok(ZooKeeperSettings {
        servers: servers.join(","),
        is_secure,
        folder: folder.to_owned(),
        session_timeout: SESSION_TIMEOUT,
        digest,
        others: Vec::new(),
        #[cfg(feature = "tls-rustls")]
        tls: None,
    })
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            plain => plain,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn almost_valid_urls_are_parsed_or_refused() {
        let urls = [
            "zookeeper://shop:p%40ss%3A@a:1,[::1]:7,c/locks/x",
            "zookeeper+tls://zk.example.com:2281/locks",
        ];
        leasehold_testkit::almost_valid::try_on(&urls, |url| {
            if let Ok(settings) = read(url) {
                assert!(
                    settings.folder.starts_with('/') && !settings.servers.is_empty(),
                    "{url}"
                );
            }
        });
    }

    #[test]
    fn valid_urls_are_parsed() {
        for (url, servers, folder) in [
            ("zookeeper://a:1,b:2,c/locks", "a:1,b:2,c:2181", "/locks"),
            ("zookeeper://a", "a:2181", "/"),
            ("zookeeper://a/", "a:2181", "/"),
            ("zookeeper://[::1]:7/x/y/", "[::1]:7", "/x/y"),
            ("zookeeper://[::1]", "[::1]:2181", "/"),
        ] {
            let settings = read(url).unwrap();
            assert_eq!(
                (&*settings.servers, &*settings.folder),
                (servers, folder),
                "{url}"
            );
            assert_eq!(settings.digest, None);
        }
        let settings = read("zookeeper://shop:p%40ss%3A@a/locks").unwrap();
        assert_eq!(
            settings.digest,
            Some(("shop".to_owned(), "p@ss:".to_owned()))
        );
        assert_eq!(settings.servers, "a:2181");
    }

    #[cfg(feature = "tls-rustls")]
    #[test]
    fn tls_urls_require_a_port_and_a_valid_host_name() {
        let settings = read("zookeeper+tls://a:1,[::1]:2/locks").unwrap();
        assert!(settings.is_secure);
        assert_eq!(settings.servers, "tcp+tls://a:1,tcp+tls://[::1]:2");
        for url in [
            "zookeeper+tls://a:1,b",
            "zookeeper+tls://[::1]",
            "zookeeper+tls://a..b:1",
            "zookeeper+tls://*:1",
        ] {
            let refused = read(url);
            assert!(
                matches!(refused, Err(ConnectError::Url { .. })),
                "{url}: {refused:?}"
            );
        }
    }

    #[cfg(not(feature = "tls-rustls"))]
    #[test]
    fn a_tls_url_without_the_feature_is_refused_with_the_feature_name() {
        let refused = read("zookeeper+tls://a:1").unwrap_err();
        let why = std::error::Error::source(&refused).unwrap().to_string();
        assert!(why.contains("`tls-rustls`"), "{why}");
    }

    #[test]
    fn invalid_urls_are_refused() {
        for url in [
            "zookeeper:a",
            "zookeeper://",
            "zookeeper://a,,b",
            "zookeeper://a b",
            "zookeeper://user@a",
            "zookeeper://user:%zz@a",
            "zookeeper://a/x//y",
            "zookeeper://a/../y",
            "zookeeper://a/x?timeout=1",
        ] {
            let refused = read(url);
            assert!(
                matches!(refused, Err(ConnectError::Url { .. })),
                "{url}: {refused:?}"
            );
        }
    }
}
