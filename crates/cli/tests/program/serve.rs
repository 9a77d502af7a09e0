//! Serve: where the server says that it listens, and how it ends.

use crate::support::{Folder, program};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_server_says_where_it_listens_and_ends_with_a_signal_and_a_closed_database() {
    let folder = Folder::with_social();
    for signal in ["-INT", "-TERM"] {
        let mut child = program()
            .args(["serve", "social.eg", "--listen", "127.0.0.1:0"])
            .current_dir(folder.root())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        out.read_line(&mut first).unwrap();
        let address = first.split("ws://").nth(1).and_then(|rest| rest.split('/').next()).unwrap().to_owned();
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(stream, "GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok\n"), "{answer}");
        let asked = Instant::now();
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert!(child.wait().unwrap().success());
        assert!(asked.elapsed() < Duration::from_secs(5));
        for language in ["Python", "JavaScript", "Java ", "Go "] {
            assert!(rest.contains(language), "{rest}");
        }
    }
    folder.run(&["check", "social.eg"]).succeeded();
    folder.run(&["serve", "social.eg", "--listen", "0.0.0.0:8182"]).failed(2, &["other machines"]);
    folder.run(&["serve", "none.eg", "--listen", "127.0.0.1:0"]).failed(3, &["none.eg"]);
}
