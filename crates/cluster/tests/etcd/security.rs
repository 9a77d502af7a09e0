//! TLS and users: who is let in, and what is said to those who are not.

use crate::certificates::Root;
use crate::http;
use crate::members::{Clusters, MemberOptions, Members, open as open_log};
use crate::real_log::RealLog as _;
use crate::real_log::test_log::{assert_unavailable, pass, wait_until, waker};
use evergraph_cluster::log::etcd::etcd_log::EtcdLog;
use evergraph_cluster::log::etcd::options::{EtcdLogin, EtcdOptions};
use evergraph_cluster::log::server_access::{LogClientCertificate, LogTls};
use evergraph_cluster::log_position::LogPosition;
use evergraph_graph::error::ErrorKind;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

#[test]
fn a_member_with_tls_is_trusted_by_its_root_and_trusts_clients_by_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let (root, stranger) = (Root::new("root of a test"), Root::new("another root"));
    let root_file = root.write(folder.path(), "root");
    let (server, client) = (root.sign(folder.path(), "server"), root.sign(folder.path(), "client"));
    let flags = [
        format!("--cert-file={}", server.certificate.display()),
        format!("--key-file={}", server.key.display()),
        format!("--trusted-ca-file={}", root_file.display()),
        "--client-cert-auth=true".to_owned(),
    ];
    let options = MemberOptions { count: 1, clusters: Clusters::One, scheme: "https", flags: &flags };
    let Some(members) = Members::start_with(&options) else { return };
    let with = |root: PathBuf, client: Option<LogClientCertificate>| EtcdOptions {
        tls: Some(LogTls { root, client }),
        ..members.options(&[])
    };
    let mut log = open_log(with(root_file.clone(), Some(client.client_certificate())));
    wait_until("the member serves", || log.end().is_ok());
    let position = log.append("m").unwrap();
    log.read_from(LogPosition(1));
    assert_eq!(log.messages(1), [(position, "m".to_owned())]);
    assert_eq!(log.trim(position), Ok(()));

    // No certificate, one of a stranger, a member of a stranger, and no TLS at all.
    let strange = stranger.sign(folder.path(), "strange");
    let strange_root = stranger.write(folder.path(), "strange root");
    let mut nameless = open_log(with(root_file.clone(), None));
    assert!(nameless.append("n").is_err(), "a client without a certificate is let in");
    let mut unknown = open_log(with(root_file, Some(strange.client_certificate())));
    assert!(unknown.append("n").is_err(), "a client of another root is let in");
    let mut untrusted = open_log(with(strange_root, Some(client.client_certificate())));
    assert_unavailable(untrusted.append("n"), "begin TLS: invalid peer certificate");
    let plain = format!("http://127.0.0.1:{}", members.port(0)).parse().unwrap();
    let mut plain = open_log(EtcdOptions::new(vec![plain], "log"));
    assert_unavailable(plain.append("n"), "write https");
    assert_eq!(log.end(), Ok(position), "nobody else wrote");
}

#[test]
fn files_of_certificates_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (root, stranger) = (Root::new("root of a test"), Root::new("another root"));
    let root_file = root.write(folder.path(), "root");
    let (client, other) = (root.sign(folder.path(), "client"), stranger.sign(folder.path(), "other"));
    let open = |root: PathBuf, client: Option<LogClientCertificate>| {
        let tls = Some(LogTls { root, client });
        let options = EtcdOptions::new(vec!["https://127.0.0.1:1".parse().unwrap()], "log");
        EtcdLog::open(EtcdOptions { tls, ..options }, waker())
    };
    open(root_file.clone(), Some(client.client_certificate())).unwrap();
    let missing = open(folder.path().join("nowhere.pem"), None).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(missing.to_string().contains("nowhere.pem"), "{missing}");
    let empty = open(client.key.clone(), None).unwrap_err().to_string();
    assert!(empty.contains("holds no root certificate"), "{empty}");
    let mixed = LogClientCertificate { certificate: client.certificate.clone(), key: other.key };
    let mixed = open(root_file.clone(), Some(mixed)).unwrap_err().to_string();
    assert!(mixed.contains("is not of the key"), "{mixed}");
    fs::set_permissions(&client.key, fs::Permissions::from_mode(0o644)).unwrap();
    let readable = open(root_file, Some(client.client_certificate())).unwrap_err().to_string();
    assert!(readable.contains("chmod 600"), "{readable}");
}

#[test]
fn a_log_in_is_made_again_when_it_runs_out_and_a_wrong_one_is_refused() {
    let flags = ["--auth-token-ttl=2".to_owned()];
    let options = MemberOptions { count: 1, clusters: Clusters::One, scheme: "http", flags: &flags };
    let Some(members) = Members::start_with(&options) else { return };
    let login = |user: &str, password: &str| EtcdOptions {
        login: Some(EtcdLogin::new(user, password)),
        ..members.options(&[])
    };
    // Before there are users, a log-in is not needed, and no harm.
    let mut early = open_log(login("root", "correct horse"));
    early.append("early").unwrap();
    for (path, json) in [
        ("/v3/auth/user/add", r#"{"name":"root","password":"correct horse"}"#),
        ("/v3/auth/user/add", r#"{"name":"guest","password":"guest"}"#),
        ("/v3/auth/role/add", r#"{"name":"root"}"#),
        ("/v3/auth/user/grant", r#"{"user":"root","role":"root"}"#),
        ("/v3/auth/enable", "{}"),
    ] {
        http::post(members.port(0), path, json);
    }
    let mut log = open_log(login("root", "correct horse"));
    let first = log.append("first").unwrap();
    log.read_from(first);
    assert_eq!(log.messages(1), [(first, "first".to_owned())]);
    // Nobody asks while the token runs out.
    pass(Duration::from_secs(5));
    let second = log.append("second").unwrap();
    log.read_from(second);
    assert_eq!(log.messages(1), [(second, "second".to_owned())]);
    assert_eq!(log.trim(second), Ok(()));

    let mut wrong = open_log(login("root", "wrong horse"));
    assert_unavailable(wrong.append("n"), "log in as root: etcdserver: authentication failed");
    assert_unavailable(wrong.end(), "log in as root");
    wrong.read_from(LogPosition(1));
    assert_unavailable(wrong.message(), "log in as root");
    let mut guest = open_log(login("guest", "guest"));
    assert_unavailable(guest.append("n"), "permission denied");
    guest.read_from(LogPosition(1));
    assert_unavailable(guest.message(), "permission denied");
    let mut nobody = open_log(members.options(&[]));
    assert_unavailable(nobody.append("n"), "user name is empty");
    assert_eq!(log.end(), Ok(second), "nobody else wrote");
}
