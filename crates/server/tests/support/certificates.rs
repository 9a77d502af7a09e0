//! Certificates of the tests: a root, and what it signs.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Signs certificates.
pub struct Root(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
pub struct Signed {
    pub certificate: String,
    pub key: String,
}

/// When a certificate holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    Now,
    Expired,
}

impl Root {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for these names and addresses, of a server and of a client.
    pub fn sign(&self, names: &[&str], validity: Validity) -> Signed {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(if validity == Validity::Now { 4000 } else { 2001 }, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Signed { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

impl Signed {
    /// Writes both into `folder`, the key readable by its owner alone.
    pub fn write(&self, folder: &Path) -> (PathBuf, PathBuf) {
        let (certificate, key) = (folder.join("server.pem"), folder.join("server.key"));
        std::fs::write(&certificate, &self.certificate).unwrap();
        std::fs::write(&key, &self.key).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        (certificate, key)
    }

    /// As a client shows it.
    pub fn parts(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap();
        (vec![certificate], PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap())
    }
}
