//! Certificates that are made for one test.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;

/// A certificate authority, a server's certificate and a client's, as files.
pub struct TestCertificates {
    folder: tempfile::TempDir,
    pub authority: CertifiedIssuer<'static, KeyPair>,
}

impl TestCertificates {
    /// An authority, and a client certificate: in one file with its key, and in separate files.
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let certificates = Self { folder: tempfile::tempdir().unwrap(), authority };
        certificates.write("ca.pem", &certificates.authority.pem());
        let (certificate, key) = certificates.issue("client");
        certificates.write("both.pem", &format!("{}{}", certificate.pem(), key.serialize_pem()));
        certificates.write("client.pem", &certificate.pem());
        certificates.write("client.key", &key.serialize_pem());
        certificates
    }

    /// A certificate for the host `name`, with its key.
    pub fn issue(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        self.issue_for(name, (1975, 4096))
    }

    /// The same, valid for a range of years.
    pub fn issue_for(&self, name: &str, years: (i32, i32)) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(years.0, 1, 1);
        params.not_after = rcgen::date_time_ymd(years.1, 1, 1);
        (params.signed_by(&key, &self.authority).unwrap(), key)
    }

    /// Writes another file into the same folder.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
    }

    /// The path of a file.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The TLS settings of a server called `name` that accepts every client.
    pub fn server(&self, name: &str) -> Arc<ServerConfig> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (certificate, key) = self.issue(name);
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let builder = ServerConfig::builder().with_no_client_auth();
        Arc::new(builder.with_single_cert(vec![certificate.der().clone()], key).unwrap())
    }
}
