//! Installed: where `make test` puts the drivers, and how a program that uses one is run.
//!
//! Each folder below `target` holds a copy of what pins its driver's version. A copy of another version counts as
//! none: an answer changes only with a commit.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A driver of Apache TinkerPop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Driver {
    Python,
    JavaScript,
    Java,
    Go,
}

impl Driver {
    /// The command that runs `program`, whose arguments are still to be added. `None`, and a line that says why, if the
    /// driver is not installed.
    ///
    /// # Panics
    /// With `CI` set, if it is not installed.
    pub fn command(self, program: &Path) -> Option<Command> {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let (name, pins): (_, &[(&str, &str)]) = match self {
            Self::Python => ("gremlin-python", &[("requirements.txt", include_str!("requirements.txt"))]),
            Self::JavaScript => {
                ("gremlin-javascript", &[("package-lock.json", include_str!("javascript/package-lock.json"))])
            }
            Self::Java => ("gremlin-java", &[("pom.xml", include_str!("java/pom.xml"))]),
            Self::Go => (
                "gremlin-go",
                &[("go.mod", include_str!("go/go.mod")), ("go.sum", include_str!("go/go.sum"))],
            ),
        };
        let installed = target.join(name);
        if let (Self::Python, Some(python)) = (self, std::env::var_os("EVERGRAPH_GREMLIN_PYTHON")) {
            return Some(python_command(python.into(), program));
        }
        let is_current = |(file, pinned): &(&str, &str)| {
            std::fs::read_to_string(installed.join(file)).is_ok_and(|found| found == *pinned)
        };
        if !pins.iter().all(is_current) {
            skip(&format!(
                "target/{name} has no driver, or another version: run `make gremlin-drivers`, which says why"
            ));
            return None;
        }
        Some(match self {
            Self::Python => python_command(installed.join("bin/python"), program),
            Self::JavaScript => {
                let mut command = Command::new("node");
                command.arg(program).env("NODE_PATH", installed.join("node_modules"));
                command
            }
            Self::Java => {
                let mut command = Command::new("java");
                command.arg("-cp").arg(installed.join("lib/*")).arg(program);
                command
            }
            // Beside a copy of `go.mod` and `go.sum`; `make test` filled Go's cache.
            Self::Go => {
                let mut command = Command::new("go");
                command.arg("run").arg(program).env("GOPROXY", "off").env("GOFLAGS", "-mod=readonly");
                command.current_dir(program.parent().unwrap());
                command
            }
        })
    }
}

fn python_command(python: PathBuf, program: &Path) -> Command {
    let mut command = Command::new(python);
    command.arg(program).env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONPATH");
    command
}

/// Says that the test can't run, and why. In CI nothing may be missing.
fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    let thread = std::thread::current();
    let line = format!("skipped: {}: {why}\n", thread.name().unwrap_or("a test"));
    // Not by `println!`, which a passing test keeps to itself.
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
