fn ship<'life0, 'async_trait>(
    &'life0 self,
    __arg1: Path<u64>,
) -> ::core::pin::Pin<
    Box<
        dyn ::core::future::Future<
            Output = Result<u64, Error>,
        > + ::core::marker::Send + 'async_trait,
    >,
>
where
    'life0: 'async_trait,
    Self: 'async_trait,
{
    ::std::boxed::Box::pin(async move {
        if let ::core::option::Option::Some(__ret) = ::core::option::Option::None::<
            Result<u64, Error>,
        > {
            return __ret;
        }
        let __self = self;
        let Path(id) = {
            let __arg1 = __arg1;
            __arg1
        };
        let __call = ::leasehold::__private::Call::new(
                ::leasehold::__private::format!(
                    "order:{}:{}",
                    ::leasehold::__private::escaped(::leasehold::__private::format!("{}",
                    id)),
                    ::leasehold::__private::escaped(::leasehold::__private::format!("{}",
                    __self.shop))
                ),
            )
            .manager(&__self.locks)
            .answering::<Result<u64, Error>>();
        let __held = match __call.acquire().await {
            ::core::result::Result::Ok(held) => held,
            ::core::result::Result::Err(answer) => return answer,
        };
        let __output = __held
            .run(async move {
                let _ = (&__self, &id);
                if let ::core::option::Option::Some(answer) = ::core::option::Option::None::<
                    Result<u64, Error>,
                > {
                    return answer;
                }
                {
                    let __ret: Result<u64, Error> = { __self.pack(id).await };
                    #[allow(unreachable_code)] __ret
                }
            })
            .await;
        __held.release(__output).await
    })
}
