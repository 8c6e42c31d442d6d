use std::error::Error;
use std::time::{Duration, SystemTime};

use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::processes::ChildProcess;

const PATIENCE: Duration = Duration::from_secs(60);

fn now() -> Result<i64, Box<dyn Error>> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(i64::try_from(now.as_secs())?)
}

/// Returns whether the clock of a process is ahead by this time in seconds.
async fn is_ahead(process: &mut ChildProcess, seconds: i64) -> Result<bool, Box<dyn Error>> {
    let before = now()?;
    process.tell("")?;
    let theirs: i64 = process.line_where(PATIENCE, |_| true).await?.parse()?;
    Ok((before - 2..=now()? + 2).contains(&(theirs - seconds)))
}

#[tokio::test]
async fn process_sees_its_shifted_clock_and_later_jumps() -> Result<(), Box<dyn Error>> {
    let shim = ClockShim::off_by(-3_600)?;
    let clock = ChildProcess::of("bash").args(["-c", "while read; do echo $EPOCHSECONDS; done"]);
    let mut clock = shim.worn_by(clock).start()?;
    assert!(is_ahead(&mut clock, -3_600).await?);
    shim.set(31)?;
    assert!(is_ahead(&mut clock, 31).await?);
    Ok(())
}
