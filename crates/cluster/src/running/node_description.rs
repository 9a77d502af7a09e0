//! Description of a node: what is its own, in a file of its folder that an operator may edit.
//!
//! ```text
//! node.toml      node                    which node of the cluster
//!                address, listen         where others reach it, and where it listens
//!                memory-limit-bytes      of caches of its partitions, and of queries
//!                checkpoint-seconds      how often what it has is made durable
//! [certificate]  authority, certificate, key
//! [etcd]         endpoints, root, certificate, key, user, password-file, allow-cleartext-password, time-limit-ms
//! [nats]         servers, monitors, sync-interval-always, token-file, credentials-file, and those of etcd; instead of it
//! ```
//!
//! Paths are relative to the folder. The file is read at a start.
//!
//! How durable a partition's own files are cannot be chosen: a commit is durable in the shared log before anybody learns of it,
//! and a node that starts reads there what its files lack. So its files are synced at checkpoints alone.

use crate::record_id::NodeId;
use crate::running::description::check_address;
use crate::running::document::{Document, quoted};
use crate::running::etcd_access::EtcdTable;
use crate::running::log_access::LogAccess;
use crate::running::nats_access::NatsTable;
use crate::transport::tcp::identity::IdentityFiles;
use evergraph_graph::error::Result;
use serde::Deserialize;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// The file in the folder of a node.
pub const NODE_FILE: &str = "node.toml";

/// The certificate of the cluster's CA, in the folder of a node.
pub const AUTHORITY_FILE: &str = "ca.pem";

/// The certificate of a node, in its folder.
pub const CERTIFICATE_FILE: &str = "node.pem";

/// The key of that certificate.
pub const KEY_FILE: &str = "node.key";

/// How often a node makes a checkpoint, unless chosen otherwise.
pub const CHECKPOINT_INTERVAL_DEFAULT: Duration = Duration::from_secs(30);

/// The shortest would sync all the time; after the longest a start would read gigabytes of the log.
const CHECKPOINT_SECONDS: RangeInclusive<u64> = 1..=3600;

/// The least memory that is worth a limit.
const MEMORY_LIMIT_BYTES_MIN: u64 = 1 << 20;

/// What is a node's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeDescription {
    /// Which node it is.
    pub node: NodeId,
    /// Where others reach it, if that is not where the cluster was created with it: `host:port`.
    pub address: Option<String>,
    /// Where it listens, if that does not follow from its address.
    pub listen: Option<SocketAddr>,
    /// Memory that caches of its partitions, and queries, may take together, in bytes; [`u64::MAX`] for no limit.
    pub memory_limit_bytes: u64,
    /// How often it makes a checkpoint.
    pub checkpoint_interval: Duration,
    /// By which files it proves who it is.
    pub identity: IdentityFiles,
    /// Where its log is.
    pub log: LogAccess,
}

/// The file, as it stands there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct NodeFile {
    node: u16,
    address: Option<Spanned<String>>,
    listen: Option<Spanned<String>>,
    memory_limit_bytes: Option<Spanned<u64>>,
    checkpoint_seconds: Option<Spanned<u64>>,
    certificate: CertificateTable,
    etcd: Option<EtcdTable>,
    nats: Option<NatsTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CertificateTable {
    authority: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

impl NodeDescription {
    /// Of a node whose files have their usual names in `folder`.
    #[must_use]
    pub fn new(node: NodeId, folder: &Path, log: impl Into<LogAccess>) -> Self {
        let identity = IdentityFiles {
            authority: folder.join(AUTHORITY_FILE),
            certificate: folder.join(CERTIFICATE_FILE),
            key: folder.join(KEY_FILE),
        };
        Self {
            node,
            address: None,
            listen: None,
            memory_limit_bytes: u64::MAX,
            checkpoint_interval: CHECKPOINT_INTERVAL_DEFAULT,
            identity,
            log: log.into(),
        }
    }

    /// Reads the file of a node's folder.
    ///
    /// # Errors
    /// `not_found` if there is none; `invalid` for what is wrong in it, with its line; `io`.
    pub fn read(folder: &Path) -> Result<Self> {
        Self::parse(&Document::read(folder, NODE_FILE)?, folder)
    }

    fn parse(document: &Document, folder: &Path) -> Result<Self> {
        let file: NodeFile = document.parse()?;
        if let Some(address) = &file.address {
            check_address(address.get_ref()).map_err(|error| document.wrong("address", address, error))?;
        }
        let listen = file.listen.as_ref().map(|listen| {
            let problem = "an IP address and a port expected, such as 0.0.0.0:7400 or [::]:7400";
            listen.get_ref().parse().map_err(|_| document.wrong("listen", listen, problem))
        });
        let memory_limit_bytes = match &file.memory_limit_bytes {
            Some(limit) if *limit.get_ref() < MEMORY_LIMIT_BYTES_MIN => {
                let problem = format!("{MEMORY_LIMIT_BYTES_MIN} bytes at least expected");
                return Err(document.wrong("memory-limit-bytes", limit, problem));
            }
            limit => limit.as_ref().map_or(u64::MAX, |limit| *limit.get_ref()),
        };
        let checkpoint_interval = match &file.checkpoint_seconds {
            Some(seconds) if !CHECKPOINT_SECONDS.contains(seconds.get_ref()) => {
                let (least, most) = (CHECKPOINT_SECONDS.start(), CHECKPOINT_SECONDS.end());
                let problem = format!("{least} to {most} expected");
                return Err(document.wrong("checkpoint-seconds", seconds, problem));
            }
            Some(seconds) => Duration::from_secs(*seconds.get_ref()),
            None => CHECKPOINT_INTERVAL_DEFAULT,
        };
        let CertificateTable { authority, certificate, key } = file.certificate;
        let identity = IdentityFiles {
            authority: folder.join(authority),
            certificate: folder.join(certificate),
            key: folder.join(key),
        };
        Ok(Self {
            node: NodeId(file.node),
            address: file.address.map(Spanned::into_inner),
            listen: listen.transpose()?,
            memory_limit_bytes,
            checkpoint_interval,
            identity,
            log: LogAccess::of(file.etcd, file.nats, document, folder)?,
        })
    }

    /// Where it listens if others reach it at `address`: where that says, if it is an IP address. A host's name is often that of
    /// its loopback on the host itself, so that all of its addresses are listened at.
    #[must_use]
    pub fn listen_at(&self, address: &str) -> SocketAddr {
        if let Some(listen) = self.listen {
            return listen;
        }
        address.parse().unwrap_or_else(|_| {
            let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or_default();
            SocketAddr::new(any_address(), port)
        })
    }

    /// The file; paths are written as they are.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = format!(
            "# What is this node's own. It may be edited, and is read at a start. Paths are relative to this folder.\n\
             node = {}\n",
            self.node.0
        );
        let mut put = |key: &str, value: Option<String>, otherwise: &str| {
            let _ = match value {
                Some(value) => writeln!(out, "{key} = {value}"),
                None => writeln!(out, "# {key} = {otherwise}"),
            };
        };
        let text = |text: &String| quoted(text);
        put(
            "address",
            self.address.as_ref().map(text),
            "\"db1.example.org:7400\"  # as the cluster was created",
        );
        let listen = self.listen.map(|listen| quoted(&listen.to_string()));
        put("listen", listen, "\"0.0.0.0:7400\"  # where the address says");
        let has_limit = self.memory_limit_bytes != u64::MAX;
        put(
            "memory-limit-bytes",
            has_limit.then(|| self.memory_limit_bytes.to_string()),
            "4_294_967_296  # none",
        );
        put("checkpoint-seconds", Some(self.checkpoint_interval.as_secs().to_string()), "");
        let IdentityFiles { authority, certificate, key } = &self.identity;
        let path = |path: &Path| quoted(&path.to_string_lossy());
        let _ = write!(
            out,
            "\n[certificate]\nauthority = {}\ncertificate = {}\nkey = {}\n\n{}",
            path(authority),
            path(certificate),
            path(key),
            self.log.to_toml()
        );
        out
    }
}

/// All addresses of this machine: both families where it has both.
fn any_address() -> IpAddr {
    let six = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    match std::net::TcpListener::bind((six, 0)) {
        Ok(_) => six,
        Err(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::running::etcd_access::EtcdAccess;

    fn parse(text: &str) -> Result<NodeDescription> {
        NodeDescription::parse(&Document::of("n/node.toml", text), Path::new("/n"))
    }

    fn new() -> NodeDescription {
        let etcd = EtcdAccess::new(vec!["http://127.0.0.1:2379".parse().unwrap()]);
        NodeDescription::new(NodeId(7), Path::new("/n"), etcd)
    }

    #[test]
    fn a_description_reads_back_as_it_was_written() {
        let full = NodeDescription {
            address: Some("db7:7946".to_owned()),
            listen: Some("0.0.0.0:7000".parse().unwrap()),
            memory_limit_bytes: 1 << 30,
            checkpoint_interval: Duration::from_secs(60),
            ..new()
        };
        for description in [new(), full] {
            assert_eq!(parse(&description.to_toml()).unwrap(), description);
        }
        // What stands there as a comment can be used as it is.
        let text = new().to_toml().replace("# address", "address").replace("# listen", "listen");
        let edited = parse(&text.replace("# memory-limit", "memory-limit")).unwrap();
        assert_eq!(edited.address.as_deref(), Some("db1.example.org:7400"));
        assert_eq!((edited.listen, edited.memory_limit_bytes), ("0.0.0.0:7400".parse().ok(), 4 << 30));
    }

    #[test]
    fn files_are_those_of_the_folder() {
        let text = "node = 1\n[certificate]\nauthority = 'ca.pem'\ncertificate = '../n.pem'\nkey = '/etc/n.key'\n\
                    [etcd]\nendpoints = ['http://localhost']\n";
        let identity = parse(text).unwrap().identity;
        let paths = [identity.authority, identity.certificate, identity.key];
        assert_eq!(paths, ["/n/ca.pem", "/n/../n.pem", "/etc/n.key"].map(PathBuf::from));
    }

    #[test]
    fn mistakes_are_named_by_line_and_key() {
        let text = new().to_toml();
        let with = |from: &str, to: &str| parse(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(with("# address", "adress").starts_with("n/node.toml:3: unknown field `adress`"));
        assert!(
            with("# address = \"db1.example.org:7400\"", "address = 'db1'")
                .contains("3: address: \"db1\" is")
        );
        assert!(with("# listen = \"0.0.0.0", "listen = \"db1").contains("4: listen: an IP address"));
        assert!(
            with("# memory-limit-bytes = 4_294_967_296", "memory-limit-bytes = 4")
                .contains("5: memory-limit")
        );
        assert!(with("seconds = 30", "seconds = 0").contains("6: checkpoint-seconds: 1 to 3600 expected"));
        assert!(with("key = ", "kez = ").contains("unknown field `kez`"));
        assert!(with("node = 7", "node = 70000").contains("n/node.toml:2: "));
        let end = text.find("[etcd]").unwrap();
        let said = parse(&text[..end]).unwrap_err().to_string();
        assert!(said.contains("n/node.toml: where the log is, is missing"), "{said}");
        let said = parse(&format!("{text}[nats]\nservers = ['nats://a']\n")).unwrap_err().to_string();
        assert!(said.contains("[etcd] or [nats], not both"), "{said}");
    }

    #[test]
    fn a_node_listens_where_its_address_says_or_everywhere() {
        assert_eq!(new().listen_at("10.0.0.1:7946"), "10.0.0.1:7946".parse().unwrap());
        assert_eq!(new().listen_at("[::1]:7946"), "[::1]:7946".parse().unwrap());
        let named = new().listen_at("db1.example.org:7946");
        assert!(named.ip().is_unspecified() && named.port() == 7946, "{named}");
        let chosen = NodeDescription { listen: "127.0.0.1:7".parse().ok(), ..new() };
        assert_eq!(chosen.listen_at("10.0.0.1:7946"), "127.0.0.1:7".parse().unwrap());
    }
}
