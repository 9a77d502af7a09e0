//! `evergraph cluster create`: the folders of a new cluster's nodes, and what to do with them.

use crate::context::Context;
use crate::target::FolderParser;
use clap::Args;
use evergraph_cluster::log::etcd::options::{CleartextLogin, EtcdClientCertificate, EtcdEndpoint, EtcdTls};
use evergraph_cluster::running::create::{CreatedCluster, NewCluster};
use evergraph_cluster::running::etcd_access::{EtcdAccess, EtcdPasswordFile};
use evergraph_graph::error::Result;
use evergraph_graph::partition::{PARTITIONS_MAX, PartitionCount};
use evergraph_server::databases::name::{check_database_name, name_of};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::counted;
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  evergraph cluster create shop --nodes 10.0.0.1:7400,10.0.0.2:7400,10.0.0.3:7400 --log http://10.0.0.1:2379,http://10.0.0.2:2379,http://10.0.0.3:2379
  evergraph cluster create shop --nodes a:7400,b:7400,c:7400,d:7400 --log https://a,https://b,https://c --log-root etcd-root.pem
  evergraph cluster create trial --nodes 127.0.0.1:7400 --log http://127.0.0.1 --copies 1

What it makes:
  OUT/node-0, OUT/node-1 and so on, each to be moved to its machine: it has the
  description of the cluster, the node's certificate and key, and where the log
  is. OUT/ca.key signs the certificates of nodes. Keep it where no node runs:
  whoever has it can be any node. No machine is asked, and nothing runs yet.

What cannot be changed afterwards:
  The name, the partitions and the copies. More partitions than nodes let a
  cluster be divided evenly; 64 serve up to some tens of nodes. With 2 copies a
  cluster survives the loss of one node, with 3 of two.

The log:
  etcd 3.4 or newer, three members on three machines, set up for it: see
  docs/guide/cluster.md. Files that --log-... options name are copied into the
  folder of each node.";

/// Options about the log.
const LOG: &str = "Log";

/// Arguments of `evergraph cluster create`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct CreateArguments {
    /// The folder to make, with a folder for each node in it.
    #[arg(value_name = "OUT", value_parser = FolderParser)]
    pub out: PathBuf,
    /// Where the nodes reach each other: names or addresses of machines with a port, separated by commas. The first is node 0.
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',', required = true)]
    pub nodes: Vec<String>,
    /// What drivers call the graph [default: the name of OUT].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Into how many parts the graph is divided, 1 to 4096.
    #[arg(long, value_name = "N", value_parser = partitions, default_value = "64")]
    pub partitions: PartitionCount,
    /// On how many nodes each part is kept; on all if there are fewer nodes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64), default_value = "2")]
    pub copies: u16,
    /// The members of etcd, separated by commas.
    #[arg(long, value_name = "URL,...", value_delimiter = ',', required = true, help_heading = LOG)]
    pub log: Vec<String>,
    /// The root of the members' certificates, in PEM, with URLs of https.
    #[arg(long, value_name = "FILE", help_heading = LOG)]
    pub log_root: Option<PathBuf>,
    /// The certificate that nodes show to etcd, in PEM, if it demands one.
    #[arg(long, value_name = "FILE", requires_all = ["log_key", "log_root"], help_heading = LOG)]
    pub log_certificate: Option<PathBuf>,
    /// The key of that certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "log_certificate", help_heading = LOG)]
    pub log_key: Option<PathBuf>,
    /// A user of etcd, if it demands one; with the role root, which trims the log.
    #[arg(long, value_name = "USER", requires = "log_password_file", help_heading = LOG)]
    pub log_user: Option<String>,
    /// The file of its password, which nobody else can read.
    #[arg(long, value_name = "FILE", requires = "log_user", help_heading = LOG)]
    pub log_password_file: Option<PathBuf>,
}

fn partitions(text: &str) -> std::result::Result<PartitionCount, String> {
    let count = text.parse().ok().and_then(PartitionCount::new);
    count.ok_or_else(|| format!("expected a number from 1 to {PARTITIONS_MAX}"))
}

/// Makes the folders.
///
/// # Errors
/// Those of [`NewCluster::write`]; `invalid` for a name that no database can have.
pub fn execute(arguments: &CreateArguments, context: &Context) -> std::result::Result<(), Failure> {
    let created = arguments.cluster()?.write(&arguments.out)?;
    context.console.summary(&CreateReport::new(&created, arguments))
}

impl CreateArguments {
    fn cluster(&self) -> Result<NewCluster> {
        let name = match &self.name {
            Some(name) => name.clone(),
            None => name_of(&self.out)?.into_string(),
        };
        // Drivers call it so on every node.
        check_database_name(&name)?;
        let endpoints = self.log.iter().map(|url| url.parse()).collect::<Result<Vec<EtcdEndpoint>>>()?;
        let client = match (&self.log_certificate, &self.log_key) {
            (Some(certificate), Some(key)) => {
                Some(EtcdClientCertificate { certificate: certificate.clone(), key: key.clone() })
            }
            _ => None,
        };
        let login = match (&self.log_user, &self.log_password_file) {
            (Some(user), Some(password_file)) => Some(EtcdPasswordFile {
                user: user.clone(),
                password_file: password_file.clone(),
                cleartext: CleartextLogin::Loopback,
            }),
            _ => None,
        };
        let tls = self.log_root.as_ref().map(|root| EtcdTls { root: root.clone(), client });
        let log = EtcdAccess { tls, login, ..EtcdAccess::new(endpoints) };
        let (partitions, copies) = (self.partitions, self.copies);
        Ok(NewCluster { partitions, copies, ..NewCluster::new(name, self.nodes.clone(), log) })
    }
}

/// What was made.
#[derive(Debug, Serialize)]
struct CreateReport {
    cluster: String,
    cluster_id: String,
    partitions: u16,
    copies: u16,
    authority_key: String,
    log: Vec<String>,
    nodes: Vec<CreatedNode>,
}

/// A node that was made.
#[derive(Debug, Serialize)]
struct CreatedNode {
    node: u16,
    address: String,
    folder: String,
}

impl CreateReport {
    fn new(created: &CreatedCluster, arguments: &CreateArguments) -> Self {
        let shown = |path: &Path| path.display().to_string();
        let members = created.description.members.iter().zip(&created.nodes);
        Self {
            cluster: created.description.name.clone(),
            cluster_id: created.description.id().to_string(),
            partitions: created.description.partitions.get(),
            copies: created.description.copies,
            authority_key: shown(&created.authority_key),
            log: arguments.log.clone(),
            nodes: members
                .map(|(member, folder)| CreatedNode {
                    node: member.node.0,
                    address: member.address.clone(),
                    folder: shown(folder),
                })
                .collect(),
        }
    }

    /// Nodes whose loss the others survive.
    fn losses(&self) -> usize {
        usize::from(self.copies).min(self.nodes.len()) - 1
    }
}

impl fmt::Display for CreateReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = counted(self.nodes.len() as u64, "node", "nodes");
        let partitions = counted(self.partitions.into(), "partition", "partitions");
        let copies = counted(self.copies.into(), "copy", "copies");
        writeln!(f, "the cluster {} has {nodes}, {partitions}, {copies} of each", visible(&self.cluster))?;
        match self.losses() {
            0 => writeln!(f, "no node of it may be lost: it has one copy of each partition")?,
            losses => {
                let lost = counted(losses as u64, "node", "nodes");
                writeln!(f, "it survives the loss of {lost}, as long as the log is there")?;
            }
        }
        writeln!(
            f,
            "\nmove each folder to its machine, where nobody else may read it, and serve it there:\n"
        )?;
        for CreatedNode { address, folder, .. } in &self.nodes {
            let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
            let name = Path::new(folder).file_name().unwrap_or_default().to_string_lossy();
            let (folder, host) = (visible(folder), visible(host));
            writeln!(f, "  scp -rp {folder} {host}: && ssh -t {host} evergraph cluster serve {name}")?;
        }
        writeln!(
            f,
            "\nkeep {} where no node runs: it signs the certificates of nodes",
            visible(&self.authority_key)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};
    use evergraph_graph::error::{Error, ErrorKind};

    fn cluster(more: &[&str]) -> Result<NewCluster> {
        let words = ["create", "a/shop", "--nodes", "a:1,b:2", "--log", "http://a,http://b:7"];
        let matches = CreateArguments::augment_args(Command::new("create"))
            .try_get_matches_from(words.iter().chain(more))
            .map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))?;
        CreateArguments::from_arg_matches(&matches).unwrap().cluster()
    }

    #[test]
    fn options_become_a_cluster_and_its_log() {
        let plain = cluster(&[]).unwrap();
        assert_eq!((plain.name.as_str(), plain.copies, plain.partitions.get()), ("shop", 2, 64));
        assert_eq!(plain.nodes, ["a:1", "b:2"]);
        let urls: Vec<String> = plain.log.endpoints.iter().map(ToString::to_string).collect();
        assert_eq!(urls, ["http://a:2379", "http://b:7"]);
        assert!(plain.log.tls.is_none() && plain.log.login.is_none());
        let secured = cluster(&[
            "--log-root",
            "r",
            "--log-certificate",
            "c",
            "--log-key",
            "k",
            "--log-user",
            "u",
            "--log-password-file",
            "p",
            "--name",
            "web",
            "--partitions",
            "7",
            "--copies",
            "3",
        ])
        .unwrap();
        assert_eq!((secured.name.as_str(), secured.copies, secured.partitions.get()), ("web", 3, 7));
        let tls = secured.log.tls.unwrap();
        assert_eq!((tls.root.to_str(), tls.client.unwrap().key.to_str()), (Some("r"), Some("k")));
        let login = secured.log.login.unwrap();
        assert_eq!((login.user.as_str(), login.cleartext), ("u", CleartextLogin::Loopback));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_option() {
        for (more, word) in [
            (&["--partitions", "0"][..], "1 to 4096"),
            (&["--partitions", "4097"], "1 to 4096"),
            (&["--copies", "0"], "--copies"),
            (&["--log-key", "k"], "--log-certificate"),
            (&["--log-user", "u"], "--log-password-file"),
            (&["--name", "g"], "aliases"),
            (&["--name", "a/b"], "the name of a database"),
        ] {
            let error = cluster(more).map(drop).unwrap_err();
            assert!(error.to_string().contains(word), "{more:?}: {error}");
        }
    }
}
