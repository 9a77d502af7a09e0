//! Description of a cluster: what all of its nodes agree on, in a file that is the same in the folder of each.
//!
//! ```text
//! cluster.toml   version, name, salt, partitions, copies, limits of the certifier, first members
//!        id      SipHash-2-4-128 of all of that, with the salt as its key
//! ```
//!
//! The id follows from the rest, so a file that was edited is found when it is read. The certificate of every node names the id
//! as well: whoever made up an id that fits has no certificate for it, and the other nodes let nobody in who says another one.
//! So two nodes that are connected agree on all of this. Of one log they read the same records, because its key is made of the
//! id.
//!
//! The salt is a secret: who knows it can choose keys whose hashes collide. That is why the file is not readable by others.

use crate::certification::certifier::CertifierLimits;
use crate::key_hash::graph_salt::GraphSalt;
use crate::node::replicated_state::ReplicatedState;
use crate::planted::{Bug, planted};
use crate::record::body::ADDRESS_BYTES_MAX;
use crate::record_id::NodeId;
use crate::running::document::{Document, quoted};
use crate::running::hex;
use crate::tables::cluster_tables::ClusterTables;
use crate::tables::members::Members;
use crate::transport::tcp::node_name::ClusterId;
use evergraph_graph::bytes::{put_bytes, put_varint};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::partition::{PARTITIONS_MAX, PartitionCount};
use evergraph_graph::value::order_bytes::hash::SipHash128;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use toml::Spanned;

/// The file in the folder of a node.
pub const CLUSTER_FILE: &str = "cluster.toml";

/// Partitions of a graph, unless chosen otherwise.
pub const PARTITIONS_DEFAULT: PartitionCount = PartitionCount::new(64).expect("it is between 1 and 4096");

/// Copies of each partition, unless chosen otherwise.
pub const COPIES_DEFAULT: u16 = 2;

/// The version that is written and read.
const VERSION: u16 = 1;

/// Bytes of a name: it is part of certificates.
const NAME_BYTES_MAX: usize = 64;

/// Members that a cluster can be created with.
const MEMBERS_MAX: usize = 1000;

/// Slots of a generation of the certifier: fewer make most transactions too old. With more, and parts, a checkpoint may have more
/// than the 4 GiB that a start reads: two generations of up to 16 bytes a slot.
const GENERATION_SLOTS: std::ops::RangeInclusive<u64> = 1 << 10..=1 << 26;

/// Bytes of parts that wait for their transaction.
const PARTS_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 30;

/// What all nodes of a cluster agree on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClusterDescription {
    /// What people call it.
    pub name: String,
    /// With what its hashes are made: a secret of its nodes.
    pub salt: GraphSalt,
    /// Into how many partitions its graph is divided.
    pub partitions: PartitionCount,
    /// Copies of each partition, or as many as there are nodes.
    pub copies: u16,
    /// How much is remembered of transactions.
    pub limits: CertifierLimits,
    /// The nodes that it was created with.
    pub members: Vec<FirstMember>,
}

/// A node that a cluster is created with. Who is a member later, and where, the log says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FirstMember {
    /// Which node.
    pub node: NodeId,
    /// Where the others reach it: `host:port`.
    pub address: String,
}

/// The file, as it stands there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ClusterFile {
    version: Spanned<u16>,
    id: Spanned<String>,
    salt: Spanned<String>,
    name: Spanned<String>,
    partitions: Spanned<u16>,
    copies: Spanned<u16>,
    generation_slots: Spanned<u64>,
    parts_bytes: Spanned<u64>,
    #[serde(default)]
    member: Vec<MemberEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberEntry {
    node: u16,
    address: String,
}

impl ClusterDescription {
    /// Reads the file of a node's folder.
    ///
    /// # Errors
    /// `not_found` if there is none; `invalid` for what is wrong in it, with its line, and if it was edited; `io`.
    pub fn read(folder: &Path) -> Result<Self> {
        Self::parse(&Document::read(folder, CLUSTER_FILE)?)
    }

    fn parse(document: &Document) -> Result<Self> {
        let file: ClusterFile = document.parse()?;
        let version = *file.version.get_ref();
        if version != VERSION {
            let problem =
                format!("{VERSION} expected, found {version}: another version of Evergraph wrote it");
            return Err(document.wrong("version", &file.version, problem));
        }
        let hex = |key: &str, value: &Spanned<String>| {
            let bytes = hex::bytes(value.get_ref());
            bytes.ok_or_else(|| document.wrong(key, value, "32 hexadecimal digits expected"))
        };
        let (id, salt) = (ClusterId(hex("id", &file.id)?), GraphSalt(hex("salt", &file.salt)?));
        let partitions = PartitionCount::new(*file.partitions.get_ref()).ok_or_else(|| {
            document.wrong("partitions", &file.partitions, format!("1 to {PARTITIONS_MAX} expected"))
        })?;
        let parts_bytes = usize::try_from(*file.parts_bytes.get_ref()).map_err(|_| {
            document.wrong("parts-bytes", &file.parts_bytes, "more than this machine addresses")
        })?;
        let limits = CertifierLimits { generation_slots: *file.generation_slots.get_ref(), parts_bytes };
        let members = file.member.into_iter();
        let members = members.map(|entry| FirstMember { node: NodeId(entry.node), address: entry.address });
        let description = Self {
            name: file.name.get_ref().clone(),
            salt,
            partitions,
            copies: *file.copies.get_ref(),
            limits,
            members: members.collect(),
        };
        // Ahead of what its values may be: whoever edited it learns that first.
        if description.id() != id && !planted(Bug::DescriptionUnchecked) {
            let problem = "it does not fit the rest: the file was edited, or is damaged. Copy it from another node's folder; \
                           it can't be changed after the cluster was created";
            return Err(document.wrong("id", &file.id, problem));
        }
        description
            .check()
            .map_err(|error| Error::invalid(format!("{}: {error}", document.path().display())))?;
        Ok(description)
    }

    /// Refuses what no cluster can be.
    ///
    /// # Errors
    /// `invalid`, with what is wrong.
    pub fn check(&self) -> Result<()> {
        let wrong = |text: String| Err(Error::invalid(text));
        let name = &self.name;
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
            return wrong(format!(
                "a cluster's name has 1 to {NAME_BYTES_MAX} bytes and no control characters"
            ));
        }
        if self.copies == 0 {
            return wrong("at least one copy of each partition is needed".to_owned());
        }
        let count = self.members.len();
        if !(1..=MEMBERS_MAX).contains(&count) {
            return wrong(format!("a cluster is created with 1 to {MEMBERS_MAX} nodes, found {count}"));
        }
        let slots = self.limits.generation_slots;
        if !GENERATION_SLOTS.contains(&slots) {
            let (least, most) = (GENERATION_SLOTS.start(), GENERATION_SLOTS.end());
            return wrong(format!("generation-slots: {least} to {most} expected, found {slots}"));
        }
        let parts = self.limits.parts_bytes as u64;
        if !PARTS_BYTES.contains(&parts) {
            let (least, most) = (PARTS_BYTES.start(), PARTS_BYTES.end());
            return wrong(format!("parts-bytes: {least} to {most} expected, found {parts}"));
        }
        let (mut nodes, mut addresses) = (BTreeSet::new(), BTreeSet::new());
        for FirstMember { node, address } in &self.members {
            check_address(address)?;
            if !nodes.insert(*node) {
                return wrong(format!("node {} is there twice", node.0));
            }
            if !addresses.insert(address) {
                return wrong(format!("two nodes have the address {address}"));
            }
        }
        Ok(())
    }

    /// Which cluster it is.
    #[must_use]
    pub fn id(&self) -> ClusterId {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, u64::from(VERSION));
        put_bytes(&mut bytes, self.name.as_bytes());
        put_varint(&mut bytes, u64::from(self.partitions.get()));
        put_varint(&mut bytes, u64::from(self.copies));
        put_varint(&mut bytes, self.limits.generation_slots);
        put_varint(&mut bytes, self.limits.parts_bytes as u64);
        put_varint(&mut bytes, self.members.len() as u64);
        for FirstMember { node, address } in &self.members {
            put_varint(&mut bytes, u64::from(node.0));
            put_bytes(&mut bytes, address.as_bytes());
        }
        let mut hash = SipHash128::keyed(self.salt.halves());
        hash.update(&bytes);
        ClusterId(hash.finish())
    }

    /// The key of its log: clusters that share an etcd by mistake don't read each other's records.
    #[must_use]
    pub fn log_key(&self) -> String {
        format!("evergraph/{}", self.id())
    }

    /// Where a node was said to answer when the cluster was created.
    #[must_use]
    pub fn address(&self, node: NodeId) -> Option<&str> {
        let member = self.members.iter().find(|member| member.node == node);
        member.map(|member| member.address.as_str())
    }

    /// What every node begins with, before the first message of the log.
    ///
    /// # Panics
    /// If [`ClusterDescription::check`] refuses it.
    #[must_use]
    pub fn first_state(&self) -> ReplicatedState {
        let members = self.members.iter().map(|member| (member.node, member.address.as_str().into()));
        let tables = ClusterTables::new(self.partitions, Members::new(members), usize::from(self.copies));
        ReplicatedState::new(self.salt, self.limits, tables)
    }

    /// The file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = format!(
            "# What all nodes of this cluster agree on: the same file in the folder of each node. It is not edited: the id\n\
             # follows from the rest, and a node does not start if it does not. The salt is a secret.\n\
             version = {VERSION}\nid = \"{}\"\nsalt = \"{}\"\nname = {}\n",
            self.id(),
            hex::digits(&self.salt.0),
            quoted(&self.name),
        );
        let (partitions, copies, limits) = (self.partitions.get(), self.copies, self.limits);
        let (slots, parts) = (limits.generation_slots, limits.parts_bytes);
        let _ = write!(
            out,
            "partitions = {partitions}\ncopies = {copies}\ngeneration-slots = {slots}\nparts-bytes = {parts}\n"
        );
        for FirstMember { node, address } in &self.members {
            let _ = write!(out, "\n[[member]]\nnode = {}\naddress = {}\n", node.0, quoted(address));
        }
        out
    }
}

/// Refuses what is no address of a node.
///
/// # Errors
/// `invalid`, unless it is `host:port`.
pub fn check_address(address: &str) -> Result<()> {
    let has_room = address.len() <= ADDRESS_BYTES_MAX;
    let parts = address.rsplit_once(':').filter(|(host, port)| {
        let is_bare = !host.contains(':') || (host.starts_with('[') && host.ends_with(']'));
        let is_text = !host.chars().any(|c| c.is_whitespace() || c.is_control() || c == '/');
        !host.is_empty() && is_bare && is_text && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    if has_room && parts.is_some() {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{address:?} is not the address of a node: write host:port, such as db1.example.org:7400 or [2001:db8::1]:7400"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;

    fn description() -> ClusterDescription {
        let member = |node: u16| FirstMember { node: NodeId(node), address: format!("db{node}:7946") };
        ClusterDescription {
            name: "shop \"one\"".to_owned(),
            salt: GraphSalt(*b"salt of a graph."),
            partitions: PARTITIONS_DEFAULT,
            copies: COPIES_DEFAULT,
            limits: CertifierLimits::default(),
            members: (0..3).map(member).collect(),
        }
    }

    fn parse(text: &str) -> Result<ClusterDescription> {
        ClusterDescription::parse(&Document::of("n/cluster.toml", text))
    }

    fn said(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_description_reads_back_and_its_id_is_the_same_forever() {
        // By an independent program. A cluster would be another one after an update.
        let id = "f767f0345183d06351ff2b0866c2830e";
        let description = description();
        assert_eq!(parse(&description.to_toml()).unwrap(), description);
        assert_eq!(
            (description.id().to_string(), description.log_key()),
            (id.into(), format!("evergraph/{id}"))
        );
    }

    #[test]
    fn every_edit_is_found() {
        let text = description().to_toml();
        for (from, to) in [
            ("shop", "shap"),
            ("partitions = 64", "partitions = 65"),
            ("copies = 2", "copies = 3"),
            ("generation-slots = 3670016", "generation-slots = 3670017"),
            ("parts-bytes = 268435456", "parts-bytes = 268435457"),
            ("db1:7946", "db1:7947"),
            ("node = 2", "node = 4"),
            ("salt = \"73", "salt = \"74"),
        ] {
            let edited = text.replacen(from, to, 1);
            assert_ne!(edited, text, "{from}");
            let error = parse(&edited).map(drop).expect_err("an edit is not found").to_string();
            assert!(error.starts_with("n/cluster.toml:4: id: ") && error.contains("edited"), "{error}");
        }
        let shorter = text.rfind("\n[[member]]").map(|end| text[..end].to_owned()).unwrap();
        assert!(said(&shorter).contains("edited"), "a member less");
        let commented = text.replacen("version", "# a comment\nversion", 1);
        assert_eq!(parse(&commented).unwrap(), description(), "a comment says nothing");
    }

    #[test]
    fn planted_bugs_are_found() {
        assert_found(Bug::DescriptionUnchecked, every_edit_is_found, "an edit is not found");
    }

    #[test]
    fn mistakes_are_named_by_line_and_key() {
        let text = description().to_toml();
        let with = |from: &str, to: &str| said(&text.replacen(from, to, 1));
        assert!(with("copies", "copeis").starts_with("n/cluster.toml:8: unknown field `copeis`"));
        assert!(with("version = 1", "version = 2").contains(":3: version: 1 expected, found 2"));
        assert!(with("partitions = 64", "partitions = 0").contains(":7: partitions: 1 to 4096 expected"));
        assert!(with("salt = \"73", "salt = \"7").contains(":5: salt: 32 hexadecimal digits expected"));
        assert!(with("copies = 2\n", "").contains("missing field `copies`"));
        let secret = with("copies = 2", "copies = \"x\"");
        assert!(secret.contains(":8: ") && !secret.contains("73616c74"), "{secret}");
    }

    #[test]
    fn what_no_cluster_can_be_is_refused() {
        let refused = |change: &dyn Fn(&mut ClusterDescription)| {
            let mut description = description();
            change(&mut description);
            let error = description.check().unwrap_err().to_string();
            // Also as a file whose id fits.
            assert!(said(&description.to_toml()).contains(&error), "{error}");
            error
        };
        assert!(refused(&|d| d.name.clear()).contains("name"));
        assert!(refused(&|d| d.name = "a\nb".to_owned()).contains("name"));
        assert!(refused(&|d| d.copies = 0).contains("copy"));
        assert!(refused(&|d| d.members.clear()).contains("1 to 1000 nodes"));
        assert!(refused(&|d| d.members[1].node = NodeId(0)).contains("node 0 is there twice"));
        assert!(refused(&|d| d.members[1].address = "db0:7946".into()).contains("two nodes"));
        assert!(refused(&|d| d.members[1].address = "db0".into()).contains("host:port"));
        assert!(refused(&|d| d.limits.generation_slots = 7).contains("generation-slots"));
        assert!(refused(&|d| d.limits.parts_bytes = 7).contains("parts-bytes"));
    }

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for address in ["db1:7946", "10.0.0.1:1", "[::1]:65535", "db1.example.org:7946"] {
            check_address(address).unwrap();
        }
        let long = format!("{}:1", "h".repeat(ADDRESS_BYTES_MAX));
        for address in
            ["", ":1", "db1", "db1:", "db1:0", "db1:65536", "::1:7", "http://db1:7", "a b:1", &long]
        {
            assert!(check_address(address).is_err(), "{address}");
        }
    }

    #[test]
    fn every_node_begins_with_the_same_state() {
        let state = description().first_state();
        assert_eq!(state.salt(), description().salt);
        let tables = state.tables();
        assert_eq!(tables.members().address(NodeId(2)), Some("db2:7946"));
        let kept: Vec<usize> = (0..3).map(|node| tables.placement().kept_by(NodeId(node)).count()).collect();
        assert_eq!(kept.iter().sum::<usize>(), 2 * 64);
        assert!(kept.iter().all(|count| (42..=43).contains(count)), "{kept:?}");
    }
}
