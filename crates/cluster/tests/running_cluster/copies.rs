//! Copies of folders: two processes are one node, and one that comes back too late.

use crate::graph::{count, store, write_path};
use crate::members::{Members, open as open_log};
use crate::real_log::RealLog as _;
use crate::real_log::test_log::wait_until;
use crate::site::{Site, open, open_hearing};
use evergraph_cluster::running::report::{NodeReport, ReportSeverity};
use evergraph_graph::error::ErrorKind;
use evergraph_graph::transaction::Transaction as _;
use evergraph_storage::sync::Mutex;
use std::sync::Arc;

#[test]
fn of_two_processes_that_are_one_node_the_later_one_goes_on_and_the_first_says_why_not() {
    let Some(etcd) = Members::start(1) else { return };
    let site = Site::at(etcd.port(0), 1);
    let reports = Arc::<Mutex<Vec<NodeReport>>>::default();
    let first = open_hearing(site.folder(0), &reports).unwrap();
    let by_first = store(&first);
    write_path(&by_first, 4);
    first.checkpoint().unwrap();
    let copy = open(&site.copy_of(0, "copy")).unwrap();
    wait_until("the first one notices", || first.status().stopped.is_some());
    let said = "another process is this node now";
    let status = first.status();
    assert!(status.stopped.unwrap().contains(said));
    assert!(status.last_failure.unwrap().contains(said));
    assert!(
        reports
            .lock()
            .iter()
            .any(|report| { report.severity == ReportSeverity::Failure && report.text.contains(said) })
    );
    let errors = [
        count(&by_first).map(drop).unwrap_err(),
        by_first.begin().label("Other").map(drop).unwrap_err(),
        first.checkpoint().map(drop).unwrap_err(),
    ];
    for error in errors {
        assert!(error.kind() == ErrorKind::Busy && error.to_string().contains(said), "{error}");
    }
    first.close().unwrap();
    drop((by_first, first));
    write_path(&store(&copy), 4);

    // It has the number of the copy's start once, and is told so; then the next.
    let error = open(site.folder(0)).map(drop).unwrap_err();
    assert!(error.kind() == ErrorKind::Busy && error.to_string().contains("cannot join"), "{error}");
    let again = site.open(0);
    assert_eq!(count(&store(&again)).unwrap(), (8, 6));
    wait_until("the copy notices", || copy.status().stopped.is_some());
}

#[test]
fn a_node_that_needs_more_of_the_log_than_there_is_says_so() {
    let Some(etcd) = Members::start(1) else { return };
    let site = Site::at(etcd.port(0), 1);
    let node = site.open(0);
    write_path(&store(&node), 4);
    node.close().unwrap();
    let old = site.copy_of(0, "old");
    let node = site.open(0);
    // More than is read again of what was applied.
    write_path(&store(&node), 60);
    let end = node.checkpoint().unwrap();
    drop(node);
    let mut options = etcd.options(&[]);
    options.key = site.created.description.log_key();
    open_log(options).trim(end).unwrap();
    let error = open(&old).map(drop).unwrap_err().to_string();
    assert!(error.contains("the log begins at") && error.contains("away for longer"), "{error}");
    let node = site.open(0);
    assert_eq!(count(&store(&node)).unwrap(), (64, 62));
}
