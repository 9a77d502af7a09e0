//! Driver examples: what `serve` prints for each language, run as a user pastes it, with the driver itself.

use crate::installed_driver::Driver;
use crate::support::Folder;
use std::fs;
use std::io::{BufRead as _, Read as _};
use std::path::Path;

#[test]
fn what_serve_prints_for_python_counts_the_vertices() {
    run_example(Driver::Python, "Python ", "example.py", |example| example.to_owned());
}

#[test]
fn what_serve_prints_for_javascript_counts_the_vertices() {
    run_example(Driver::JavaScript, "JavaScript ", "example.js", |example| example.to_owned());
}

#[test]
fn what_serve_prints_for_java_counts_the_vertices() {
    run_example(Driver::Java, "Java ", "Example.java", |example| {
        let (imports, statements) = split_imports(example);
        format!(
            "{imports}public class Example {{\n    public static void main(String[] arguments) {{\n{statements}    }}\n}}\n"
        )
    });
}

#[test]
fn what_serve_prints_for_go_counts_the_vertices() {
    run_example(Driver::Go, "Go ", "example.go", |example| {
        let (imports, statements) = split_imports(example);
        format!("package main\n\n{imports}\nfunc main() {{\n{statements}}}\n")
    });
}

/// Serves a graph of three vertices, takes the lines for `language` from what that prints, makes them a program, and
/// runs it. Skipped if the driver is not installed.
fn run_example(driver: Driver, language: &str, file: &str, complete: impl Fn(&str) -> String) {
    let folder = Folder::with_social();
    let path = folder.path(file);
    let Some(mut command) = driver.command(&path, path.parent().unwrap()) else { return };
    if driver == Driver::Go {
        let pins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/tests/drivers/go");
        for pin in ["go.mod", "go.sum"] {
            fs::copy(pins.join(pin), folder.path(pin)).unwrap();
        }
    }
    let mut server = folder.serve(&["social.eg"]);
    let mut out = server.out.by_ref().lines().map(Result::unwrap);
    // Of the paragraph for a language the first line says what to install.
    let _install = out.by_ref().find(|line| line.starts_with(language)).expect("lines for the language");
    let mut example = String::new();
    // The lines for Go are the last; after them the program waits.
    for line in out.by_ref().take_while(|line| !line.is_empty()) {
        let line = line.strip_prefix("            ").expect("lines are indented");
        example.push_str(line);
        example.push('\n');
        if line.starts_with("fmt.Println(") {
            break;
        }
    }
    fs::write(&path, complete(&example)).unwrap();
    let ran = command.output().unwrap_or_else(|error| panic!("run {command:?}: {error}"));
    server.end("-TERM").succeeded();
    let printed = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let (output, errors) = (printed(&ran.stdout), printed(&ran.stderr));
    assert!(ran.status.success(), "{example}\n{output}\n{errors}");
    assert!(output.lines().any(|line| line == "3"), "{example}\n{output}\n{errors}");
}

/// The lines that import, and the others, which belong into a function.
fn split_imports(example: &str) -> (String, String) {
    let (imports, statements): (Vec<&str>, Vec<&str>) =
        example.split_inclusive('\n').partition(|line| line.starts_with("import "));
    (imports.concat(), statements.concat())
}
