use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry;

/// The log of this thread, as text.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(text)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    pub(crate) fn listen(&self) -> DefaultGuard {
        let log = self.clone();
        let layer = tracing_subscriber::fmt::layer().with_ansi(false);
        let layer = layer.with_writer(move || log.clone());
        tracing::subscriber::set_default(registry().with(layer))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// The names of the events of this thread.
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
