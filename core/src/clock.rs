//! The clock by which leases are judged: it counts the time that a machine is suspended.
//!
//! # Implementation details
//!
//! `Instant` stands still while a machine sleeps; a lease on a server does not. So a [`LeaseInstant`] is
//! tokio's instant plus the time that this machine has spent suspended. Adding the suspension, in
//! place of reading another clock, keeps everything on tokio's time, which tests can pause.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// A suspension shorter than this is not told apart from the noise of reading two clocks.
const NOISE: Duration = Duration::from_nanos(NOISE_NANOS);
const NOISE_NANOS: u64 = 1_000_000;

/// How often a sleeper looks whether the machine was suspended meanwhile: timers stand still then.
const RECHECK: Duration = Duration::from_secs(1);

/// `Duration::MAX` and its like mean "for ever", which no clock can add.
const FAR_AWAY: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// A point on the lease clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LeaseInstant(Instant);

/// A moment, and tokio's instant that was read for it: for who is asked then and has a clock of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockReading {
    pub(crate) moment: LeaseInstant,
    pub(crate) instant: std::time::Instant,
}

impl ClockReading {
    pub(crate) fn now() -> Self {
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
    pub(crate) fn now() -> Self {
        ClockReading::now().moment
    }

    pub(crate) fn after(self, duration: Duration) -> Self {
        Self(self.0 + duration.min(FAR_AWAY))
    }

    pub(crate) fn since(self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    pub(crate) fn remaining(self) -> Duration {
        self.since(Self::now())
    }

    pub(crate) fn has_passed(self) -> bool {
        self.remaining().is_zero()
    }
}

pub(crate) async fn sleep_until(moment: LeaseInstant) {
    loop {
        let left = moment.remaining();
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(RECHECK)).await;
    }
}

/// As [`sleep_until`]; never, if there is no moment.
pub(crate) async fn at(moment: Option<LeaseInstant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Microseconds since 1970 by this machine's time of day, which may jump: for what is compared with other machines'
/// clocks, and never for how long something takes.
#[cfg(feature = "redlock")]
pub(crate) fn micros_of_day() -> u64 {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since_1970.unwrap_or_default().as_micros()).unwrap_or(u64::MAX)
}

/// The time this machine has been suspended, as far as noticed; never shrinks. `now` was read just before.
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

    /// Between two readings of one clock that are closer than this, the other's is good.
    const PROMPT_NANOS: u64 = 100_000;
    const TRIES: usize = 8;

    /// An instant, and `CLOCK_MONOTONIC` at it or a little before: what an `Instant` reads it does not tell.
    static ORIGIN: LazyLock<(Instant, u64)> = LazyLock::new(|| {
        let (before, instant) = read_adjacent(Instant::now);
        (instant, before)
    });

    /// Never too little: `now` was read before, and a pause between the readings adds to what they show. Mostly this is
    /// all that is asked. Where a test has paused the time of which `now` is, it says nothing.
    pub(super) fn nanos_suspended_at_most(now: Instant) -> u64 {
        let (origin, monotonic) = *ORIGIN;
        let awake = match now.checked_duration_since(origin) {
            Some(later) => monotonic.saturating_add(nanos(later)),
            None => monotonic.saturating_sub(nanos(origin.saturating_duration_since(now))),
        };
        read(ClockId::Boottime).saturating_sub(awake)
    }

    /// `CLOCK_BOOTTIME` counts suspension and `CLOCK_MONOTONIC` does not.
    pub(super) fn suspended() -> Duration {
        let (before, boot) = read_adjacent(|| read(ClockId::Boottime));
        Duration::from_nanos(boot.saturating_sub(before))
    }

    /// Reads a clock, and `CLOCK_MONOTONIC` just before.
    fn read_adjacent<T>(read_other: impl Fn() -> T) -> (u64, T) {
        let look = || {
            let before = read(ClockId::Monotonic);
            let other = read_other();
            // A thread that loses its core between the readings would take the pause for suspension.
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

    /// In nanoseconds, as whole numbers are quick to compare.
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

    /// The stricter of the two clocks: what the wall clock gains on the monotonic one counts as suspension,
    /// so a wall clock that is set forward ends leases early. One that is set back hides a suspension
    /// that falls between two looks at it, and no other.
    pub(super) fn suspended() -> Duration {
        GAINED.lock().look(Instant::now(), SystemTime::now())
    }
}

/// What a wall clock has gained on a monotonic one, losses not counted.
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
                // Too little to tell from noise: it counts when it has added up.
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

#[cfg(not(test))]
fn simulated() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
thread_local! {
    static SIMULATED: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) };
}

#[cfg(test)]
fn simulated() -> Duration {
    SIMULATED.get()
}

/// Makes this thread's lease clock behave as if the machine had slept for `duration`.
#[cfg(test)]
pub(crate) fn simulate_suspension(duration: Duration) {
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
    async fn suspension_counts_although_timers_stood_still() {
        let end = LeaseInstant::now().after(Duration::from_secs(10));
        simulate_suspension(Duration::from_secs(9));
        assert_eq!(end.remaining(), Duration::from_secs(1));
        let started = Instant::now();
        simulate_suspension(Duration::from_secs(60));
        sleep_until(end).await;
        assert_eq!(started.elapsed(), Duration::ZERO);
    }

    #[test]
    fn a_wall_clock_that_was_set_hides_no_later_suspension() {
        let (start, wall) = (std::time::Instant::now(), std::time::SystemTime::UNIX_EPOCH);
        let minute = Duration::from_secs(60);
        let mut gained = gained::WallClockDrift::since(start, wall + minute * 600);
        let mut look = |monotonic: u32, wall_minutes: u32| {
            gained.look(start + minute * monotonic, wall + minute * wall_minutes)
        };
        assert_eq!(look(1, 601), Duration::ZERO);
        // Set forward by an hour, then back by two, then asleep for half an hour.
        assert_eq!(look(2, 662), minute * 60);
        assert_eq!(look(3, 543), minute * 60);
        assert_eq!(look(4, 574), minute * 90);
    }

    #[test]
    fn a_wait_for_ever_does_not_overflow() {
        assert!(!LeaseInstant::now().after(Duration::MAX).has_passed());
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[test]
    fn the_quick_look_at_the_suspension_is_near_the_careful_one_and_never_below() {
        let asleep = Duration::from_secs(5);
        for _ in 0..100 {
            let quick = |now| Duration::from_nanos(platform::nanos_suspended_at_most(now));
            let looks = (0..100).map(|_| quick(std::time::Instant::now()));
            let (least, careful) = (looks.min().unwrap(), platform::suspended());
            assert!(least + NOISE / 2 >= careful && least <= careful + NOISE / 2);
            // An instant that has stood still for so long.
            let still = std::time::Instant::now().checked_sub(asleep).unwrap();
            assert!(quick(still) + NOISE / 2 >= careful + asleep);
        }
    }

    #[test]
    fn reading_the_suspension_is_free_of_noise() {
        let first = suspended(Instant::now());
        assert!((0..10_000).all(|_| suspended(Instant::now()) == first));
    }
}
