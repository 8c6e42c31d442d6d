async fn ship(order_id: i64, pool: &PgPool) -> Result<(), ShopError> {
    let __call = ::leasehold::__private::Call::new(
            ::leasehold::__private::format!(
                "order:{}",
                ::leasehold::__private::escaped(::leasehold::__private::format!("{}",
                order_id))
            ),
        )
        .ttl(::core::time::Duration::from_secs(30))
        .wait(::core::time::Duration::from_secs(5))
        .answering::<Result<(), ShopError>>();
    let __held = match __call.acquire().await {
        ::core::result::Result::Ok(held) => held,
        ::core::result::Result::Err(answer) => return answer,
    };
    let lock = __held.handle();
    let __output = __held
        .run(async move {
            let _ = (&order_id, &pool);
            if let ::core::option::Option::Some(answer) = ::core::option::Option::None::<
                Result<(), ShopError>,
            > {
                return answer;
            }
            { pack(order_id, pool, lock.token()).await }
        })
        .await;
    __held.release(__output).await
}
