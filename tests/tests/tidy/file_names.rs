//! File names: a source file that a page names in a code span is there, so that a rename doesn't leave readers behind.

use std::collections::BTreeSet;

use crate::tree::Finding;

/// Pages whose code spans name files of today; others tell of former ones too, or of users' files.
pub const PAGES: &[&str] = &["ARCHITECTURE.md", "docs/papers.md", "docs/file_format.md"];

/// Code spans of `page` that name a file of Rust or Python, by the end of its path, which no file has.
pub fn missing(page: &str, text: &str, paths: &BTreeSet<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for name in line.split('`').skip(1).step_by(2).filter(|span| is_file(span)) {
            let is_there = |path: &String| {
                path.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
            };
            if !paths.iter().any(is_there) {
                findings.push(Finding::new(page, index + 1, format!("no file is called `{name}`")));
            }
        }
    }
    findings
}

/// Whether a code span is the path of a source file, or its end: a pattern or an expression is none.
fn is_file(span: &str) -> bool {
    let stem = span.strip_suffix(".rs").or_else(|| span.strip_suffix(".py"));
    stem.is_some_and(|stem| {
        !stem.is_empty() && stem.chars().all(|letter| letter.is_ascii_alphanumeric() || "_/".contains(letter))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_renamed_is_found() {
        let paths = BTreeSet::from(["crates/python/src/long_call.rs".to_owned(), "setup.py".to_owned()]);
        let lines = |text| {
            missing("docs/papers.md", text, &paths).into_iter().map(|found| found.line).collect::<Vec<_>>()
        };
        assert_eq!(lines("| `long_call.rs` | `python/src/long_call.rs`, `setup.py` |\n"), []);
        assert_eq!(lines("| calls | `work.rs` |\n`src/work.py` and `call.rs`\n"), [1, 2, 2]);
    }

    #[test]
    fn what_is_no_path_is_left_alone() {
        let paths = BTreeSet::new();
        assert_eq!(missing("a.md", "work.rs `schedules_*.rs` `.rs` `a b.rs` `f(x).rs`\n", &paths), []);
    }
}
