//! Annotated functions without warnings of rustc, or of clippy with these lints.
#![deny(warnings, clippy::pedantic)]

use leasehold::{Error, LockManager, distributed_lock};

#[rustfmt::skip]
#[distributed_lock("order:{id}")]
async fn on_one_line(id: u64) -> Result<u64, Error> { Ok(id) }

#[rustfmt::skip]
#[distributed_lock("order:{id}")]
async fn used_by_the_key_alone(id: u64) -> Result<(), Error> { Ok(()) }

#[distributed_lock("k")]
async fn marked_as_unused(_a: u64, (_b, c): (u64, u64)) -> Result<u64, Error> {
    Ok(c)
}

#[distributed_lock("k")]
async fn marked_and_alone(_a: String) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k")]
async fn in_a_text(id: u64) -> Result<String, Error> {
    Ok(format!("{id}"))
}

#[distributed_lock("k", wait = std::time::Duration::from_millis(patience))]
async fn used_by_an_option_alone(patience: u64) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k")]
async fn allowed_to_be_unused(#[allow(unused_variables)] id: u64) -> Result<(), Error> {
    Ok(())
}

#[tokio::test]
async fn annotated_functions_cause_no_lint_warnings() -> Result<(), Error> {
    let all = async {
        assert_eq!(on_one_line(7).await?, 7);
        used_by_the_key_alone(7).await?;
        assert_eq!(marked_as_unused(1, (2, 3)).await?, 3);
        marked_and_alone(String::new()).await?;
        assert_eq!(in_a_text(7).await?, "7");
        used_by_an_option_alone(7).await?;
        allowed_to_be_unused(7).await
    };
    LockManager::in_process().as_default(all).await
}
