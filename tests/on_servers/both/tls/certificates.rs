//! A certificate authority, and its certificates.

use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// The file with its certificate.
    pub file: PathBuf,
    _directory: TempDir,
}

pub struct Signed {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let file = directory.path().join("ca.pem");
        std::fs::write(&file, certificate.pem()).unwrap();
        Authority { issuer: Issuer::new(params, key), file, _directory: directory }
    }

    /// A certificate for a server of this name or address.
    pub fn signs(&self, host: &str) -> Signed {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([host.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Signed { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}
