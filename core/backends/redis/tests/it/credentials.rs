//! A user whose password changes, on every kind of deployment.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::pin::Pin;
use std::time::Duration;

use futures_util::stream::{self, Stream};
use leasehold::{Error, LockManager};
use leasehold_testkit::resp::RawClient;
use redis::{BasicAuth, RedisResult, StreamingCredentialsProvider};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

const USER: &str = "rotating";

/// The timeout for events that should happen soon, on a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// Provides the current password, and each later one.
#[derive(Clone)]
pub(crate) struct Rotating(watch::Receiver<String>);

impl Rotating {
    #[allow(dead_code, reason = "not used for every deployment")]
    pub(crate) const fn new(passwords: watch::Receiver<String>) -> Self {
        Self(passwords)
    }
}

impl StreamingCredentialsProvider for Rotating {
    fn subscribe(&self) -> Pin<Box<dyn Stream<Item = RedisResult<BasicAuth>> + Send>> {
        let mut passwords = self.0.clone();
        passwords.mark_changed();
        Box::pin(stream::unfold(passwords, |mut passwords| async move {
            passwords.changed().await.ok()?;
            let password = passwords.borrow_and_update().clone();
            Some((Ok(BasicAuth::new(USER.to_owned(), password)), passwords))
        }))
    }
}

async fn on_each(servers: &mut [RawClient], command: &[&str]) {
    for server in servers {
        server.command(command.to_vec()).await.unwrap();
    }
}

/// Sets the only password that the servers accept, and closes the user's connections.
async fn set_password(servers: &mut [RawClient], password: &str) {
    let password = format!(">{password}");
    on_each(servers, &["ACL", "SETUSER", USER, "resetpass", &password]).await;
    on_each(servers, &["CLIENT", "KILL", "USER", USER]).await;
}

/// Renews, releases and acquires locks while the password changes twice. `servers` are all servers that a client
/// connects to.
pub(crate) async fn locks_outlive_a_password(
    servers: &mut [RawClient],
    connect: impl AsyncFnOnce(Rotating) -> LockManager,
) {
    let rights = ["reset", "on", ">first", "~*", "&*", "+@all"];
    on_each(servers, &[&["ACL", "SETUSER", USER][..], &rights].concat()).await;
    let (replace, password) = watch::channel("first".to_owned());
    let locks = connect(Rotating(password)).await;
    let guard = locks.lock("rotating").acquire().await.unwrap();

    set_password(servers, "second").await;
    replace.send("second".to_owned()).unwrap();
    let renewed = timeout(SOON, async {
        while let Err(error) = guard.renew().await {
            assert!(!error.is_lost(), "{error}");
            sleep(Duration::from_millis(20)).await;
        }
    });
    renewed.await.expect("the new password is not used");
    guard.release().await.unwrap();

    // The control: the provider still has the old password.
    set_password(servers, "third").await;
    let refused = timeout(SOON, async {
        loop {
            match locks.lock("rotating").wait(Duration::ZERO).acquire().await {
                Err(Error::Backend { source, .. }) if in_words(&source).contains(REFUSED) => {
                    return;
                }
                Ok(guard) => guard.release().await.unwrap(),
                Err(_closed) => {}
            }
        }
    });
    refused.await.expect("an old password is accepted");
    replace.send("third".to_owned()).unwrap();
    let next = locks.lock("rotating").wait(SOON).acquire().await.unwrap();
    next.release().await.unwrap();
    locks.shutdown().await.unwrap();
}

/// How the client names `WRONGPASS`. Callers that share one failed connection do not all receive the cause.
const REFUSED: &str = "refused the user or the password";

/// An error and its causes.
fn in_words(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", in_words(cause)),
        None => error.to_string(),
    }
}
