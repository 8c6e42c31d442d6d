//! Tests which problem an error becomes, and its text.

use std::time::Duration;

use axum::response::IntoResponse;
use http::StatusCode;
use leasehold::backend::{Applied, BackendError, InProcess};
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold::{
    AdmitError, Error, FencingToken, HandoverTicket, Key, LockManager, Lost, OnceError, Operation,
    Stale,
};
use leasehold_tower::{Problem, ProblemKind};

fn key() -> Key {
    Key::new("lock:", "s3cret").unwrap()
}

fn backend(temporary: bool) -> Error {
    let source = BackendError::not_applied("s3cret server");
    let source = if temporary {
        source
    } else {
        source.permanent()
    };
    let applied = Applied::No;
    Error::Backend {
        operation: Operation::Acquire,
        key: key(),
        applied,
        source,
    }
}

fn stale() -> Stale {
    let token = |number| FencingToken::try_from(number).unwrap();
    Stale {
        token: token(5),
        current: token(6),
    }
}

/// Returns errors of all kinds, each with the expected kind of its problem.
async fn table() -> Vec<(Error, ProblemKind)> {
    let locks = LockManager::in_process();
    let guard = locks.lock("s3cret").acquire().await.unwrap();
    guard.simulate_loss();
    let lost = Lost::from(guard.ended().await);
    let not_renewed = guard.renew().await.unwrap_err();
    let short = locks
        .lock("k")
        .ttl(Duration::ZERO)
        .acquire()
        .await
        .unwrap_err();
    let timed_out = Error::TimedOut {
        holder: None,
        acquired_at: None,
        key: key(),
        waited: Duration::ZERO,
    };
    let store = AdmitError::Store {
        resource: "s3cret".to_owned(),
        source: "s3cret".into(),
    };
    let once_failed = OnceError::Failed {
        key: key(),
        token: stale().token,
        message: "s3cret".to_owned(),
    };
    let another_type = OnceError::Decode {
        key: key(),
        source: "s3cret".into(),
    };
    vec![
        (timed_out, ProblemKind::Contended),
        (Error::Closed { key: key() }, ProblemKind::Unavailable),
        (
            Error::AlreadyHeld { key: key() },
            ProblemKind::Misconfigured,
        ),
        (Error::NoRuntime, ProblemKind::Misconfigured),
        (short, ProblemKind::Misconfigured),
        (
            LockManager::current().unwrap_err(),
            ProblemKind::Misconfigured,
        ),
        (backend(true), ProblemKind::Unavailable),
        (backend(false), ProblemKind::Unavailable),
        (lost.into(), ProblemKind::Lost),
        (not_renewed, ProblemKind::Lost),
        (
            Key::new("", "s3cret\n").unwrap_err().into(),
            ProblemKind::InvalidKey,
        ),
        (
            "s3cret".parse::<FencingToken>().unwrap_err().into(),
            ProblemKind::InvalidToken,
        ),
        (
            "s3cret".parse::<HandoverTicket>().unwrap_err().into(),
            ProblemKind::InvalidKey,
        ),
        (Error::HandoverSpent { key: key() }, ProblemKind::InvalidKey),
        (stale().into(), ProblemKind::Stale),
        (AdmitError::from(stale()).into(), ProblemKind::Stale),
        (store.into(), ProblemKind::Unavailable),
        (once_failed.into(), ProblemKind::Unavailable),
        (another_type.into(), ProblemKind::Misconfigured),
    ]
}

/// Returns a manager whose backend executes `answered` of these commands, and then hangs.
fn mute_after(answered: usize, command: Command) -> LockManager {
    let mut calls = 0;
    LockManager::new(Faulty::new(InProcess::new(), move |call| {
        calls += usize::from(call.command == command);
        if call.command == command && calls > answered {
            Fault::HangBefore
        } else {
            Fault::None
        }
    }))
}

/// Returns errors of operations on held locks, each with the expected kind of its problem.
async fn afterwards() -> Vec<(Error, ProblemKind)> {
    let keys = ["s3cret:1", "s3cret:2"];
    let locks = mute_after(0, Command::Release);
    let not_released = locks.lock("s3cret").acquire().await.unwrap();
    let not_released = not_released.release().await.unwrap_err();
    let set = locks.lock_all(keys).acquire().await.unwrap();
    let none_released = set.release().await.unwrap_err();
    let locks = mute_after(1, Command::Release);
    let set = locks.lock_all(keys).acquire().await.unwrap();
    assert!(set.simulate_loss(keys[0]));
    let one_lost = set.release().await.unwrap_err();
    assert!(one_lost.is_lost());

    let locks = mute_after(0, Command::Renew);
    let guard = locks.lock("s3cret").acquire().await.unwrap();
    let not_renewed = guard.renew().await.unwrap_err();
    assert!(guard.is_valid());
    let locks = mute_after(0, Command::Downgrade);
    let guard = locks.lock("s3cret").acquire().await.unwrap();
    let not_downgraded = guard.downgrade().await.unwrap_err();
    let locks = LockManager::in_process();
    let guard = locks.lock("s3cret").acquire().await.unwrap();
    guard.simulate_loss();
    let lost_before = guard.downgrade().await.unwrap_err();
    let unsupported = Error::Unsupported {
        operation: Operation::Downgrade,
        key: key(),
        what: "readers",
    };
    let locks = mute_after(0, Command::Record);
    let not_recorded = locks.once("s3cret").run(async |_| Ok::<_, Error>(()));
    let not_recorded = not_recorded.await.unwrap_err();
    let too_large = OnceError::TooLarge {
        key: key(),
        size: 2_000_000,
    };
    let locks = mute_after(0, Command::Release);
    let _held = locks.lock("s3cret").acquire().await.unwrap();
    let shutdown = locks.shutdown().await.unwrap_err();
    vec![
        (not_recorded, ProblemKind::OutcomeUnknown),
        (too_large.into(), ProblemKind::NotRecorded),
        (not_released, ProblemKind::OutcomeUnknown),
        (none_released, ProblemKind::OutcomeUnknown),
        (one_lost, ProblemKind::Lost),
        (not_renewed, ProblemKind::OutcomeUnknown),
        (not_downgraded, ProblemKind::OutcomeUnknown),
        (lost_before, ProblemKind::Lost),
        (unsupported, ProblemKind::Misconfigured),
        (shutdown, ProblemKind::OutcomeUnknown),
    ]
}

#[tokio::test(start_paused = true)]
async fn error_after_the_acquire_has_no_retry_after() {
    for (error, _) in afterwards().await {
        let told = error.to_string();
        let problem = Problem::from(error);
        assert_eq!(problem.retry_after(), None, "{told}");
        let detail = problem.detail().unwrap_or_default();
        assert!(detail.contains("the work may be"), "{told}: {detail}");
        let code = tonic::Status::from(problem.clone()).code();
        assert_ne!(code, tonic::Code::Unavailable, "{told}");
        assert!(!problem.into_http().headers().contains_key("retry-after"));
    }
}

#[tokio::test(start_paused = true)]
async fn each_error_becomes_its_problem_kind_and_does_not_show_the_key() {
    let (before, after) = (table().await, afterwards().await);
    for (error, kind) in before.into_iter().chain(after) {
        let told = error.to_string();
        let problem = Problem::from(error);
        assert_eq!(problem.kind(), kind, "{told}");
        assert_eq!(problem.status(), kind.status(), "{told}");
        assert!(
            !format!("{problem} {problem:?}").contains("s3cret"),
            "{problem}"
        );
        let text = problem.into_http();
        assert!(
            !String::from_utf8_lossy(text.body()).contains("s3cret"),
            "{text:?}"
        );
    }
}

#[test]
fn position_in_an_invalid_key_does_not_count_the_prefix() {
    let problem = Problem::from(Key::new("lock:", "ab\n").unwrap_err());
    let detail = problem.detail().unwrap();
    assert!(detail.starts_with("byte 2 "), "{detail}");
}

#[test]
fn retry_after_is_set_only_for_temporary_problems() {
    assert!(Problem::from(backend(true)).retry_after().is_some());
    assert_eq!(Problem::from(backend(false)).retry_after(), None);
    for kind in [
        ProblemKind::Contended,
        ProblemKind::TooManyWaiters,
        ProblemKind::Overloaded,
    ] {
        let busy = Problem::new(kind).into_http();
        assert_eq!(busy.headers()["retry-after"], "1");
    }
    let wait = Some(Duration::from_millis(1));
    let short = Problem::new(ProblemKind::Contended)
        .with_retry_after(wait)
        .into_http();
    assert_eq!(short.headers()["retry-after"], "1", "never zero");
}

#[test]
fn problem_becomes_a_standard_problem_document() {
    let problem = Problem::new(ProblemKind::Contended)
        .with_status(StatusCode::LOCKED)
        .with_detail("a \"quoted\" word");
    let document: serde_json::Value =
        serde_json::from_slice(problem.clone().into_http().body()).unwrap();
    assert_eq!(
        document,
        serde_json::json!({
            "type": "https://docs.rs/leasehold-tower#contended",
            "title": "Locked by another request",
            "status": 423,
            "detail": "a \"quoted\" word",
        })
    );
    assert_eq!(problem.into_response().status(), 423);
}

#[test]
fn each_problem_type_uri_leads_to_its_documentation() {
    let documentation = include_str!("../../src/lib.rs");
    use ProblemKind::{
        Contended, InvalidKey, InvalidToken, KeyReused, Lost, Misconfigured, MissingKey,
        MissingToken, NotFound, NotRecorded, OutcomeUnknown, Overloaded, Stale, TooManyWaiters,
        Unavailable, UnreadableBody,
    };
    for kind in [
        Contended,
        InvalidKey,
        InvalidToken,
        Lost,
        Misconfigured,
        MissingKey,
        MissingToken,
        NotFound,
        OutcomeUnknown,
        Stale,
        TooManyWaiters,
        Unavailable,
        KeyReused,
        UnreadableBody,
        Overloaded,
        NotRecorded,
    ] {
        let (_, name) = kind.uri().split_once('#').unwrap();
        let (_, row) = documentation
            .split_once(&format!("id=\"{name}\">"))
            .unwrap();
        let row = row.lines().next().unwrap();
        assert!(
            row.contains(&format!("| {}", kind.status().as_u16())),
            "{row}"
        );
    }
}
