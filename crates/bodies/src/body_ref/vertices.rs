//! Vertex body in place: which vertices of a group are alive, as it lies in a payload.
//!
//! ```text
//! OFFSET  SIZE   FIELD     (little-endian)
//!      0     1   kind      2
//!      1     1   version   2
//!      2     6   zero
//!      8   512   live      64 x u64: bit r % 64 of word r / 64 is row r
//! ```

use crate::body_ref::layout::{PayloadReader, VERSION, expected};
use evergraph_graph::id::GROUP_SIZE;
use evergraph_storage::checkpoint::arrays::put_array;

const KIND: u8 = 2;
const WORDS: usize = GROUP_SIZE as usize / 64;

/// The vertices of a group at one moment, borrowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VertexBodyRef<'a> {
    live: &'a [u64],
}

impl<'a> VertexBodyRef<'a> {
    /// Of these bits.
    #[must_use]
    pub fn new(live: &'a [u64; WORDS]) -> Self {
        Self { live }
    }

    /// The body that lies in `payload`.
    ///
    /// # Errors
    /// What should be there, and what is.
    pub fn parse(payload: &'a [u8]) -> Result<Self, String> {
        let mut reader = PayloadReader::new(payload);
        let &[kind, version, ref zero @ ..] = reader.array::<u8>(8)? else {
            unreachable!("eight bytes were taken");
        };
        if (kind, version) != (KIND, VERSION) {
            return Err(expected(
                format!("a vertex body ({KIND}) of version {VERSION}"),
                format!("kind {kind} of version {version}"),
            ));
        }
        if zero.iter().any(|byte| *byte != 0) {
            return Err(expected("six zero bytes", format!("{zero:02x?}")));
        }
        let live = reader.array(WORDS)?;
        reader.end()?;
        Ok(Self { live })
    }

    /// Appends the payload.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[KIND, VERSION, 0, 0, 0, 0, 0, 0]);
        put_array(out, self.live);
    }

    /// Whether there is a vertex in `row`, which is below [`GROUP_SIZE`].
    #[must_use]
    #[inline]
    pub fn is_alive(&self, row: u16) -> bool {
        self.live[usize::from(row) / 64] >> (row % 64) & 1 == 1
    }

    /// The bits of all rows.
    #[must_use]
    #[inline]
    pub fn live(&self) -> &'a [u64] {
        self.live
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::IntoBytes;

    fn words(bytes: &[u8]) -> Vec<u64> {
        let mut words = vec![0; bytes.len().div_ceil(8)];
        words.as_mut_bytes()[..bytes.len()].copy_from_slice(bytes);
        words
    }

    #[test]
    fn a_body_reads_back_and_no_other_bytes_do() {
        let live = std::array::from_fn(|word| (word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut bytes = Vec::new();
        VertexBodyRef::new(&live).put(&mut bytes);
        let words = words(&bytes);
        let body = VertexBodyRef::parse(words.as_bytes()).unwrap();
        assert_eq!(body.live(), live);
        assert_eq!(body.live().as_ptr(), words[1..].as_ptr(), "in place");
        for row in 0..GROUP_SIZE as u16 {
            assert_eq!(body.is_alive(row), live[usize::from(row) / 64] & 1 << (row % 64) != 0, "row {row}");
        }
        for cut in 0..bytes.len() {
            assert!(VertexBodyRef::parse(&words.as_bytes()[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..8 {
            let mut damaged = words.clone();
            damaged.as_mut_bytes()[at] ^= 0x10;
            let problem = VertexBodyRef::parse(damaged.as_bytes()).unwrap_err();
            assert!(problem.contains("expected, found"), "byte {at}: {problem}");
        }
        let longer = [&words[..], &[0]].concat();
        assert!(VertexBodyRef::parse(longer.as_bytes()).unwrap_err().contains("8 more bytes"));
    }
}
