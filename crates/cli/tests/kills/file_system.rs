//! A file system in memory that one test has for itself, in a mount namespace.
//!
//! It is mounted by root or where users may; elsewhere the test says that it is skipped.

use crate::skips::skipped;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

/// Set for the test's own process inside the namespace: the mounted folder.
const INSIDE: &str = "EVERGRAPH_MOUNTED";

/// Runs `inside` in the folder of a new file system: `mount` is its type, with options. It is done by a process of its own,
/// which runs the test `name` alone.
pub fn in_file_system(name: &str, mount: &str, inside: impl FnOnce(&Path)) {
    if let Some(folder) = env::var_os(INSIDE) {
        inside(Path::new(&folder));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command.env(INSIDE, folder.path()).stdin(Stdio::null());
        command
    };
    let mount = format!("mount -t {mount} evergraph \"${INSIDE}\"");
    let may_mount = unshare(&mount).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !may_mount {
        skipped("a file system may not be mounted here");
        return;
    }
    let script = format!("{mount} && exec \"$0\" --exact {name} --nocapture");
    let ran = unshare(&script).arg(env::current_exe().unwrap()).output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    println!("{out}");
    assert!(ran.status.success(), "inside the file system: {}\n{error}", ran.status);
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 0, "it was not the file system that was written to");
}
