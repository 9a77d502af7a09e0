//! `Decoder`: bytes of logical decoding as messages.
//!
//! Messages within a streamed block have a field more, so the decoder remembers whether it is inside one. Cost: under a
//! microsecond a row; memory is taken for relations and truncates alone, never more than their bytes allow.

use evergraph_graph::bytes::Decoded;

use crate::lsn::Lsn;
use crate::network_reader::NetworkReader;
use crate::pgoutput::message::{Begin, Commit, LogicalMessage, Message, OldRow, Origin, Xid};
use crate::pgoutput::relation::Relation;
use crate::pgoutput::tuple::Tuple;
use crate::postgres_time::PostgresTime;

/// Decodes the messages of one stream in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Decoder {
    block: Block,
    /// Whether another decoder has read all messages before.
    is_again: bool,
}

/// Whether a message lies within a block of a streamed transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Block {
    /// Between blocks: whole transactions, and what ends streamed ones.
    #[default]
    Outside,
    /// Between StreamStart and StreamStop.
    Streamed,
}

impl Decoder {
    /// Decodes from the beginning of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes rows that another decoder, whose [`Decoder::block`] was this one, has read before: their cells are left to who
    /// wants them.
    #[must_use]
    pub fn again(block: Block) -> Self {
        Self { block, is_again: true }
    }

    /// Whether the next message lies within a streamed block.
    #[must_use]
    pub fn block(self) -> Block {
        self.block
    }

    /// Decodes the next message, which `bytes` hold whole.
    ///
    /// # Errors
    /// If the bytes are no message, more than one, or one that cannot come here. The decoder then stays as it was.
    pub fn decode<'a>(&mut self, bytes: &'a [u8]) -> Decoded<Message<'a>> {
        let mut reader = NetworkReader::new(bytes);
        let letter = reader.u8()?;
        let message = match letter {
            b'I' => self.insert(&mut reader)?,
            b'U' => self.update(&mut reader)?,
            b'D' => self.delete(&mut reader)?,
            b'B' | b'C' | b'c' | b'A' | b'S' if self.block == Block::Streamed => {
                let letter = char::from(letter);
                return Err(reader.error(format!("no message `{letter}` expected in a streamed block")));
            }
            b'B' => Message::Begin(begin(&mut reader)?),
            b'C' => Message::Commit(commit(&mut reader)?),
            b'O' => Message::Origin(Origin { commit_lsn: lsn(&mut reader)?, name: reader.text()? }),
            b'R' => Message::Relation { xid: self.xid(&mut reader)?, relation: Relation::read(&mut reader)? },
            b'Y' => Message::Type {
                xid: self.xid(&mut reader)?,
                id: reader.u32()?,
                schema: reader.text()?,
                name: reader.text()?,
            },
            b'T' => self.truncate(&mut reader)?,
            b'M' => Message::Logical(self.logical(&mut reader)?),
            b'S' => Message::StreamStart { xid: reader.u32()?, is_first: reader.u8()? != 0 },
            b'E' if self.block == Block::Streamed => Message::StreamStop,
            b'E' => return Err(reader.error("no end of a streamed block expected outside of one")),
            b'c' => Message::StreamCommit { xid: reader.u32()?, commit: commit(&mut reader)? },
            b'A' => Message::StreamAbort { xid: reader.u32()?, subtransaction: reader.u32()? },
            _ => return Err(reader.error(format!("a message of pgoutput 2 expected, found {letter:#x}"))),
        };
        reader.finish()?;
        match message {
            Message::StreamStart { .. } => self.block = Block::Streamed,
            Message::StreamStop => self.block = Block::Outside,
            _ => {}
        }
        Ok(message)
    }

    #[inline]
    fn xid(self, reader: &mut NetworkReader<'_>) -> Decoded<Option<Xid>> {
        match self.block {
            Block::Outside => Ok(None),
            Block::Streamed => reader.u32().map(Some),
        }
    }

    /// The tuple with which a message ends.
    #[inline]
    fn last_tuple<'a>(self, reader: &mut NetworkReader<'a>) -> Decoded<Tuple<'a>> {
        if self.is_again { Tuple::rest(reader) } else { Tuple::read(reader) }
    }

    fn insert<'a>(self, reader: &mut NetworkReader<'a>) -> Decoded<Message<'a>> {
        let (xid, relation) = (self.xid(reader)?, reader.u32()?);
        match reader.u8()? {
            b'N' => Ok(Message::Insert { xid, relation, new: self.last_tuple(reader)? }),
            kind => Err(reader.error(format!("the new row (N) expected, found {kind:#x}"))),
        }
    }

    fn update<'a>(self, reader: &mut NetworkReader<'a>) -> Decoded<Message<'a>> {
        let (xid, relation) = (self.xid(reader)?, reader.u32()?);
        let mut kind = reader.u8()?;
        let old = match kind {
            b'K' => OldRow::Key(Tuple::read(reader)?),
            b'O' => OldRow::Whole(Tuple::read(reader)?),
            _ => OldRow::SameKey,
        };
        if old != OldRow::SameKey {
            kind = reader.u8()?;
        }
        match kind {
            b'N' => Ok(Message::Update { xid, relation, old, new: self.last_tuple(reader)? }),
            kind => Err(reader.error(format!("the old or the new row (K, O, N) expected, found {kind:#x}"))),
        }
    }

    fn delete<'a>(self, reader: &mut NetworkReader<'a>) -> Decoded<Message<'a>> {
        let (xid, relation) = (self.xid(reader)?, reader.u32()?);
        let old = match reader.u8()? {
            b'K' => OldRow::Key(self.last_tuple(reader)?),
            b'O' => OldRow::Whole(self.last_tuple(reader)?),
            kind => return Err(reader.error(format!("the old row (K, O) expected, found {kind:#x}"))),
        };
        Ok(Message::Delete { xid, relation, old })
    }

    fn truncate<'a>(self, reader: &mut NetworkReader<'a>) -> Decoded<Message<'a>> {
        let xid = self.xid(reader)?;
        let count = reader.u32()? as usize;
        let options = reader.u8()?;
        // A table takes four bytes: memory is taken for no more than were sent.
        if count.checked_mul(4) != Some(reader.remaining()) {
            let left = reader.remaining();
            return Err(reader.error(format!("{count} tables of 4 bytes expected, {left} bytes left")));
        }
        let relations = (0..count).map(|_| reader.u32()).collect::<Decoded<_>>()?;
        let (is_cascade, restarts_identity) = (options & 1 != 0, options & 2 != 0);
        Ok(Message::Truncate { xid, relations, is_cascade, restarts_identity })
    }

    fn logical<'a>(self, reader: &mut NetworkReader<'a>) -> Decoded<LogicalMessage<'a>> {
        let xid = self.xid(reader)?;
        let is_transactional = reader.u8()? & 1 != 0;
        let (lsn, prefix) = (lsn(reader)?, reader.text()?);
        Ok(LogicalMessage { xid, is_transactional, lsn, prefix, content: reader.counted()? })
    }
}

fn lsn(reader: &mut NetworkReader<'_>) -> Decoded<Lsn> {
    reader.u64().map(Lsn::new)
}

fn begin(reader: &mut NetworkReader<'_>) -> Decoded<Begin> {
    Ok(Begin { commit_lsn: lsn(reader)?, commit_time: PostgresTime::new(reader.i64()?), xid: reader.u32()? })
}

fn commit(reader: &mut NetworkReader<'_>) -> Decoded<Commit> {
    let _flags = reader.u8()?; // none is defined
    let (commit_lsn, end_lsn) = (lsn(reader)?, lsn(reader)?);
    Ok(Commit { commit_lsn, end_lsn, commit_time: PostgresTime::new(reader.i64()?) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgoutput::relation::RelationIdentity;
    use crate::pgoutput::tuple::Cell;
    use proptest::prelude::*;

    fn cells(tuple: Tuple<'_>) -> Vec<Cell<'_>> {
        tuple.cells().collect()
    }

    const UPDATE: &[u8] = b"U\0\0\0\x07K\0\x02t\0\0\0\x011nN\0\x03t\0\0\0\x012un";

    #[test]
    fn an_unchanged_value_is_no_null_and_the_old_key_has_nulls_elsewhere() {
        let message = Decoder::new().decode(UPDATE).unwrap();
        let Message::Update { xid: None, relation: 7, old: OldRow::Key(key), new } = message else {
            panic!("{message:?}");
        };
        assert_eq!(cells(key), [Cell::Text(b"1"), Cell::Null]);
        assert_eq!(cells(new), [Cell::Text(b"2"), Cell::Unchanged, Cell::Null]);
        assert_eq!((new.len(), new.is_empty()), (3, false));
    }

    #[test]
    fn only_messages_of_a_streamed_block_name_their_transaction() {
        let mut decoder = Decoder::new();
        let insert = b"I\0\0\0\x07N\0\x01n";
        let streamed = b"I\0\0\0\x09\0\0\0\x07N\0\x01n";
        assert_eq!(decoder.decode(insert).unwrap().streamed_xid(), None);
        assert!(decoder.decode(streamed).is_err());
        let start = decoder.decode(b"S\0\0\0\x08\x01").unwrap();
        assert_eq!(start, Message::StreamStart { xid: 8, is_first: true });
        assert!(decoder.decode(insert).is_err());
        assert_eq!(decoder.decode(streamed).unwrap().streamed_xid(), Some(9));
        assert_eq!(decoder.block(), Block::Streamed);
        assert_eq!(decoder.decode(b"E"), Ok(Message::StreamStop));
        assert!(decoder.decode(b"E").is_err());
        let abort = decoder.decode(b"A\0\0\0\x08\0\0\0\x09").unwrap();
        assert_eq!(abort, Message::StreamAbort { xid: 8, subtransaction: 9 });
    }

    #[test]
    fn rows_that_are_decoded_again_are_the_same() {
        let messages: [(&[u8], Block); 4] = [
            (UPDATE, Block::Outside),
            (b"I\0\0\0\x09\0\0\0\x07N\0\x02nt\0\0\0\x011", Block::Streamed),
            (b"D\0\0\0\x07O\0\x02t\0\0\0\x011n", Block::Outside),
            (b"T\0\0\0\x01\0\0\0\0\x07", Block::Outside),
        ];
        for (bytes, block) in messages {
            let mut first = Decoder { block, ..Decoder::new() };
            assert_eq!(Decoder::again(block).decode(bytes), first.decode(bytes));
        }
    }

    #[test]
    fn a_relation_names_its_columns_types_and_key() {
        let bytes =
            b"R\0\0\0\x07public\0t\0i\0\x02\x01id\0\0\0\0\x17\xff\xff\xff\xff\0v\0\0\0\x04\x13\0\0\0\x0c";
        let Message::Relation { xid: None, relation } = Decoder::new().decode(bytes).unwrap() else {
            panic!("a relation");
        };
        assert_eq!((relation.id, &*relation.schema, &*relation.name), (7, "public", "t"));
        assert_eq!(relation.identity, RelationIdentity::Index);
        let columns: Vec<_> = relation
            .columns
            .iter()
            .map(|column| (&*column.name, column.type_id, column.type_modifier, column.is_key))
            .collect();
        assert_eq!(columns, [("id", 23, -1, true), ("v", 1043, 12, false)]);
    }

    #[test]
    fn counts_that_the_bytes_cannot_hold_take_no_memory() {
        for bytes in [
            &b"T\xff\xff\xff\xff\0\0\0\0\x07"[..],
            b"R\0\0\0\x07\0t\0d\xff\xff",
            b"I\0\0\0\x07N\xff\xff",
            b"I\0\0\0\x07N\0\x01t\x7f\xff\xff\xffx",
            b"I\0\0\0\x07N\0\x01t\xff\xff\xff\xffx",
            b"M\0\0\0\0\0\0\0\0\0p\0\x7f\xff\xff\xff",
        ] {
            assert!(Decoder::new().decode(bytes).is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn random_bytes_give_a_message_or_an_error(
            letter in prop::sample::select(b"BCORYIUDTMSEcA?".to_vec()),
            block in prop::sample::select(vec![Block::Outside, Block::Streamed]),
            bytes in prop::collection::vec(
                prop_oneof![Just(0), prop::sample::select(b"KONntub\x01\x07".to_vec()), any::<u8>()], 0..60,
            ),
        ) {
            let bytes = [&[letter], bytes.as_slice()].concat();
            let mut decoder = Decoder { block, ..Decoder::new() };
            match decoder.decode(&bytes) {
                Ok(Message::Insert { new, .. } | Message::Update { new, .. }) => {
                    prop_assert_eq!(new.cells().count(), new.len());
                }
                Ok(_) => {}
                Err(error) => {
                    prop_assert!(error.offset <= bytes.len());
                    prop_assert_eq!(decoder.block(), block);
                }
            }
        }

        #[test]
        fn a_message_that_is_cut_or_followed_by_more_is_an_error(end in 0..UPDATE.len(), more in any::<u8>()) {
            prop_assert!(Decoder::new().decode(&UPDATE[..end]).is_err());
            prop_assert!(Decoder::new().decode(&[UPDATE, &[more]].concat()).is_err());
        }
    }
}
