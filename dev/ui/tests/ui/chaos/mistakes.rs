use leasehold::chaos::Chaos;

#[leasehold::chaos_test]
fn not_async(chaos: Chaos) {
    drop(chaos);
}

#[leasehold::chaos_test]
async fn with_a_result(chaos: Chaos) -> Result<(), leasehold::Error> {
    chaos.locks().lock("k").acquire().await?.release().await
}

#[leasehold::chaos_test(seeds = 7)]
async fn unknown_option(_chaos: Chaos) {}

#[leasehold::chaos_test(seed = 7, seed = 8)]
async fn option_twice(_chaos: Chaos) {}

#[leasehold::chaos_test(time_limit = 5)]
async fn limit_without_unit(_chaos: Chaos) {}

#[leasehold::chaos_test]
struct NotAFunction;

fn main() {}
