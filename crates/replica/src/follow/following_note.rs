//! The note of following: how far a new replica has come, and what its source was known to have.
//!
//! ```text
//! note "following"   version 1   flags (1: copied, 2: the publication is ours, 4: no children)   slot   publication   catalogue
//! ```
//!
//! Before the slot is made it says which one will be: after a crash during the copy, that slot is ours to drop. From the copy
//! on its catalogue moves with the stream, so that what changed at the source while nobody looked is seen.

use evergraph_graph::bytes::{Decoded, put_bytes};

use crate::follow::catalogue_bytes::{put_catalogue, read_catalogue};
use crate::note_format::{VERSION, finished, versioned};
use crate::source::catalogue::Catalogue;

/// The note that holds a [`FollowingNote`].
pub const FOLLOWING_NOTE: &str = "following";
const COPIED: u8 = 1;
const MADE_PUBLICATION: u8 = 2;
const NO_CHILDREN: u8 = 4;

/// How far a replica has come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FollowingNote {
    /// Whether the tables are here.
    pub stage: FollowingStage,
    /// The slot.
    pub slot: String,
    /// The publication.
    pub publication: String,
    /// Whether this replica made it.
    pub publication_origin: PublicationOrigin,
    /// Whether tables inherited from those of the mapping when they were copied.
    pub children: KnownChildren,
    /// What the source was known to have, of the tables that the mapping names.
    pub catalogue: Catalogue,
}

/// Whether the tables are here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FollowingStage {
    /// They are being copied: the slot is there, or will be.
    Copying,
    /// They are here.
    Copied,
}

/// Who made a publication.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PublicationOrigin {
    /// This replica: it goes with it.
    Ours,
    /// Somebody else.
    Found,
}

/// Whether tables inherited from those of the mapping when they were copied.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KnownChildren {
    /// None did.
    None,
    /// Nobody looked: an older program copied them.
    Unknown,
}

impl FollowingNote {
    /// The content of the note.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let copied = if self.stage == FollowingStage::Copied { COPIED } else { 0 };
        let ours = if self.publication_origin == PublicationOrigin::Ours { MADE_PUBLICATION } else { 0 };
        let no_children = if self.children == KnownChildren::None { NO_CHILDREN } else { 0 };
        let mut bytes = vec![VERSION, copied | ours | no_children];
        put_bytes(&mut bytes, self.slot.as_bytes());
        put_bytes(&mut bytes, self.publication.as_bytes());
        put_catalogue(&mut bytes, &self.catalogue);
        bytes
    }

    /// Reads the content of the note.
    ///
    /// # Errors
    /// If it is none, or a newer version wrote it.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut reader = versioned(bytes)?;
        let flags = reader.u8()?;
        let (slot, publication) = (reader.text()?.to_owned(), reader.text()?.to_owned());
        let catalogue = read_catalogue(&mut reader)?;
        finished(&reader)?;
        Ok(Self {
            stage: if flags & COPIED > 0 { FollowingStage::Copied } else { FollowingStage::Copying },
            slot,
            publication,
            publication_origin: match flags & MADE_PUBLICATION {
                0 => PublicationOrigin::Found,
                _ => PublicationOrigin::Ours,
            },
            children: match flags & NO_CHILDREN {
                0 => KnownChildren::Unknown,
                _ => KnownChildren::None,
            },
            catalogue,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_comes_back_and_a_damaged_one_is_refused() {
        for (stage, publication_origin, children) in [
            (FollowingStage::Copying, PublicationOrigin::Ours, KnownChildren::None),
            (FollowingStage::Copied, PublicationOrigin::Ours, KnownChildren::Unknown),
            (FollowingStage::Copied, PublicationOrigin::Found, KnownChildren::None),
        ] {
            let note = FollowingNote {
                stage,
                slot: "s".into(),
                publication: "p".into(),
                publication_origin,
                children,
                catalogue: Catalogue::default(),
            };
            let mut bytes = note.encode();
            assert_eq!(FollowingNote::decode(&bytes), Ok(note));
            bytes.push(0);
            assert!(FollowingNote::decode(&bytes).is_err());
            bytes[0] = 2;
            assert!(FollowingNote::decode(&bytes).unwrap_err().to_string().contains("version 1"));
        }
    }
}
