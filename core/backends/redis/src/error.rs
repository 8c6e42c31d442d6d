//! Turns errors of the `redis` crate into backend errors.

use std::error::Error;
use std::io;
use std::sync::Arc;

use redis::{ConnectionAddr, ErrorKind, RedisError};
#[cfg(feature = "tls-rustls")]
use rustls::CertificateError;

use super::reply_size::ReplyTooLarge;
use leasehold_core::backend::{Applied, BackendError};

/// Converts an error of the server or of the connection into the backend error of its command.
pub(crate) fn failure(error: RedisError) -> BackendError {
    if let Some(too_large) = is_too_large(&error) {
        return reply_too_large(too_large);
    }
    let advice = advice(&error);
    let failed = match error.kind() {
        // The server has refused the command. A script writes only after its last check that can fail.
        ErrorKind::Server(_) | ErrorKind::Extension => BackendError::not_applied(advice),
        _ if error.is_connection_refusal() => BackendError::not_applied(advice),
        _ => BackendError::unknown(advice),
    };
    let failed = if is_permanent(&error) {
        failed.permanent()
    } else {
        failed
    };
    match error.detail().and_then(|it| it.split_once(", with args")) {
        // The arguments are those of the scripts.
        Some((unknown_command, _)) => failed.with_source(unknown_command),
        None => failed.with_source(error),
    }
}

/// Returns the error for a connection that this client closed because of a large reply.
pub(super) fn reply_too_large(too_large: ReplyTooLarge) -> BackendError {
    let message = "the server's reply is too large; the connection was closed";
    BackendError::unknown(message).with_source(too_large)
}

fn is_too_large(error: &RedisError) -> Option<ReplyTooLarge> {
    io_cause(error)?.downcast_ref().copied()
}

fn io_cause(error: &RedisError) -> Option<&(dyn Error + Send + Sync + 'static)> {
    let cause: &Arc<dyn Error + Send + Sync> = error.source()?.downcast_ref()?;
    let failed: &io::Error = cause.downcast_ref()?;
    failed.get_ref()
}

/// Returns whether a server refused a command because its keys are in several slots.
pub(super) fn is_of_a_cluster(failed: &BackendError) -> bool {
    has_code(failed, "CROSSSLOT")
}

/// Returns whether a server refused a command because a key holds data of another type.
pub(crate) fn is_of_another_type(failed: &BackendError) -> bool {
    has_code(failed, "WRONGTYPE")
}

fn has_code(failed: &BackendError, expected: &str) -> bool {
    let cause = failed.source().and_then(|cause| cause.downcast_ref());
    cause.is_some_and(|cause: &RedisError| code(cause) == Some(expected))
}

/// A manager does not change its user and password, so a retry does not help.
const LOGIN_REFUSED: &str = "refused the user or the password; check them in the URL";

/// Returns what a server says about a login that it refuses.
fn refused_login(error: &RedisError) -> &'static str {
    match code(error) {
        // Valkey says this of an unknown command, too.
        Some("NOAUTH") => {
            "requires a password: the URL has none for this server, or the server, or a proxy, lacks a command of the login \
             (HELLO)"
        }
        _ => LOGIN_REFUSED,
    }
}

fn is_login_refused(error: &RedisError) -> bool {
    matches!(code(error), Some("NOAUTH" | "WRONGPASS"))
        || error.kind() == ErrorKind::AuthenticationFailed
}

fn is_permanent(error: &RedisError) -> bool {
    let is_coded = matches!(
        code(error),
        Some("WRONGTYPE" | "NOPERM" | "CROSSSLOT" | "DENIED" | "ERR")
    );
    is_login_refused(error) || is_coded && !has_too_many_clients(error)
}

fn has_too_many_clients(error: &RedisError) -> bool {
    begins(error, "max number of clients")
}

/// Returns whether the text after the code begins so.
fn begins(error: &RedisError, text: &str) -> bool {
    error.detail().is_some_and(|it| it.starts_with(text))
}

/// Returns the first error of a pipeline whose commands fail for the same reason.
pub(super) fn first_of(error: RedisError) -> RedisError {
    let all = error.clone().into_server_errors().unwrap_or_default();
    all.first().map_or(error, |(_, first)| first.clone().into())
}

fn advice(error: &RedisError) -> String {
    let advice = match (error.kind(), code(error)) {
        (_, Some("WRONGTYPE")) => {
            "the key holds data of another type; use a separate prefix for locks and fences"
        }
        (_, Some("CROSSSLOT")) => {
            "the server is part of a Cluster; connect with redis+cluster:// instead of redis://"
        }
        (_, Some("OOM")) => "the server is out of memory; raise maxmemory, or free memory",
        (_, Some("NOPERM")) => {
            "the user lacks a permission; the section Permissions of `leasehold::backend::redis::Redis` lists all that it needs"
        }
        _ if is_login_refused(error) => return format!("the server {}", refused_login(error)),
        (_, Some("READONLY")) => {
            "the server is a replica and refuses writes; connect to the primary"
        }
        (_, Some("DENIED")) => {
            "the server is in protected mode, and refuses clients of other machines; set a password, or turn off \
             protected-mode"
        }
        _ if has_too_many_clients(error) => {
            "the server has no free connection; raise maxclients, or use fewer connections"
        }
        _ if begins(error, "unknown command") || error.kind() == ErrorKind::RESP3NotSupported => {
            "the server, or a proxy, lacks a command that the locks need, or has renamed it; enable it, or use another server"
        }
        _ if begins(error, "This instance has cluster support disabled") => {
            "the server is not a member of a Cluster; connect with redis:// instead of redis+cluster://"
        }
        (_, Some("LOADING")) => "the server is still loading its data",
        _ if error.is_connection_refusal() => "connection refused at the server's address",
        _ if error.is_timeout() => "the server did not reply in time",
        _ if error.is_io_error() => "the connection to the server broke",
        _ => "the server replied with an error",
    };
    advice.to_owned()
}

/// Returns the error of a failed connect. The client has sent no command, even if the same error would otherwise leave
/// the outcome of a command unknown.
pub(crate) fn unconnected(to: &ConnectionAddr, error: RedisError) -> BackendError {
    if let Some(too_large) = is_too_large(&error) {
        return unsent(reply_too_large(too_large));
    }
    let message = if error.is_connection_refusal() {
        format!("connection refused at {to}; check that the server runs there")
    } else if is_unresolved(&error) {
        format!("the name in {to} could not be resolved")
    } else if error.is_timeout() {
        format!("{to} did not reply in time")
    } else if let Some(why) = refused_certificate(&error) {
        format!("the certificate of {to} {why}")
    } else if error.is_connection_dropped() {
        format!(
            "{to} closed the connection instead of answering HELLO; a proxy must support RESP3, and a port for TLS needs \
             rediss://"
        )
    } else if error.is_io_error() {
        format!("cannot connect to {to}")
    } else if is_login_refused(&error) {
        format!("{to} {}", refused_login(&error))
    } else if begins(&error, "unknown command") {
        // The server repeats the arguments of the command, and those of HELLO contain the password.
        return BackendError::not_applied(advice(&error)).permanent();
    } else {
        return unsent(failure(error));
    };
    unsent(failure(error)).with_message(message)
}

/// Returns the problem of the server's certificate, for the error's message. The errors of a Redlock contain each
/// node's message without its cause.
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
        CertificateError::UnknownIssuer => "is from an authority that is not trusted",
        _ => "is refused",
    })
}

#[cfg(not(feature = "tls-rustls"))]
fn refused_certificate(_error: &RedisError) -> Option<&'static str> {
    None
}

/// Returns whether a name lookup failed. The error does not have a specific type, but its text is the same on each
/// system with `getaddrinfo`.
fn is_unresolved(error: &RedisError) -> bool {
    error.is_io_error()
        && error
            .to_string()
            .contains("failed to lookup address information")
}

/// Marks an error as not applied, because the client sends nothing without a connection.
pub(crate) fn unsent(failed: BackendError) -> BackendError {
    failed.with_applied(Applied::No)
}

/// Marks the outcome of a duplicate request as unknown, because the server may have applied an earlier request.
pub(super) fn maybe_applied(failed: BackendError) -> BackendError {
    failed.with_applied(Applied::Unknown)
}

/// The prefix of a script position, as servers before 7.0 write it.
const PLACE: &str = "@user_script:";

/// Returns the code of an error. If a command inside a script failed, returns the code of that command's error.
///
/// On servers before 7.0 the error begins with the position of the failure in the script, and the cause follows.
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

/// Returns whether a server refused a write because it is a replica.
pub(crate) fn is_readonly(error: &RedisError) -> bool {
    code(error) == Some("READONLY")
}

/// Returns the code after the line number.
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
    fn a_backend_error_keeps_its_cause_and_does_not_repeat_its_text() {
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
    fn the_error_of_a_too_large_reply_contains_the_limit() {
        let limit = ReplyTooLarge { limit: 7 };
        let ended = RedisError::from(io::Error::from(limit));
        assert!(ended.is_unrecoverable_error());
        let failed = failure(ended);
        assert_eq!(failed.applied(), Applied::Unknown);
        let cause = failed.source().unwrap();
        assert_eq!(cause.downcast_ref(), Some(&limit));
    }

    #[test]
    fn a_connect_error_names_the_host_and_the_reason() {
        let to = ConnectionAddr::Tcp("redis.example".into(), 6379);
        let message_of =
            |kind: io::ErrorKind| unconnected(&to, io::Error::from(kind).into()).to_string();
        let refused = message_of(io::ErrorKind::ConnectionRefused);
        assert_eq!(
            refused,
            "connection refused at redis.example:6379; check that the server runs there"
        );
        let late = message_of(io::ErrorKind::TimedOut);
        assert_eq!(late, "redis.example:6379 did not reply in time");
        let lookup =
            io::Error::other("failed to lookup address information: Name or service not known");
        let unresolved = unconnected(&to, lookup.into()).to_string();
        assert_eq!(
            unresolved,
            "the name in redis.example:6379 could not be resolved"
        );
        let other = message_of(io::ErrorKind::HostUnreachable);
        assert_eq!(other, "cannot connect to redis.example:6379");
    }

    fn code_of(line: &str) -> String {
        let said = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        let error = said.extract_error().unwrap_err();
        code(&error).unwrap().to_owned()
    }

    #[test]
    fn the_error_code_of_a_failed_script_is_found() {
        for (line, expected) in [
            // This is the reply of 6.2.14.
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
            // This is the reply of 7.0.15.
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
