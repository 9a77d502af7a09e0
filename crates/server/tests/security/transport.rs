//! Transport: TLS, certificates of both sides, reloading them, addresses, and the headers Host and Origin.

use crate::support::certificates::{Root, Signed, Validity};
use crate::support::secured_site::{PASSWORD, SecuredSite};
use crate::support::served::eventually;
use crate::support::web_socket_client::{Client, eval};
use evergraph_protocol::request::operation::QueryOptions;
use evergraph_server::server::Server;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

const HOST: &str = "graph.example";

/// With a certificate for [`HOST`].
fn with_tls(root: &Root) -> SecuredSite {
    SecuredSite::new().with_tls(root, &[HOST, "127.0.0.1"])
}

/// Connects by TLS to [`HOST`], which is at `address`; why it fails, as a text.
async fn connect(address: SocketAddr, root: &Root, own: Option<&Signed>) -> Result<Client, String> {
    connect_to(HOST, address, root, own, &[]).await
}

async fn connect_to(
    host: &str,
    address: SocketAddr,
    root: &Root,
    own: Option<&Signed>,
    headers: &[(&'static str, &str)],
) -> Result<Client, String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(root.pem().as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let (certificates, key) = own.parts();
            builder.with_client_auth_cert(certificates, key).unwrap()
        }
    };
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from(host.to_owned()).unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    let stream = stream.map_err(|error| error.to_string())?;
    let url = format!("wss://{host}/gremlin");
    Client::upgrade(Box::new(stream), &url, headers).await.map_err(|status| format!("status {status}"))
}

async fn is_served(client: Result<Client, String>) {
    let mut client = client.unwrap();
    let answer = client.ask_as("reader", PASSWORD, eval("g.V().count()", QueryOptions::default())).await;
    assert_eq!(answer.code, 200, "{}", answer.message);
}

#[tokio::test]
async fn clients_connect_by_tls_and_nothing_else() {
    let root = Root::new("root");
    let site = with_tls(&root);
    let server = site.serve();
    is_served(connect(server.address(), &root, None).await).await;
    assert!(
        connect(server.address(), &Root::new("other"), None).await.err().unwrap().contains("UnknownIssuer")
    );
    assert!(
        connect_to("other.example", server.address(), &root, None, &[])
            .await
            .err()
            .unwrap()
            .contains("not valid for name")
    );
    assert!(Client::try_connect(server.address()).await.is_err(), "without TLS");
    // A client meets an expired certificate.
    root.sign(&[HOST], Validity::Expired).write(site.folder.path());
    server.reload();
    assert!(connect(server.address(), &root, None).await.err().unwrap().contains("expired"));
}

#[tokio::test]
async fn with_mutual_tls_a_client_needs_a_certificate_of_the_right_root_that_holds() {
    let (root, clients, others) = (Root::new("root"), Root::new("clients"), Root::new("others"));
    let mut site = with_tls(&root);
    let path = site.folder.path().join("clients.pem");
    std::fs::write(&path, clients.pem()).unwrap();
    site.security.tls.as_mut().unwrap().client_certificates = Some(path);
    let server = site.serve();
    let own = clients.sign(&["client"], Validity::Now);
    is_served(connect(server.address(), &root, Some(&own)).await).await;
    for (wrong, what) in [
        (None, "none"),
        (Some(others.sign(&["client"], Validity::Now)), "of another root"),
        (Some(root.sign(&["client"], Validity::Now)), "of the server's root"),
        (Some(clients.sign(&["client"], Validity::Expired)), "expired"),
    ] {
        assert!(
            connect(server.address(), &root, wrong.as_ref()).await.is_err(),
            "a client's certificate is demanded: {what}"
        );
    }
    // A certificate is no log-in.
    let mut client = connect(server.address(), &root, Some(&own)).await.unwrap();
    assert_eq!(
        client.ask_as("reader", "wrong horse", eval("g.V()", QueryOptions::default())).await.code,
        401
    );
}

#[tokio::test]
async fn certificates_are_read_again_and_a_bad_one_changes_nothing() {
    let root = Root::new("root");
    let site = with_tls(&root);
    let server = site.serve();
    let mut open = connect(server.address(), &root, None).await.unwrap();
    let next = Root::new("next");
    let signed = next.sign(&[HOST], Validity::Now);
    signed.write(site.folder.path());
    server.reload();
    assert!(server.take_notices().is_empty());
    is_served(connect(server.address(), &next, None).await).await;
    assert!(connect(server.address(), &root, None).await.is_err());
    let answer = open.ask_as("reader", PASSWORD, eval("g.V().count()", QueryOptions::default())).await;
    assert_eq!(answer.code, 200, "what is open goes on");
    let (certificate, key) = (site.folder.path().join("server.pem"), site.folder.path().join("server.key"));
    let other = next.sign(&[HOST], Validity::Now);
    let torn = &signed.certificate[..signed.certificate.len() / 2];
    for (bad_certificate, bad_key) in [
        ("", &*signed.key),
        (torn, &*signed.key),
        (&*signed.certificate, ""),
        (&*signed.certificate, &*other.key),
    ] {
        std::fs::write(&certificate, bad_certificate).unwrap();
        std::fs::write(&key, bad_key).unwrap();
        server.reload();
        let notices = server.take_notices().join("\n");
        assert!(notices.contains("stays as it was") && notices.contains("server."), "{notices}");
        is_served(connect(server.address(), &next, None).await).await;
    }
}

#[tokio::test]
async fn keys_and_certificates_that_cannot_be_used_are_refused_by_name() {
    let root = Root::new("root");
    let site = with_tls(&root);
    let refused = |words: &[&str]| {
        let error =
            site.serve_at("127.0.0.1:0").err().expect("a key that others can read is refused").to_string();
        for word in words {
            assert!(error.contains(word), "{word}: {error}");
        }
    };
    let files = site.security.tls.clone().unwrap();
    for mode in [0o644, 0o604, 0o660] {
        std::fs::set_permissions(&files.key, Permissions::from_mode(mode)).unwrap();
        refused(&["server.key", "--tls-key", "chmod 600"]);
    }
    std::fs::set_permissions(&files.key, Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&files.key, root.sign(&[HOST], Validity::Now).key).unwrap();
    refused(&["server.pem", "--tls-certificate", "server.key", "no pair"]);
    std::fs::write(&files.key, "nothing").unwrap();
    refused(&["server.key", "--tls-key", "PEM"]);
    std::fs::remove_file(&files.certificate).unwrap();
    refused(&["server.pem", "--tls-certificate"]);
}

#[tokio::test]
async fn other_machines_connect_only_with_users_and_tls() {
    let root = Root::new("root");
    let (with_tls, mut plain) = (with_tls(&root), SecuredSite::new());
    let refused = |site: &SecuredSite, words: &str| {
        let error = site.serve_at("0.0.0.0:0").err().expect("it is refused beyond loopback").to_string();
        assert!(error.contains("other machines") && error.contains(words), "{error}");
    };
    refused(&plain, "--tls-certificate");
    plain.security.users = None;
    refused(&plain, "--users");
    let mut without_users = self::with_tls(&root);
    without_users.security.users = None;
    refused(&without_users, "--users");
    let server: Server = with_tls.serve_at("0.0.0.0:0").unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], server.address().port()));
    is_served(connect(address, &root, None).await).await;
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused_with_tls_as_well() {
    let root = Root::new("root");
    let mut site = with_tls(&root);
    site.security.host_names = vec!["other.example".to_owned()];
    let server = site.serve();
    let status = async |headers: &[(&'static str, &str)]| {
        connect_to(HOST, server.address(), &root, None, headers).await.err()
    };
    for host in ["graph.example", "GRAPH.EXAMPLE:8182", "other.example", "127.0.0.1:8182", "localhost"] {
        assert_eq!(status(&[("Host", host)]).await, None, "{host}");
    }
    for host in ["evil.example", "graph.example.evil.example", "10.0.0.1", "a/../graph.example", "[::1"] {
        assert_eq!(
            status(&[("Host", host)]).await.as_deref(),
            Some("status 403"),
            "a foreign Host is refused: {host}"
        );
    }
    assert_eq!(status(&[("Origin", "https://graph.example")]).await, None);
    for origin in
        ["https://evil.example", "null", "http://localhost:3000", "https://graph.example@evil.example", ""]
    {
        let refused = status(&[("Origin", origin)]).await;
        assert_eq!(refused.as_deref(), Some("status 403"), "a foreign Origin is refused: {origin}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn slow_handshakes_end_in_time_and_hold_nobody_up() {
    let root = Root::new("root");
    let mut site = with_tls(&root);
    site.options.handshake_time_max = Duration::from_secs(2);
    let server = site.serve();
    let mut slow = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        // A record of TLS that never ends.
        tokio::io::AsyncWriteExt::write_all(&mut stream, &[22, 3, 1, 2]).await.unwrap();
        slow.push(stream);
    }
    is_served(connect(server.address(), &root, None).await).await;
    for mut stream in slow {
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "a slow handshake is ended");
    }
    // With TLS, and then nothing of HTTP; one that becomes a WebSocket stays.
    let mut open = connect(server.address(), &root, None).await.unwrap();
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let answer = open.ask_as("reader", PASSWORD, eval("g.V().count()", QueryOptions::default())).await;
    assert_eq!(answer.code, 200);
    eventually("one place is taken", async || server.connections_count() == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn look_ups_are_answered_beside_a_thousand_handshakes_that_stay_half_open() {
    const HALF_OPEN: usize = 1000;
    let root = Root::new("root");
    let mut site = with_tls(&root);
    site.options.handshake_time_max = Duration::from_secs(600);
    let server = site.serve();
    let mut client = connect(server.address(), &root, None).await.unwrap();
    let look_up = || eval("g.V().has('at', 7).count()", QueryOptions::default());
    assert_eq!(
        client
            .ask_as("writer", PASSWORD, eval("g.addV().property('at', 7)", QueryOptions::default()))
            .await
            .code,
        200
    );
    let mut half_open = Vec::new();
    for at in 0..HALF_OPEN {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        // The beginning of a record of TLS, and of every other one nothing.
        if at % 2 == 0 {
            tokio::io::AsyncWriteExt::write_all(&mut stream, &[22, 3, 1, 2]).await.unwrap();
        }
        half_open.push(stream);
    }
    eventually("all are accepted", async || server.open_connections_count() == HALF_OPEN + 1).await;
    for _ in 0..100 {
        let answer = tokio::time::timeout(Duration::from_secs(60), client.ask(look_up())).await;
        assert_eq!(answer.expect("a look-up is answered").number(), 1);
    }
    // A new client gets through its own handshake and log-in.
    let next = tokio::time::timeout(Duration::from_secs(60), connect(server.address(), &root, None)).await;
    is_served(next.expect("a handshake beside the others")).await;
    assert!(server.open_connections_count() > HALF_OPEN, "none of them was ended meanwhile");
}
