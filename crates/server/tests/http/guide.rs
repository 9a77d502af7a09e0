//! Guide: the commands of its sections on HTTP, administration, jobs and algorithms, run as it prints them, give what it
//! prints.

use crate::support::skips::skip;
use evergraph_graph::cancel::CancelFlag;
use evergraph_server::databases::catalogue::DatabaseCatalogue;
use evergraph_server::databases::options::{CatalogueOptions, CreateOptions};
use evergraph_server::options::ServerOptions;
use evergraph_server::security::options::SecurityOptions;
use evergraph_server::server::Server;
use serde_json::Value as Json;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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
        return skip("there is no curl");
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
    let run = |command: &str| {
        let mut bash = Command::new("bash");
        let output = bash.args(["-o", "pipefail", "-c", command]).current_dir(root.path()).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    let mut blocks = ["HTTP", "Administration", "Jobs", "Algorithms"].map(blocks).concat().into_iter();
    // Ids in the guide, and those that they have here.
    let mut ids: Vec<(&str, String)> = Vec::new();
    let mut commands_count = 0;
    while let Some((language, command)) = blocks.next() {
        if language == "csv" {
            std::fs::write(root.path().join("people.csv"), command).unwrap();
        }
        if language != "sh" {
            continue;
        }
        let (_, expected) = blocks.next().expect("what it prints stands behind a command");
        assert!(command.contains("127.0.0.1:8182"), "each command is run: {command}");
        // What the guide shows of jobs, it shows when they are done.
        let jobs = format!("curl -s http://{}/jobs", server.address());
        let began = Instant::now();
        while run(&jobs).contains("\"endedAt\":null") {
            assert!(began.elapsed() < Duration::from_secs(60), "a job ends");
        }
        let mut command = command.replace("127.0.0.1:8182", &server.address().to_string());
        for (shown, id) in &ids {
            command = command.replace(shown, id);
        }
        let printed = run(&command);
        ids.extend(ids_of(expected).zip(ids_of(&printed).map(str::to_owned)));
        if expected.contains("\"state\":\"running\"") {
            assert_eq!(started(&printed), started(expected), "{command} printed {printed}");
        } else {
            assert_eq!(masked(&printed), masked(expected), "{command} printed {printed}");
        }
        commands_count += 1;
    }
    assert!(commands_count > 10, "{commands_count}");
}

/// Ids of jobs and uploads in `text`.
fn ids_of(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').filter(|part| part.len() == 32 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// `text` without what is another each time: ids, times, how long it took.
fn masked(text: &str) -> String {
    let text = text.trim();
    let is_id = |part: &str| ids_of(part).next().is_some();
    let is_time = |part: &str| part.starts_with("20") && part.contains('T') && part.ends_with('Z');
    let parts = text.split('"').map(|part| match part {
        part if is_id(part) => "ID",
        part if is_time(part) => "TIME",
        part => part,
    });
    let text = parts.collect::<Vec<_>>().join("\"");
    let mut seconds = text.split("Seconds\":");
    let mut masked = seconds.next().unwrap_or_default().to_owned();
    for rest in seconds {
        masked.push_str("Seconds\":SECONDS");
        masked.push_str(
            rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || ".e-".contains(letter)),
        );
    }
    masked
}

/// What is the same each time of a job that was just started, however far it is.
fn started(text: &str) -> Json {
    let job: Json = serde_json::from_str(&masked(text)).unwrap_or_else(|error| panic!("{error}: {text}"));
    ["id", "kind", "database", "user", "createdAt"].map(|member| job[member].clone()).into_iter().collect()
}
