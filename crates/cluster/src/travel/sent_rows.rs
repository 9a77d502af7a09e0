//! Sent rows: messages with rows that one node keeps until their receivers have them, and sends again.

use crate::record_id::NodeId;
use crate::travel::message::{Outgoing, TravelId, TravelMessage, TravelRows};
use evergraph_graph::travel::RowsTarget;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Messages that were sent, by the stage that takes them and the place: their receivers may want them again.
#[derive(Default, Debug)]
pub struct SentRows(BTreeMap<(u16, RowsPlace), Vec<Arc<TravelRows>>>);

/// Where rows of a message go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RowsPlace {
    /// To a place, for the next stage.
    At(u16),
    /// To whoever asked, as results.
    Asker,
}

impl From<RowsTarget> for RowsPlace {
    fn from(target: RowsTarget) -> Self {
        match target {
            RowsTarget::Place(place) => Self::At(place),
            RowsTarget::Asker => Self::Asker,
        }
    }
}

impl SentRows {
    /// The number of the next message.
    #[must_use]
    pub fn next_number(&self, stage: u16, place: RowsPlace) -> u32 {
        self.0.get(&(stage, place)).map_or(0, |sent| sent.len() as u32)
    }

    /// Keeps a message that was sent.
    pub fn keep(&mut self, place: RowsPlace, rows: Arc<TravelRows>) {
        self.0.entry((rows.stage, place)).or_default().push(rows);
    }

    /// Sends a node those from a number on again: the first, then more of `bytes_max` bytes in all. What is left is said.
    pub fn send_again(
        &self,
        to: NodeId,
        (id, stage, place, from): (TravelId, u16, RowsPlace, u32),
        bytes_max: usize,
        out: &mut Vec<Outgoing>,
    ) {
        let sent = self.0.get(&(stage, place)).map_or(&[][..], Vec::as_slice);
        let mut bytes = 0_usize;
        for rows in sent.get(from as usize..).unwrap_or(&[]) {
            bytes += rows.rows.len();
            if bytes > bytes_max && rows.number > from {
                out.push((to, TravelMessage::More { id, stage, from: rows.number }));
                return;
            }
            out.push((to, TravelMessage::Rows(Arc::clone(rows))));
        }
    }

    /// A place has all rows of the stages before `stage`. The bytes that are kept no more.
    pub fn forget(&mut self, place: u16, stage: u16) -> u64 {
        let mut bytes = 0;
        self.0.retain(|(of_stage, of_place), sent| {
            let is_known = *of_stage < stage && *of_place == RowsPlace::At(place);
            if is_known {
                bytes += sent.iter().map(|rows| rows.rows.len() as u64).sum::<u64>();
            }
            !is_known
        });
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_id::Author;

    const ID: TravelId = TravelId { asker: Author { node: NodeId(1), incarnation: 0 }, number: 5 };

    fn rows(number: u32, bytes: usize) -> Arc<TravelRows> {
        Arc::new(TravelRows {
            id: ID,
            incarnation: 0,
            stage: 2,
            number,
            is_last: false,
            count: 1,
            measures: Vec::new(),
            rows: vec![number as u8; bytes],
        })
    }

    fn again(sent: &SentRows, from: u32, bytes_max: usize) -> (Vec<u32>, Option<u32>) {
        let (mut out, mut numbers, mut more) = (Vec::new(), Vec::new(), None);
        sent.send_again(NodeId(2), (ID, 2, RowsPlace::At(0), from), bytes_max, &mut out);
        for (to, message) in out {
            assert!(to == NodeId(2) && more.is_none(), "what is left is said behind all");
            match message {
                TravelMessage::Rows(rows) => numbers.push(rows.number),
                TravelMessage::More { from, .. } => more = Some(from),
                other => panic!("{other:?}"),
            }
        }
        (numbers, more)
    }

    #[test]
    fn a_request_is_answered_with_so_many_bytes_and_with_one_message_at_least() {
        let mut sent = SentRows::default();
        (0..5).for_each(|number| sent.keep(RowsPlace::At(0), rows(number, 10)));
        assert_eq!(again(&sent, 0, 30), (vec![0, 1, 2], Some(3)));
        assert_eq!(again(&sent, 3, 30), (vec![3, 4], None));
        assert_eq!(again(&sent, 1, 1), (vec![1], Some(2)), "a large one goes alone");
        assert_eq!((again(&sent, 4, 1), again(&sent, 5, 1)), ((vec![4], None), (vec![], None)));
    }

    #[test]
    fn what_is_sent_again_is_what_is_kept_and_no_copy() {
        let (mut sent, kept, mut out) = (SentRows::default(), rows(0, 1000), Vec::new());
        sent.keep(RowsPlace::Asker, Arc::clone(&kept));
        for _ in 0..3 {
            sent.send_again(NodeId(1), (ID, 2, RowsPlace::Asker, 0), 1, &mut out);
        }
        assert_eq!((out.len(), Arc::strong_count(&kept)), (3, 5));
        let TravelMessage::Rows(again) = &out[2].1 else { panic!("rows") };
        assert!(Arc::ptr_eq(again, &kept));
    }
}
