//! Identity: the files with which a node proves who it is, and learns who others are.
//!
//! ```text
//! authority    the certificate of the cluster's CA: whom this node trusts, and nobody else
//! certificate  this node's, and those between it and the CA's if there are any; for its name (`node_name.rs`),
//!              as a server and as a client
//! key          of the certificate; no other user of the machine can read it
//! ```
//!
//! All are PEM. Whatever would make the other nodes refuse this one is found here, when they are read, with the
//! file's name and what to do. Versions: TLS 1.3 alone, by rustls and ring. No session is taken up again: each
//! connection proves anew who is there, and that its certificate is still valid.

use crate::record_id::NodeId;
use crate::transport::tcp::certificate::{check_certificate, tls_error};
use crate::transport::tcp::node_name::ClusterId;
use evergraph_graph::error::{Error, ErrorKind, Result};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{ClientConfig, Error as TlsError, RootCertStore, ServerConfig};
use std::fmt;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files of a node, in PEM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdentityFiles {
    /// The certificate of the cluster's CA.
    pub authority: PathBuf,
    /// The node's certificate, and those between it and the CA's.
    pub certificate: PathBuf,
    /// The key of the node's certificate.
    pub key: PathBuf,
}

/// Who a node is, and whom it trusts.
#[derive(Clone)]
pub struct NodeIdentity {
    cluster: ClusterId,
    node: NodeId,
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

impl NodeIdentity {
    /// Reads the files of `node`.
    ///
    /// # Errors
    /// `invalid` for files that hold no certificate or key, a key that is of another certificate or that others can
    /// read, and a certificate that is not this node's, is expired, is signed by another CA or is not for both sides
    /// of a connection; `not_found`, `io`.
    pub fn read(cluster: ClusterId, node: NodeId, files: &IdentityFiles) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&files.authority, "the certificate of the cluster's CA")? {
            roots.add(certificate).map_err(|error| unusable(&files.authority, &error.to_string()))?;
        }
        let roots = Arc::new(roots);
        let chain = certificates(&files.certificate, "the certificate of this node")?;
        check_key_file(&files.key)?;
        let key = PrivateKeyDer::from_pem_file(&files.key)
            .map_err(|error| unread(&files.key, "the key of this node's certificate", error))?;
        let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .build()
            .map_err(|error| unusable(&files.authority, &error.to_string()))?;
        let own = OwnCertificate { chain: &chain, roots: &roots, provider: &provider, verifier: &*verifier };
        own.check(cluster, node).map_err(|problem| {
            let (name, authority) = (cluster.node_name(node), files.authority.display());
            unusable(
                &files.certificate,
                &format!(
                    "{problem}; `evergraph cluster renew` writes one where ca.key is, or sign one for the DNS name {name}, \
                     for server and client authentication, with the key of the CA in {authority}"
                ),
            )
        })?;
        let no_pair = |error: TlsError| {
            unusable(&files.certificate, &format!("it and {} are no pair: {error}", files.key.display()))
        };
        let no_version =
            |error: TlsError| Error::new(ErrorKind::Invalid, format!("choose the version of TLS: {error}"));
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(no_version)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(no_pair)?;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(no_version)?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)
            .map_err(no_pair)?;
        client.resumption = Resumption::disabled();
        // The other side has one certificate. Whoever listens on the wire need not learn names.
        client.enable_sni = false;
        Ok(Self { cluster, node, server: Arc::new(server), client: Arc::new(client) })
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> ClusterId {
        self.cluster
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// What it begins with where others dial it.
    pub(super) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }

    /// What it begins with where it dials others.
    pub(super) fn client(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.client)
    }
}

impl fmt::Debug for NodeIdentity {
    // Not the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NodeIdentity").field(&self.cluster).field(&self.node).finish()
    }
}

/// The certificate of this node, as others will look at it.
struct OwnCertificate<'a> {
    chain: &'a [CertificateDer<'static>],
    roots: &'a RootCertStore,
    provider: &'a CryptoProvider,
    verifier: &'a dyn ClientCertVerifier,
}

impl OwnCertificate<'_> {
    /// Whether others will take it, on both sides of a connection; if not, why.
    fn check(&self, cluster: ClusterId, node: NodeId) -> std::result::Result<(), String> {
        let (own, between) = self.chain.split_first().expect("a file without a certificate is refused");
        let now = UnixTime::now();
        let said = |error: TlsError| tls_error(&error, None).to_string();
        let parsed = ParsedCertificate::try_from(own).map_err(said)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&parsed, self.roots, between, now, algorithms)
            .map_err(said)?;
        self.verifier.verify_client_cert(own, between, now).map_err(said)?;
        check_certificate(own, cluster, node).map_err(|error| error.to_string())
    }
}

/// At least one certificate.
fn certificates(path: &Path, what: &str) -> Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found: Vec<_> = read.map_err(|error| unread(path, what, error))?;
    if found.is_empty() { Err(unread(path, what, pem::Error::NoItemsFound)) } else { Ok(found) }
}

/// Refuses a key that other users of the machine can read. A group may read one of root's, as Debian has it.
fn check_key_file(path: &Path) -> Result<()> {
    let metadata = std::fs::metadata(path)
        .map_err(|error| unread(path, "the key of this node's certificate", pem::Error::Io(error)))?;
    let mode = metadata.permissions().mode() & 0o777;
    let allowed = if metadata.uid() == 0 { 0o740 } else { 0o700 };
    if mode & !allowed == 0 {
        return Ok(());
    }
    let path = path.display();
    Err(Error::invalid(format!(
        "the key {path} can be read or written by other users of this machine (its mode is {mode:03o}): \
         chmod 600 {path}"
    )))
}

fn unread(path: &Path, what: &str, error: pem::Error) -> Error {
    match error {
        pem::Error::Io(error) => {
            let kind = match error.kind() {
                std::io::ErrorKind::NotFound => ErrorKind::NotFound,
                _ => ErrorKind::Io,
            };
            Error::new(kind, format!("read {what}, {}: {error}", path.display())).because(error)
        }
        error => unusable(path, &format!("it does not hold {what}, in PEM: {error}")),
    }
}

fn unusable(path: &Path, why: &str) -> Error {
    Error::invalid(format!("{} cannot be used: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
        date_time_ymd,
    };
    use std::fs::Permissions;
    use tempfile::TempDir;

    const CLUSTER: ClusterId = ClusterId([7; 16]);
    const NODE: NodeId = NodeId(3);

    struct Site {
        folder: TempDir,
        issuer: CertifiedIssuer<'static, KeyPair>,
    }

    /// What a certificate is for, and until when.
    struct Wish<'a> {
        name: &'a str,
        uses: &'a [ExtendedKeyUsagePurpose],
        last_year: i32,
    }

    fn authority() -> CertifiedIssuer<'static, KeyPair> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    /// For both sides of a connection.
    fn both() -> Vec<ExtendedKeyUsagePurpose> {
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth]
    }

    impl Site {
        /// With files of node 3 that are right.
        fn new() -> Self {
            let site = Self { folder: TempDir::new().unwrap(), issuer: authority() };
            std::fs::write(site.files().authority, site.issuer.pem()).unwrap();
            site.sign(&Wish { name: &CLUSTER.node_name(NODE), uses: &both(), last_year: 4000 });
            site
        }

        fn files(&self) -> IdentityFiles {
            let path = |name| self.folder.path().join(name);
            IdentityFiles { authority: path("ca.pem"), certificate: path("node.pem"), key: path("node.key") }
        }

        fn sign(&self, wish: &Wish<'_>) {
            let mut params = CertificateParams::new([wish.name.to_owned()]).unwrap();
            params.extended_key_usages = wish.uses.to_vec();
            params.not_before = date_time_ymd(2000, 1, 1);
            params.not_after = date_time_ymd(wish.last_year, 1, 1);
            let key = KeyPair::generate().unwrap();
            let certificate = params.signed_by(&key, &self.issuer).unwrap();
            std::fs::write(self.files().certificate, certificate.pem()).unwrap();
            std::fs::write(self.files().key, key.serialize_pem()).unwrap();
            std::fs::set_permissions(self.files().key, Permissions::from_mode(0o600)).unwrap();
        }
    }

    /// What is said of `file` when the files are read.
    fn said_of(file: &Path, files: &IdentityFiles, kind: ErrorKind) -> String {
        let error = NodeIdentity::read(CLUSTER, NODE, files).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(&file.display().to_string()), "{error}");
        error.to_string()
    }

    #[test]
    fn the_files_of_a_node_are_read() {
        let identity = NodeIdentity::read(CLUSTER, NODE, &Site::new().files()).unwrap();
        assert_eq!((identity.cluster(), identity.node()), (CLUSTER, NODE));
        assert_eq!(format!("{identity:?}"), format!("NodeIdentity(ClusterId({CLUSTER}), NodeId(3))"));
    }

    #[test]
    fn a_certificate_that_others_would_refuse_is_refused_with_what_to_do() {
        let (own, both) = (CLUSTER.node_name(NODE), both());
        let refused = |name: &str, uses: &[ExtendedKeyUsagePurpose], last_year: i32| {
            let site = Site::new();
            site.sign(&Wish { name, uses, last_year });
            let files = site.files();
            let said = said_of(&files.certificate, &files, ErrorKind::Invalid);
            assert!(said.contains(&own) && said.contains("ca.pem"), "{said}");
            said
        };
        let said = refused(&CLUSTER.node_name(NodeId(2)), &both, 4000);
        assert!(said.contains("is for node 2, not for node 3"), "{said}");
        let said = refused("db3.example", &both, 4000);
        assert!(said.contains("for no node of this cluster"), "{said}");
        let said = refused(&own, &both, 2001);
        assert!(said.contains("expired"), "{said}");
        for usage in &both {
            refused(&own, std::slice::from_ref(usage), 4000);
        }
        // One of the same name.
        let site = Site::new();
        let files = site.files();
        std::fs::write(&files.authority, authority().pem()).unwrap();
        let said = said_of(&files.certificate, &files, ErrorKind::Invalid);
        assert!(said.contains("not signed by the cluster's CA"), "{said}");
    }

    #[test]
    fn a_file_that_is_missing_or_holds_something_else_is_named() {
        let choices: [fn(&mut IdentityFiles) -> &mut PathBuf; 3] =
            [|files| &mut files.authority, |files| &mut files.certificate, |files| &mut files.key];
        for choose in choices {
            let site = Site::new();
            let mut files = site.files();
            let path = choose(&mut files).clone();
            std::fs::write(&path, "no PEM").unwrap();
            let said = said_of(&path, &files, ErrorKind::Invalid);
            assert!(said.contains("in PEM"), "{said}");
            let missing = site.folder.path().join("missing.pem");
            choose(&mut files).clone_from(&missing);
            said_of(&missing, &files, ErrorKind::NotFound);
        }
        let site = Site::new();
        let files = site.files();
        std::fs::write(&files.key, KeyPair::generate().unwrap().serialize_pem()).unwrap();
        let said = said_of(&files.certificate, &files, ErrorKind::Invalid);
        assert!(said.contains("no pair"), "{said}");
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let site = Site::new();
        let files = site.files();
        std::fs::set_permissions(&files.key, Permissions::from_mode(0o644)).unwrap();
        let said = said_of(&files.key, &files, ErrorKind::Invalid);
        assert!(said.contains("chmod 600") && said.contains("644"), "{said}");
    }
}
