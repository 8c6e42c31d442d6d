use redis::ConnectionAddr;

use crate::backend::provider;

pub(crate) fn choose_provider(address: &ConnectionAddr) {
    if matches!(address, ConnectionAddr::TcpTls { .. }) {
        provider::choose();
    }
}

#[cfg(test)]
mod tests {
    use redis::IntoConnectionInfo;
    use rustls::crypto::CryptoProvider;

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
