//! Parses the URLs of one server, and of several hosts.

use redis::{ConnectionInfo, IntoConnectionInfo};

use leasehold_core::backend::ConnectError;

/// Parses the URL of one server.
pub(crate) fn one(url: &str) -> Result<ConnectionInfo, ConnectError> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    // Without this check the `redis` crate would parse a part of the password as a port. The address in errors would
    // then contain that part.
    if let Some(end) = rest.find(['/', '?', '#'])
        && rest[end..].contains('@')
        && !scheme.ends_with("unix")
    {
        return Err(ConnectError::url(
            "its user or password has a `/`, `?` or `#`; write %2F, %3F or %23",
        ));
    }
    url.into_connection_info().map_err(|error| {
        let tls = url.starts_with("rediss:") || url.starts_with("valkeys:");
        if tls && !cfg!(feature = "tls-rustls") {
            let feature = "tls-rustls";
            ConnectError::MissingFeature { feature }
        } else {
            ConnectError::url(error)
        }
    })
}

/// The parts of `scheme+kind://login@host:port,host:port/path?name=value`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MultiHostUrl<'a> {
    scheme: &'a str,
    /// The login with its `@`, or an empty text.
    login: &'a str,
    hosts: Vec<&'a str>,
    pub(super) path: &'a str,
    query: Vec<(&'a str, &'a str)>,
}

impl<'a> MultiHostUrl<'a> {
    pub(super) fn read(url: &'a str, shape: &'static str) -> Result<Self, ConnectError> {
        let refused = || ConnectError::url(format!("it should look like {shape}"));
        let (scheme, rest) = url.split_once("://").ok_or_else(refused)?;
        let (scheme, _kind) = scheme.split_once('+').ok_or_else(refused)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let at = authority.rfind('@').map_or(0, |at| at + 1);
        let (login, hosts) = authority.split_at(at);
        let hosts: Vec<_> = hosts.split(',').collect();
        // An `@` after the hosts ends a password that contains a `/`.
        if hosts.iter().any(|host| host.is_empty()) || path.contains('@') {
            return Err(refused());
        }
        let query = query.split('&').filter(|it| !it.is_empty());
        let query: Option<_> = query.map(|it| it.split_once('=')).collect();
        Ok(Self {
            scheme,
            login,
            hosts,
            path,
            query: query.ok_or_else(refused)?,
        })
    }

    /// Removes a value from the query and returns it.
    pub(super) fn take(&mut self, name: &str) -> Option<&'a str> {
        let found = self.query.iter().position(|(it, _)| *it == name)?;
        Some(self.query.swap_remove(found).1)
    }

    /// Refuses unknown settings.
    pub(super) fn finish(&self) -> Result<(), ConnectError> {
        match self.query.first() {
            // The part after this `?` belongs to the password.
            Some((_, value)) if value.contains('@') => Err(ConnectError::url(
                "its user or password has a `?`; write %3F",
            )),
            Some((name, _)) => Err(ConnectError::url(format!(
                "`{name}` is not a known setting"
            ))),
            None => Ok(()),
        }
    }

    /// Returns the connection settings for each host, with the login in the URL.
    pub(super) fn servers(
        &self,
        port: u16,
        database: &str,
    ) -> Result<Vec<ConnectionInfo>, ConnectError> {
        self.with_login(self.login, port, database)
    }

    /// Returns the connection settings for each host, with another login: `user:password@`, or an empty text for none.
    pub(super) fn with_login(
        &self,
        login: &str,
        port: u16,
        database: &str,
    ) -> Result<Vec<ConnectionInfo>, ConnectError> {
        let hosts = self.hosts.iter().map(|host| {
            // An IPv6 address contains colons, in brackets.
            let last = host.rsplit(']').next().unwrap_or(host);
            let port = match last.contains(':') {
                true => String::new(),
                false => format!(":{port}"),
            };
            one(&format!("{}://{login}{host}{port}/{database}", self.scheme))
        });
        hosts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::opened;
    use leasehold_testkit::almost_valid::try_on;

    #[test]
    fn almost_valid_urls_do_not_cause_a_panic() {
        let urls = [
            "redis://user:p%40ss@host:6379/3?protocol=resp3",
            "valkey://[::1]:6379",
            "unix:///run/redis.sock?db=2&user=u&pass=p",
            "redis+cluster://user:password@a:1,b,[::1]:7",
            "redis+sentinel://u:p@a:26379,b/name/3?sentinel_username=x&sentinel_password=y",
            "rediss://host/0#insecure",
        ];
        try_on(&urls, |text| {
            let _read = one(text);
            drop(crate::sentinel::Sentinels::at(text, opened));
            drop(crate::cluster::Cluster::at(
                text,
                crate::wait::waiter_registry::WaiterRegistry::sharded(),
                std::sync::Arc::default(),
                opened,
            ));
        });
    }

    const SHAPE: &str = "redis+several://host,host/path";

    fn shown(info: &ConnectionInfo) -> String {
        let redis = info.redis_settings();
        let login = format!("{:?} {:?}", redis.username(), redis.password());
        format!("{} {login} {}", info.addr(), redis.db())
    }

    #[test]
    fn each_host_has_its_own_port_and_the_common_login() {
        let url = "redis+several://u:p%40q@a:1,b,[::1],[::2]:7/name/3?x=1&y=2";
        let mut several = MultiHostUrl::read(url, SHAPE).unwrap();
        assert_eq!((several.path, several.take("y")), ("name/3", Some("2")));
        assert_eq!(several.take("y"), None);
        assert!(several.finish().is_err());
        assert_eq!(several.take("x"), Some("1"));
        assert!(several.finish().is_ok());
        let login = r#"Some("u") Some("p@q") 3"#;
        let servers = several.servers(9, "3").unwrap();
        let servers: Vec<_> = servers.iter().map(shown).collect();
        let wanted = ["a:1", "b:9", "::1:9", "::2:7"].map(|host| format!("{host} {login}"));
        assert_eq!(servers, wanted);
        let plain = several.with_login("", 9, "").unwrap();
        assert_eq!(shown(&plain[0]), "a:1 None None 0");
    }

    #[cfg(feature = "tls-rustls")]
    #[test]
    fn a_tls_scheme_applies_to_all_hosts() {
        let servers = |url| {
            MultiHostUrl::read(url, SHAPE)
                .unwrap()
                .servers(9, "")
                .unwrap()
        };
        let is_tls =
            |info: &ConnectionInfo| matches!(info.addr(), redis::ConnectionAddr::TcpTls { .. });
        let servers_with_tls = servers("rediss+several://a,b/name");
        assert!(servers_with_tls.iter().all(is_tls));
        assert!(!servers("redis+several://a,b/name").iter().any(is_tls));
    }

    #[test]
    fn a_url_without_a_valid_host_list_is_refused_with_the_expected_form() {
        for url in [
            "redis://a",
            "redis+several://",
            "redis+several://a,,b/x",
            "redis+several:a",
            "redis+several://a?x",
        ] {
            let error = MultiHostUrl::read(url, SHAPE).unwrap_err();
            let said = error.to_string();
            assert!(said.contains(SHAPE), "{url}: {said}");
        }
    }
}
