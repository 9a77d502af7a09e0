//! Tests of creating clusters: what is written, who may read it, and what is left when it fails.

use super::*;
#[cfg(feature = "nats")]
use crate::log::nats::options::NatsSync;
use crate::log::server_access::{CleartextLogin, LogClientCertificate, LogTls};
use crate::running::etcd_access::{EtcdAccess, EtcdPasswordFile};
#[cfg(feature = "nats")]
use crate::running::nats_access::{NatsAccess, NatsLoginFile};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

fn access() -> EtcdAccess {
    EtcdAccess::new(vec!["http://127.0.0.1:2379".parse().unwrap()])
}

fn three() -> NewCluster {
    let nodes = (0..3).map(|node| format!("db{node}:7946")).collect();
    NewCluster::new("shop", nodes, access())
}

fn home() -> (TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("shop");
    (home, folder)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn is_new(entry: &fs::DirEntry) -> bool {
    entry.file_name().to_string_lossy().ends_with(".new")
}

fn identity(folder: &Path) -> Result<NodeIdentity> {
    let (description, own) = (ClusterDescription::read(folder)?, NodeDescription::read(folder)?);
    NodeIdentity::read(description.id(), own.node, &own.identity)
}

#[test]
fn nodes_get_the_same_description_and_certificates_of_their_own() {
    let (_home, folder) = home();
    let created = three().write(&folder).unwrap();
    assert_eq!(created.authority_key, folder.join("ca.key"));
    assert_eq!(created.nodes, ["node-0", "node-1", "node-2"].map(|name| folder.join(name)));
    let texts: Vec<String> =
        created.nodes.iter().map(|node| fs::read_to_string(node.join(CLUSTER_FILE)).unwrap()).collect();
    assert!(texts.iter().all(|text| *text == texts[0]));
    for (number, node) in (0..).zip(&created.nodes) {
        assert_eq!(ClusterDescription::read(node).unwrap(), created.description);
        let own = NodeDescription::read(node).unwrap();
        assert_eq!((own.node, &own.log), (NodeId(number), &LogAccess::from(access())));
        let identity = identity(node).unwrap();
        assert_eq!((identity.cluster(), identity.node()), (created.description.id(), NodeId(number)));
        assert_eq!([CLUSTER_FILE, KEY_FILE].map(|name| mode(&node.join(name))), [0o600; 2]);
        assert!(!node.join("ca.key").exists(), "nobody needs it to run a node");
    }
    assert_eq!((mode(&folder), mode(&folder.join("ca.key"))), (0o700, 0o600));
    // Another cluster of the same name is another one.
    let other = three().write(&folder.with_file_name("other")).unwrap();
    assert_ne!(other.description.id(), created.description.id());
    let (own, theirs) = (&created.nodes[0], &other.nodes[0]);
    fs::copy(theirs.join(CERTIFICATE_FILE), own.join(CERTIFICATE_FILE)).unwrap();
    fs::copy(theirs.join(KEY_FILE), own.join(KEY_FILE)).unwrap();
    let error = identity(own).unwrap_err().to_string();
    assert!(error.contains("node.pem cannot be used"), "{error}");
}

#[test]
fn files_for_etcd_go_along() {
    let (home, folder) = home();
    let file = |name: &str, mode: u32| {
        let path = home.path().join(name);
        fs::write(&path, format!("this is {name}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let client = LogClientCertificate { certificate: file("c.pem", 0o644), key: file("c.key", 0o600) };
    let log = EtcdAccess {
        endpoints: vec!["https://etcd1".parse().unwrap()],
        tls: Some(LogTls { root: file("root.pem", 0o644), client: Some(client) }),
        login: Some(EtcdPasswordFile {
            user: "evergraph".to_owned(),
            password_file: file("password", 0o600),
            cleartext: CleartextLogin::Loopback,
        }),
        time_limit: None,
    };
    let created = NewCluster { log: log.into(), ..three() }.write(&folder).unwrap();
    let node = &created.nodes[1];
    let LogAccess::Etcd(own) = NodeDescription::read(node).unwrap().log else { panic!("it is on etcd") };
    let tls = own.tls.unwrap();
    let client = tls.client.unwrap();
    assert_eq!(tls.root, node.join("etcd-root.pem"));
    assert_eq!(fs::read_to_string(&client.certificate).unwrap(), "this is c.pem");
    assert_eq!(
        (fs::read_to_string(&client.key).unwrap(), mode(&client.key)),
        ("this is c.key".into(), 0o600)
    );
    assert_eq!(mode(&own.login.unwrap().password_file), 0o600);
}

#[cfg(feature = "nats")]
#[test]
fn a_cluster_on_nats_has_its_files_and_says_where_servers_are_asked() {
    let (home, folder) = home();
    let credentials = home.path().join("user.creds");
    fs::write(&credentials, "a seed").unwrap();
    fs::set_permissions(&credentials, fs::Permissions::from_mode(0o600)).unwrap();
    let servers = vec!["nats://a".parse().unwrap(), "nats://b".parse().unwrap()];
    let access = |sync| NatsAccess {
        login: Some(NatsLoginFile::Credentials(credentials.clone())),
        ..NatsAccess::new(servers.clone(), sync)
    };
    let unknown = access(NatsSync::Monitored(Vec::new()));
    let error = NewCluster { log: unknown.into(), ..three() }.write(&folder).map(drop).unwrap_err();
    assert!(error.to_string().contains("`sync_interval: always`"), "{error}");
    let monitored = access(NatsSync::Monitored(vec!["http://a".parse().unwrap()]));
    let created = NewCluster { log: monitored.clone().into(), ..three() }.write(&folder).unwrap();
    let node = &created.nodes[2];
    let LogAccess::Nats(own) = NodeDescription::read(node).unwrap().log else { panic!("it is on NATS") };
    let copy = node.join("nats.creds");
    assert_eq!((fs::read_to_string(&copy).unwrap().as_str(), mode(&copy)), ("a seed", 0o600));
    assert_eq!(own, NatsAccess { login: Some(NatsLoginFile::Credentials(copy)), ..monitored });
}

#[test]
fn what_cannot_be_created_leaves_nothing() {
    let (home, folder) = home();
    let nothing_is_left = || assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "something is left");
    let refused = |new: NewCluster, said: &str| {
        let error = new.write(&folder).map(drop).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
        nothing_is_left();
    };
    refused(NewCluster { nodes: Vec::new(), ..three() }, "1 to 1000 nodes");
    refused(NewCluster { nodes: vec!["db1".into()], ..three() }, "host:port");
    refused(NewCluster { copies: 0, ..three() }, "copy");
    refused(NewCluster { log: EtcdAccess::new(Vec::new()).into(), ..three() }, "1 to 16 endpoints");
    // What is only found when the folder is half written.
    let tls = LogTls { root: home.path().join("missing.pem"), client: None };
    let log = EtcdAccess { tls: Some(tls), ..EtcdAccess::new(vec!["https://etcd1".parse().unwrap()]) };
    refused(NewCluster { log: log.into(), ..three() }, "missing.pem");
}

#[test]
fn nothing_is_overwritten() {
    let (_home, folder) = home();
    let created = three().write(&folder).unwrap();
    let key = fs::read(&created.authority_key).unwrap();
    let error = three().write(&folder).map(drop).unwrap_err();
    assert!(error.to_string().contains("is not empty"), "{error}");
    assert_eq!(fs::read(&created.authority_key).unwrap(), key);
}

#[test]
fn a_certificate_is_renewed_by_the_same_authority_alone() {
    let (_home, folder) = home();
    let created = three().write(&folder).unwrap();
    let node = &created.nodes[0];
    let read = |name: &str| fs::read(node.join(name)).unwrap();
    let before = [CERTIFICATE_FILE, KEY_FILE].map(read);
    renew_certificate(&folder, node).unwrap();
    let after = [CERTIFICATE_FILE, KEY_FILE].map(read);
    assert!(after[0] != before[0] && after[1] != before[1]);
    identity(node).unwrap();
    assert_eq!(mode(&node.join(KEY_FILE)), 0o600);
    // The key of another cluster's CA.
    let other = folder.with_file_name("other");
    three().write(&other).unwrap();
    renew_certificate(&other, node).unwrap_err();
    assert_eq!([CERTIFICATE_FILE, KEY_FILE].map(read), after, "the node has what it had");
    identity(node).unwrap();
    assert!(!fs::read_dir(node).unwrap().any(|entry| is_new(&entry.unwrap())), "a new key is left");
    // What an interruption has left is in nobody's way.
    fs::write(node.join("node.key.new"), "half a k").unwrap();
    renew_certificate(&folder, node).unwrap();
    assert!(!fs::read_dir(node).unwrap().any(|entry| is_new(&entry.unwrap())), "a new key is left");
    assert_eq!(mode(&node.join(KEY_FILE)), 0o600);
    identity(node).unwrap();
}

#[test]
fn a_node_is_added_that_the_others_let_in() {
    let (_home, folder) = home();
    let created = three().write(&folder).unwrap();
    let fourth = folder.join("node-3");
    add_node(&folder, &created.nodes[0], NodeId(3), "db3:7946", &fourth).unwrap();
    let own = NodeDescription::read(&fourth).unwrap();
    assert_eq!((own.node, own.address.as_deref()), (NodeId(3), Some("db3:7946")));
    assert_eq!(ClusterDescription::read(&fourth).unwrap(), created.description);
    identity(&fourth).unwrap();
    let again = add_node(&folder, &created.nodes[0], NodeId(2), "db4:7946", &folder.join("node-4"));
    assert!(again.unwrap_err().to_string().contains("created with node 2"));
    assert!(!folder.join("node-4").exists());
}
