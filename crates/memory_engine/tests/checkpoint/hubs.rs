//! Hubs in checkpoints: segments of their own that come back where they were, also when a row
//! becomes one while the checkpoint runs.

use std::ops::ControlFlow;
use std::sync::Arc;

use evergraph_bodies::edge_body::HUB_DEGREE;
use evergraph_graph::id::{EdgeId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_storage::engine::Engine;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;

use crate::support::{Database, LABEL};

fn vertex(id: u32) -> Mutation {
    Mutation::InsertVertex { vertex: VertexId(id), label: LABEL, properties: Properties::EMPTY }
}

pub fn edge(source: u32, target: u32) -> EdgeId {
    EdgeId { source: VertexId(source), edge_type: TypeId(0), target: VertexId(target), discriminator: 0 }
}

fn insert(source: u32, target: u32) -> Mutation {
    Mutation::InsertEdge { edge: edge(source, target), properties: Properties::EMPTY }
}

/// A vertex with more edges than a group's segment takes, and one with two.
pub fn with_a_hub(directory: &MemoryDirectory) -> Database {
    let database = Database::open(Arc::new(directory.clone()), Durability::None).unwrap();
    let count = HUB_DEGREE as u32 + 2;
    let vertices: Vec<Mutation> = (0..count).map(vertex).collect();
    database.append(&vertices).unwrap();
    // A list that has a body to itself stays there.
    database.append(&[insert(8, 1), insert(8, 2)]).unwrap();
    let edges: Vec<Mutation> = (0..count).map(|target| insert(7, target)).collect();
    database.append(&edges).unwrap();
    database
}

pub fn reopen(directory: &MemoryDirectory) -> Database {
    Database::open(Arc::new(directory.power_cut()), Durability::None).unwrap()
}

#[test]
fn a_hub_comes_back_with_what_was_committed_to_it_later() {
    let directory = MemoryDirectory::new("db");
    let database = with_a_hub(&directory);
    database.checkpoint().unwrap();
    assert_eq!(database.engine.statistics().hubs, 1);
    let delete = Mutation::DeleteEdge { edge: edge(7, 9) };
    database.append(&[delete, Mutation::DeleteEdge { edge: edge(8, 1) }, insert(9, 7)]).unwrap();
    database.log.wait_durable(database.published().0).unwrap();
    let reopened = reopen(&directory);
    assert_eq!(reopened.engine.statistics().hubs, 1);
    assert_eq!(reopened.model(), database.model());
    reopened.append(&[insert(7, 9)]).unwrap();
    assert_eq!(reopened.graph(), reopened.model());
    reopened.engine.merge_everything();
    assert_eq!(reopened.graph(), reopened.model());
}

#[test]
fn a_row_that_becomes_a_hub_beside_a_checkpoint_is_stored_once() {
    let count = HUB_DEGREE as u32 + 2;
    for at in 0..12 {
        let directory = MemoryDirectory::new("db");
        let database = Database::open(Arc::new(directory.clone()), Durability::None).unwrap();
        database.append(&(0..count).map(vertex).collect::<Vec<_>>()).unwrap();
        database.append(&[insert(7, 0), insert(8, 1)]).unwrap();
        let mut told = 0;
        database
            .checkpoint_with(&mut |_| {
                told += 1;
                if told == at {
                    database.append(&(1..count).map(|target| insert(7, target)).collect::<Vec<_>>()).unwrap();
                    database.engine.merge_everything();
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        let reopened = reopen(&directory);
        assert_eq!(reopened.model(), database.model_at(reopened.published()), "at {at}");
        database.checkpoint().unwrap();
        assert_eq!(self::reopen(&directory).model(), database.model());
    }
}
