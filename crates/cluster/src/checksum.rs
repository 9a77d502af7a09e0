//! Checksum: the CRC32C at the end of messages, of files of a node, and of frames between nodes.

use evergraph_graph::bytes::{DecodeError, Decoded, Reader};

/// Bytes of a checksum.
pub const CHECKSUM_BYTES: usize = 4;

/// Appends the checksum of all that is there.
pub fn put_checksum(out: &mut Vec<u8>) {
    let checksum = crc32c::crc32c(out);
    out.extend_from_slice(&checksum.to_le_bytes());
}

/// What is before the checksum.
///
/// # Errors
/// If it is not that of the bytes before it.
pub fn before_checksum(bytes: &[u8]) -> Decoded<&[u8]> {
    let Some((content, stored)) = bytes.split_last_chunk::<CHECKSUM_BYTES>() else {
        return Err(Reader::new(bytes).error("a checksum expected at the end"));
    };
    let (expected, found) = (u32::from_le_bytes(*stored), crc32c::crc32c(content));
    if expected != found {
        let offset = content.len();
        return Err(DecodeError {
            offset,
            expected: format!("the checksum {expected:08x} does not fit: {found:08x}"),
        });
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_that_of_the_standard_and_an_edit_is_found() {
        let mut bytes = b"123456789".to_vec();
        put_checksum(&mut bytes);
        assert_eq!(bytes[9..], 0xe306_9283_u32.to_le_bytes(), "the check value of CRC-32C");
        assert_eq!(before_checksum(&bytes), Ok(&b"123456789"[..]));
        for at in 0..bytes.len() {
            let mut edited = bytes.clone();
            edited[at] ^= 0x10;
            assert_eq!(before_checksum(&edited).unwrap_err().offset, 9);
        }
        assert!(before_checksum(&bytes[..3]).is_err());
    }
}
