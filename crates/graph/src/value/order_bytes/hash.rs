//! Hash of long values: SipHash-2-4 with 128 bits, fed in pieces, with a fixed key.
//!
//! The hash is stored, so neither its form nor its key may change, as those of the standard library may.
//! It need not withstand whoever chooses the values: a found value is compared with the item's own. But two
//! values of one item that collide would be one entry, and for that 128 bits leave no chance.
//!
//! Others hash with a key of their own ([`SipHash128::keyed`]): a random one withstands whoever chooses the bytes.
//!
//! Source: Aumasson, Bernstein, "SipHash: a fast short-input PRF" (INDOCRYPT 2012); the 128-bit form and the
//! vectors of the test are those of the authors' reference code.

/// "Evergraph values", in two halves.
const KEY: (u64, u64) = (u64::from_le_bytes(*b"Evergrap"), u64::from_le_bytes(*b"h values"));

/// A hash of bytes that come in pieces.
#[derive(Clone, Debug)]
pub struct SipHash128 {
    state: [u64; 4],
    /// Bytes that do not fill a word yet: the lowest `length % 8`.
    rest: u64,
    length: u64,
}

impl SipHash128 {
    /// The hash of no bytes, with the key of long values.
    pub(super) fn new() -> Self {
        Self::keyed(KEY)
    }

    /// The hash of no bytes, with a key in two halves.
    #[must_use]
    pub fn keyed((low, high): (u64, u64)) -> Self {
        let state = [
            low ^ 0x736f_6d65_7073_6575,
            high ^ 0x646f_7261_6e64_6f6d ^ 0xee,
            low ^ 0x6c79_6765_6e65_7261,
            high ^ 0x7465_6462_7974_6573,
        ];
        Self { state, rest: 0, length: 0 }
    }

    /// Goes on with `bytes`.
    #[inline]
    pub fn update(&mut self, bytes: &[u8]) {
        let filling = (self.length.next_multiple_of(8) - self.length) as usize;
        let (first, bytes) = bytes.split_at(filling.min(bytes.len()));
        self.fill(first);
        let (words, last) = bytes.as_chunks();
        for word in words {
            self.compress(u64::from_le_bytes(*word));
        }
        self.length += bytes.len() as u64 - last.len() as u64;
        self.fill(last);
    }

    /// Goes on with bytes that end no later than the word that is begun.
    fn fill(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.rest |= u64::from(*byte) << (8 * (self.length % 8));
            self.length += 1;
        }
        if !bytes.is_empty() && self.length.is_multiple_of(8) {
            self.compress(self.rest);
            self.rest = 0;
        }
    }

    /// The hash of all bytes.
    #[must_use]
    #[inline]
    pub fn finish(mut self) -> [u8; 16] {
        self.compress(self.rest | self.length << 56);
        let mut hash = [0; 16];
        for (half, mark) in hash.chunks_exact_mut(8).zip([(2, 0xee), (1, 0xdd)]) {
            self.state[mark.0] ^= mark.1;
            (0..4).for_each(|_| self.round());
            let [a, b, c, d] = self.state;
            half.copy_from_slice(&(a ^ b ^ c ^ d).to_le_bytes());
        }
        hash
    }

    fn compress(&mut self, word: u64) {
        self.state[3] ^= word;
        self.round();
        self.round();
        self.state[0] ^= word;
    }

    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.state;
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
        self.state = [a, b, c, d];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash of the reference code's test for so many bytes: as a number whose first byte is the highest.
    const VECTORS: [(usize, u128); 9] = [
        (0, 0xa381_7f04_ba25_a8e6_6df6_7214_c755_0293),
        (1, 0xda87_c1d8_6b99_af44_3476_5911_9b22_fc45),
        (2, 0x8177_228d_a4a4_5dc7_fca3_8bde_f60a_ffe4),
        // Words that are full, or lack a byte, or have one more.
        (7, 0xa1f1_ebbe_d8db_c153_c0b8_4aa6_1ff0_8239),
        (8, 0x3b62_a9ba_6258_f561_0f83_e264_f314_97b4),
        (9, 0x2644_9906_0ad9_baab_c47f_8b02_bb6d_71ed),
        (15, 0x5493_e999_33b0_a811_7e08_ec0f_97cf_c3d9),
        (16, 0x6ee2_a4ca_67b0_54bb_fd33_15bf_8523_0577),
        (63, 0x5150_d177_2f50_834a_503e_069a_973f_bd7c),
    ];

    /// The key and the bytes of the reference code's test count up from zero.
    fn counted_up(length: usize) -> (SipHash128, Vec<u8>) {
        let key = (
            u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7]),
            u64::from_le_bytes([8, 9, 10, 11, 12, 13, 14, 15]),
        );
        (SipHash128::keyed(key), (0..).take(length).collect())
    }

    #[test]
    fn the_vectors_of_the_reference_code_come_out() {
        for (length, wanted) in VECTORS {
            let (mut hash, bytes) = counted_up(length);
            hash.update(&bytes);
            assert_eq!(hash.finish(), wanted.to_be_bytes(), "{length} bytes");
        }
    }

    #[test]
    fn the_vectors_come_out_of_pieces_of_every_size() {
        for (length, wanted) in VECTORS {
            for size in 1..=20 {
                let (mut hash, bytes) = counted_up(length);
                bytes.chunks(size).for_each(|piece| hash.update(piece));
                assert_eq!(hash.finish(), wanted.to_be_bytes(), "{length} bytes in pieces of {size}");
            }
        }
    }

    #[test]
    fn pieces_hash_as_the_whole() {
        let bytes: Vec<u8> = (0..100).collect();
        let mut whole = SipHash128::new();
        whole.update(&bytes);
        let whole = whole.finish();
        for cut in 0..bytes.len() {
            let mut pieces = SipHash128::new();
            pieces.update(&bytes[..cut]);
            pieces.update(&[]);
            pieces.update(&bytes[cut..]);
            assert_eq!(pieces.finish(), whole, "cut at {cut}");
        }
    }
}
