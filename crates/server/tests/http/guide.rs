//! Guide: the commands of its sections on HTTP and administration, run as it prints them, give what it prints.

use evergraph_graph::cancel::CancelFlag;
use evergraph_server::databases::catalogue::DatabaseCatalogue;
use evergraph_server::databases::options::{CatalogueOptions, CreateOptions};
use evergraph_server::options::ServerOptions;
use evergraph_server::security::options::SecurityOptions;
use evergraph_server::server::Server;
use std::process::{Command, Stdio};

const PAGE: &str = include_str!("../../../../docs/guide/server.md");

/// Blocks of code in the section `name`: language and text.
fn blocks(name: &str) -> Vec<(&'static str, &'static str)> {
    let heading = format!("{name}\n");
    let section = PAGE.split("\n## ").find(|section| section.starts_with(&heading)).expect("a section");
    let block = |block: &'static str| block.split_once('\n').expect("a language and a text");
    section.split("```").skip(1).step_by(2).map(block).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_commands_of_the_guide_print_what_it_says() {
    if Command::new("curl").arg("--version").stdout(Stdio::null()).status().is_err() {
        assert!(std::env::var_os("CI").is_none(), "curl is missing");
        eprintln!("skipped: there is no curl");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let mut options = CatalogueOptions::default();
    options.open.memory_limit_bytes = 1 << 30;
    options.database_memory_limit_bytes = Some(128 << 20);
    let databases = DatabaseCatalogue::open(&[], Some(root.path()), options).unwrap();
    databases.create_database("social", CreateOptions::default()).unwrap();
    let using = databases.get("social").unwrap().begin(CancelFlag::default()).unwrap();
    using
        .database()
        .gremlin(
            "g.addV('Person').property('name', 'Ada').property('age', 36).as('a')\
             .addV('Person').property('name', 'Charles').property('age', 44).addE('knows').from('a')",
        )
        .run()
        .unwrap();
    drop(using);
    let (address, security) = ("127.0.0.1:0".parse().unwrap(), SecurityOptions::default());
    let server = Server::start_with(databases, address, ServerOptions::default(), &security).unwrap();
    let mut blocks = ["HTTP", "Administration"].map(blocks).concat().into_iter().peekable();
    let mut commands_count = 0;
    while let Some((language, command)) = blocks.next() {
        if language != "sh" || !command.contains("127.0.0.1:8182") {
            continue;
        }
        let (_, expected) = blocks.next().expect("what it prints stands behind a command");
        let command = command.replace("127.0.0.1:8182", &server.address().to_string());
        let output = Command::new("bash").args(["-o", "pipefail", "-c", &command]).output().unwrap();
        let (printed, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{command}: {errors}");
        assert_eq!(printed.trim(), expected.trim(), "{command}");
        commands_count += 1;
    }
    assert!(commands_count > 1, "{commands_count}");
}
