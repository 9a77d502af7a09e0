//! Log-ins: SCRAM, MD5, clear text, TLS and its checks, channel binding, sockets in the file system, password files.

use crate::server::{TestServer, run_sql};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::source::error::{SourceError, SourceResult};
use evergraph_replica::source::postgres::connection::Connection;
use evergraph_replica::source::postgres::settings::ConnectionSettings;
use evergraph_replica::wire::startup::{Password, Purpose};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Once;
use std::thread;
use std::time::Duration;

/// A shared server with users of every way of logging in.
fn server() -> Option<&'static TestServer> {
    static USERS: Once = Once::new();
    let server = TestServer::shared()?;
    USERS.call_once(|| {
        let users = "CREATE ROLE scram LOGIN REPLICATION PASSWORD 'correct horse'; \
                     CREATE ROLE bound LOGIN PASSWORD 'correct horse'; \
                     CREATE ROLE single LOGIN CONNECTION LIMIT 1 PASSWORD 'correct horse'; \
                     CREATE ROLE clear LOGIN PASSWORD 'correct horse'; \
                     SET password_encryption = 'md5'; CREATE ROLE hashed LOGIN PASSWORD 'correct horse'";
        run_sql(&mut server.connect("postgres"), users);
    });
    Some(server)
}

fn open(server: &TestServer, url: &str, password: Option<&str>) -> SourceResult<Connection> {
    let mut settings = server.settings_of(&url.replace("PORT", &server.port().to_string()));
    settings.password = password.map(|password| Password::new(password.as_bytes()));
    open_with(&settings)
}

fn open_with(settings: &ConnectionSettings) -> SourceResult<Connection> {
    Connection::open(settings, Purpose::Queries, &CancelFlag::default())
}

fn who(mut connection: Connection) -> (String, bool) {
    let sql =
        "SELECT current_user, coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false)";
    let row = run_sql(&mut connection, sql).remove(0);
    (row[0].clone().unwrap(), row[1].as_deref() == Some("t"))
}

#[test]
fn every_way_of_logging_in_takes_the_right_password_alone() {
    let Some(server) = server() else { return };
    for user in ["scram", "hashed", "clear"] {
        let url = format!("postgres://{user}@127.0.0.1:PORT/postgres?sslmode=disable");
        assert_eq!(who(open(server, &url, Some("correct horse")).unwrap()), (user.to_owned(), false));
        let wrong = open(server, &url, Some("wrong")).unwrap_err();
        assert_eq!((wrong.sqlstate(), wrong.is_transient()), (Some("28P01"), false), "{wrong}");
        let none = open(server, &url, None).unwrap_err();
        assert!(none.to_string().contains("PGPASSWORD"), "{none}");
    }
    let unknown =
        open(server, "postgres://nobody@127.0.0.1:PORT/postgres?sslmode=disable", None).unwrap_err();
    assert_eq!(unknown.sqlstate(), Some("28000"), "{unknown}");
    let missing =
        open(server, "postgres://postgres@127.0.0.1:PORT/nowhere?sslmode=disable", None).unwrap_err();
    assert_eq!(missing.sqlstate(), Some("3D000"), "{missing}");
}

/// A command that began just when another had ended was refused: the server had not yet noticed that.
#[test]
fn a_place_that_is_given_back_is_waited_for_and_one_that_is_not_is_an_error() {
    let Some(server) = server() else { return };
    let url = "postgres://single@127.0.0.1:PORT/postgres?sslmode=disable";
    let open_another = || open(server, url, Some("correct horse"));
    let holder = open_another().unwrap();
    let refused = open_another().unwrap_err();
    assert_eq!(refused.sqlstate(), Some("53300"), "{refused}");
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(Duration::from_millis(300));
            drop(holder);
        });
        assert_eq!(who(open_another().unwrap()).0, "single");
    });
}

#[test]
fn tls_trusts_whom_its_mode_says() {
    let Some(server) = server() else { return };
    let root = server.folder().join("root.crt");
    let root = root.display();
    let url = |host: &str, mode: &str| format!("postgres://scram@{host}:PORT/postgres?sslmode={mode}");
    for encrypted in [
        url("127.0.0.1", "prefer"),
        url("127.0.0.1", "require"),
        format!("{}&sslrootcert={root}", url("127.0.0.1", "verify-ca")),
        format!("{}&sslrootcert={root}", url("localhost", "verify-full")),
    ] {
        let told = who(open(server, &encrypted, Some("correct horse")).unwrap());
        assert_eq!(told, ("scram".to_owned(), true), "{encrypted}");
    }
    // The certificate is for localhost.
    let other = open(
        server,
        &format!("{}&sslrootcert={root}", url("127.0.0.1", "verify-full")),
        Some("correct horse"),
    );
    let other = other.unwrap_err().to_string();
    assert!(
        other.contains("name the host as the certificate does") && !other.contains("sslrootcert"),
        "{other}"
    );
    // Nobody whom the system trusts signed it; a file of roots makes `require` look, too.
    let folder = tempfile::tempdir().unwrap();
    let stranger = folder.path().join("stranger.crt");
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap();
    std::fs::write(&stranger, certificate.pem()).unwrap();
    for mode in ["require", "verify-ca", "verify-full"] {
        let stranger = format!("{}&sslrootcert={}", url("localhost", mode), stranger.display());
        let refused = open(server, &stranger, Some("correct horse")).unwrap_err();
        let is_untrusted =
            matches!(&refused, SourceError::Untrusted(text) if text.contains("sslrootcert names"));
        assert!(is_untrusted, "{mode}: {refused}");
    }
}

#[test]
fn a_login_is_bound_to_its_tls_connection() {
    let Some(server) = server() else { return };
    let url = "postgres://bound@localhost:PORT/postgres?sslmode=require&channel_binding=";
    for mode in ["require", "prefer", "disable"] {
        let connection = open(server, &format!("{url}{mode}"), Some("correct horse")).unwrap();
        assert_eq!(who(connection), ("bound".to_owned(), true), "{mode}");
    }
    let plain = "postgres://scram@127.0.0.1:PORT/postgres?sslmode=disable&channel_binding=require";
    assert!(
        open(server, plain, Some("correct horse"))
            .unwrap_err()
            .to_string()
            .contains("channel_binding=require")
    );
}

#[test]
fn a_socket_in_the_file_system_and_a_password_file_are_found() {
    let Some(server) = server() else { return };
    let socket = format!("postgres:///postgres?host={}&port=PORT&user=postgres", server.folder().display());
    assert_eq!(who(open(server, &socket, None).unwrap()), ("postgres".to_owned(), false));
    let folder = tempfile::tempdir().unwrap();
    let passfile = folder.path().join("pgpass");
    std::fs::write(&passfile, format!("127.0.0.1:{}:postgres:scram:correct horse\n", server.port())).unwrap();
    std::fs::set_permissions(&passfile, std::fs::Permissions::from_mode(0o600)).unwrap();
    let url =
        format!("postgres://scram@127.0.0.1:PORT/postgres?sslmode=disable&passfile={}", passfile.display());
    assert_eq!(who(open(server, &url, None).unwrap()).0, "scram");
}

#[test]
fn settings_are_pinned_whatever_the_role_has() {
    let Some(server) = server() else { return };
    let set = "CREATE ROLE reader LOGIN; ALTER ROLE reader SET DateStyle = 'German'; ALTER ROLE reader SET TimeZone = 'Asia/Tokyo'; \
               ALTER ROLE reader SET IntervalStyle = 'postgres'; ALTER ROLE reader SET bytea_output = 'escape'; \
               ALTER ROLE reader SET extra_float_digits = -15; ALTER ROLE reader SET statement_timeout = '50ms'";
    run_sql(&mut server.connect("postgres"), set);
    let mut connection =
        open(server, "postgres://reader@127.0.0.1:PORT/postgres?sslmode=disable", None).unwrap();
    let sql = "SELECT pg_sleep(0.2), '2024-02-29 12:00+00'::timestamptz, '1 day 2 hours'::interval, '\\x00ff'::bytea, 0.1::float4";
    let row: Vec<_> =
        run_sql(&mut connection, sql).remove(0).into_iter().map(Option::unwrap_or_default).collect();
    assert_eq!(row[1..], ["2024-02-29 12:00:00+00", "P1DT2H", "\\x00ff", "0.1"]);
}
