//! Create: the folders of a new cluster's nodes, and the certificates by which they know each other.
//!
//! ```text
//! FOLDER/ca.key       the CA's key: needed to add and renew nodes; kept where no node runs
//!        ca.pem       the CA's certificate
//!        node-0/      to be moved to the machine of node 0, and so on
//!            cluster.toml, node.toml
//!            ca.pem, node.pem, node.key
//!            etcd-root.pem, etcd-client.pem, etcd-client.key, etcd-password     what the log's servers demand; or nats-...
//! ```
//!
//! Everything appears together, or nothing does; nothing is overwritten. Folders, keys and passwords can be read by their owner
//! alone.

use crate::certification::certifier::CertifierLimits;
use crate::key_hash::graph_salt::GraphSalt;
use crate::record_id::NodeId;
use crate::running::authority::{Authority, SignedCertificate};
use crate::running::description::{
    CLUSTER_FILE, COPIES_DEFAULT, ClusterDescription, FirstMember, PARTITIONS_DEFAULT, check_address,
};
use crate::running::log_access::LogAccess;
use crate::running::new_folder::{FileSecrecy, NewFolder, write_file};
use crate::running::node_description::{
    AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE, NODE_FILE, NodeDescription,
};
use crate::running::server_files::split;
use crate::transport::tcp::identity::{IdentityFiles, NodeIdentity};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::partition::PartitionCount;
use evergraph_storage::checkpoint::manifest::remove_if_there;
use evergraph_storage::io::clock::SystemClock;
use evergraph_storage::io::directory::Directory as _;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::random::{Random as _, SplitMix64};
use std::path::{Path, PathBuf};

/// The key of the CA, beside the folders of nodes.
pub const AUTHORITY_KEY_FILE: &str = "ca.key";

/// The most bytes of a file in PEM, or of a password.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A cluster that is to be created.
#[derive(Clone, Debug)]
pub struct NewCluster {
    /// What people call it.
    pub name: String,
    /// Where its nodes reach each other, `host:port`: nodes 0, 1, 2 and so on.
    pub nodes: Vec<String>,
    /// Into how many partitions its graph is divided, for good.
    pub partitions: PartitionCount,
    /// Copies of each partition, or as many as there are nodes.
    pub copies: u16,
    /// How much is remembered of transactions, for good.
    pub limits: CertifierLimits,
    /// Where its log is. Files that it names are copied into the folder of each node.
    pub log: LogAccess,
}

/// A cluster that was created.
#[derive(Clone, Debug)]
pub struct CreatedCluster {
    /// What its nodes agree on.
    pub description: ClusterDescription,
    /// The folders of its nodes, in the order of their numbers.
    pub nodes: Vec<PathBuf>,
    /// The key of its CA.
    pub authority_key: PathBuf,
}

impl NewCluster {
    /// Of nodes at `nodes`, with a log at `log`: 64 partitions in two copies.
    #[must_use]
    pub fn new(name: impl Into<String>, nodes: Vec<String>, log: impl Into<LogAccess>) -> Self {
        Self {
            name: name.into(),
            nodes,
            partitions: PARTITIONS_DEFAULT,
            copies: COPIES_DEFAULT,
            limits: CertifierLimits::default(),
            log: log.into(),
        }
    }

    /// Writes the cluster into `folder`, which is not there yet, or empty. Nobody is asked; the log begins when a node starts.
    ///
    /// # Errors
    /// `invalid` for what no cluster can be, and if something is in `folder`; `not_found` for files that the log's access names;
    /// `io`. Nothing is left in `folder` then.
    pub fn write(&self, folder: &Path) -> Result<CreatedCluster> {
        let description = self.describe()?;
        let new = NewFolder::begin(folder)?;
        let authority = Authority::generate(description.id())?;
        let certificate = authority.certificate(&SystemClock::new())?;
        write_file(new.written(), AUTHORITY_KEY_FILE, authority.key().as_bytes(), FileSecrecy::Secret)?;
        write_file(new.written(), AUTHORITY_FILE, certificate.as_bytes(), FileSecrecy::Readable)?;
        let mut nodes = Vec::new();
        for member in &description.members {
            let name = format!("node-{}", member.node.0);
            let written = new.add_folder(&name)?;
            let signed = authority.sign(member.node, &SystemClock::new())?;
            let of = NodeFolder { description: &description, authority: &certificate, log: &self.log };
            of.write(&written, member.node, None, &signed)?;
            nodes.push(folder.join(name));
        }
        new.finish()?;
        Ok(CreatedCluster { description, nodes, authority_key: folder.join(AUTHORITY_KEY_FILE) })
    }

    fn describe(&self) -> Result<ClusterDescription> {
        let count = u16::try_from(self.nodes.len());
        let count = count.map_err(|_| Error::invalid("a cluster is created with fewer nodes"))?;
        let numbered = (0..count).zip(&self.nodes);
        let members =
            numbered.map(|(node, address)| FirstMember { node: NodeId(node), address: address.clone() });
        let description = ClusterDescription {
            name: self.name.clone(),
            salt: random_salt()?,
            partitions: self.partitions,
            copies: self.copies,
            limits: self.limits,
            members: members.collect(),
        };
        description.check()?;
        // Refuses what no log is opened with.
        self.log.check(description.log_key())?;
        Ok(description)
    }
}

/// Writes the folder of another node of a cluster: `authority` is the folder with the key and the certificate of its CA, `like` that
/// of any of its nodes, whose access to the log the new one gets. The node joins when it starts, and keeps no partition then.
///
/// Only a young cluster takes it. A new node has no checkpoint, so it reads the log from the first message; the others trim that
/// once all of them have it in their checkpoints, a minute or so after it was written. From then on the start of the new node
/// fails with `io`: the log begins too late for it, and only members copy from others.
///
/// # Errors
/// `invalid` if something is in `folder`, `node` is one of those that the cluster was created with, or a file cannot be used;
/// `not_found`, `io`. Nothing is left in `folder` then.
pub fn add_node(authority: &Path, like: &Path, node: NodeId, address: &str, folder: &Path) -> Result<()> {
    check_address(address)?;
    let (description, log) = (ClusterDescription::read(like)?, NodeDescription::read(like)?.log);
    if description.address(node).is_some() {
        return Err(Error::invalid(format!(
            "the cluster was created with node {}: choose a number that no node has or ever had",
            node.0
        )));
    }
    let new = NewFolder::begin(folder)?;
    let certificate = read_text(&authority.join(AUTHORITY_FILE))?;
    let signed = read_authority(authority, &description)?.sign(node, &SystemClock::new())?;
    let of = NodeFolder { description: &description, authority: &certificate, log: &log };
    of.write(new.written(), node, Some(address), &signed)?;
    new.finish()
}

/// Gives a node a new key and certificate: `authority` is the folder with the key of its cluster's CA. The node reads them at its
/// next start.
///
/// # Errors
/// `invalid` if a file cannot be used, or the CA in the node's folder is another one; `not_found`, `io`. The node has what it had
/// then, and nothing else is left in its folder. If this is interrupted between key and certificate, the node says so when it
/// starts, and this is done again.
pub fn renew_certificate(authority: &Path, node: &Path) -> Result<()> {
    let (description, own) = (ClusterDescription::read(node)?, NodeDescription::read(node)?);
    let signed = read_authority(authority, &description)?.sign(own.node, &SystemClock::new())?;
    let new_name = |path: &Path| -> Result<(PathBuf, String, String)> {
        let (folder, name) = split(path)?;
        Ok((folder.to_owned(), name.to_owned(), format!("{name}.new")))
    };
    let written = [
        (new_name(&own.identity.key)?, signed.key, FileSecrecy::Secret),
        (new_name(&own.identity.certificate)?, signed.certificate, FileSecrecy::Readable),
    ];
    let remove_new =
        |folder: &Path, new: &str| Ok::<_, Error>(remove_if_there(&DiskDirectory::open(folder)?, new)?);
    let replace = || -> Result<()> {
        for ((folder, _, new), text, secrecy) in &written {
            remove_new(folder, new)?;
            write_file(folder, new, text.as_bytes(), *secrecy)?;
        }
        let [((key_folder, _, key), ..), ((certificate_folder, _, certificate), ..)] = &written;
        let files = IdentityFiles {
            authority: own.identity.authority.clone(),
            certificate: certificate_folder.join(certificate),
            key: key_folder.join(key),
        };
        let (signer, node) = (authority.join(AUTHORITY_KEY_FILE), node.display());
        NodeIdentity::read(description.id(), own.node, &files).map_err(|error| {
            error.context(format!("sign a certificate for {node} by {}", signer.display()))
        })?;
        for ((folder, name, new), ..) in &written {
            let folder = DiskDirectory::open(folder)?;
            folder.rename(new, name)?;
            folder.sync_directory()?;
        }
        Ok(())
    };
    replace().inspect_err(|_| {
        for ((folder, _, new), ..) in &written {
            // The first error says more; the next renewal removes what is left.
            let _ = remove_new(folder, new);
        }
    })
}

/// What goes into the folder of a node.
struct NodeFolder<'a> {
    description: &'a ClusterDescription,
    /// The certificate of the CA.
    authority: &'a str,
    log: &'a LogAccess,
}

impl NodeFolder<'_> {
    fn write(
        &self,
        folder: &Path,
        node: NodeId,
        address: Option<&str>,
        signed: &SignedCertificate,
    ) -> Result<()> {
        use FileSecrecy::{Readable, Secret};
        let log = self.copy_log_files(folder)?;
        let own = NodeDescription {
            address: address.map(str::to_owned),
            // Relative, for the folder moves to another machine.
            ..NodeDescription::new(node, Path::new(""), log)
        };
        write_file(folder, CLUSTER_FILE, self.description.to_toml().as_bytes(), Secret)?;
        write_file(folder, NODE_FILE, own.to_toml().as_bytes(), Readable)?;
        write_file(folder, AUTHORITY_FILE, self.authority.as_bytes(), Readable)?;
        write_file(folder, CERTIFICATE_FILE, signed.certificate.as_bytes(), Readable)?;
        write_file(folder, KEY_FILE, signed.key.as_bytes(), Secret)?;
        // What a start would refuse is found now.
        let identity = NodeDescription::read(folder)?.identity;
        NodeIdentity::read(self.description.id(), node, &identity).map(drop)
    }

    /// Copies the files that the access to the log names; it as the folder has it.
    fn copy_log_files(&self, folder: &Path) -> Result<LogAccess> {
        self.log.copied(&|from: &Path, name: &str, secrecy| {
            write_file(folder, name, read_text(from)?.as_bytes(), secrecy)?;
            Ok(PathBuf::from(name))
        })
    }
}

fn read_authority(folder: &Path, description: &ClusterDescription) -> Result<Authority> {
    let path = folder.join(AUTHORITY_KEY_FILE);
    let authority = Authority::of_key(description.id(), &read_text(&path)?);
    authority.map_err(|error| Error::invalid(format!("{} cannot be used: {error}", path.display())))
}

fn read_text(path: &Path) -> Result<String> {
    let (folder, name) = split(path)?;
    let read = DiskDirectory::open(folder).and_then(|folder| folder.read_all(name, FILE_BYTES_MAX));
    let bytes = read.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, error.to_string()).because(error),
        _ => error.into(),
    })?;
    String::from_utf8(bytes).map_err(|_| Error::invalid(format!("{} is no text", path.display())))
}

/// 128 bits of the system, and not of one seed of 64.
fn random_salt() -> Result<GraphSalt> {
    let half = || -> std::io::Result<[u8; 8]> { Ok(SplitMix64::from_system()?.next_u64().to_le_bytes()) };
    let failed = |error: std::io::Error| {
        Error::new(ErrorKind::Io, format!("ask the system for random bytes: {error}")).because(error)
    };
    let mut salt = [0; 16];
    let (low, high) = salt.split_at_mut(8);
    low.copy_from_slice(&half().map_err(failed)?);
    high.copy_from_slice(&half().map_err(failed)?);
    Ok(GraphSalt(salt))
}

#[cfg(test)]
mod tests;
