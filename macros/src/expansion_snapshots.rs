//! Snapshots of expansions. An expansion must be readable in a debugger and in the output of `cargo expand`.

use crate::expand::expand;

#[track_caller]
fn assert_reads(attribute: &str, item: &str, expected: &str) {
    let (attribute, item) = (attribute.parse().unwrap(), item.parse().unwrap());
    let file = syn::parse2(expand(attribute, &item)).unwrap();
    let shown = prettyplease::unparse(&file);
    assert_eq!(shown, expected, "the expansion reads:\n{shown}");
}

#[test]
fn small_function_expands_as_expected() {
    assert_reads(
        r#""order:{order_id}", ttl = "30s", wait = "5s", guard = lock"#,
        "async fn ship(order_id: i64, pool: &PgPool) -> Result<(), ShopError> { \
            pack(order_id, pool, lock.token()).await \
        }",
        include_str!("../tests/expansions/small.rs"),
    );
}

#[test]
fn method_with_every_option_expands_as_expected() {
    assert_reads(
        r#""order:{order.id:05}:{{eu}}", manager = self.locks, ttl = self.ttl, wait = "forever", contended = "error",
            lost = "continue", max_hold = "90s", hold_at_least = "1m", name = "order", guard = lock, crate = ::vendored::leasehold"#,
        "/// Ships.\n#[instrument] pub async fn ship(&mut self, order: Order, _: Cart) -> Result<impl Display, ShopError> { \
            Ok(lock.token()) \
        }",
        include_str!("../tests/expansions/every_option.rs"),
    );
}

#[test]
fn function_with_contended_skip_expands_as_expected() {
    assert_reads(
        r#""nightly", contended = "skip""#,
        "async fn nightly() -> Result<(), Error> { report().await }",
        include_str!("../tests/expansions/skipping.rs"),
    );
}

#[test]
fn async_trait_method_expands_as_expected() {
    assert_reads(
        r#""order:{id}:{self.shop}", manager = self.locks"#,
        "fn ship<'life0, 'async_trait>(&'life0 self, __arg1: Path<u64>) \
            -> ::core::pin::Pin<Box<dyn ::core::future::Future<Output = Result<u64, Error>> + ::core::marker::Send + 'async_trait>> \
            where 'life0: 'async_trait, Self: 'async_trait { \
            Box::pin(async move { \
                if let ::core::option::Option::Some(__ret) = ::core::option::Option::None::<Result<u64, Error>> { return __ret; } \
                let __self = self; \
                let Path(id) = { let __arg1 = __arg1; __arg1 }; \
                let __ret: Result<u64, Error> = { __self.pack(id).await }; \
                #[allow(unreachable_code)] __ret \
            }) \
        }",
        include_str!("../tests/expansions/async_trait.rs"),
    );
}

#[test]
fn function_with_several_keys_expands_as_expected() {
    assert_reads(
        r#""order:{id}", "stock", mode = "write""#,
        "async fn ship(id: u64) -> Result<(), Error> { Ok(()) }",
        include_str!("../tests/expansions/several_keys.rs"),
    );
}

#[test]
fn function_with_each_kind_of_lock_expands_as_expected() {
    let body = "async fn work() -> Result<(), Error> { Ok(()) }";
    for (option, step) in [
        (r#"mode = "read""#, ".reading()"),
        (r#"mode = "write""#, ""),
        ("max_concurrent = most()", ".one_of(most())"),
        ("reentrant", ".reentrant()"),
    ] {
        let expected = include_str!("../tests/expansions/kind.rs");
        assert_reads(
            &format!("\"k\", ttl = TTL, {option}"),
            body,
            &expected.replace(
                "        .kind()\n",
                &match step {
                    "" => String::new(),
                    step => format!("        {step}\n"),
                },
            ),
        );
    }
}

#[cfg(all(feature = "once", feature = "cron"))]
#[test]
fn function_with_a_recorded_result_expands_as_expected() {
    assert_reads(
        r#""report:{day}", once = "7d""#,
        "async fn report(day: Date) -> Result<Report, Error> { sum(day).await }",
        include_str!("../tests/expansions/once.rs"),
    );
    assert_reads(
        r#""nightly", once = KEEP, keep_failure = "0s", slot = "0 3 * * *", ttl = "10s", manager = self.locks, guard = lock"#,
        "async fn nightly(&self) -> Result<(), Error> { self.clean(lock.token()).await }",
        include_str!("../tests/expansions/slot.rs"),
    );
    assert_reads(
        r#""hourly", once = "1h", slot = self.hourly"#,
        "async fn hourly(&self) -> Result<(), Error> { Ok(()) }",
        include_str!("../tests/expansions/schedule.rs"),
    );
}
