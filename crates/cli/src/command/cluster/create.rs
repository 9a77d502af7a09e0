//! `evergraph cluster create`: the folders of a new cluster's nodes, and what to do with them.

use crate::context::Context;
use crate::target::FolderParser;
use clap::Args;
use evergraph_cluster::log::etcd::options::EtcdEndpoint;
use evergraph_cluster::log::nats::options::{NatsMonitor, NatsServer, NatsSync};
use evergraph_cluster::log::server_access::{CleartextLogin, LogClientCertificate, LogTls};
use evergraph_cluster::running::create::{CreatedCluster, NewCluster};
use evergraph_cluster::running::etcd_access::{EtcdAccess, EtcdPasswordFile};
use evergraph_cluster::running::log_access::LogAccess;
use evergraph_cluster::running::nats_access::{NatsAccess, NatsLoginFile};
use evergraph_graph::error::{Error, Result};
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
  folder of each node.
  Or NATS JetStream 2.12 or newer, three servers, by URLs of nats or tls, in a
  program built with the feature nats. It loses what it has acknowledged unless
  every server has `sync_interval: always`, which --log-monitor lets the nodes
  see, and --log-sync-always states.";

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
    /// The members of etcd, or the servers of NATS, separated by commas.
    #[arg(long, value_name = "URL,...", value_delimiter = ',', required = true, help_heading = LOG)]
    pub log: Vec<String>,
    /// The root of their certificates, in PEM, with URLs of https or tls.
    #[arg(long, value_name = "FILE", help_heading = LOG)]
    pub log_root: Option<PathBuf>,
    /// The certificate that nodes show to them, in PEM, if they demand one.
    #[arg(long, value_name = "FILE", requires_all = ["log_key", "log_root"], help_heading = LOG)]
    pub log_certificate: Option<PathBuf>,
    /// The key of that certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "log_certificate", help_heading = LOG)]
    pub log_key: Option<PathBuf>,
    /// A user, if they demand one; of etcd with the role root, which trims the log.
    #[arg(long, value_name = "USER", requires = "log_password_file", help_heading = LOG)]
    pub log_user: Option<String>,
    /// The file of its password, which nobody else can read.
    #[arg(long, value_name = "FILE", requires = "log_user", help_heading = LOG)]
    pub log_password_file: Option<PathBuf>,
    /// The file of a token for NATS, if it demands one.
    #[arg(long, value_name = "FILE", conflicts_with = "log_user", help_heading = LOG)]
    pub log_token_file: Option<PathBuf>,
    /// A credentials file for NATS, if it demands one.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["log_user", "log_token_file"], help_heading = LOG)]
    pub log_credentials_file: Option<PathBuf>,
    /// The monitoring ports of all servers of NATS, separated by commas: nodes ask there whether each write is synced.
    #[arg(long, value_name = "URL,...", value_delimiter = ',', help_heading = LOG)]
    pub log_monitor: Vec<String>,
    /// State that all servers of NATS have `sync_interval: always`, and ask none.
    #[arg(long, conflicts_with = "log_monitor", help_heading = LOG)]
    pub log_sync_always: bool,
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
        let log = self.log_access()?;
        let (partitions, copies) = (self.partitions, self.copies);
        Ok(NewCluster { partitions, copies, ..NewCluster::new(name, self.nodes.clone(), log) })
    }
}

impl CreateArguments {
    /// Where the log is: on NATS if the first URL says so.
    fn log_access(&self) -> Result<LogAccess> {
        let is_tls = |url: &&String| url.starts_with("https:") || url.starts_with("tls:");
        if self.log_root.is_none()
            && let Some(url) = self.log.iter().chain(&self.log_monitor).find(is_tls)
        {
            return Err(Error::invalid(format!(
                "{url} needs the file of its root certificate: name it by --log-root"
            )));
        }
        let is_nats = self.log.first().is_some_and(|url| url.starts_with("nats:") || url.starts_with("tls:"));
        if is_nats { self.nats().map(LogAccess::Nats) } else { self.etcd().map(LogAccess::Etcd) }
    }

    fn etcd(&self) -> Result<EtcdAccess> {
        let of_nats = [
            ("--log-monitor", !self.log_monitor.is_empty()),
            ("--log-sync-always", self.log_sync_always),
            ("--log-token-file", self.log_token_file.is_some()),
            ("--log-credentials-file", self.log_credentials_file.is_some()),
        ];
        if let Some((option, _)) = of_nats.into_iter().find(|(_, is_there)| *is_there) {
            return Err(Error::invalid(format!(
                "{option} is for a log on NATS, and --log names etcd: write URLs of nats or tls, or leave it out"
            )));
        }
        let endpoints = self.log.iter().map(|url| url.parse()).collect::<Result<Vec<EtcdEndpoint>>>()?;
        let login = match (&self.log_user, &self.log_password_file) {
            (Some(user), Some(password_file)) => Some(EtcdPasswordFile {
                user: user.clone(),
                password_file: password_file.clone(),
                cleartext: CleartextLogin::Loopback,
            }),
            _ => None,
        };
        Ok(EtcdAccess { tls: self.log_tls(), login, ..EtcdAccess::new(endpoints) })
    }

    fn nats(&self) -> Result<NatsAccess> {
        let servers = self.log.iter().map(|url| url.parse()).collect::<Result<Vec<NatsServer>>>()?;
        let monitors =
            self.log_monitor.iter().map(|url| url.parse()).collect::<Result<Vec<NatsMonitor>>>()?;
        if monitors.is_empty() && !self.log_sync_always {
            return Err(Error::invalid(
                "a log on NATS loses what it has acknowledged unless every server has `sync_interval: always` below `jetstream` \
                 in its configuration: name the monitoring ports of all servers by --log-monitor http://HOST:8222,..., or state \
                 that all of them have it by --log-sync-always",
            ));
        }
        let sync = if self.log_sync_always { NatsSync::Asserted } else { NatsSync::Monitored(monitors) };
        let login = match (&self.log_user, &self.log_password_file) {
            (Some(user), Some(file)) => {
                Some(NatsLoginFile::Password { user: user.clone(), file: file.clone() })
            }
            _ => None,
        };
        let login = login.or_else(|| self.log_token_file.clone().map(NatsLoginFile::Token));
        let login = login.or_else(|| self.log_credentials_file.clone().map(NatsLoginFile::Credentials));
        Ok(NatsAccess { tls: self.log_tls(), login, ..NatsAccess::new(servers, sync) })
    }

    fn log_tls(&self) -> Option<LogTls> {
        let client = match (&self.log_certificate, &self.log_key) {
            (Some(certificate), Some(key)) => {
                Some(LogClientCertificate { certificate: certificate.clone(), key: key.clone() })
            }
            _ => None,
        };
        self.log_root.as_ref().map(|root| LogTls { root: root.clone(), client })
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

    /// Copies that there are of each partition: a node keeps one at most.
    fn kept_copies(&self) -> usize {
        usize::from(self.copies).min(self.nodes.len())
    }

    /// Nodes whose loss the others survive.
    fn losses(&self) -> usize {
        self.kept_copies() - 1
    }
}

impl fmt::Display for CreateReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = counted(self.nodes.len() as u64, "node", "nodes");
        let partitions = counted(self.partitions.into(), "partition", "partitions");
        let copies = counted(self.kept_copies() as u64, "copy", "copies");
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
        cluster_on("http://a,http://b:7", more)
    }

    fn cluster_on(log: &str, more: &[&str]) -> Result<NewCluster> {
        let words = ["create", "a/shop", "--nodes", "a:1,b:2", "--log", log];
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
        assert_eq!(plain.log.servers(), ["http://a:2379", "http://b:7"]);
        let LogAccess::Etcd(log) = plain.log else { panic!("it is on etcd") };
        assert!(log.tls.is_none() && log.login.is_none());
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
        let LogAccess::Etcd(log) = secured.log else { panic!("it is on etcd") };
        let tls = log.tls.unwrap();
        assert_eq!((tls.root.to_str(), tls.client.unwrap().key.to_str()), (Some("r"), Some("k")));
        let login = log.login.unwrap();
        assert_eq!((login.user.as_str(), login.cleartext), ("u", CleartextLogin::Loopback));
    }

    #[test]
    fn urls_of_nats_become_a_log_there_once_it_is_known_that_servers_sync() {
        let on_nats = |more: &[&str]| cluster_on("nats://a,nats://b:7", more);
        let error = on_nats(&[]).map(drop).unwrap_err().to_string();
        assert!(error.contains("`sync_interval: always`") && error.contains("--log-monitor"), "{error}");
        let nats = |more: &[&str]| match on_nats(more).unwrap().log {
            LogAccess::Nats(nats) => nats,
            LogAccess::Etcd(etcd) => panic!("{etcd:?}"),
        };
        let asserted = nats(&["--log-sync-always", "--log-token-file", "t"]);
        assert_eq!(
            (asserted.sync, asserted.login),
            (NatsSync::Asserted, Some(NatsLoginFile::Token("t".into())))
        );
        let monitored =
            nats(&["--log-monitor", "http://a,http://b:9", "--log-user", "u", "--log-password-file", "p"]);
        let NatsSync::Monitored(monitors) = monitored.sync else { panic!("ports are named") };
        let urls: Vec<String> = monitors.iter().map(ToString::to_string).collect();
        assert_eq!(urls, ["http://a:8222", "http://b:9"]);
        let password = NatsLoginFile::Password { user: "u".to_owned(), file: "p".into() };
        assert_eq!(monitored.login, Some(password));
        let secure =
            cluster_on("tls://a", &["--log-root", "r", "--log-sync-always", "--log-credentials-file", "c"]);
        let LogAccess::Nats(secure) = secure.unwrap().log else { panic!("it is on NATS") };
        assert_eq!(secure.login, Some(NatsLoginFile::Credentials("c".into())));
        assert_eq!(secure.tls.unwrap().root.to_str(), Some("r"));
        let mixed = cluster_on("nats://a,http://b", &["--log-sync-always"]).map(drop).unwrap_err();
        assert!(mixed.to_string().contains("http://b"), "{mixed}");
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_option() {
        for (more, word) in [
            (&["--partitions", "0"][..], "1 to 4096"),
            (&["--partitions", "4097"], "1 to 4096"),
            (&["--copies", "0"], "--copies"),
            (&["--log-key", "k"], "--log-certificate"),
            (&["--log-user", "u"], "--log-password-file"),
            (&["--log-monitor", "http://a"], "--log-monitor is for a log on NATS"),
            (&["--log-sync-always"], "--log-sync-always is for a log on NATS"),
            (&["--name", "g"], "aliases"),
            (&["--name", "a/b"], "the name of a database"),
        ] {
            let error = cluster(more).map(drop).unwrap_err();
            assert!(error.to_string().contains(word), "{more:?}: {error}");
        }
    }
}
