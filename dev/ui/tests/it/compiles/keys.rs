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

#[distributed_lock("tenant:{tenant}:{id}", guard = lock)]
async fn pair(tenant: &str, id: &str) -> Result<String, Error> {
    Ok(lock.key().to_owned())
}

#[distributed_lock("{tenant_and_id(tenant, id)}", guard = lock)]
async fn whole(tenant: &str, id: u64) -> Result<String, Error> {
    Ok(lock.key().to_owned())
}

fn tenant_and_id(tenant: &str, id: u64) -> String {
    format!("{tenant}:{id}")
}

const SHOP: &str = "shop:eu";

#[distributed_lock("{SHOP}:{id:?}", guard = lock)]
async fn behind_a_constant(id: &str) -> Result<String, Error> {
    Ok(lock.key().to_owned())
}

/// The key comes from the macro, and the name of the argument from its caller.
macro_rules! of_two_origins {
    ($name:ident, $id:ident) => {
        #[distributed_lock("a:{id}:{id:>width$}", guard = lock)]
        async fn $name($id: u64, width: usize) -> Result<String, Error> {
            Ok(lock.key().to_owned())
        }
    };
}

of_two_origins!(argument_of_a_macro, id);

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
    assert_eq!(pair("ann", "5").await?, "tenant:ann:5");
    assert_eq!(pair("ann:5", "5").await?, "tenant:ann%3A5:5");
    assert_eq!(pair("ann", "5:5").await?, "tenant:ann:5%3A5");
    assert_eq!(pair("100%", "").await?, "tenant:100%25:");
    assert_eq!(whole("ann", 5).await?, "ann:5");
    assert_eq!(behind_a_constant("a:b").await?, "shop:eu:\"a%3Ab\"");
    assert_eq!(argument_of_a_macro(7, 3).await?, "a:7:  7");
    Ok(())
}

#[tokio::test]
async fn each_form_of_key_compiles_and_runs() -> Result<(), Error> {
    LockManager::in_process().as_default(all()).await
}
