//! Jobs of a server: JSON that a client sends is a kind and its work, or an error that names a member.

use crate::target::{Memory, Target};
use evergraph_graph::error::ErrorKind;
use evergraph_server::jobs::job_kind::JobKind;
use evergraph_server::jobs::request;
use evergraph_server::jobs::resources::JobResources;
use evergraph_server::spool::options::FileOptions;
use std::sync::Arc;

/// The target: the members of a job on a server without folders. Two bytes of an array are a value of 32, and are held as JSON
/// and as members.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 16, per_byte: 512 } };

fn seeds() -> Vec<Vec<u8>> {
    [
        "{\"kind\": \"check\"}",
        "{\"kind\": \"checkpoint\"}",
        "{\"kind\": \"backup\"}",
        "{\"kind\": \"export\", \"format\": \"csv\", \"labels\": [\"Person\"]}",
        "{\"kind\": \"import\", \"upload\": \"4f\", \"onUnknown\": \"skip\", \"idType\": \"long\"}",
        "{\"kind\": \"import\", \"path\": \"../a.csv\"}",
        "{\"kind\": \"createIndex\", \"label\": \"Person\", \"key\": \"name\", \"unique\": true}",
        "{\"kind\": 7}",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

fn promise(input: &[u8]) {
    let Ok(members) = serde_json::from_slice(input) else { return };
    let resources = JobResources::open(&FileOptions::default(), None).expect("it has no folders");
    match request::read(members, "social", &Arc::new(resources)) {
        Ok((kind, _)) => assert!(JobKind::ALL.contains(&kind)),
        Err(error) => {
            assert!([ErrorKind::Invalid, ErrorKind::NotFound].contains(&error.kind()), "{error}");
            assert!(!error.to_string().is_empty());
        }
    }
}
