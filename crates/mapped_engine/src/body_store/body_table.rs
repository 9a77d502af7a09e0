//! Body table: which body lies where, in the process that writes; who is in it is not free.

use crate::body_store::stored_body::StoredBody;
use crate::files::segment_id::SegmentId;
use crate::version::BodyPlace;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::sync::{ArcCell, Mutex};
use std::fmt::Debug;
use std::sync::Arc;

/// Where views find the bodies that versions name.
pub trait BodySource: Send + Sync + Debug {
    /// The body of a segment, exact at `base`, that lies at `place`; a snapshot that needs it is open.
    ///
    /// # Errors
    /// `corrupt`, naming file and byte, or that there is none.
    fn body(&self, segment: SegmentId, base: Timestamp, place: BodyPlace) -> Result<Arc<StoredBody>>;
}

/// So many that a million bodies make shards of a thousand, which are copied as a whole.
const SHARDS: usize = 1024;

/// The bodies of a shard, by their packed places, ascending.
type Bodies = Box<[(u64, Arc<StoredBody>)]>;

#[derive(Debug)]
struct Shard {
    bodies: ArcCell<Bodies>,
    /// Held by whoever replaces them.
    replacing: Mutex<()>,
}

/// Bodies by their places.
///
/// Concurrency: any thread looks, and takes no lock; a body is put in before a version names it, and taken out when nobody
/// needs it. Either copies a shard.
#[derive(Debug)]
pub struct BodyTable {
    shards: Box<[Shard]>,
    empty: Arc<StoredBody>,
}

impl Default for BodyTable {
    fn default() -> Self {
        let none: Arc<Bodies> = Arc::default();
        let shard = |_| Shard { bodies: ArcCell::new(Arc::clone(&none)), replacing: Mutex::default() };
        Self { shards: (0..SHARDS).map(shard).collect(), empty: Arc::new(StoredBody::empty()) }
    }
}

impl BodyTable {
    /// Puts a body in, and gives its place.
    ///
    /// # Errors
    /// As [`StoredBody::place`].
    pub fn insert(&self, body: Arc<StoredBody>) -> Result<BodyPlace> {
        let place = body.place()?;
        if place.bytes > 0 {
            self.replace(place, |bodies| match find(bodies, place) {
                Ok(at) => {
                    debug_assert!(false, "an extent is one body's");
                    bodies[at].1 = body;
                }
                Err(at) => bodies.insert(at, (place.extent, body)),
            });
        }
        Ok(place)
    }

    /// Takes a body out; its extents are free when nobody else has it.
    pub fn remove(&self, place: BodyPlace) {
        if place.bytes > 0 {
            self.replace(place, |bodies| match find(bodies, place) {
                Ok(at) => drop(bodies.remove(at)),
                Err(_) => debug_assert!(false, "a body goes once"),
            });
        }
    }

    fn replace(&self, place: BodyPlace, change: impl FnOnce(&mut Vec<(u64, Arc<StoredBody>)>)) {
        let shard = self.shard(place);
        let replacing = shard.replacing.lock();
        let mut bodies = shard.bodies.load().to_vec();
        change(&mut bodies);
        let before = shard.bodies.swap(Arc::new(bodies.into()));
        drop(replacing);
        // Outside of the lock: with it may go the last share of a body.
        drop(before);
    }

    /// The body at a place, if there is one. Cost: a search, and a reference count.
    #[must_use]
    pub fn get(&self, place: BodyPlace) -> Option<Arc<StoredBody>> {
        if place.bytes == 0 {
            return Some(Arc::clone(&self.empty));
        }
        let bodies = self.shard(place).bodies.load();
        let at = find(&bodies, place).ok()?;
        Some(Arc::clone(&bodies[at].1))
    }

    /// How many bodies there are, empty ones apart.
    #[must_use]
    pub fn count(&self) -> usize {
        self.shards.iter().map(|shard| shard.bodies.load().len()).sum()
    }

    fn shard(&self, place: BodyPlace) -> &Shard {
        // Places are multiples of the unit, with the number of the file above: the highest bits of the product mix both.
        let mixed = place.extent.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SHARDS.ilog2());
        &self.shards[mixed as usize]
    }
}

fn find(bodies: &[(u64, Arc<StoredBody>)], place: BodyPlace) -> std::result::Result<usize, usize> {
    bodies.binary_search_by_key(&place.extent, |body| body.0)
}

impl BodySource for BodyTable {
    fn body(&self, segment: SegmentId, _base: Timestamp, place: BodyPlace) -> Result<Arc<StoredBody>> {
        self.get(place).ok_or_else(|| no_body(segment, place))
    }
}

#[cold]
fn no_body(segment: SegmentId, place: BodyPlace) -> Error {
    let text = format!("{segment} has no body at place {:#x}: `live` is damaged", place.extent);
    Error::new(ErrorKind::Corrupt, text)
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_places_lie_in_many_shards() {
        let table = BodyTable::default();
        let place = |at: u64| BodyPlace { extent: at, bytes: 1 };
        for step in [64, 4096, 1 << 20, 1 << 40] {
            let shards = (0..4096).map(|at| std::ptr::from_ref(table.shard(place(at * step))));
            let mut used = std::collections::BTreeMap::new();
            shards.for_each(|shard| *used.entry(shard).or_insert(0) += 1);
            let most = used.values().max().copied();
            assert!(most <= Some(32), "{most:?} of 4,096 places {step} apart in one shard");
        }
    }
}
