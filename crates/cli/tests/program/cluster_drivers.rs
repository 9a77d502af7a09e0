//! Drivers on a cluster: TinkerPop's driver for Python, unmodified, on two nodes that are processes, with their log on a real etcd.
//!
//! Each partition has one copy, so that either node reads from the other. Without the driver or `etcd` the test says that it was skipped;
//! with `CI` set it fails.

use crate::cluster_nodes::{create_cluster, serve};
use crate::installed_driver::Driver;
use crate::one_etcd::start_etcd;
use crate::support::Folder;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long the program may take; it takes seconds.
const PROGRAM_TIME: Duration = Duration::from_secs(300);

#[test]
fn gremlinpython_commits_rolls_back_and_meets_conflicts_on_two_nodes_as_with_any_server() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/tests/drivers/python/cluster.py");
    let folder = Folder::new();
    let Some(mut command) = Driver::Python.command(&program, folder.root()) else { return };
    let Some((_etcd, log)) = start_etcd(folder.root()) else { return };
    create_cluster(&folder, &log, 2, 1);
    let nodes = [0, 1].map(|node| serve(&folder, node));
    command.args(nodes.iter().map(|node| format!("{}/gremlin", node.url())));
    let mut running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    // What it writes has room in a pipe.
    while running.try_wait().unwrap().is_none() {
        if began.elapsed() > PROGRAM_TIME {
            running.kill().unwrap();
        }
        sleep(Duration::from_millis(20));
    }
    let ran = running.wait_with_output().unwrap();
    let [out, errors] = [&ran.stdout, &ran.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(ran.status.success() && out.ends_with(" passed\n"), "{}\n{out}\n{errors}", ran.status);
    println!("{out}");
    for node in nodes {
        let ended = node.end("-TERM");
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}
