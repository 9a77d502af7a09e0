//! Tree: the project's files as tidy sees them, and how findings are reported.
//!
//! In a git checkout the list is git's own (tracked files, and new ones that are not ignored); in an
//! unpacked archive it is a walk that skips hidden folders and cargo's target folders.

use std::collections::BTreeSet;
use std::fmt::{Display, Formatter, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// File, from the project's root.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl Finding {
    pub fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Fails with one line a finding.
pub fn assert_none(findings: impl IntoIterator<Item = Finding>) {
    let lines: Vec<String> = findings.into_iter().map(|finding| finding.to_string()).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

/// The folder of the project that this test was built from.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ stands in the root")
}

/// A file of text.
pub struct TextFile {
    /// From the project's root, with `/`.
    pub path: String,
    pub text: String,
}

/// Every file of the project.
pub struct Tree {
    /// From the project's root, with `/`.
    pub paths: BTreeSet<String>,
    files: Vec<TextFile>,
    sizes: Vec<(String, u64)>,
}

impl Tree {
    /// Reads the project that this test was built from. Cost: one read of every file.
    pub fn read() -> Self {
        let root = root();
        // `.git` is a folder in a clone and a file in a worktree.
        let paths = if root.join(".git").exists() { listed_by_git(root) } else { walked(root) };
        let (mut files, mut sizes) = (Vec::new(), Vec::new());
        for path in &paths {
            let bytes = fs::read(root.join(path)).unwrap_or_else(|error| panic!("read {path}: {error}"));
            sizes.push((path.clone(), bytes.len() as u64));
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(TextFile { path: path.clone(), text });
            }
        }
        assert!(
            paths.contains("Cargo.toml"),
            "no Cargo.toml in {}: is it the project's root?",
            root.display()
        );
        Self { paths, files, sizes }
    }

    /// Every file that is text, generated lock files apart.
    pub fn text(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(|file| !file.path.ends_with(".lock"))
    }

    pub fn rust(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    pub fn markdown(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(|file| file.path.ends_with(".md"))
    }

    /// Files of this name, in any folder.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(move |file| file.path.rsplit('/').next() == Some(name))
    }

    /// Path and size in bytes of every file.
    pub fn sizes(&self) -> impl Iterator<Item = (&str, u64)> {
        self.sizes.iter().map(|(path, bytes)| (path.as_str(), *bytes))
    }
}

fn listed_by_git(root: &Path) -> BTreeSet<String> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .expect("tidy asks git for the list of files");
    assert!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("file names are UTF-8");
    // Deleted and not yet committed: listed, but gone.
    names.split_terminator('\0').filter(|name| root.join(name).is_file()).map(str::to_owned).collect()
}

fn walked(root: &Path) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(root.join(&folder)).unwrap_or_else(|error| panic!("list {folder:?}: {error}"));
        for entry in entries {
            let entry = entry.expect("a folder's entry can be read");
            let name = entry.file_name().into_string().expect("file names are UTF-8");
            let path = folder.join(&name);
            let kind = entry.file_type().expect("a file's type can be read");
            let hidden = name.starts_with('.') && name != ".ci";
            if kind.is_dir() && !hidden && !entry.path().join("CACHEDIR.TAG").exists() {
                folders.push(path);
            } else if kind.is_file() {
                paths.insert(path.to_str().expect("made of UTF-8 names").replace('\\', "/"));
            }
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a.rs:7: too long")]
    fn a_finding_fails_with_file_and_line() {
        assert_none([Finding::new("a.rs", 7, "too long")]);
    }

    #[test]
    fn git_and_the_walk_see_the_same_sources() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let rust = |paths: BTreeSet<String>| -> BTreeSet<String> {
            paths.into_iter().filter(|path| path.ends_with(".rs")).collect()
        };
        let walk = rust(walked(root));
        assert!(walk.contains("tests/tests/tidy/tree.rs"));
        if root.join(".git").exists() {
            assert_eq!(rust(listed_by_git(root)), walk);
        }
    }
}
