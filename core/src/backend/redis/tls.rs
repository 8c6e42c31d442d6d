use redis::ConnectionAddr;
use rustls::crypto::{CryptoProvider, ring};

/// rustls panics where the process has not chosen who computes. A choice that was made stays.
pub(crate) fn choose_provider(address: &ConnectionAddr) {
    if matches!(address, ConnectionAddr::TcpTls { .. }) && CryptoProvider::get_default().is_none() {
        // Fails if another thread has chosen meanwhile, which will do.
        let _chosen_already = ring::default_provider().install_default();
    }
}

#[cfg(test)]
mod tests {
    use redis::IntoConnectionInfo;

    use super::*;

    #[test]
    fn a_provider_is_chosen_for_tls_alone() {
        let choose = |url: &str| choose_provider(url.into_connection_info().unwrap().addr());
        choose("redis://host");
        assert!(CryptoProvider::get_default().is_none());
        choose("rediss://host");
        assert!(CryptoProvider::get_default().is_some());
    }
}
