//! The clock for leases: it also counts the time for which a machine is suspended.
//!
//! # Implementation details
//!
//! `Instant` does not advance while a machine is suspended, but a lease on a server still expires. So a
//! [`LeaseInstant`] is tokio's instant plus the time for which this machine has been suspended. The module adds the
//! suspension instead of reading another clock, because tests can pause tokio's time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// The process cannot distinguish a shorter suspension from the noise of reading two clocks.
const NOISE: Duration = Duration::from_nanos(NOISE_NANOS);
const NOISE_NANOS: u64 = 1_000_000;

/// The interval at which a sleeping task checks for a suspension of the machine, because timers do not advance during
/// one.
const RECHECK: Duration = Duration::from_secs(1);

/// Replaces longer durations: `Duration::MAX` means "forever", and adding it to a clock would overflow.
const FAR_AWAY: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// A point on the lease clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseInstant(Instant);

/// A moment, and the tokio instant from which it was computed, for code with a separate clock.
#[derive(Debug, Clone, Copy)]
pub struct ClockReading {
    /// The moment on the lease clock.
    pub moment: LeaseInstant,
    /// The instant of tokio's clock.
    pub instant: std::time::Instant,
}

impl ClockReading {
    /// Reads both clocks.
    #[must_use]
    pub fn now() -> Self {
        let now = Instant::now();
        let suspended = suspended(now);
        let moment = match suspended.is_zero() {
            true => now,
            false => now + suspended,
        };
        Self {
            moment: LeaseInstant(moment),
            instant: now.into_std(),
        }
    }
}

impl LeaseInstant {
    /// Returns the current moment.
    #[must_use]
    pub fn now() -> Self {
        ClockReading::now().moment
    }

    /// Returns the moment after a duration. Durations of more than 30 years count as 30 years.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0 + duration.min(FAR_AWAY))
    }

    /// Returns the time since an earlier moment, or zero if that moment is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// Returns the time until this moment, or zero if it has passed.
    #[must_use]
    pub fn remaining(self) -> Duration {
        self.since(Self::now())
    }

    /// Returns whether this moment has passed.
    #[must_use]
    pub fn has_passed(self) -> bool {
        self.remaining().is_zero()
    }
}

/// Sleeps until a moment, also if the machine is suspended meanwhile.
pub async fn sleep_until(moment: LeaseInstant) {
    loop {
        let left = moment.remaining();
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(RECHECK)).await;
    }
}

/// Sleeps like [`sleep_until`]; never returns if `moment` is `None`.
pub async fn at(moment: Option<LeaseInstant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Returns the time of day, which may jump. Use it only to find the slot of a schedule, never to measure a duration.
#[cfg(feature = "cron")]
pub(crate) fn wall_time() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

/// Returns the time of the machine, which continues while tokio's clock is paused. Only limits of tests use it.
#[cfg(feature = "test-util")]
#[must_use]
pub fn machine_time() -> std::time::Instant {
    std::time::Instant::now()
}

/// Returns the time of day in microseconds since 1970, which may jump. Use it only to compare with other machines'
/// clocks, never to measure a duration.
#[must_use]
pub fn micros_of_day() -> u64 {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since_1970.unwrap_or_default().as_micros()).unwrap_or(u64::MAX)
}

/// Returns the suspension time that this process has detected, which never decreases. The caller has read `now` just
/// before the call.
fn suspended(now: Instant) -> Duration {
    static SEEN_NANOS: AtomicU64 = AtomicU64::new(0);
    let seen = SEEN_NANOS.load(Ordering::Relaxed);
    let noted = || Duration::from_nanos(seen) + simulated();
    if platform::nanos_suspended_at_most(now.into_std()) <= seen + NOISE_NANOS {
        return noted();
    }
    let seen = Duration::from_nanos(seen);
    let measured = platform::suspended();
    if measured <= seen + NOISE {
        return noted();
    }
    let nanos = u64::try_from(measured.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(SEEN_NANOS.fetch_max(nanos, Ordering::Relaxed).max(nanos)) + simulated()
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod platform {
    use std::sync::LazyLock;
    use std::time::{Duration, Instant};

    use rustix::time::{ClockId, Timespec, clock_gettime};

    /// If two readings of one clock are closer than this, a reading of the other clock between them is accurate.
    const PROMPT_NANOS: u64 = 100_000;
    const TRIES: usize = 8;

    /// An instant, and the value of `CLOCK_MONOTONIC` at that instant or slightly before, because an `Instant` does not
    /// reveal its reading.
    static ORIGIN: LazyLock<(Instant, u64)> = LazyLock::new(|| {
        let (before, instant) = read_adjacent(Instant::now);
        (instant, before)
    });

    /// Returns an upper bound of the suspension. The caller has read `now` before, so a pause between the readings adds
    /// to the difference. Usually this bound suffices, and the caller reads no further clock. If a test has paused
    /// tokio's time, the bound is meaningless.
    pub(super) fn nanos_suspended_at_most(now: Instant) -> u64 {
        let (origin, monotonic) = *ORIGIN;
        let awake = match now.checked_duration_since(origin) {
            Some(later) => monotonic.saturating_add(nanos(later)),
            None => monotonic.saturating_sub(nanos(origin.saturating_duration_since(now))),
        };
        read(ClockId::Boottime).saturating_sub(awake)
    }

    /// Returns the suspension: `CLOCK_BOOTTIME` counts it and `CLOCK_MONOTONIC` does not.
    pub(super) fn suspended() -> Duration {
        let (before, boot) = read_adjacent(|| read(ClockId::Boottime));
        Duration::from_nanos(boot.saturating_sub(before))
    }

    /// Reads `CLOCK_MONOTONIC`, and immediately afterwards the other clock.
    fn read_adjacent<T>(read_other: impl Fn() -> T) -> (u64, T) {
        let look = || {
            let before = read(ClockId::Monotonic);
            let other = read_other();
            // A pause of the thread between the readings would count as suspension, so the closest readings are used.
            let width = read(ClockId::Monotonic).saturating_sub(before);
            (width, (before, other))
        };
        let mut best = look();
        for _ in 1..TRIES {
            if best.0 < PROMPT_NANOS {
                break;
            }
            let next = look();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }

    /// Returns nanoseconds, because integers compare fast.
    fn read(clock: ClockId) -> u64 {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
        let seconds = u64::try_from(tv_sec).unwrap_or_default();
        let nanos = u64::try_from(tv_nsec).unwrap_or_default();
        seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
    }

    fn nanos(duration: Duration) -> u64 {
        u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod platform {
    use std::sync::LazyLock;
    use std::time::{Duration, Instant, SystemTime};

    use parking_lot::Mutex;

    use super::gained::Gained;

    static GAINED: LazyLock<Mutex<WallClockDrift>> =
        LazyLock::new(|| Mutex::new(WallClockDrift::since(Instant::now(), SystemTime::now())));

    pub(super) fn nanos_suspended_at_most(_now: Instant) -> u64 {
        u64::try_from(suspended().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns the suspension: the time that the wall clock gains on the monotonic clock. So leases end early if the
    /// wall clock is set forward. If it is set back, only a suspension between the same two checks is not detected.
    pub(super) fn suspended() -> Duration {
        GAINED.lock().look(Instant::now(), SystemTime::now())
    }
}

/// Measures the time that a wall clock has gained on a monotonic clock, ignoring losses.
#[cfg(any(test, not(any(target_os = "linux", target_os = "android"))))]
mod gained {
    use std::time::{Duration, Instant, SystemTime};

    use super::NOISE;

    #[derive(Debug)]
    pub(super) struct WallClockDrift {
        monotonic: Instant,
        wall: SystemTime,
        total: Duration,
    }

    impl WallClockDrift {
        pub(super) fn since(monotonic: Instant, wall: SystemTime) -> Self {
            Self {
                monotonic,
                wall,
                total: Duration::ZERO,
            }
        }

        pub(super) fn look(&mut self, monotonic: Instant, wall: SystemTime) -> Duration {
            let expected = self.wall + monotonic.saturating_duration_since(self.monotonic);
            match wall.duration_since(expected) {
                // A gain too small to distinguish from noise counts once it has accumulated.
                Ok(gained) if gained <= NOISE => {}
                Ok(gained) => {
                    self.total += gained;
                    (self.monotonic, self.wall) = (monotonic, wall);
                }
                Err(_set_back) => (self.monotonic, self.wall) = (monotonic, wall),
            }
            self.total
        }
    }
}

#[cfg(not(any(test, feature = "test-util")))]
fn simulated() -> Duration {
    Duration::ZERO
}

#[cfg(any(test, feature = "test-util"))]
thread_local! {
    static SIMULATED: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) };
}

#[cfg(any(test, feature = "test-util"))]
fn simulated() -> Duration {
    SIMULATED.get()
}

/// Makes this thread's lease clock behave as if the machine had been suspended for `duration`.
#[cfg(any(test, feature = "test-util"))]
pub fn simulate_suspension(duration: Duration) {
    SIMULATED.set(SIMULATED.get() + duration);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_lease_clock_follows_paused_time_exactly() {
        let start = LeaseInstant::now();
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(LeaseInstant::now().since(start), Duration::from_secs(3600));
    }

    #[tokio::test(start_paused = true)]
    async fn suspended_time_counts_although_timers_did_not_advance() {
        let end = LeaseInstant::now().after(Duration::from_secs(10));
        simulate_suspension(Duration::from_secs(9));
        assert_eq!(end.remaining(), Duration::from_secs(1));
        let started = Instant::now();
        simulate_suspension(Duration::from_secs(60));
        sleep_until(end).await;
        assert_eq!(started.elapsed(), Duration::ZERO);
    }

    #[test]
    fn setting_the_wall_clock_does_not_hide_a_later_suspension() {
        let (start, wall) = (std::time::Instant::now(), std::time::SystemTime::UNIX_EPOCH);
        let minute = Duration::from_secs(60);
        let mut gained = gained::WallClockDrift::since(start, wall + minute * 600);
        let mut look = |monotonic: u32, wall_minutes: u32| {
            gained.look(start + minute * monotonic, wall + minute * wall_minutes)
        };
        assert_eq!(look(1, 601), Duration::ZERO);
        // The wall clock is set forward by an hour, then back by two, and the machine is then suspended for half an
        // hour.
        assert_eq!(look(2, 662), minute * 60);
        assert_eq!(look(3, 543), minute * 60);
        assert_eq!(look(4, 574), minute * 90);
    }

    #[test]
    fn a_deadline_of_the_maximum_duration_does_not_overflow() {
        assert!(!LeaseInstant::now().after(Duration::MAX).has_passed());
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[test]
    fn the_fast_suspension_reading_is_close_to_the_exact_one_and_not_below() {
        let asleep = Duration::from_secs(5);
        for _ in 0..100 {
            let quick = |now| Duration::from_nanos(platform::nanos_suspended_at_most(now));
            let looks = (0..100).map(|_| quick(std::time::Instant::now()));
            let (least, careful) = (looks.min().unwrap(), platform::suspended());
            assert!(least + NOISE / 2 >= careful && least <= careful + NOISE / 2);
            // This instant behaves as if tokio's clock had been paused for `asleep`.
            let still = std::time::Instant::now().checked_sub(asleep).unwrap();
            assert!(quick(still) + NOISE / 2 >= careful + asleep);
        }
    }

    #[test]
    fn repeated_suspension_readings_are_equal() {
        let first = suspended(Instant::now());
        assert!((0..10_000).all(|_| suspended(Instant::now()) == first));
    }
}
