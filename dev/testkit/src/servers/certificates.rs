//! Certificates for one server and its clients, valid on this machine only.

use std::io;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};

use super::error::ServerError;

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
    authority_key: String,
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
        let authority = authority(KeyPair::generate()?)?;
        let (server, server_key) = signed(&server()?, &authority)?;
        let (client, client_key) = signed(&named("client", &["client"])?, &authority)?;
        Ok(Self {
            authority: authority.pem(),
            server,
            server_key,
            client,
            client_key,
            authority_key: authority.key().serialize_pem(),
        })
    }

    /// With another certificate for the server, of the same authority.
    ///
    /// # Errors
    ///
    /// [`ServerError::Certificates`] if it cannot be made.
    pub fn renewed(&self) -> Result<Self, ServerError> {
        Ok(self.with_server(&server()?)?)
    }

    /// As [`renewed`](Self::renewed), and the certificate is no longer valid.
    ///
    /// # Errors
    ///
    /// As of [`renewed`](Self::renewed).
    pub fn expired(&self) -> Result<Self, ServerError> {
        let mut expired = server()?;
        expired.not_after = date_time_ymd(2001, 1, 1);
        Ok(self.with_server(&expired)?)
    }

    fn with_server(&self, server: &CertificateParams) -> Result<Self, rcgen::Error> {
        let authority = authority(KeyPair::from_pem(&self.authority_key)?)?;
        let (server, server_key) = signed(server, &authority)?;
        Ok(Self {
            server,
            server_key,
            ..self.clone()
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

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(key: KeyPair) -> Result<Authority, rcgen::Error> {
    let mut params = named("Leasehold's test authority", &[])?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, key)
}

/// A certificate and its private key.
fn signed(
    params: &CertificateParams,
    authority: &Authority,
) -> Result<(String, String), rcgen::Error> {
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, authority)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn server() -> Result<CertificateParams, rcgen::Error> {
    named("server", &["localhost", "127.0.0.1"])
}

fn named(name: &str, hosts: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    let hosts: Vec<String> = hosts.iter().map(|&it| it.to_owned()).collect();
    let mut params = CertificateParams::new(hosts)?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}
