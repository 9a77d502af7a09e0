//! Refusals: what keeps a node from starting, in words that name the cause. Nobody answers as etcd here.

use crate::free_ports::free_ports;
use crate::site::{Site, open, open_hearing};
use evergraph_graph::error::{Error, ErrorKind};
use std::fs;
use std::net::TcpListener;
use std::path::Path;

fn refused(folder: &Path) -> Error {
    open_hearing(folder, &Default::default()).map(drop).unwrap_err()
}

fn edit(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    let edited = text.replacen(from, to, 1);
    assert_ne!(edited, text, "{from}");
    fs::write(file, edited).unwrap();
}

#[test]
fn a_log_that_nobody_serves_is_named() {
    let port = free_ports(1)[0];
    let site = Site::at(port, 1);
    let error = refused(site.folder(0));
    let said = error.to_string();
    assert_eq!(error.kind(), ErrorKind::Io, "{said}");
    assert!(said.contains("has not joined") && said.contains(&format!("http://127.0.0.1:{port}")), "{said}");
    // It holds nothing any more.
    assert_eq!(refused(site.folder(0)).kind(), ErrorKind::Io);
}

#[test]
fn folders_and_files_that_cannot_be_used_are_named() {
    let site = Site::at(free_ports(1)[0], 2);
    let (first, second) = (site.folder(0), site.folder(1));
    let nothing = tempfile::tempdir().unwrap();
    let error = open(nothing.path()).map(drop).unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("cluster.toml"), "{error}");
    assert_eq!(fs::read_dir(nothing.path()).unwrap().count(), 0, "a stranger's folder stays what it is");

    edit(&first.join("cluster.toml"), "copies = 2", "copies = 1");
    let said = refused(first).to_string();
    assert!(said.contains("cluster.toml:4: id: ") && said.contains("edited"), "{said}");
    edit(&first.join("cluster.toml"), "copies = 1", "copies = 2");

    edit(&first.join("node.toml"), "checkpoint-seconds", "checkpoint-second");
    assert!(refused(first).to_string().contains("unknown field `checkpoint-second`"));
    edit(&first.join("node.toml"), "checkpoint-second", "checkpoint-seconds");

    edit(&first.join("node.toml"), "node = 0", "node = 7");
    assert!(refused(first).to_string().contains("not created with node 7"));
    edit(&first.join("node.toml"), "node = 7", "node = 0");

    let listener = TcpListener::bind(site.created.description.members[0].address.as_str()).unwrap();
    let error = refused(first);
    assert!(error.kind() == ErrorKind::Busy && error.to_string().contains("listen at"), "{error}");
    drop(listener);
    // An address for documents, which no machine has.
    let (everywhere, elsewhere) = ("# listen = \"0.0.0.0:7400\"", "listen = \"192.0.2.1:7400\"");
    edit(&first.join("node.toml"), everywhere, elsewhere);
    let said = refused(first).to_string();
    assert!(said.contains("192.0.2.1:7400") && said.contains("set `listen` in node.toml"), "{said}");
    edit(&first.join("node.toml"), elsewhere, everywhere);

    // Another node's certificate, with its key.
    for name in ["node.pem", "node.key"] {
        fs::copy(second.join(name), first.join(name)).unwrap();
    }
    let error = refused(first);
    let said = error.to_string();
    assert!(error.kind() == ErrorKind::Invalid && said.contains("node.pem cannot be used"), "{said}");
    assert!(said.contains("node-0."), "whose certificate is needed: {said}");
    assert!(!first.join("partitions").exists(), "nothing was begun");
}
