//! Certificates of the tests: a root, and what it signs.

use evergraph_cluster::log::server_access::LogClientCertificate;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Signs certificates.
pub struct Root(CertifiedIssuer<'static, KeyPair>);

/// Files of a certificate and its key, in PEM.
pub struct SignedFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl SignedFiles {
    /// Those of a client.
    pub fn client_certificate(&self) -> LogClientCertificate {
        LogClientCertificate { certificate: self.certificate.clone(), key: self.key.clone() }
    }
}

impl Root {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Writes its certificate.
    pub fn write(&self, folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(format!("{name}.pem"));
        fs::write(&path, self.0.pem()).unwrap();
        path
    }

    /// A certificate for this machine, of a server and of a client, and its key, which its owner alone can read.
    pub fn sign(&self, folder: &Path, name: &str) -> SignedFiles {
        let hosts = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let files = SignedFiles {
            certificate: folder.join(format!("{name}.pem")),
            key: folder.join(format!("{name}.key")),
        };
        fs::write(&files.certificate, certificate.pem()).unwrap();
        fs::write(&files.key, key.serialize_pem()).unwrap();
        fs::set_permissions(&files.key, fs::Permissions::from_mode(0o600)).unwrap();
        files
    }
}
