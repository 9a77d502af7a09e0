//! Replay: every target keeps its promise for its seeds and for the inputs in `corpus/`, which fuzzing
//! found: together they reach what it reached.

use evergraph_fuzz::target::{Target, broken, remember_panics};
use evergraph_fuzz::targets::ALL;
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use tar::Archive;

/// The inputs that are kept for `target`, with their names.
fn kept(target: &str) -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(format!("{target}.tar.gz"));
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut archive = Archive::new(GzDecoder::new(file));
    let entries = archive.entries().expect("an archive begins with an entry");
    let read = entries.map(|entry| {
        let mut entry = entry.expect("an archive is whole");
        let name = entry.path().expect("names of inputs are text").display().to_string();
        let mut input = Vec::new();
        entry.read_to_end(&mut input).expect("an input can be read");
        (name, input)
    });
    read.collect()
}

fn replay(name: &str, target: Target, failures: &mut Vec<String>) -> usize {
    let (seeds, kept) = ((target.seeds)(), kept(name));
    for (number, seed) in seeds.iter().enumerate() {
        failures.extend(broken(target, seed).map(|what| format!("{name}, seed {number}: {what}")));
    }
    for (input, bytes) in &kept {
        failures.extend(broken(target, bytes).map(|what| format!("{name}, {input}: {what}")));
    }
    assert!(
        !kept.is_empty(),
        "nothing is kept for {name}: make fuzz TARGET={name}, then the same with KEEP=1"
    );
    seeds.len() + kept.len()
}

/// One test, because the heap is counted for the whole process.
#[test]
fn every_target_keeps_its_promise_for_what_fuzzing_found() {
    remember_panics();
    let (mut failures, mut inputs) = (Vec::new(), 0);
    for (name, target) in ALL {
        inputs += replay(name, target, &mut failures);
    }
    println!("{inputs} inputs of {} targets", ALL.len());
    // The hook that remembers panics says nothing of them.
    drop(std::panic::take_hook());
    assert!(failures.is_empty(), "{} of {inputs} inputs:\n{}", failures.len(), failures.join("\n"));
}
