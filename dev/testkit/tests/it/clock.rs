use std::error::Error;
use std::time::{Duration, SystemTime};

use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::processes::ChildProcess;

const PATIENCE: Duration = Duration::from_secs(5);

/// Returns how far ahead the clock of a process is.
async fn ahead(process: &mut ChildProcess) -> Result<i64, Box<dyn Error>> {
    process.tell("")?;
    let theirs: i64 = process.line_where(PATIENCE, |_| true).await?.parse()?;
    let ours = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(theirs - i64::try_from(ours.as_secs())?)
}

#[tokio::test]
async fn a_process_sees_the_clock_it_was_given_and_sees_it_jump() -> Result<(), Box<dyn Error>> {
    let shim = ClockShim::off_by(-3_600)?;
    let clock = ChildProcess::of("bash").args(["-c", "while read; do echo $EPOCHSECONDS; done"]);
    let mut clock = shim.worn_by(clock).start()?;
    assert!((ahead(&mut clock).await? + 3_600).abs() <= 2);
    shim.set(31)?;
    assert!((ahead(&mut clock).await? - 31).abs() <= 2);
    Ok(())
}
