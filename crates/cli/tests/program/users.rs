//! Users: the users file by the command line, passwords on standard input and at a terminal, and a server that has users.

use crate::skips::skip;
use crate::support::{Folder, Ran, eventually, program};
use rexpect::session::{Options, spawn_with_options};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

/// How long an answer may take, in milliseconds, on a machine that does much else.
const PATIENCE: u64 = 60_000;

#[test]
fn users_are_added_changed_listed_and_removed() {
    let folder = Folder::new();
    folder.run(&["user", "list", "users.json"]).failed(3, &["users.json", "evergraph user add"]);
    folder.run_on("correct horse\n", &["user", "add", "users.json", "ann"]).succeeded();
    assert_eq!(folder.path("users.json").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!folder.read("users.json").contains("horse"));
    folder.run(&["user", "grant", "users.json", "ann", "social", "writer"]).succeeded();
    let listed = folder.json(&["user", "list", "users.json"]);
    assert_eq!(listed["users"][0]["name"], "ann");
    assert_eq!(listed["users"][0]["roles"][0]["role"], "writer");
    assert!(listed["users"][0].get("password").is_none());
    let shown = folder.run(&["user", "list", "users.json"]).succeeded().out;
    assert!(shown.contains("ann: writer of social"), "{shown}");
    folder.run(&["user", "grant", "users.json", "ann", "*", "admin"]).succeeded();
    assert_eq!(folder.json(&["user", "list", "users.json"])["users"][0]["roles"][0]["database"], "*");
    folder.run(&["user", "revoke", "users.json", "ann", "*"]).succeeded();
    let before = folder.read("users.json");
    folder.run_on("another horse\r\n", &["user", "password", "users.json", "ann"]).succeeded();
    assert_ne!(folder.read("users.json"), before);
    folder.run(&["user", "revoke", "users.json", "ann", "social"]).succeeded();
    folder.run(&["user", "remove", "users.json", "ann"]).succeeded();
    assert!(folder.run(&["user", "list", "users.json"]).succeeded().out.contains("0 users"));
}

#[test]
fn what_cannot_be_done_to_users_is_said_and_changes_nothing() {
    let folder = Folder::new();
    folder.run_on("correct horse\n", &["user", "add", "users.json", "ann"]).succeeded();
    let before = folder.read("users.json");
    folder.run_on("correct horse\n", &["user", "add", "users.json", "ann"]).failed(2, &["\"ann\" already"]);
    folder.run_on("short\n", &["user", "add", "users.json", "bob"]).failed(2, &["8 to 1024 bytes"]);
    folder
        .run_on("correct horse\n", &["user", "add", "users.json", "../bob"])
        .failed(2, &["cannot be the name"]);
    folder
        .run_on("correct horse\n", &["user", "password", "users.json", "an"])
        .failed(3, &["did you mean `ann`"]);
    folder.run(&["user", "grant", "users.json", "ann", "../social", "reader"]).failed(2, &["social.eg"]);
    folder.run(&["user", "grant", "users.json", "ann", "*", "writer"]).failed(2, &["only be admin"]);
    folder.run(&["user", "revoke", "users.json", "ann", "social"]).failed(3, &["no role"]);
    folder.run(&["user", "remove", "users.json", "bob"]).failed(3, &["bob"]);
    // No password is ever an argument.
    folder.run(&["user", "add", "users.json", "bob", "correct horse"]).failed(2, &["unexpected argument"]);
    assert_eq!(folder.read("users.json"), before);
    folder.write("users.json", &before[..before.len() / 2]);
    folder.run(&["user", "list", "users.json"]).failed(2, &["users.json", "cut off"]);
    folder.run(&["user", "remove", "users.json", "ann"]).failed(2, &["cut off"]);
    std::fs::set_permissions(folder.path("users.json"), std::fs::Permissions::from_mode(0o644)).unwrap();
    folder.run(&["user", "list", "users.json"]).failed(2, &["chmod 600"]);
}

#[test]
fn a_password_at_a_terminal_is_asked_twice_and_not_shown() {
    let folder = Folder::new();
    let start = || {
        let mut program = program();
        program.args(["user", "add", "users.json", "ann"]).current_dir(folder.root()).stdin(Stdio::inherit());
        let options = Options::new().timeout_ms(Some(PATIENCE)).strip_ansi_escape_codes(true);
        spawn_with_options(program, options).unwrap()
    };
    let mut terminal = start();
    for (second, words) in [("other horse", "not the same"), ("correct horse", "was added")] {
        terminal.exp_string("Password of ann: ").unwrap();
        terminal.send_line("correct horse").unwrap();
        terminal.exp_string("The same again: ").unwrap();
        terminal.send_line(second).unwrap();
        let rest = terminal.exp_eof().unwrap();
        assert!(rest.contains(words) && !rest.contains("horse"), "{rest}");
        terminal = start();
    }
    // Ctrl-C ends it.
    folder.run(&["user", "remove", "users.json", "ann"]).succeeded();
    let mut terminal = start();
    terminal.exp_string("Password of ann: ").unwrap();
    terminal.send_control('c').unwrap();
    assert!(terminal.exp_eof().unwrap().contains("nothing was changed"));
}

#[test]
fn a_server_beyond_loopback_needs_users_and_tls_and_hang_ups_read_them_again() {
    let folder = Folder::with_social();
    let open = ["serve", "social.eg", "--listen", "0.0.0.0:0"];
    folder.run(&open).failed(2, &["other machines", "--users", "--tls-certificate"]);
    folder.run_on("correct horse\n", &["user", "add", "users.json", "ann"]).succeeded();
    folder.run(&[&open[..], &["--users", "users.json"]].concat()).failed(2, &["add --tls-certificate"]);
    folder.run(&[&open[..], &["--tls-certificate", "cert.pem"]].concat()).failed(2, &["--tls-key"]);
    // As the guide says.
    let openssl = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 \
                   -subj /CN=graph.example -addext subjectAltName=DNS:graph.example,IP:127.0.0.1 \
                   -addext basicConstraints=critical,CA:FALSE -keyout key.pem -out cert.pem";
    let made = folder.shell(&format!("umask 077 && {openssl}"));
    if made.code == Some(127) {
        return skip("there is no openssl");
    }
    made.succeeded();
    let options = [
        "--users",
        "users.json",
        "--tls-certificate",
        "cert.pem",
        "--tls-key",
        "key.pem",
        "--audit-log",
        "audit.log",
    ];
    let server = folder.serve(&[&open[1..], &options].concat());
    assert!(server.first.contains("wss://0.0.0.0:"), "{}", server.first);
    let port = server.address.rsplit(':').next().unwrap();
    // Without TLS nothing is answered.
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    let url = format!("wss://127.0.0.1:{port}");
    let ready = folder.run(&["health", &url, "--tls-root", "cert.pem"]).succeeded();
    assert!(ready.out.contains("is ready"), "{ready:?}");
    folder.write("cert.pem", "nothing");
    server.signal("-HUP");
    eventually("the audit log tells of it", || {
        folder.read("audit.log").contains(r#""event":"certificates","outcome":"refused""#)
    });
    let Ran { out: rest, err: errors, .. } = server.end("-TERM").succeeded();
    assert!(errors.contains("cert.pem") && errors.contains("stays as it was"), "{errors}");
    assert!(rest.contains("password='PASSWORD'") && rest.contains("PlainTextSaslAuthenticator"), "{rest}");
    assert!(rest.contains(".credentials(") && rest.contains("BasicAuthInfo"), "{rest}");
}
