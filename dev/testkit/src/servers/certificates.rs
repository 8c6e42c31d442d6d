//! Certificates for one server and its clients, valid on this machine only.

use std::io;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// What TLS needs, as PEM. The same authority has signed both certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificates {
    /// The authority's certificate, to be trusted by clients.
    pub authority: String,
    /// The server's, for `localhost` and 127.0.0.1.
    pub server: String,
    /// The server's private key.
    pub server_key: String,
    /// A client's, for servers that ask for one.
    pub client: String,
    /// The client's private key.
    pub client_key: String,
}

/// The files in a server's folder.
pub(super) const AUTHORITY: &str = "authority.pem";
pub(super) const SERVER: &str = "server.pem";
pub(super) const SERVER_KEY: &str = "server.key";
/// Key and certificate in one file.
pub(super) const SERVER_STORE: &str = "server-store.pem";

impl Certificates {
    /// Makes new ones.
    pub(super) fn make() -> Result<Self, rcgen::Error> {
        let mut params = named("Leasehold's test authority", &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let sign = |params: CertificateParams| {
            let key = KeyPair::generate()?;
            let certificate = params.signed_by(&key, &authority)?;
            Ok::<_, rcgen::Error>((certificate.pem(), key.serialize_pem()))
        };
        let (server, server_key) = sign(named("server", &["localhost", "127.0.0.1"])?)?;
        let (client, client_key) = sign(named("client", &["client"])?)?;
        Ok(Self {
            authority: authority.pem(),
            server,
            server_key,
            client,
            client_key,
        })
    }

    /// Writes what the server reads into its folder.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let store = format!("{}{}", self.server_key, self.server);
        let files = [
            (AUTHORITY, &self.authority),
            (SERVER, &self.server),
            (SERVER_KEY, &self.server_key),
            (SERVER_STORE, &store),
        ];
        files
            .iter()
            .try_for_each(|(name, pem)| std::fs::write(folder.join(name), pem))
    }
}

fn named(name: &str, hosts: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    let hosts: Vec<String> = hosts.iter().map(|&it| it.to_owned()).collect();
    let mut params = CertificateParams::new(hosts)?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}
