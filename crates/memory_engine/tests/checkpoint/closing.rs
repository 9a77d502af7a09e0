//! Closing beside checkpoints, loads and backups of other threads: it waits for them, since what they write
//! belongs to the next who opens the database.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::load::{Load, VertexBlock, VertexTable};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::directory::Directory as _;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};

use crate::backup::{graph, open, small};

/// What an operation on the files of a database calls in its midst.
type Midst<'a> = dyn FnMut() + 'a;

/// Closes a database while `operation` is in its midst on another thread, opens it again while that thread
/// goes on, if it can, and then once more.
fn close_beside(operation: impl Fn(&OpenStore<MemoryEngine>, &mut Midst<'_>) -> Result<()> + Send) {
    let directory = MemoryDirectory::new("db");
    let first = small(&directory);
    let has_gone_on = AtomicBool::new(false);
    let (begun, in_the_midst) = channel();
    let (reopened, go_on) = channel::<()>();
    let (open_first, went_on) = (&first, &has_gone_on);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut begun = Some(begun);
            let done = operation(open_first, &mut || {
                if let Some(begun) = begun.take() {
                    begun.send(()).unwrap();
                    // Closing waits, so that nobody says so; else the next opening is through by then.
                    let _ = go_on.recv_timeout(Duration::from_millis(200));
                    // Here, where closing still waits, so that this is seen when it returns.
                    went_on.store(true, Ordering::Release);
                }
            });
            done.unwrap();
        });
        in_the_midst.recv().unwrap();
        first.close().unwrap();
        let had_gone_on = has_gone_on.load(Ordering::Acquire);
        let second = open(&directory).unwrap();
        let _ = reopened.send(());
        assert!(had_gone_on, "closing gave the lock back before the operation had ended");
        second.close().unwrap();
    });
    let third = open(&directory).unwrap();
    assert!(third.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap().is_healthy());
    assert!(!graph(&third).vertices.is_empty());
    let refused = first.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
}

/// The next opening used to remove the files of the checkpoint, which then renamed a manifest that named
/// them: the opening after that had lost everything.
#[test]
fn closing_waits_for_a_checkpoint_of_another_thread() {
    close_beside(|open, midst| {
        let made = open.checkpoint(&mut |now| {
            if now.bytes_written > 0 {
                midst();
            }
            ControlFlow::Continue(())
        });
        made.map(drop)
    });
}

#[test]
fn closing_waits_for_a_load_of_another_thread() {
    close_beside(|open, midst| {
        let table = VertexTable::new("Loaded", Vec::new(), vec![VertexBlock::bare(5000)]);
        let load = Load { vertices: vec![table], edges: Vec::new() };
        let made = open.load_within(u64::MAX, &load, &mut |_| Ok(()), &mut |now| {
            if now.bytes_written > 0 {
                midst();
            }
            ControlFlow::Continue(())
        });
        made.map(drop)
    });
}

#[test]
fn closing_waits_for_a_backup_of_another_thread() {
    close_beside(|open, midst| {
        let made = open.backup(&MemoryDirectory::new("copy"), &mut |_| {
            midst();
            ControlFlow::Continue(())
        });
        made.map(drop)
    });
}

/// A run that is over before the checkpoint thread looks for the first time leaves its part of the log to the
/// next one: without a checkpoint at closing the log would grow for ever.
#[test]
fn many_short_runs_leave_few_log_files_and_bytes() {
    let directory = MemoryDirectory::new("db");
    let options = OpenOptions { durability: Durability::None, ..OpenOptions::default() };
    let logs = || directory.list().unwrap().iter().filter(|name| name.starts_with("log-")).count();
    let (mut most, mut fewest_since) = (0, usize::MAX);
    for number in 0..60 {
        let open = OpenStore::<MemoryEngine>::open(Arc::new(directory.clone()), &options).unwrap();
        let added = open.store().transact(|tx| {
            let (label, key) = (tx.label("V")?, tx.key("text")?);
            tx.add_vertex(label, &[(key, Value::from("x".repeat(700_000)))])
        });
        added.unwrap();
        open.close().unwrap();
        most = most.max(logs());
        if number > 30 {
            fewest_since = fewest_since.min(logs());
        }
    }
    assert!((10..=17).contains(&most), "{most} log files");
    assert!(fewest_since < 10, "a checkpoint folded them: {fewest_since}");
    assert_eq!(graph(&open(&directory).unwrap()).vertices.len(), 60);
}

#[test]
fn closing_from_inside_a_checkpoint_is_refused_and_the_checkpoint_goes_on() {
    let directory = MemoryDirectory::new("db");
    let first = small(&directory);
    let mut refused = None;
    let made = first.checkpoint(&mut |_| {
        refused = first.close().err();
        ControlFlow::Continue(())
    });
    assert_eq!(refused.map(|error| error.kind()), Some(ErrorKind::Invalid));
    made.unwrap();
    first.close().unwrap();
    assert!(open(&directory).is_ok());
}
