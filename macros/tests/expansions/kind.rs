async fn work() -> Result<(), Error> {
    let __call = ::leasehold::__private::Call::new("k")
        .kind()
        .ttl(TTL)
        .answering::<Result<(), Error>>();
    let __held = match __call.acquire().await {
        ::core::result::Result::Ok(held) => held,
        ::core::result::Result::Err(answer) => return answer,
    };
    let __output = __held
        .run(async move {
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
