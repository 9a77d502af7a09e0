//! Salvage of a database whose manifest is gone: what the log and the files say, in a new database of the same engine.

use crate::database::{Faulty, contents};
use evergraph::EngineKind;
use evergraph::engines::engine::AnyEngine;
use evergraph::storage::io::directory::Directory;
use evergraph::storage::io::error::Operation;
use evergraph::storage::io::failing::Fault;
use evergraph::storage::io::memory::MemoryDirectory;
use evergraph::storage::open::salvage;
use evergraph_tests::store::{checkpoint, open_synced};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

#[test]
fn without_a_manifest_the_new_database_is_of_the_engine_whose_files_are_there() {
    for engine in EngineKind::ALL {
        let faulty = Faulty::new(engine, 30);
        // It leaves files, and the log goes back to the first commit.
        faulty.faults.plan(Fault::new(Operation::Rename, "manifest", io::ErrorKind::Other));
        checkpoint(&faulty.open).unwrap_err();
        let image = faulty.disk.power_cut();
        image.remove("manifest").unwrap();
        let new = MemoryDirectory::new("new");
        let target: Arc<dyn Directory> = Arc::new(new.clone());
        let saved = salvage::<AnyEngine>(&image, &target, &mut |_, _, _| ControlFlow::Continue(()));
        saved.unwrap_or_else(|error| panic!("{engine}: {error}"));
        // Another engine would be refused.
        let open = open_synced(engine, &new).unwrap();
        assert!(contents(&open) == faulty.contents(), "{engine}");
    }
}
