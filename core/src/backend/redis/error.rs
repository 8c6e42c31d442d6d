//! Turns errors of the `redis` crate into backend errors.

use std::error::Error;
use std::io;
use std::sync::Arc;

use redis::{ConnectionAddr, ErrorKind, RedisError};
#[cfg(feature = "tls-rustls")]
use rustls::CertificateError;

use super::reply_size::ReplyTooLarge;
use crate::backend::{Applied, BackendError};

/// What an error of the server or of the connection means for the command that met it.
pub(crate) fn failure(error: RedisError) -> BackendError {
    if let Some(too_large) = is_too_large(&error) {
        return reply_too_large(too_large);
    }
    let advice = advice(&error);
    let failed = match error.kind() {
        // The server has looked at the command and refused it. Scripts write nothing before they are
        // past what can be refused.
        ErrorKind::Server(_) | ErrorKind::Extension => BackendError::not_applied(advice),
        _ if error.is_connection_refusal() => BackendError::not_applied(advice),
        _ => BackendError::unknown(advice),
    };
    let failed = if is_permanent(&error) {
        failed.permanent()
    } else {
        failed
    };
    failed.with_source(error)
}

/// Nothing can be awaited there.
pub(crate) fn outside_a_runtime() -> BackendError {
    let refusal = "a server can only be used inside a tokio runtime; enter one first";
    BackendError::not_applied(refusal).permanent()
}

/// We have closed the connection.
pub(super) fn reply_too_large(too_large: ReplyTooLarge) -> BackendError {
    let told = "the server's reply is too large; the connection was closed";
    BackendError::unknown(told).with_source(too_large)
}

fn is_too_large(error: &RedisError) -> Option<ReplyTooLarge> {
    io_cause(error)?.downcast_ref().copied()
}

fn io_cause(error: &RedisError) -> Option<&(dyn Error + Send + Sync + 'static)> {
    let cause: &Arc<dyn Error + Send + Sync> = error.source()?.downcast_ref()?;
    let failed: &io::Error = cause.downcast_ref()?;
    failed.get_ref()
}

/// Whether a server refused a command because its keys are in several slots.
pub(super) fn is_of_a_cluster(failed: &BackendError) -> bool {
    let cause = failed.source().and_then(|cause| cause.downcast_ref());
    cause.is_some_and(|cause: &RedisError| code(cause) == Some("CROSSSLOT"))
}

/// A manager keeps the user and the password that it was made with.
const LOGIN_REFUSED: &str = "refused the user or the password; check the URL, and connect again \
                             with another one if they were changed";

fn is_login_refused(error: &RedisError) -> bool {
    matches!(code(error), Some("NOAUTH" | "WRONGPASS"))
        || error.kind() == ErrorKind::AuthenticationFailed
}

fn is_permanent(error: &RedisError) -> bool {
    matches!(
        code(error),
        Some("WRONGTYPE" | "NOPERM" | "CROSSSLOT" | "ERR")
    ) || is_login_refused(error)
}

fn advice(error: &RedisError) -> String {
    let advice = match (error.kind(), code(error)) {
        (_, Some("WRONGTYPE")) => {
            "the key holds data of another type; give locks, and fences, a prefix of their own"
        }
        (_, Some("CROSSSLOT")) => {
            "the server is part of a Cluster; connect with redis+cluster:// in place of redis://"
        }
        (_, Some("OOM")) => "the server is out of memory; raise maxmemory, or free some",
        (_, Some("NOPERM")) => {
            "the user may not do this; the documentation of `Redis` has the least ACL line"
        }
        _ if is_login_refused(error) => return format!("the server {LOGIN_REFUSED}"),
        (_, Some("READONLY")) => {
            "the server is a replica and takes no writes; connect to the primary"
        }
        (_, Some("LOADING")) => "the server is still loading its data",
        _ if error.is_connection_refusal() => "nobody listens at the server's address",
        _ if error.is_timeout() => "the server did not answer in time",
        _ if error.is_io_error() => "the connection to the server broke",
        _ => "the server answered with an error",
    };
    advice.to_owned()
}

/// Why there is no connection. Nothing was sent, whatever the failure says of it.
pub(crate) fn unconnected(to: &ConnectionAddr, error: RedisError) -> BackendError {
    let told = if error.is_connection_refusal() {
        format!("nobody listens at {to}")
    } else if is_unresolved(&error) {
        format!("the name in {to} could not be resolved")
    } else if error.is_timeout() {
        format!("{to} did not answer in time")
    } else if let Some(why) = refused_certificate(&error) {
        format!("the certificate of {to} {why}")
    } else if error.is_io_error() {
        format!("no connection to {to} can be made")
    } else if is_login_refused(&error) {
        format!("{to} {LOGIN_REFUSED}")
    } else {
        return unsent(failure(error));
    };
    unsent(failure(error)).with_message(told)
}

/// What is wrong with the server's certificate. A Redlock shows the message of each node without its cause.
#[cfg(feature = "tls-rustls")]
fn refused_certificate(error: &RedisError) -> Option<&'static str> {
    let Some(rustls::Error::InvalidCertificate(why)) = io_cause(error)?.downcast_ref() else {
        return None;
    };
    Some(match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is for another name"
        }
        CertificateError::UnknownIssuer => "is of an authority that is not trusted",
        _ => "is refused",
    })
}

#[cfg(not(feature = "tls-rustls"))]
fn refused_certificate(_error: &RedisError) -> Option<&'static str> {
    None
}

/// A name leads nowhere, or nobody answers who knows. The type of the error does not tell, but the words are the same on
/// each system that has `getaddrinfo`.
fn is_unresolved(error: &RedisError) -> bool {
    error.is_io_error()
        && error
            .to_string()
            .contains("failed to lookup address information")
}

/// Without a connection nothing was sent, whatever the failure says of it.
pub(crate) fn unsent(failed: BackendError) -> BackendError {
    failed.with_applied(Applied::No)
}

/// The failure of a request that is not the first of its kind: the first may have been carried out.
pub(super) fn maybe_applied(failed: BackendError) -> BackendError {
    failed.with_applied(Applied::Unknown)
}

/// Where a script stood, as servers before 7.0 write it.
const PLACE: &str = "@user_script:";

/// The code of an error; of one that a script met, the one that it met.
///
/// Before 7.0 a server says first that a script failed, and where, and only then why.
pub(super) fn code(error: &RedisError) -> Option<&str> {
    let said = error.code()?;
    let detail = error.detail().unwrap_or_default();
    let reason = match said {
        "ERR" => detail.rsplit_once(PLACE).map(|(_, reason)| reason),
        _ if said == PLACE => Some(detail),
        _ => None,
    };
    reason.and_then(first_code).or(Some(said))
}

/// Whether a server refused a write, for it is a replica.
pub(crate) fn is_readonly(error: &RedisError) -> bool {
    code(error) == Some("READONLY")
}

/// The code after the number of a line.
fn first_code(reason: &str) -> Option<&str> {
    let reason = reason.trim_start_matches(|c: char| c.is_ascii_digit() || " :".contains(c));
    let word = reason.trim_start_matches('-').split(' ').next()?;
    let is_code = !word.is_empty() && word.bytes().all(|it| it.is_ascii_uppercase());
    is_code.then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_once_and_keeps_its_cause() {
        let broken = || RedisError::from(io::Error::from(io::ErrorKind::ConnectionReset));
        let to = ConnectionAddr::Tcp("redis.example".into(), 6379);
        let failed = [
            (maybe_applied(failure(broken())), Applied::Unknown),
            (unsent(failure(broken())), Applied::No),
            (unconnected(&to, broken()), Applied::No),
        ];
        for (failed, applied) in failed {
            assert_eq!(failed.applied(), applied);
            let cause = failed.source().unwrap();
            assert!(cause.is::<RedisError>(), "{cause}");
            assert_ne!(failed.to_string(), cause.to_string());
        }
    }

    #[test]
    fn a_reply_that_is_too_large_is_told_with_its_limit() {
        let limit = ReplyTooLarge { limit: 7 };
        let ended = RedisError::from(io::Error::from(limit));
        assert!(ended.is_unrecoverable_error());
        let failed = failure(ended);
        assert_eq!(failed.applied(), Applied::Unknown);
        let cause = failed.source().unwrap();
        assert_eq!(cause.downcast_ref(), Some(&limit));
    }

    #[test]
    fn who_is_not_reached_is_named() {
        let to = ConnectionAddr::Tcp("redis.example".into(), 6379);
        let told = |kind: io::ErrorKind| unconnected(&to, io::Error::from(kind).into()).to_string();
        let refused = told(io::ErrorKind::ConnectionRefused);
        assert_eq!(refused, "nobody listens at redis.example:6379");
        let late = told(io::ErrorKind::TimedOut);
        assert_eq!(late, "redis.example:6379 did not answer in time");
        let lookup =
            io::Error::other("failed to lookup address information: Name or service not known");
        let unresolved = unconnected(&to, lookup.into()).to_string();
        assert_eq!(
            unresolved,
            "the name in redis.example:6379 could not be resolved"
        );
        let other = told(io::ErrorKind::HostUnreachable);
        assert_eq!(other, "no connection to redis.example:6379 can be made");
    }

    fn code_of(line: &str) -> String {
        let said = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        let error = said.extract_error().unwrap_err();
        code(&error).unwrap().to_owned()
    }

    #[test]
    fn a_script_that_met_an_error_says_which() {
        for (line, expected) in [
            // 6.2.14
            (
                "ERR Error running script (call to f_0d0fafb3): @user_script:10: WRONGTYPE Operation against a key",
                "WRONGTYPE",
            ),
            (
                "ERR Error running script (call to f_398b0733): @user_script:27: @user_script: 27: -OOM command not allowed",
                "OOM",
            ),
            (
                "@user_script: 15: -READONLY You can't write against a read only replica.",
                "READONLY",
            ),
            (
                "ERR Error running script (call to f_398b0733): @user_script:3: attempt to compare nil with number",
                "ERR",
            ),
            // 7.0.15
            (
                "WRONGTYPE Operation against a key holding the wrong kind of value script: f_0d0fafb3, on @user_script:10.",
                "WRONGTYPE",
            ),
            (
                "ERR user_script:1: attempt to compare nil with number script: f_0d0fafb3, on @user_script:1.",
                "ERR",
            ),
            ("NOSCRIPT No matching script.", "NOSCRIPT"),
        ] {
            assert_eq!(code_of(line), expected, "{line}");
        }
    }
}
