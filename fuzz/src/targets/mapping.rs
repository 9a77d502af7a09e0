//! Mapping: a TOML file that says how others are read. Errors name a line of it.

use crate::place::{lines_count, named_line};
use crate::target::{Memory, Target};
use evergraph::import::mapping::document::Mapping;
use evergraph::import::mapping::propose::{Proposal, mapping_text};
use std::path::Path;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 2048 } };

const NAME: &str = "mapping.toml";

const SAMPLE: &str = r#"
[defaults]
delimiter = "|"
quote = ""
null = "\\N"
array_delimiter = ";"

[[file]]
path = "people_*.csv"
label = "Person"
id = "pid"
types = { born = "int", seen = "datetime{epoch:milliseconds}" }
ignore = ["x", 3]

[[file]]
path = "**/knows.csv"
type = "KNOWS"
header = false
columns = [":START_ID(Person)", ":END_ID(Person)", "since:date"]
undirected = true

[[file]]
path = "likes.csv"
start = { column = "from", label = "Person" }
end = { column = 2, space = "Thing" }
escape = "\\"

[[file]]
path = "graph.mtx"
format = "matrix market"
"#;

fn seeds() -> Vec<Vec<u8>> {
    let files = SAMPLE.split("[[file]]\n").skip(1).map(|file| format!("[[file]]\n{file}").into_bytes());
    files.chain([SAMPLE.as_bytes().to_vec()]).collect()
}

fn promise(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mapping = match Mapping::parse(NAME, text, Path::new("folder")) {
        Ok(mapping) => mapping,
        Err(error) => {
            let error = error.to_string();
            assert!(error.starts_with(NAME), "{error}");
            let line = named_line(&error, NAME);
            assert!(line.is_none_or(|line| (1..=lines_count(input)).contains(&line)), "{error}");
            return;
        }
    };
    assert!(mapping.find("people_1.csv").is_none_or(|rule| rule < mapping.rules.len()));
    assert!(!mapping.rules.is_empty());
    for mapped in &mapping.rules {
        assert!(mapping.find(&mapped.pattern).is_some(), "a pattern is a path that it matches");
    }
    // Rules that recognition could have found are written as a mapping file and read back.
    let proposals: Vec<Proposal> = mapping
        .rules
        .iter()
        .map(|mapped| Proposal { path: mapped.pattern.clone(), rule: mapped.rule.clone(), notes: Vec::new() })
        .collect();
    drop(mapping_text(&proposals, &[]));
}
