//! The crypto provider that rustls uses.

use rustls::crypto::{CryptoProvider, ring};

/// rustls panics where the process has not chosen who computes. A choice that was made stays.
pub(crate) fn choose() {
    if CryptoProvider::get_default().is_none() {
        // Fails if another thread has chosen meanwhile, which will do.
        let _chosen_already = ring::default_provider().install_default();
    }
}
