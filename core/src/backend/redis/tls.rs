use redis::ConnectionAddr;

use crate::backend::provider;

pub(crate) fn choose_provider(address: &ConnectionAddr) {
    if is_tls(address) {
        provider::choose();
    }
}

const fn is_tls(address: &ConnectionAddr) -> bool {
    matches!(address, ConnectionAddr::TcpTls { .. })
}

#[cfg(test)]
mod tests {
    use redis::IntoConnectionInfo;
    use rustls::crypto::CryptoProvider;

    use super::*;

    #[test]
    fn a_provider_is_chosen_for_tls_alone() {
        // Other tests may have chosen one for this process.
        let address = |url: &str| url.into_connection_info().unwrap().addr().clone();
        assert!(!is_tls(&address("redis://host")));
        assert!(is_tls(&address("rediss://host")));
        choose_provider(&address("rediss://host"));
        assert!(CryptoProvider::get_default().is_some());
    }
}
