//! Killed while it imports into a database with data: all of the import is there, or none.

use crate::bank::{Bank, run};
use crate::moments::{LONG, Moments, cycles, engines, start_and_kill, timed};
use evergraph::EngineKind;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

const PEOPLE: u64 = 30_000;

/// Vertices with the label, and edges of the type, as `stats` tells.
pub fn counts(bank: &Bank, label: &str, edge_type: &str) -> (u64, u64) {
    let stats = run(&mut bank.command(&["--json", "stats"]));
    let stats: Value = serde_json::from_slice(&stats.stdout).unwrap();
    let count = |list: &str, kind: &str, name: &str, items: &str| {
        let entries = stats[list].as_array().unwrap_or_else(|| panic!("no {list} in {stats}"));
        entries.iter().find(|entry| entry[kind] == name).map_or(0, |entry| entry[items].as_u64().unwrap())
    };
    (count("labels", "label", label, "vertices"), count("edge_types", "type", edge_type, "edges"))
}

#[test]
fn an_import_that_is_killed_is_there_whole_or_not_at_all() {
    engines().into_iter().for_each(import_again_and_again);
}

fn import_again_and_again(engine: EngineKind) {
    let (mut bank, mut moments) = (Bank::new(engine), Moments::new());
    let files = tempfile::tempdir().unwrap();
    let (people, knows) = (files.path().join("people.csv"), files.path().join("knows.csv"));
    let (mut vertices, mut edges) = (String::from("id:ID,name\n"), String::from(":START_ID,:END_ID\n"));
    for person in 0..PEOPLE {
        writeln!(vertices, "{person},n{person}").unwrap();
        writeln!(edges, "{person},{}", (person * 7 + 1) % PEOPLE).unwrap();
    }
    fs::write(&people, vertices).unwrap();
    fs::write(&knows, edges).unwrap();
    let (mut kills, mut imports, cycles) = (0, 0, cycles(20));
    let mut takes = Duration::from_millis(300);
    while kills < cycles {
        let (label, edge_type) = (format!("Person{imports}"), format!("KNOWS{imports}"));
        let import = || {
            let mut command = bank.command(&["--quiet", "import"]);
            command.arg("--nodes").arg(format!("{label}={}", people.display()));
            command.arg("--relationships").arg(format!("{edge_type}={}", knows.display()));
            command
        };
        let none_or_all = |done: bool| {
            let found = counts(&bank, &label, &edge_type);
            assert!(found == (0, 0) || found == (PEOPLE, PEOPLE), "{found:?} of {PEOPLE}");
            assert!(!done || found.0 > 0, "it was done, and nothing is there");
            found.0 > 0
        };
        let mut done = false;
        for _ in 0..3 {
            if !done {
                let killed = start_and_kill(&mut import(), moments.within(takes));
                kills += u64::from(killed);
                done = none_or_all(!killed);
            }
        }
        if !done {
            takes = timed(|| run(&mut import())).1;
            assert!(none_or_all(true));
        }
        imports += 1;
        bank.verify();
        if takes > LONG {
            (bank, takes) = (Bank::new(engine), Duration::from_millis(300));
        }
    }
    println!("{engine}: {kills} kills, {imports} imports");
}
