//! TLS and users: who is let in, and what is said to those who are not. Credentials files need accounts of an operator, which these
//! servers do not have.

use crate::certificates::Root;
use crate::real_log::HASTY_LIMIT;
use crate::real_log::test_log::{assert_unavailable, waker};
use crate::servers::{ServerOptions, Servers, THREE, open};
use evergraph_cluster::log::nats::nats_log::NatsLog;
use evergraph_cluster::log::nats::options::{NatsLogin, NatsOptions};
use evergraph_cluster::log::server_access::LogTls;
use evergraph_cluster::log_position::LogPosition;

#[test]
fn servers_and_clients_know_each_other_by_their_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let (root, stranger) = (Root::new("root of a test"), Root::new("another root"));
    let (root_file, other_root) =
        (root.write(folder.path(), "root"), stranger.write(folder.path(), "stranger"));
    let server = root.sign(folder.path(), "server");
    let (client, other) = (root.sign(folder.path(), "client"), stranger.sign(folder.path(), "other"));
    let more = format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\", ca_file: \"{}\", verify: true }}",
        server.certificate.display(),
        server.key.display(),
        root_file.display()
    );
    let Some(servers) = Servers::start_with(&ServerOptions { more: &more, scheme: "tls", ..THREE }) else {
        return;
    };
    let with = |root, client| NatsOptions { tls: Some(LogTls { root, client }), ..servers.options(&[]) };
    let mut log = open(with(root_file.clone(), Some(client.client_certificate())));
    let first = log.append_surely("m");
    log.read_from(first);
    assert_eq!(log.messages(1), [(first, "m".to_owned())]);
    let mut unknown = open(with(root_file.clone(), Some(other.client_certificate())));
    assert_unavailable(unknown.append("n"), "connect: ");
    let mut nobody = open(with(root_file, None));
    assert_unavailable(nobody.append("n"), "connect: ");
    let mut elsewhere = open(with(other_root, Some(client.client_certificate())));
    assert_unavailable(elsewhere.append("n"), "connect: ");
    // Without a root it is not even begun.
    let error = NatsLog::open(servers.options(&[]), waker()).unwrap_err().to_string();
    assert!(error.contains("needs the file of its root certificate"), "{error}");
    assert_eq!(log.append_surely("next"), first.next(), "nobody else wrote");
}

#[test]
fn users_and_tokens_are_let_in_and_others_are_not() {
    // The user may do what the guide says that a log needs, and no more.
    let users = r#"authorization { users: [
        { user: evergraph, password: "correct horse", permissions: {
            publish: [ "evergraph-test", "$JS.API.STREAM.INFO.evergraph-test", "$JS.API.STREAM.CREATE.evergraph-test",
                       "$JS.API.STREAM.PURGE.evergraph-test", "$JS.API.STREAM.MSG.GET.evergraph-test",
                       "$JS.API.CONSUMER.*.evergraph-test.>", "$JS.API.CONSUMER.MSG.NEXT.evergraph-test.>" ],
            subscribe: [ "_INBOX.>" ] } },
        { user: guest, password: guest, permissions: { publish: [ nothing ], subscribe: [ "_INBOX.>" ] } }
    ] }"#;
    let Some(servers) = Servers::start_with(&ServerOptions { more: users, ..THREE }) else { return };
    let with = |user: &str, password: &str| {
        let login = NatsLogin::Password { user: user.to_owned(), password: password.to_owned() };
        open(NatsOptions { login: Some(login), time_limit: HASTY_LIMIT, ..servers.options(&[]) })
    };
    let mut log = with("evergraph", "correct horse");
    let first = log.append_surely("m");
    for number in 0..60 {
        log.append_surely(&format!("message {number}"));
    }
    for _ in 0..2 {
        log.read_from(first);
        log.messages(61);
    }
    log.read_from(LogPosition(45));
    log.messages(17);
    assert_eq!(log.trim(LogPosition(3)), Ok(()));
    assert_unavailable(with("evergraph", "wrong horse").append("n"), "authorization violation");
    assert_unavailable(open(servers.options(&[])).append("n"), "authorization violation");
    // A request without permission is not answered.
    assert_unavailable(with("guest", "guest").append("n"), "no answer within");
    assert_eq!(log.append_surely("next"), LogPosition(62), "nobody else wrote");
    drop((log, servers));

    let token = ServerOptions { more: "authorization { token: \"open sesame\" }", ..THREE };
    let Some(servers) = Servers::start_with(&token) else { return };
    let with = |token: &str| {
        open(NatsOptions { login: Some(NatsLogin::Token(token.to_owned())), ..servers.options(&[]) })
    };
    assert_eq!(with("open sesame").append_surely("m"), LogPosition(1));
    assert_unavailable(with("open barley").append("m"), "authorization violation");
}
