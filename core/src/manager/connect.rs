//! Connects a manager by URL.

#[cfg(any(feature = "redis", feature = "zookeeper"))]
use std::sync::Arc;

use super::lock_manager::LockManager;
use crate::backend::connector;
use crate::backend::lazy::Target;
#[cfg(feature = "redis")]
use crate::backend::redis::Redis;
#[cfg(feature = "redis")]
use crate::backend::redlock::Redlock;
#[cfg(feature = "zookeeper")]
use crate::backend::zookeeper::ZooKeeper;
use crate::{ConnectError, Error};

impl LockManager {
    /// Connects to the backend at `url`, with the default options.
    ///
    /// | URL | backend |
    /// |---|---|
    /// | `redis://user:password@host:port/database` | one Redis or Valkey server |
    /// | `rediss://…` | the same over TLS, with the feature `tls-rustls` |
    /// | `unix:///path?db=0` | the same over a unix socket |
    /// | `redis+sentinel://user:password@host,host/master-name/database` | the primary that these Sentinels report |
    /// | `redis+cluster://user:password@host,host` | a Redis Cluster with these members |
    /// | `redlock://user:password@host:port,host:port,…/database` | a majority of independent servers, which all know this user; over TLS with `Redlock::new` |
    /// | `zookeeper://user:password@a:2181,b:2181/folder` | a `ZooKeeper` ensemble, with the feature `zookeeper` |
    /// | `zookeeper+tls://…` | the same over TLS, with the feature `zookeeper-tls` |
    /// | `sqlite:locks.db`, `sqlite:///var/lib/shop/locks.db` | an `SQLite` file, which the processes of one machine share, with `leasehold-sqlx` and its feature `sqlite` |
    /// | `postgres://user:password@host/database`, `postgresql://…` | a table in Postgres, with `leasehold-sqlx` and its feature `postgres` |
    /// | `mysql://user:password@host/database`, `mariadb://…` | a table in `MySQL` or `MariaDB`, with `leasehold-sqlx` and its feature `mysql` |
    ///
    /// For a URL of a database, add the crate `leasehold-sqlx` with its feature `backend`, and call
    /// `leasehold_sqlx::install_backends()` at the beginning of `main`. Other crates can add schemes with
    /// [`register_scheme`](crate::backend::register_scheme).
    ///
    /// Use [`builder`](Self::builder) to set a prefix, a TTL and other options of the manager. Use the backend's own
    /// builder for its options, such as certificates.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Connect`], which states the cause and the remedy.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connections it opened.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), leasehold::Error> {
    /// let locks = leasehold::LockManager::connect("redis://127.0.0.1").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Ok(Self::on(target(url, None)?.connect().await?))
    }
}

const REDIS_SCHEMES: [&str; 15] = [
    "redis",
    "rediss",
    "valkey",
    "valkeys",
    "unix",
    "redis+unix",
    "valkey+unix",
    "redis+sentinel",
    "rediss+sentinel",
    "valkey+sentinel",
    "valkeys+sentinel",
    "redis+cluster",
    "rediss+cluster",
    "valkey+cluster",
    "valkeys+cluster",
];

const SHAPES: &str = "it does not begin with a scheme, as in redis://user:password@host:6379/0, \
     zookeeper://a:2181,b:2181/locks, postgres://user:password@host/database or sqlite:locks.db";

/// Returns the backend that `url` names. It names its connections if the user has set a label.
pub(super) fn target(url: &str, label: Option<&str>) -> Result<Target, ConnectError> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    #[cfg(not(feature = "redis"))]
    let _ = label;
    let (scheme, rest) = url.split_once(':').unwrap_or_default();
    let (registered, database) = (connector(scheme), database_feature(scheme));
    // Only schemes of other crates may lack `//`, as in `sqlite:locks.db`.
    let has_form = rest.starts_with("//") || registered.is_some() || database.is_some();
    if !has_form || scheme.is_empty() || !scheme.chars().all(is_word) {
        // The rest of the URL may contain a password, so errors do not show it.
        return Err(ConnectError::url(SHAPES));
    }
    let owned = url.to_owned();
    match scheme {
        #[cfg(feature = "redis")]
        _ if REDIS_SCHEMES.contains(&scheme) => {
            let mut redis = Redis::builder();
            if let Some(label) = label {
                redis = redis.client_name(label);
            }
            Ok(Target::new(redis.capabilities(), move || {
                let (redis, url) = (redis.clone(), owned.clone());
                async move { Ok(Arc::new(redis.connect(&url).await?) as _) }
            }))
        }
        #[cfg(feature = "redis")]
        "redlock" => {
            let mut nodes = Redlock::new(nodes(url));
            if let Some(label) = label {
                nodes = nodes.client_name(label);
            }
            Ok(Target::new(nodes.capabilities(), move || {
                let nodes = nodes.clone();
                async move { Ok(Arc::new(nodes.connect().await?) as _) }
            }))
        }
        #[cfg(feature = "zookeeper")]
        "zookeeper" | "zookeeper+tls" => Ok(Target::new(ZooKeeper::CAPABILITIES, move || {
            let url = owned.clone();
            async move { Ok(Arc::new(ZooKeeper::connect(&url).await?) as _) }
        })),
        _ => {
            if let Some((capabilities, connect)) = registered {
                return Ok(Target::new(capabilities, move || {
                    let connected = connect(owned.clone());
                    async { Ok(connected.await?) }
                }));
            }
            let scheme: String = scheme.chars().take(32).collect();
            Err(match (database, server_feature(&scheme)) {
                (Some(feature), _) => ConnectError::NotInstalled { scheme, feature },
                (None, Some(feature)) => ConnectError::MissingFeature { feature },
                (None, None) => ConnectError::UnknownScheme { scheme },
            })
        }
    }
}

/// Returns the feature of this crate for the servers with this scheme.
fn server_feature(scheme: &str) -> Option<&'static str> {
    match scheme {
        "zookeeper" | "zookeeper+tls" => Some("zookeeper"),
        "redlock" => Some("redis"),
        _ => REDIS_SCHEMES.contains(&scheme).then_some("redis"),
    }
}

/// Returns the feature of `leasehold-sqlx` for the databases with this scheme.
fn database_feature(scheme: &str) -> Option<&'static str> {
    Some(match scheme {
        "sqlite" => "sqlite",
        "postgres" | "postgresql" => "postgres",
        "mysql" | "mariadb" => "mysql",
        _ => return None,
    })
}

/// Returns the URLs of the nodes that one URL lists.
#[cfg(feature = "redis")]
fn nodes(url: &str) -> Vec<String> {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, ""),
    };
    let (login, hosts) = match authority.rfind('@') {
        Some(at) => authority.split_at(at + 1),
        None => ("", authority),
    };
    let hosts = hosts.split(',');
    hosts
        .map(|host| format!("redis://{login}{host}{path}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Backend, InProcess, register_scheme};

    async fn refusal(url: &str) -> ConnectError {
        match LockManager::connect(url).await.unwrap_err() {
            Error::Connect(error) => error,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_registered_scheme_connects_with_and_without_slashes() {
        register_scheme(
            "test-memory",
            InProcess::new().capabilities(),
            |url| async move {
                match url.contains("refuse") {
                    true => Err(ConnectError::url("refused")),
                    false => Ok(InProcess::new()),
                }
            },
        );
        for url in ["test-memory:", "test-memory://host/path"] {
            let locks = LockManager::connect(url).await.unwrap();
            let guard = locks.lock("k").acquire().await.unwrap();
            guard.release().await.unwrap();
            let locks = LockManager::builder().connect(url).await.unwrap();
            let guard = locks.lock("k").acquire().await.unwrap();
            guard.release().await.unwrap();
        }
        let refused = refusal("test-memory:refuse").await;
        assert!(matches!(refused, ConnectError::Url { .. }), "{refused:?}");
    }

    #[cfg(feature = "blocking")]
    #[test]
    fn the_blocking_manager_connects_to_a_registered_scheme() {
        register_scheme(
            "test-blocking",
            InProcess::new().capabilities(),
            |_| async { Ok(InProcess::new()) },
        );
        let locks = crate::blocking::LockManager::connect("test-blocking:").unwrap();
        locks.lock("k").acquire().unwrap().release().unwrap();
    }

    #[tokio::test]
    async fn a_second_registration_replaces_the_first_one() {
        register_scheme("test-twice", InProcess::new().capabilities(), |_| async {
            Err::<InProcess, _>(ConnectError::url("the first one"))
        });
        register_scheme("test-twice", InProcess::new().capabilities(), |_| async {
            Ok(InProcess::new())
        });
        LockManager::connect("test-twice:").await.unwrap();
    }

    #[tokio::test]
    async fn a_database_that_is_not_registered_names_the_call_and_the_feature() {
        for (url, feature) in [
            ("sqlite:locks.db", "sqlite"),
            ("sqlite://locks.db", "sqlite"),
            ("postgres://me:secret@host/shop", "postgres"),
            ("postgresql://me:secret@host/shop", "postgres"),
            ("mysql://me:secret@host/shop", "mysql"),
            ("mariadb://me:secret@host/shop", "mysql"),
        ] {
            let text = refusal(url).await.to_string();
            let remedy = format!(
                "add leasehold-sqlx with the features `backend` and `{feature}`, and call \
                 leasehold_sqlx::install_backends() first"
            );
            assert!(text.contains(&remedy) && !text.contains("secret"), "{text}");
        }
    }

    #[tokio::test]
    async fn a_text_without_a_known_scheme_is_refused_and_not_shown() {
        for url in [
            "",
            ":",
            "://",
            "localhost:6379",
            "me:secret",
            "se cret://host",
            "ftp:secret",
        ] {
            let refused = refusal(url).await;
            assert!(
                matches!(refused, ConnectError::Url { .. }),
                "{url}: {refused:?}"
            );
            assert!(!format!("{refused:?}").contains("cret"), "{refused:?}");
        }
        let refused = refusal("ftp://me:secret@host").await;
        assert!(
            matches!(&refused, ConnectError::UnknownScheme { scheme } if scheme == "ftp"),
            "{refused:?}"
        );
    }

    #[cfg(feature = "redis")]
    #[test]
    fn almost_valid_redlock_urls_name_only_redis_nodes() {
        let urls = ["redlock://me:p%40s@a,[::1]:7/3", "redlock://a"];
        crate::backend::parser_fuzz_tests::try_on(&urls, |url| {
            assert!(nodes(url).iter().all(|node| node.starts_with("redis://")));
        });
    }

    #[cfg(feature = "redis")]
    #[test]
    fn a_redlock_url_is_split_into_one_url_per_node() {
        assert_eq!(nodes("redlock://a,b:7"), ["redis://a", "redis://b:7"]);
        assert_eq!(
            nodes("redlock://me:p%40s@a,[::1]:7/3"),
            ["redis://me:p%40s@a/3", "redis://me:p%40s@[::1]:7/3"]
        );
    }

    // The tests are always built with these features, so they cannot connect without them.
    #[test]
    fn each_scheme_of_a_server_has_a_feature() {
        for (scheme, feature) in [
            ("redis", Some("redis")),
            ("unix", Some("redis")),
            ("valkey+sentinel", Some("redis")),
            ("rediss+cluster", Some("redis")),
            ("redlock", Some("redis")),
            ("zookeeper", Some("zookeeper")),
            ("zookeeper+tls", Some("zookeeper")),
            ("sqlite", None),
            ("ftp", None),
        ] {
            assert_eq!(server_feature(scheme), feature, "{scheme}");
        }
    }
}
