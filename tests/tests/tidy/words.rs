//! Words: what may not stand in code, in comments, or anywhere.

use crate::rust_text::{RustText, line_of, words};
use crate::tree::Finding;

/// Files that may hold `unsafe`; each needs a decision record that names what it buys.
const UNSAFE_FILES: &[&str] = &[
    "crates/cli/src/allocator.rs",         // docs/decisions/0023
    "crates/storage/src/io/cache_line.rs", // docs/decisions/0025
    "crates/storage/src/io/mapping.rs",    // docs/decisions/0025
];

/// `unsafe` stays in the files listed for it.
pub fn unsafe_code(path: &str, text: &str) -> Vec<Finding> {
    if UNSAFE_FILES.contains(&path) {
        return Vec::new();
    }
    let code = RustText::of(text).code;
    let message = "`unsafe` outside UNSAFE_FILES (tests/tests/tidy/words.rs): find a safe form";
    words(&code, "unsafe").map(|at| Finding::new(path, line_of(&code, at), message)).collect()
}

/// No macro stands in for code, and none that prints is left behind.
pub fn unfinished(path: &str, text: &str) -> Vec<Finding> {
    let code = RustText::of(text).code;
    let mut findings = Vec::new();
    for name in ["todo", "unimplemented", "dbg"] {
        for at in words(&code, name).filter(|at| code[at + name.len()..].starts_with('!')) {
            findings.push(Finding::new(
                path,
                line_of(&code, at),
                format!("`{name}!` is left: finish or remove it"),
            ));
        }
    }
    findings
}

/// Comments say why, not what somebody should do some day.
pub fn put_off(path: &str, text: &str) -> Vec<Finding> {
    let comments = match path.rsplit(['/', '.']).next() {
        Some("rs") => RustText::of(text).comments,
        // Everything else that has comments starts them with `#`; prose may name the words.
        Some("md") => return Vec::new(),
        _ => text
            .lines()
            .map(|line| line.find('#').map_or("", |at| &line[at..]))
            .collect::<Vec<_>>()
            .join("\n"),
    };
    let mut findings = Vec::new();
    for name in ["TODO", "FIXME", "HACK"] {
        for at in words(&comments, name) {
            let message = format!("a comment says {name}: do it now, or open an issue");
            findings.push(Finding::new(path, line_of(&comments, at), message));
        }
    }
    findings
}

/// Nothing depends on where somebody's machine keeps things.
pub fn machine_paths(path: &str, text: &str) -> Vec<Finding> {
    // Put together here, so that this file does not name one.
    let paths = [["/work", "/"], ["/root", "/"], ["/tmp/", "bash"]].map(|parts| parts.concat());
    let mut findings = Vec::new();
    for name in &paths {
        for (at, _) in text.match_indices(name.as_str()) {
            let message = format!("`{name}` is a path of one machine: make it relative or an option");
            findings.push(Finding::new(path, line_of(text, at), message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(findings: Vec<Finding>) -> Vec<usize> {
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn unsafe_in_code_is_found_and_in_prose_it_is_not() {
        assert_eq!(
            lines(unsafe_code("a.rs", "// unsafe\n#![deny(unsafe_code)]\nfn f() { unsafe { g() } }\n")),
            [3]
        );
        assert_eq!(lines(unsafe_code("a.rs", "unsafe impl Send for A {}\n")), [1]);
    }

    #[test]
    fn unfinished_code_is_found() {
        assert_eq!(
            lines(unfinished("a.rs", "a();\ntodo!();\nunimplemented!(\"b\");\ndbg!(c);\n")),
            [2, 3, 4]
        );
        assert_eq!(lines(unfinished("a.rs", "/// `todo!()`\nlet todo = \"todo!()\"; my_todo!();\n")), []);
    }

    #[test]
    fn comments_that_put_work_off_are_found() {
        let word = ["TO", "DO"].concat();
        assert_eq!(lines(put_off("a.rs", &format!("a();\n// {word}: b\nc(\"{word}\");\n"))), [2]);
        assert_eq!(lines(put_off("Makefile", &format!("a:\n\techo {word}\n# {word} b\n"))), [3]);
        assert_eq!(lines(put_off("a.md", &format!("No {word} comments.\n"))), []);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        assert_eq!(lines(machine_paths("a.md", &["see\n/work", "/main\n"].concat())), [2]);
        assert_eq!(lines(machine_paths("a.md", "see crates/storage and /tmp\n")), []);
    }
}
