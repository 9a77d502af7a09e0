//! Certifier state: what a node of a cluster reads from its checkpoint. What is read is written in the same bytes, and
//! goes on deciding; an error names its place.

use crate::target::{Memory, Target};
use crate::targets::log_message::{samples, written};
use evergraph_cluster::certification::certifier::{Certifier, CertifierLimits};
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::key_hash::graph_salt::GraphSalt;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::body::{Record, RecordBody};
use evergraph_cluster::record::message::Message;
use evergraph_cluster::record_id::{Author, NodeId};

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 256 } };

const SALT: GraphSalt = GraphSalt([7; 16]);
const AUTHOR: Author = Author { node: NodeId(1), incarnation: 1 };

/// The certifier decides these records, as the next message.
fn decide(certifier: &mut Certifier, records: &[Record]) {
    let seen = certifier.seen();
    let bytes = written(AUTHOR, &seen, records);
    let message = Message::decode(&bytes).expect("what was written reads back");
    certifier.apply(LogPosition(seen.position.0 + 1), message, &bytes);
}

fn seeds() -> Vec<Vec<u8>> {
    let after = |generation_slots: u64, messages: usize| {
        let limits = CertifierLimits { generation_slots, ..CertifierLimits::default() };
        let mut certifier = Certifier::new(SALT, limits, SeenLog::START);
        for number in 0..messages {
            let records = samples().into_iter().zip((20 * number as u64)..);
            let records: Vec<_> = records.map(|(record, number)| Record { number, ..record }).collect();
            decide(&mut certifier, &records);
        }
        certifier.encode()
    };
    vec![after(1 << 20, 0), after(1 << 20, 1), after(1 << 20, 3), after(60, 4)]
}

fn promise(input: &[u8]) {
    let mut certifier = match Certifier::decode(SALT, input) {
        Ok(certifier) => certifier,
        Err(error) => {
            assert!(error.offset <= input.len() && !error.expected.is_empty(), "{error}");
            return;
        }
    };
    assert_eq!(certifier.encode(), input);
    if certifier.seen().position < LogPosition::MAX {
        decide(&mut certifier, &[Record { number: 1, body: RecordBody::Barrier }]);
        let saved = certifier.encode();
        assert!(Certifier::decode(SALT, &saved).is_ok(), "a saved state reads back");
    }
}
