async fn report(day: Date) -> Result<Report, Error> {
    ::leasehold::__private::Call::new(
            ::leasehold::__private::format!(
                "report:{}",
                ::leasehold::__private::escaped(::leasehold::__private::format!("{}",
                day))
            ),
        )
        .once::<Result<Report, Error>>(::core::time::Duration::from_secs(604800))
        .run(async move |_| {
            let _ = &day;
            if let ::core::option::Option::Some(answer) = ::core::option::Option::None::<
                Result<Report, Error>,
            > {
                return answer;
            }
            { sum(day).await }
        })
        .await
}
