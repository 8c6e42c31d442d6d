use std::sync::{Arc, Mutex};

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry;

/// The names of the events in this thread.
#[derive(Clone, Default)]
pub(crate) struct Names(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Names {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let told = format!("{} {}", metadata.level(), metadata.name());
        self.0.lock().unwrap().push(told);
    }
}

impl Names {
    pub(crate) fn listen(&self) -> DefaultGuard {
        tracing::subscriber::set_default(registry().with(self.clone()))
    }

    pub(crate) fn all(&self) -> Vec<String> {
        let names = self.0.lock().unwrap();
        let ours = names.iter().filter(|name| name.contains("leasehold_tower"));
        ours.cloned().collect()
    }
}
