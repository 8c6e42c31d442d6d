async fn hourly(&self) -> Result<(), Error> {
    ::leasehold::__private::Call::new("hourly")
        .once::<Result<(), Error>>(::core::time::Duration::from_secs(3600))
        .slot(&self.hourly)
        .run(async move |_| {
            let _ = &self;
            if let ::core::option::Option::Some(answer) = ::core::option::Option::None::<
                Result<(), Error>,
            > {
                return answer;
            }
            { Ok(()) }
        })
        .await
}
