async fn nightly(&self) -> Result<(), Error> {
    ::leasehold::__private::Call::new("nightly")
        .manager(&self.locks)
        .ttl(::core::time::Duration::from_secs(10))
        .once::<Result<(), Error>>(KEEP)
        .keep_failure(::core::time::Duration::from_secs(0))
        .slot_of("0 3 * * *")
        .run(async move |lock| {
            let _ = &self;
            if let ::core::option::Option::Some(answer) = ::core::option::Option::None::<
                Result<(), Error>,
            > {
                return answer;
            }
            { self.clean(lock.token()).await }
        })
        .await
}
