//! `Tuple`: the columns of a row in a message, borrowed from its bytes.
//!
//! ```text
//! columns (2)  then each:  'n'                      null
//!                          'u'                      unchanged: a value outside the row that the update left alone
//!                          't'  length (4)  text
//!                          'b'  length (4)  bytes   only where the binary format was asked for
//! ```
//!
//! An unchanged value is no null: whoever keeps rows keeps the value that was there; an old row that is whole (`O`) has it. The old row of a key (`K`) has nulls
//! in all columns outside the key, whatever they held.

use evergraph_graph::bytes::Decoded;

use crate::network_reader::NetworkReader;

/// A column of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell<'a> {
    /// SQL's null.
    Null,
    /// A value that the update did not touch and PostgreSQL did not send (TOAST).
    Unchanged,
    /// The value's text, in the server's encoding for this client: UTF-8.
    Text(&'a [u8]),
    /// The value's binary form.
    Binary(&'a [u8]),
}

/// The columns of a row; its bytes were checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuple<'a> {
    columns: u16,
    bytes: &'a [u8],
}

impl<'a> Tuple<'a> {
    /// How many columns there are.
    #[must_use]
    #[inline]
    pub fn len(self) -> usize {
        usize::from(self.columns)
    }

    /// Whether there is no column: a table may have none.
    #[must_use]
    #[inline]
    pub fn is_empty(self) -> bool {
        self.columns == 0
    }

    /// The columns, in the relation's order. Cost: some nanoseconds a column.
    #[inline]
    pub fn cells(self) -> impl Iterator<Item = Cell<'a>> + use<'a> {
        let mut reader = NetworkReader::new(self.bytes);
        (0..self.columns)
            .map(move |_| read_cell(&mut reader).expect("the tuple was checked when it was read"))
    }

    /// Reads a tuple and checks all of its lengths.
    pub(super) fn read(reader: &mut NetworkReader<'a>) -> Decoded<Self> {
        let columns = reader.u16()?;
        let start = reader.clone();
        for _ in 0..columns {
            read_cell(reader)?;
        }
        let length = start.remaining() - reader.remaining();
        Ok(Self { columns, bytes: start.clone().take(length)? })
    }

    /// Reads a tuple that takes all that is left, whose lengths were checked before.
    #[inline]
    pub(super) fn rest(reader: &mut NetworkReader<'a>) -> Decoded<Self> {
        Ok(Self { columns: reader.u16()?, bytes: reader.rest() })
    }
}

#[inline]
fn read_cell<'a>(reader: &mut NetworkReader<'a>) -> Decoded<Cell<'a>> {
    Ok(match reader.u8()? {
        b't' => Cell::Text(reader.counted()?),
        b'n' => Cell::Null,
        b'u' => Cell::Unchanged,
        b'b' => Cell::Binary(reader.counted()?),
        kind => return Err(reader.error(format!("a column (n, u, t, b) expected, found {kind:#x}"))),
    })
}
