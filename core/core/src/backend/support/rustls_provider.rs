//! The crypto provider that rustls uses.

use rustls::crypto::{CryptoProvider, ring};

/// Sets a provider unless the process has one, because rustls panics without a provider.
pub fn choose() {
    if CryptoProvider::get_default().is_none() {
        // This fails if another thread has set a provider concurrently, which is fine.
        let _chosen_already = ring::default_provider().install_default();
    }
}
