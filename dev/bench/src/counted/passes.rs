use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use leasehold_bench::BoxError;
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};

const NAME: &str = "leasehold.local_handoffs";

/// Counts the direct hand-offs in this process, with the library's metrics.
#[derive(Debug, Clone, Default)]
pub(crate) struct Passes(Arc<AtomicU64>);

impl Passes {
    /// Starts counting.
    pub(crate) fn count() -> Result<Self, BoxError> {
        let passes = Self::default();
        metrics::set_global_recorder(passes.clone())?;
        Ok(passes)
    }

    pub(crate) fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Other metrics are not recorded, to keep the overhead small.
impl Recorder for Passes {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        match key.name() {
            NAME => Counter::from_arc(Arc::clone(&self.0)),
            _ => Counter::noop(),
        }
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

#[cfg(test)]
mod tests {
    use metrics::{counter, with_local_recorder};

    use super::*;

    #[test]
    fn recorder_counts_only_local_hand_offs() {
        let passes = Passes::default();
        with_local_recorder(&passes, || {
            counter!(NAME).increment(1);
            counter!("leasehold.acquires", "outcome" => "acquired").increment(1);
            counter!(NAME).increment(1);
        });
        assert_eq!(passes.so_far(), 2);
    }
}
