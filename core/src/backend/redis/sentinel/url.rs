//! Parses `redis+sentinel://…` URLs.

use std::sync::Arc;

use redis::ConnectionInfo;

use super::sentinels::Sentinels;
use crate::backend::ConnectError;
use crate::backend::redis::connection::target::Target;
use crate::backend::redis::multi_host_url::MultiHostUrl;

const SHAPE: &str = "redis+sentinel://user:password@host:26379,host:26379/master-name/0";
const PORT: u16 = 26_379;

impl Sentinels {
    /// The Sentinels that `url` names; `prepare` adds to their settings, and the server's, what ours are.
    pub(crate) fn at(
        url: &str,
        prepare: impl Fn(ConnectionInfo) -> Result<Target, ConnectError>,
    ) -> Result<Self, ConnectError> {
        let mut parts = MultiHostUrl::read(url, SHAPE)?;
        let (name, database) = parts.path.split_once('/').unwrap_or((parts.path, ""));
        if name.is_empty() {
            let refused = format!("the primary's name is missing; it should look like {SHAPE}");
            return Err(ConnectError::url(refused));
        }
        let user = parts.take("sentinel_username").unwrap_or_default();
        let login = match parts.take("sentinel_password") {
            Some(password) => format!("{user}:{password}@"),
            None => String::new(),
        };
        parts.finish()?;
        let servers = parts.servers(PORT, database)?.into_iter();
        let server = servers.map(&prepare).next();
        let sentinels = parts.with_login(&login, PORT, "")?.into_iter();
        Ok(Self {
            targets: sentinels.map(prepare).collect::<Result<_, _>>()?,
            name: name.to_owned(),
            server: server.ok_or_else(|| ConnectError::url(SHAPE))??,
            was_known: Arc::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<Sentinels, ConnectError> {
        Sentinels::at(url, |info| Target::open(info).map_err(ConnectError::url))
    }

    #[test]
    fn sentinels_and_servers_have_logins_of_their_own() {
        let sentinels =
            read("redis+sentinel://u:p@a,b:7/main/2?sentinel_username=s&sentinel_password=q%26r")
                .unwrap();
        assert_eq!(sentinels.name, "main");
        let server = sentinels.server.info().redis_settings();
        assert_eq!(
            (server.username(), server.password(), server.db()),
            (Some("u"), Some("p"), 2)
        );
        let shown = |target: &Target| {
            let info = target.info();
            let redis = info.redis_settings();
            let login = (
                redis.username().map(str::to_owned),
                redis.password().map(str::to_owned),
            );
            (info.addr().to_string(), login, redis.db())
        };
        let login = (Some("s".to_owned()), Some("q&r".to_owned()));
        let shown: Vec<_> = sentinels.targets.iter().map(shown).collect();
        let wanted = ["a:26379", "b:7"].map(|at| (at.to_owned(), login.clone(), 0));
        assert_eq!(shown, wanted);
    }

    #[test]
    fn a_url_without_a_name_or_with_a_strange_setting_is_refused() {
        for (url, why) in [
            ("redis+sentinel://a,b", "name is missing"),
            ("redis+sentinel://a/main?tls=1", "`tls` is no setting"),
            ("redis+sentinel://a/main/x", "database"),
        ] {
            let error = read(url).err().unwrap();
            let said = std::error::Error::source(&error).unwrap().to_string();
            assert!(said.contains(why), "{url}: {said}");
        }
    }
}
