//! `KnownRelations`: which description of a table holds for which rows.
//!
//! ```text
//! newest       what the source means by a row of the next whole transaction
//! described    what the transactions that were given out have described, in the order of their commits
//! ```
//!
//! The two differ for a moment when a streamed transaction commits behind another one that described the same table later; then
//! the next transaction begins with the description that is newer. Tables are locked while a transaction writes rows, so
//! only the column lists of a publication change in between.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::pgoutput::decoder::Block;
use crate::pgoutput::relation::{Oid, Relation};
use crate::stream::finished_piece::{Description, FinishedPiece};
use crate::stream::piece::Piece;

/// Descriptions of tables.
#[derive(Debug, Default)]
pub struct KnownRelations {
    arrivals: u64,
    newest: BTreeMap<Oid, Description>,
    described: BTreeMap<Oid, Arc<Relation>>,
    /// Tables of which the two above may differ.
    differing: BTreeSet<Oid>,
}

impl KnownRelations {
    /// Counts a description that came.
    pub fn arrived(&mut self, relation: Relation) -> Description {
        self.arrivals += 1;
        Description { relation: Arc::new(relation), arrival: self.arrivals }
    }

    /// A description outside of all transactions holds for the next one.
    pub fn hold(&mut self, description: Description) {
        let table = description.relation.id;
        self.renew(description);
        self.differing.insert(table);
    }

    /// The pieces of a transaction that commits, each with what must be described before it; pieces without messages go. Cost:
    /// a look-up a description.
    pub fn commit(&mut self, finished: Vec<FinishedPiece>, block: Block) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(finished.len());
        let mut relations = Vec::new();
        for table in std::mem::take(&mut self.differing) {
            if let Some(description) = self.newest.get(&table) {
                describe(&mut self.described, &description.relation, &mut relations);
            }
        }
        let mut tables = BTreeSet::new();
        for mut piece in finished {
            for description in std::mem::take(&mut piece.descriptions) {
                describe(&mut self.described, &description.relation, &mut relations);
                tables.insert(description.relation.id);
                self.renew(description);
            }
            if piece.has_messages() {
                let relations = std::mem::take(&mut relations);
                pieces.push(Piece { relations, block, messages: piece.messages, dropped: piece.dropped });
            }
        }
        // No piece tells of these any more.
        for relation in relations {
            self.described.remove(&relation.id);
            tables.insert(relation.id);
        }
        for table in tables {
            let newest = self.newest.get(&table).map(|description| &description.relation);
            if self.described.get(&table) != newest {
                self.differing.insert(table);
            }
        }
        pieces
    }

    fn renew(&mut self, description: Description) {
        let table = description.relation.id;
        if self.newest.get(&table).is_none_or(|newest| newest.arrival < description.arrival) {
            self.newest.insert(table, description);
        }
    }
}

fn describe(
    described: &mut BTreeMap<Oid, Arc<Relation>>,
    relation: &Arc<Relation>,
    out: &mut Vec<Arc<Relation>>,
) {
    if described.get(&relation.id) != Some(relation) {
        described.insert(relation.id, Arc::clone(relation));
        out.push(Arc::clone(relation));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgoutput::relation::RelationIdentity;
    use crate::stream::stored_messages::StoredMessages;
    use std::iter;

    fn relation(id: Oid, name: &str) -> Relation {
        let identity = RelationIdentity::PrimaryKey;
        Relation { id, schema: "".into(), name: name.into(), identity, columns: [].into() }
    }

    fn piece(descriptions: Vec<Description>, messages: usize) -> FinishedPiece {
        let messages = (0..messages).map(|_| &b"I"[..]).collect();
        FinishedPiece { descriptions, messages: StoredMessages::Memory(messages), dropped: Vec::new() }
    }

    /// The names that each piece describes.
    fn names(known: &mut KnownRelations, pieces: Vec<FinishedPiece>) -> Vec<String> {
        let pieces = known.commit(pieces, Block::Outside);
        let names = |piece: &Piece| piece.relations().iter().map(|relation| &*relation.name).collect();
        pieces.iter().map(names).collect()
    }

    #[test]
    fn a_table_is_described_before_the_rows_that_mean_it_and_once() {
        let mut known = KnownRelations::default();
        let (a, b) = (known.arrived(relation(1, "a")), known.arrived(relation(2, "b")));
        assert_eq!(names(&mut known, vec![piece(vec![a], 1), piece(vec![b], 1)]), ["a", "b"]);
        let again = known.arrived(relation(1, "a"));
        assert_eq!(names(&mut known, vec![piece(vec![again], 1)]), [""]);
        let changed = known.arrived(relation(1, "c"));
        assert_eq!(names(&mut known, vec![piece(vec![], 1), piece(vec![changed], 1)]), ["", "c"]);
    }

    #[test]
    fn a_description_without_rows_waits_for_the_next_transaction() {
        let mut known = KnownRelations::default();
        let outside = known.arrived(relation(1, "outside"));
        known.hold(outside);
        let alone = known.arrived(relation(2, "alone"));
        let rolled_back = FinishedPiece { dropped: iter::once(0..2).collect(), ..piece(vec![alone], 2) };
        assert!(names(&mut known, vec![rolled_back]).is_empty());
        assert_eq!(names(&mut known, vec![piece(vec![], 1)]), ["outsidealone"]);
        assert_eq!(names(&mut known, vec![piece(vec![], 1)]), [""]);
    }

    #[test]
    fn a_streamed_transaction_keeps_its_description_and_later_ones_the_newer() {
        let mut known = KnownRelations::default();
        let of_streamed = known.arrived(relation(1, "old"));
        let of_other = known.arrived(relation(1, "new"));
        assert_eq!(names(&mut known, vec![piece(vec![of_other], 1)]), ["new"]);
        assert_eq!(names(&mut known, vec![piece(vec![of_streamed], 1)]), ["old"]);
        assert_eq!(names(&mut known, vec![piece(vec![], 1)]), ["new"]);
    }
}
