async fn ship(id: u64) -> Result<(), Error> {
    let __call = ::leasehold::__private::Call::new(
            ::leasehold::__private::format!(
                "order:{}",
                ::leasehold::__private::escaped(::leasehold::__private::format!("{}",
                id))
            ),
        )
        .and("stock")
        .answering::<Result<(), Error>>();
    let __held = match __call.acquire().await {
        ::core::result::Result::Ok(held) => held,
        ::core::result::Result::Err(answer) => return answer,
    };
    let __output = __held
        .run(async move {
            let _ = &id;
            if let ::core::option::Option::Some(answer) = ::core::option::Option::None::<
                Result<(), Error>,
            > {
                return answer;
            }
            { Ok(()) }
        })
        .await;
    __held.release(__output).await
}
