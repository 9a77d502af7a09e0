//! Certificates of the tests: an authority, and the files of nodes.

use evergraph_cluster::record_id::NodeId;
use evergraph_cluster::transport::tcp::identity::{IdentityFiles, NodeIdentity};
use evergraph_cluster::transport::tcp::node_name::ClusterId;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use tempfile::TempDir;

/// Signs certificates.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
pub struct Signed {
    certificate: String,
    key: String,
}

/// A cluster: its authority, its id, and a folder for files of nodes.
pub struct Site {
    pub authority: Arc<Authority>,
    pub cluster: ClusterId,
    folder: TempDir,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub fn certificate(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// For this name, of a server and of a client.
    pub fn sign(&self, name: String) -> Signed {
        let mut params = CertificateParams::new([name]).unwrap();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(4000, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Signed { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

impl Signed {
    pub fn parts(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap();
        (vec![certificate], PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap())
    }
}

impl Site {
    pub fn new() -> Self {
        Self::of(Arc::new(Authority::new("the cluster's")), ClusterId([7; 16]))
    }

    /// With the same id and another authority.
    pub fn with_other_authority(&self) -> Self {
        Self::of(Arc::new(Authority::new("another")), self.cluster)
    }

    /// With the same authority and another id.
    pub fn with_other_cluster(&self) -> Self {
        Self::of(Arc::clone(&self.authority), ClusterId([8; 16]))
    }

    fn of(authority: Arc<Authority>, cluster: ClusterId) -> Self {
        Self { authority, cluster, folder: TempDir::new().unwrap() }
    }

    /// The certificate of a node.
    pub fn sign(&self, node: u16) -> Signed {
        self.authority.sign(self.cluster.node_name(NodeId(node)))
    }

    /// What a node reads from its files.
    pub fn identity(&self, node: u16) -> NodeIdentity {
        let path = |name: &str| self.folder.path().join(format!("{node}.{name}"));
        let files =
            IdentityFiles { authority: path("ca"), certificate: path("certificate"), key: path("key") };
        let signed = self.sign(node);
        std::fs::write(&files.authority, self.authority.0.pem()).unwrap();
        std::fs::write(&files.certificate, signed.certificate).unwrap();
        std::fs::write(&files.key, signed.key).unwrap();
        std::fs::set_permissions(&files.key, Permissions::from_mode(0o600)).unwrap();
        NodeIdentity::read(self.cluster, NodeId(node), &files).unwrap()
    }
}
