/// Ships.
#[instrument]
pub async fn ship(
    &mut self,
    order: Order,
    (__unused0): Cart,
) -> Result<impl Display, ShopError> {
    let __call = ::vendored::leasehold::__private::Call::new(
            ::vendored::leasehold::__private::format!(
                "order:{}:{{eu}}",
                ::vendored::leasehold::__private::escaped(::vendored::leasehold::__private::format!("{:05}",
                order.id))
            ),
        )
        .manager(&self.locks)
        .ttl(self.ttl)
        .wait(::core::time::Duration::MAX)
        .max_hold(::core::time::Duration::from_secs(90))
        .hold_at_least(::core::time::Duration::from_secs(60))
        .name("order")
        .answering::<Result<_, ShopError>>();
    let __held = match __call.acquire().await {
        ::core::result::Result::Ok(held) => held,
        ::core::result::Result::Err(answer) => return answer,
    };
    let lock = __held.handle();
    let __output = __held
        .run_to_end(async move {
            let _ = (&self, &order, &__unused0);
            if let ::core::option::Option::Some(answer) = ::core::option::Option::None::<
                Result<_, ShopError>,
            > {
                return answer;
            }
            { Ok(lock.token()) }
        })
        .await;
    __held.release(__output).await
}
