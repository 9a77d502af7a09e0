//! Payload: a commit's mutations, encoded one after the other for the log.

use evergraph_graph::bytes::Reader;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::timestamp::Timestamp;

/// Bytes of properties and notes that a payload has room for from the beginning.
const ROOM_BYTES: usize = 256;

/// The stable binary form of a commit.
#[must_use]
pub fn encode(mutations: &[Mutation]) -> Vec<u8> {
    // An insertion without properties takes 13 bytes. A few mutations have room for some properties at once; of many, more
    // grow the vector.
    let mut payload = Vec::with_capacity(16 * mutations.len() + ROOM_BYTES);
    for mutation in mutations {
        mutation.encode(&mut payload);
    }
    payload
}

/// Reads a commit back.
///
/// # Errors
/// `corrupt` if the bytes are no commit, naming `timestamp` and the place in it.
pub fn decode(timestamp: Timestamp, payload: &[u8]) -> Result<Vec<Mutation>> {
    let mut mutations = Vec::new();
    decode_each(timestamp, payload, |mutation| {
        mutations.push(mutation);
        Ok(())
    })?;
    Ok(mutations)
}

/// Reads a commit back, one mutation after the other.
///
/// # Errors
/// As [`decode`]; what `visit` says.
pub fn decode_each(
    timestamp: Timestamp,
    payload: &[u8],
    mut visit: impl FnMut(Mutation) -> Result<()>,
) -> Result<()> {
    let mut reader = Reader::new(payload);
    while !reader.is_empty() {
        let mutation = Mutation::decode(&mut reader).map_err(|error| {
            Error::new(ErrorKind::Corrupt, format!("commit {timestamp} in the log cannot be read {error}"))
        })?;
        visit(mutation)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::{EdgeId, TypeId, VertexId};
    use evergraph_graph::properties::Properties;

    #[test]
    fn a_commit_reads_back_and_a_cut_names_its_timestamp() {
        let edge =
            EdgeId { source: VertexId(1), edge_type: TypeId(2), target: VertexId(3), discriminator: 0 };
        let mutations = vec![
            Mutation::InsertEdge { edge, properties: Properties::EMPTY },
            Mutation::DeleteVertex { vertex: VertexId(9) },
        ];
        let payload = encode(&mutations);
        assert_eq!(decode(Timestamp(7), &payload).unwrap(), mutations);
        let error = decode(Timestamp(7), &payload[..payload.len() - 1]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().starts_with("commit 7 in the log cannot be read at byte "), "{error}");
    }
}
