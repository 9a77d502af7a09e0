//! Installed driver: where `make test` puts the drivers, and how a program that uses one is run.
//!
//! Each folder below `target` holds a copy of what pins its driver's version. A copy of another version counts as
//! none: an answer changes only with a commit.

use super::skips::skip;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A driver of Apache TinkerPop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Driver {
    Python,
    JavaScript,
    Java,
    Go,
}

impl Driver {
    /// The command that runs `program`, whose arguments are still to be added: a file, or for Java and Go a folder of files,
    /// of which Java's `Main` is run, compiled below `scratch` the first time in a process. `None`, and a line that says why,
    /// if the driver is not installed.
    ///
    /// # Panics
    /// With `CI` set, if it is not installed; if it cannot be compiled.
    pub fn command(self, program: &Path, scratch: &Path) -> Option<Command> {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let (name, pins): (_, &[(&str, &str)]) = match self {
            Self::Python => (
                "gremlin-python",
                &[("requirements.txt", include_str!("../drivers/python/requirements.txt"))],
            ),
            Self::JavaScript => (
                "gremlin-javascript",
                &[("package-lock.json", include_str!("../drivers/javascript/package-lock.json"))],
            ),
            Self::Java => ("gremlin-java", &[("pom.xml", include_str!("../drivers/java/pom.xml"))]),
            Self::Go => (
                "gremlin-go",
                &[
                    ("go.mod", include_str!("../drivers/go/go.mod")),
                    ("go.sum", include_str!("../drivers/go/go.sum")),
                ],
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
            Self::Java => java_command(&installed.join("lib/*"), program, scratch),
            // Beside a copy of `go.mod` and `go.sum`; `make test` filled Go's cache.
            Self::Go => {
                let mut command = Command::new("go");
                command.arg("run").env("GOPROXY", "off").env("GOFLAGS", "-mod=readonly");
                match program.is_dir() {
                    true => command.arg(".").current_dir(program),
                    false => command.arg(program).current_dir(program.parent().unwrap()),
                };
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

/// A file is compiled as it is run; several have to be compiled before.
fn java_command(libraries: &Path, program: &Path, scratch: &Path) -> Command {
    let mut command = Command::new("java");
    if !program.is_dir() {
        command.arg("-cp").arg(libraries).arg(program);
        return command;
    }
    // All tests of a process run the same program.
    static CLASSES: OnceLock<PathBuf> = OnceLock::new();
    let classes = CLASSES.get_or_init(|| compiled(libraries, program, scratch));
    command.arg("-cp").arg(format!("{}:{}", classes.display(), libraries.display())).arg("Main");
    command
}

/// The folder below `scratch` that the classes of `program` are compiled into.
fn compiled(libraries: &Path, program: &Path, scratch: &Path) -> PathBuf {
    let classes = scratch.join("classes");
    let files = std::fs::read_dir(program).unwrap().map(|entry| entry.unwrap().path());
    let mut compiler = Command::new("javac");
    compiler.arg("-d").arg(&classes).arg("-cp").arg(libraries);
    compiler.args(files.filter(|file| file.extension().is_some_and(|extension| extension == "java")));
    let compiled = compiler.output().unwrap_or_else(|error| panic!("run {compiler:?}: {error}"));
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    classes
}
