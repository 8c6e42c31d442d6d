//! Each form of a key.
#![deny(warnings)]

use std::collections::HashMap;

use leasehold::{Error, LockManager, distributed_lock};

const TENANT: &str = "acme";

struct User {
    id: u64,
    names: Vec<String>,
}

impl User {
    fn name(&self, at: usize) -> &str {
        &self.names[at]
    }
}

#[distributed_lock("nightly", guard = lock)]
async fn plain() -> Result<String, Error> {
    Ok(lock.key().to_owned())
}

#[distributed_lock("order:{id}:{name}", guard = lock)]
async fn names(id: u64, name: &str) -> Result<String, Error> {
    Ok(lock.key().to_owned())
}

#[distributed_lock("{ id }:{id }:{TENANT}", guard = lock)]
async fn spaces_and_constants(id: u64) -> Result<String, Error> {
    Ok(lock.key().to_owned())
}

#[distributed_lock("{user.id}:{user.name(0)}:{user.names[1]}:{&user.names.len()}", guard = lock)]
async fn expressions(user: &User) -> Result<String, Error> {
    Ok(lock.key().to_owned())
}

#[distributed_lock("{id:05}:{name:?}:{name:>width$}:{u64::from(small)}", guard = lock)]
async fn formats(id: u64, name: &str, width: usize, small: u8) -> Result<String, Error> {
    Ok(lock.key().to_owned())
}

#[distributed_lock("order:{{{id}}}", guard = lock)]
async fn hash_tag(id: u64) -> Result<String, Error> {
    Ok(lock.key().to_owned())
}

#[distributed_lock("{{nightly}}", guard = lock)]
async fn hash_tag_without_placeholder() -> Result<String, Error> {
    Ok(lock.key().to_owned())
}

#[distributed_lock(r#"{map["a}:{"]}:{tenant()}:{ { let one = id; one + 1 } }"#, guard = lock)]
async fn braces_in_expressions(map: HashMap<&str, u32>, id: u64) -> Result<String, Error> {
    Ok(lock.key().to_owned())
}

fn tenant() -> &'static str {
    TENANT
}

#[distributed_lock("{text.parse::<u64>()?}", guard = lock)]
async fn question_mark(text: &str) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    Ok(lock.key().to_owned())
}

#[distributed_lock("order:{r#type}:{r#type:>3}:{order}:{r#name}", guard = lock)]
async fn raw_names(r#type: u64, r#order: u64, name: &str) -> Result<String, Error> {
    Ok(lock.key().to_owned())
}

async fn all() -> Result<(), Error> {
    assert_eq!(plain().await?, "nightly");
    assert_eq!(names(42, "ann").await?, "order:42:ann");
    assert_eq!(spaces_and_constants(42).await?, "42:42:acme");
    let user = User {
        id: 7,
        names: vec!["ann".to_owned(), "bea".to_owned()],
    };
    assert_eq!(expressions(&user).await?, "7:ann:bea:2");
    assert_eq!(formats(42, "a", 3, 1).await?, "00042:\"a\":  a:1");
    assert_eq!(hash_tag(42).await?, "order:{42}");
    assert_eq!(hash_tag_without_placeholder().await?, "{nightly}");
    let map = HashMap::from([("a}:{", 1)]);
    assert_eq!(braces_in_expressions(map, 1).await?, "1:acme:2");
    assert_eq!(question_mark("42").await.ok().as_deref(), Some("42"));
    assert!(question_mark("x").await.is_err());
    assert_eq!(raw_names(7, 8, "ann").await?, "order:7:  7:8:ann");
    Ok(())
}

#[tokio::test]
async fn compiles_and_runs() -> Result<(), Error> {
    LockManager::in_process().scope(all()).await
}
