//! Connects a manager by URL.

use super::lock_manager::LockManager;
use crate::backend::support::schemes::FEATURES;
use crate::backend::{ConnectOptions, Connector, of_scheme};
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
    /// | `zookeeper+tls://…` | the same over TLS, with the features `zookeeper` and `tls-rustls` |
    /// | `sqlite:locks.db`, `sqlite:///var/lib/shop/locks.db` | an `SQLite` file, which the processes of one machine share, with the feature `sqlite` |
    /// | `postgres://user:password@host/database`, `postgresql://…` | a table in Postgres, with the feature `postgres` |
    /// | `mysql://user:password@host/database`, `mariadb://…` | a table in `MySQL` or `MariaDB`, with the feature `mysql` |
    ///
    /// Each backend needs its feature of the crate `leasehold`: `redis` (on by default), `zookeeper`, `sqlite`, `postgres`
    /// or `mysql`. Other crates can add schemes: see [`URL_BACKENDS`](crate::backend::URL_BACKENDS).
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
        let connector = connector(url, &ConnectOptions::default())?;
        Ok(Self::on(connector.connect().await?))
    }
}

const SHAPES: &str = "it does not begin with a scheme, as in redis://user:password@host:6379/0, \
     zookeeper://a:2181,b:2181/locks, postgres://user:password@host/database or sqlite:locks.db";

/// Returns the connector of the backend that `url` names.
pub(super) fn connector(url: &str, options: &ConnectOptions) -> Result<Connector, ConnectError> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let (scheme, rest) = url.split_once(':').unwrap_or_default();
    let (backend, feature) = (of_scheme(scheme), feature_of(scheme));
    // The URL of a file may lack `//`, as in `sqlite:locks.db`.
    let has_form = rest.starts_with("//") || backend.is_some() || feature.is_some();
    if !has_form || scheme.is_empty() || !scheme.chars().all(is_word) {
        // The rest of the URL may contain a password, so errors do not show it.
        return Err(ConnectError::url(SHAPES));
    }
    match (backend, feature) {
        (Some(backend), _) => Ok((backend.connector)(url, options)),
        (None, Some(feature)) => Err(ConnectError::MissingFeature { feature }),
        (None, None) => Err(ConnectError::UnknownScheme {
            scheme: scheme.chars().take(32).collect(),
        }),
    }
}

/// Returns the feature of the backend for a scheme.
fn feature_of(scheme: &str) -> Option<&'static str> {
    let mut features = FEATURES.iter();
    let (feature, _) = features.find(|(_, schemes)| schemes.contains(&scheme))?;
    Some(feature)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refusal(url: &str) -> ConnectError {
        match LockManager::connect(url).await.unwrap_err() {
            Error::Connect(error) => error,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_url_of_a_backend_that_is_not_enabled_names_the_feature() {
        for (feature, schemes) in FEATURES {
            for scheme in schemes {
                let text = refusal(&format!("{scheme}://me:secret@host/shop"))
                    .await
                    .to_string();
                let remedy = format!("enable the feature `{feature}` of leasehold");
                assert!(text.contains(&remedy) && !text.contains("secret"), "{text}");
            }
        }
        let text = refusal("sqlite:locks.db").await.to_string();
        assert!(text.contains("enable the feature `sqlite`"), "{text}");
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
}
