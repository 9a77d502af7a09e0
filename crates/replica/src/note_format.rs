//! Note format: what all notes of a replica have in common: a version in front, and nothing behind.

use evergraph_graph::bytes::{Decoded, Reader};

/// The first byte of each note.
pub(crate) const VERSION: u8 = 1;

/// Reads the version in front of a note.
///
/// # Errors
/// If a newer version wrote it.
pub(crate) fn versioned(bytes: &[u8]) -> Decoded<Reader<'_>> {
    let mut reader = Reader::new(bytes);
    match reader.u8()? {
        VERSION => Ok(reader),
        version => {
            Err(reader.error(format!("version {VERSION} of a replica's note expected, found {version}")))
        }
    }
}

/// Refuses bytes behind a note.
///
/// # Errors
/// If there are some.
pub(crate) fn finished(reader: &Reader<'_>) -> Decoded<()> {
    if reader.is_empty() { Ok(()) } else { Err(reader.error("the end of a replica's note expected")) }
}
