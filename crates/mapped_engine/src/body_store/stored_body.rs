//! Stored body: the exact state of a segment at its base, where it lies in an array file, with its columns.
//!
//! What this process wrote was checked before; what it found is checked when it is touched first: of the entries of an index, which
//! may be many gigabytes in one extent, the blocks that are touched.

use crate::body_store::column_table::{ColumnEntry, table_behind, take_table};
use crate::body_store::extent_bytes::ExtentBytes;
use crate::body_store::stored_column::StoredColumn;
use crate::entries::entry_body::EntryBody;
use crate::extents::blockwise_payload::BlockwisePayload;
use crate::extents::stored_extent::StoredExtent;
use crate::version::BodyPlace;
use evergraph_bodies::body_ref::edges::ListLayout;
use evergraph_bodies::body_ref::vertices::VertexBodyRef;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::edge_lists::EdgeLists;
use evergraph_bodies::frozen::label_lists::BodyIdentity;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::error::Result;
use evergraph_graph::id::KeyId;
use evergraph_graph::packed_column::column::PackedColumn;
use evergraph_graph::value::Value;
use evergraph_storage::checkpoint::error::CheckpointResult;
use std::sync::{Arc, OnceLock};

/// No vertex is alive.
static NOBODY: [u64; 64] = [0; 64];

/// A body's columns, in ascending order of their keys.
pub type StoredColumns = Vec<(KeyId, Arc<StoredColumn>)>;

/// The body of a segment.
///
/// Concurrency: any thread reads; nothing in it changes.
#[derive(Debug)]
pub struct StoredBody {
    /// None if it is empty.
    extent: Option<ExtentBytes>,
    columns: StoredColumns,
    /// What its arrays are, once they were checked.
    checked: OnceLock<CheckedArrays>,
    /// What identifies it where each snapshot opens it anew.
    identity: Option<Arc<BodyPlace>>,
}

/// Arrays that were found to be sound.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CheckedArrays {
    /// Lists of edges.
    Edges {
        /// Bytes of the payload before the table of columns.
        bytes: usize,
        layout: ListLayout,
        /// The highest neighbour, if there are edges.
        highest: Option<u32>,
    },
    /// Which vertices are alive.
    Vertices { bytes: usize },
    /// Entries of an index.
    Entries { bytes: usize },
}

impl StoredBody {
    /// An empty one, which lies nowhere.
    #[must_use]
    pub fn empty() -> Self {
        Self { extent: None, columns: Vec::new(), checked: OnceLock::new(), identity: None }
    }

    /// The body that was found in `extent`, with the columns that its table names. Nothing is read yet.
    #[must_use]
    pub fn found(extent: ExtentBytes, columns: StoredColumns) -> Self {
        Self { extent: Some(extent), columns, checked: OnceLock::new(), identity: None }
    }

    /// The body that was written into `extent`, whose arrays were checked before.
    pub(crate) fn written(extent: StoredExtent, columns: StoredColumns, checked: CheckedArrays) -> Self {
        Self::known(ExtentBytes::Own(extent), columns, checked)
    }

    /// The body in `extent` that another reader of it has found to be `checked`.
    pub(crate) fn known(extent: ExtentBytes, columns: StoredColumns, checked: CheckedArrays) -> Self {
        Self { extent: Some(extent), columns, checked: OnceLock::from(checked), identity: None }
    }

    /// The same body as all others that `identity` is given to.
    pub(crate) fn identified_by(self, identity: Arc<BodyPlace>) -> Self {
        Self { identity: Some(identity), ..self }
    }

    /// What identifies it among bodies.
    pub(crate) fn identity(self: &Arc<Self>) -> BodyIdentity {
        match &self.identity {
            Some(identity) => Arc::clone(identity) as BodyIdentity,
            None => Arc::clone(self) as BodyIdentity,
        }
    }

    /// What its arrays are, if they were looked at.
    pub(crate) fn checked(&self) -> Option<CheckedArrays> {
        self.checked.get().copied()
    }

    /// Its extent, unless it is empty.
    #[must_use]
    pub fn extent(&self) -> Option<&ExtentBytes> {
        self.extent.as_ref()
    }

    /// Its own extent and those of its columns, in the process that writes: the body's first, then by key.
    pub fn parts(&self) -> impl Iterator<Item = (Option<KeyId>, &StoredExtent)> {
        let body = self.extent.iter().filter_map(|extent| Some((None, extent.own()?)));
        let columns = self.columns.iter();
        body.chain(columns.filter_map(|(key, column)| Some((Some(*key), column.extent().own()?))))
    }

    /// Its place, as a version has it.
    ///
    /// # Errors
    /// `corrupt` if the place is one that no version can have.
    pub fn place(&self) -> CheckpointResult<BodyPlace> {
        let Some(extent) = &self.extent else { return Ok(BodyPlace::default()) };
        let place = extent.place();
        let packed = place.packed();
        let packed =
            packed.ok_or_else(|| extent.corrupt("a place that a version can have expected".to_owned()))?;
        Ok(BodyPlace { extent: packed, bytes: place.payload_bytes })
    }

    /// The columns, by key.
    #[must_use]
    pub fn columns(&self) -> &[(KeyId, Arc<StoredColumn>)] {
        &self.columns
    }

    /// The column of a property.
    #[must_use]
    pub fn column(&self, key: KeyId) -> Option<&Arc<StoredColumn>> {
        let at = self.columns.binary_search_by_key(&key, |column| column.0).ok()?;
        Some(&self.columns[at].1)
    }

    /// One property of the item at a place.
    ///
    /// # Errors
    /// `corrupt`, naming file and byte.
    pub fn value(&self, at: usize, key: KeyId) -> Result<Option<Value>> {
        self.column(key).map_or(Ok(None), |column| column.value(at))
    }

    /// All properties of the item at a place, by key.
    ///
    /// # Errors
    /// As [`StoredBody::value`].
    pub fn properties(&self, at: usize) -> Result<Vec<(KeyId, Value)>> {
        let mut all = Vec::with_capacity(self.columns.len());
        for (key, column) in &self.columns {
            all.extend(column.value(at)?.map(|value| (*key, value)));
        }
        Ok(all)
    }

    /// The lists of a body of edges, in place.
    ///
    /// # Errors
    /// As [`StoredBody::value`].
    #[inline]
    pub fn edges(&self) -> CheckpointResult<EdgeLists<'_>> {
        let Some(extent) = &self.extent else { return Ok(EdgeLists::EMPTY) };
        let checked = match self.checked.get() {
            Some(checked) => checked,
            None => self.check_edges(extent)?,
        };
        let CheckedArrays::Edges { bytes, layout, .. } = checked else {
            return Err(extent.corrupt("a body of edges expected, found another one".to_owned()));
        };
        let lists = EdgeLists::laid_out(&extent.payload()?[..*bytes], *layout);
        lists.map_err(|problem| extent.corrupt(problem))
    }

    /// The highest vertex id among the neighbours of a body of edges. Cost: none but that of the first touch.
    ///
    /// # Errors
    /// As [`StoredBody::value`].
    pub fn highest_neighbor(&self) -> CheckpointResult<Option<u32>> {
        self.edges()?;
        match self.checked.get() {
            Some(CheckedArrays::Edges { highest, .. }) => Ok(*highest),
            _ => Ok(None),
        }
    }

    #[cold]
    fn check_edges(&self, extent: &ExtentBytes) -> CheckpointResult<&CheckedArrays> {
        let arrays = self.checked_table(extent)?;
        let corrupt = |problem| extent.corrupt(problem);
        let layout = ListLayout::parse(arrays).map_err(corrupt)?;
        let lists = EdgeLists::laid_out(arrays, layout).map_err(corrupt)?;
        lists.check().map_err(corrupt)?;
        for (key, column) in &self.columns {
            let (items, edges) = (column.items()?, lists.edges_count());
            if items != edges {
                let problem = format!("{edges} items of property {} expected, found {items}", key.0);
                return Err(extent.corrupt(problem));
            }
        }
        let highest = lists.neighbors().iter().max().copied();
        Ok(self.checked.get_or_init(|| CheckedArrays::Edges { bytes: arrays.len(), layout, highest }))
    }

    /// Which vertices of a body of vertices are alive, in place.
    ///
    /// # Errors
    /// As [`StoredBody::value`].
    pub fn vertices(&self) -> CheckpointResult<VertexBodyRef<'_>> {
        let Some(extent) = &self.extent else { return Ok(VertexBodyRef::new(&NOBODY)) };
        let bytes = match self.checked.get() {
            Some(CheckedArrays::Vertices { bytes }) => *bytes,
            Some(_) => {
                return Err(extent.corrupt("a body of vertices expected, found another one".to_owned()));
            }
            None => {
                let arrays = self.checked_table(extent)?;
                VertexBodyRef::parse(arrays).map_err(|problem| extent.corrupt(problem))?;
                let bytes = arrays.len();
                self.checked.get_or_init(|| CheckedArrays::Vertices { bytes });
                bytes
            }
        };
        VertexBodyRef::parse(&extent.payload()?[..bytes]).map_err(|problem| extent.corrupt(problem))
    }

    /// The entries of an index, in place, whose blocks are compared with their checksums as they are touched.
    ///
    /// Cost: the first touch compares the checksums of the first and the last block, and reads four bytes for each.
    ///
    /// # Errors
    /// As [`StoredBody::value`].
    pub fn entries(&self) -> CheckpointResult<EntryBody<'_>> {
        let Some(extent) = &self.extent else { return Ok(EntryBody::EMPTY) };
        self.entries_in(extent, extent.blockwise()?)
    }

    /// As [`StoredBody::entries`], all compared before: for whoever reads all of them.
    ///
    /// Cost: the first call computes the checksums of all of them; each call does after a failed sync.
    ///
    /// # Errors
    /// As [`StoredBody::value`].
    pub fn verified_entries(&self) -> CheckpointResult<EntryBody<'_>> {
        let Some(extent) = &self.extent else { return Ok(EntryBody::EMPTY) };
        self.entries_in(extent, BlockwisePayload::verified(extent.payload()?))
    }

    fn entries_in<'a>(
        &self,
        extent: &ExtentBytes,
        payload: BlockwisePayload<'a>,
    ) -> CheckpointResult<EntryBody<'a>> {
        let bytes = match self.checked.get() {
            Some(CheckedArrays::Entries { bytes }) => *bytes,
            Some(_) => return Err(extent.corrupt("a body of entries expected, found another one".to_owned())),
            None => {
                let (bytes, found) = table_behind(payload).map_err(|damage| extent.unreadable(damage))?;
                self.check_columns(extent, &found)?;
                EntryBody::in_payload(payload.first(bytes)).map_err(|damage| extent.unreadable(damage))?;
                self.checked.get_or_init(|| CheckedArrays::Entries { bytes });
                bytes
            }
        };
        EntryBody::in_payload(payload.first(bytes)).map_err(|damage| extent.unreadable(damage))
    }

    /// How many entries an index says it has: a figure to be shown. Cost: a look at its first bytes, where
    /// [`StoredBody::entries`] would compare checksums; so damage may make it any number.
    #[must_use]
    pub fn stated_entries(&self) -> u64 {
        let Some(extent) = &self.extent else { return 0 };
        EntryBody::parse(extent.unverified_payload()).map_or(0, |entries| entries.count())
    }

    /// The arrays in the payload, if its table says what is known of the columns.
    fn checked_table<'a>(&self, extent: &'a ExtentBytes) -> CheckpointResult<&'a [u8]> {
        let (arrays, found) = take_table(extent.payload()?).map_err(|problem| extent.corrupt(problem))?;
        self.check_columns(extent, &found)?;
        Ok(arrays)
    }

    /// Whether the columns that the table of a body names are those that are known.
    fn check_columns(&self, extent: &ExtentBytes, found: &[ColumnEntry]) -> CheckpointResult<()> {
        let known = self.columns.iter().map(|(key, column)| ColumnEntry {
            key: *key,
            base: column.base(),
            place: column.extent().place(),
        });
        if known.eq(found.iter().copied()) {
            return Ok(());
        }
        Err(extent.corrupt(format!("the columns that are known expected, found {found:?}")))
    }

    /// A copy in the heap of a body of edges, with those columns that `wanted` holds for.
    ///
    /// # Errors
    /// As [`StoredBody::value`].
    pub fn to_edge_body(&self, wanted: impl Fn(KeyId) -> bool) -> CheckpointResult<EdgeBody> {
        Ok(EdgeBody::of_lists(self.edges()?, self.decoded(wanted)?))
    }

    /// The same of a body of vertices, with all columns.
    ///
    /// # Errors
    /// As [`StoredBody::value`].
    pub fn to_vertex_body(&self) -> CheckpointResult<VertexBody> {
        let mut live = Box::new([0; 64]);
        live.copy_from_slice(self.vertices()?.live());
        Ok(VertexBody::new(live, self.decoded(|_| true)?))
    }

    fn decoded(&self, wanted: impl Fn(KeyId) -> bool) -> CheckpointResult<Vec<(KeyId, Arc<PackedColumn>)>> {
        let columns = self.columns.iter().filter(|column| wanted(column.0));
        columns.map(|(key, column)| Ok((*key, column.decode()?))).collect()
    }

    /// Bytes of its payload, and of its columns.
    #[must_use]
    pub fn bytes(&self) -> (u64, u64) {
        let body = self.extent.as_ref().map_or(0, |extent| extent.place().payload_bytes);
        (body, self.columns.iter().map(|(_, column)| column.bytes()).sum())
    }
}

#[cfg(all(test, not(any(shuttle, loom))))]
#[allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]
mod tests {
    use super::*;
    use crate::body_store::body_writer::BodyWriter;
    use crate::extents::array_file::file_name;
    use crate::extents::header::{BLOCK_BYTES, HEADER_BYTES};
    use crate::extents::reader::ReadFiles;
    use crate::extents::table::{ExtentOptions, Extents, Reuse};
    use crate::files::segment_id::SegmentId;
    use evergraph_graph::timestamp::Timestamp;
    use evergraph_storage::checkpoint::error::CheckpointError;
    use evergraph_storage::io::directory::{Directory, OpenMode};
    use evergraph_storage::io::error::Operation;
    use evergraph_storage::io::failing::{FailingDirectory, Fault};
    use evergraph_storage::io::memory::MemoryDirectory;
    use std::io::ErrorKind;

    const SIZES: ExtentOptions = ExtentOptions { first_file_bytes: 1 << 22, file_bytes_max: 1 << 22 };
    /// Entries of nine bytes with their lengths: 44 blocks.
    const COUNT: u64 = 300_000;
    const BLOCKS: usize = 44;
    /// Where the first of them lies in the payload.
    const FIRST: usize = 8 + 8 * (COUNT as usize).div_ceil(16);
    /// An entry of the upper half, and the block in which it lies.
    const HIGH: u64 = 200_000;
    const HIGH_BLOCK: usize = (FIRST + 9 * HIGH as usize) / BLOCK_BYTES;

    fn written(extents: &Extents) -> StoredBody {
        let entries: Vec<[u8; 8]> = (0..COUNT).map(u64::to_be_bytes).collect();
        let segment = SegmentId::index(1).unwrap();
        let writer = BodyWriter { extents, segment, base: Timestamp(7) };
        let walk = || Ok(entries.iter().map(|entry| Ok::<&[u8], String>(&entry[..])));
        writer.entries(COUNT, walk).unwrap().0
    }

    /// An index whose files are durable.
    fn index() -> (MemoryDirectory, StoredBody) {
        let directory = MemoryDirectory::new("db");
        let (extents, _) = Extents::open(Arc::new(directory.clone()), SIZES, [], Reuse::Allowed).unwrap();
        let body = written(&extents);
        extents.sync().unwrap();
        (directory, body)
    }

    fn own(body: &StoredBody) -> &StoredExtent {
        body.extent().and_then(ExtentBytes::own).unwrap()
    }

    /// Flips a bit of an entry.
    fn flip(directory: &MemoryDirectory, body: &StoredBody, entry: u64) {
        let place = own(body).place();
        let file = directory.open(&file_name(place.file), OpenMode::ReadWrite).unwrap();
        let at = place.offset + (HEADER_BYTES + FIRST) as u64 + 9 * entry + 8;
        let mut byte = [0];
        file.read_at(&mut byte, at).unwrap();
        file.write_at(&[byte[0] ^ 1], at).unwrap();
    }

    /// The same index as who opens the database finds it.
    fn found(directory: &MemoryDirectory, body: &StoredBody) -> StoredBody {
        let named = [(own(body).place(), own(body).header())];
        let opened = Extents::open(Arc::new(directory.clone()), SIZES, named, Reuse::Allowed);
        let (_, mut extents) = opened.unwrap();
        StoredBody::found(ExtentBytes::Own(extents.remove(0)), StoredColumns::new())
    }

    fn rank(body: &StoredBody, entry: u64) -> CheckpointResult<u64> {
        let rank = body.entries()?.rank(&entry.to_be_bytes());
        rank.map_err(|damage| body.extent().unwrap().unreadable(damage))
    }

    /// Whether this names the damaged block of an entry of the upper half.
    fn names_block<T>(read: CheckpointResult<T>, body: &StoredBody) -> bool {
        let place = own(body).place();
        let expected = place.offset + (HEADER_BYTES + HIGH_BLOCK * BLOCK_BYTES) as u64;
        let Err(CheckpointError::Corrupt { file, offset, problem }) = read else { return false };
        file.ends_with(file_name(place.file)) && offset == expected && problem.starts_with("block crc")
    }

    #[test]
    fn a_look_up_compares_the_blocks_that_it_touches_once_and_a_read_of_all_entries_all() {
        let (directory, body) = index();
        assert!(own(&body).checked().is_whole(), "this process wrote it");
        let body = found(&directory, &body);
        let checked = own(&body).checked();
        assert_eq!(own(&body).place().payload_bytes.div_ceil(BLOCK_BYTES as u64), BLOCKS as u64);
        assert!(!checked.is_whole() && checked.count() == 0, "an opening reads no index");
        assert_eq!(body.entries().unwrap().count(), COUNT);
        assert_eq!(checked.count(), 2, "the count lies in the first block, the table of columns in the last");
        assert_eq!(rank(&body, 777).unwrap(), 777);
        let once = checked.count();
        // Three blocks have starts; among those of entries it is a binary search.
        assert!((3..=14).contains(&once), "{once} of {BLOCKS} blocks");
        assert_eq!(rank(&body, 777).unwrap(), 777);
        assert_eq!(checked.count(), once, "nothing is compared again");
        for entry in (0..COUNT).step_by(1000) {
            assert_eq!(rank(&body, entry).unwrap(), entry);
        }
        assert!(checked.is_whole(), "{} of {BLOCKS} blocks", checked.count());
        let merged = found(&directory, &body);
        assert_eq!(merged.verified_entries().unwrap().count(), COUNT);
        assert!(own(&merged).checked().is_whole());
    }

    #[test]
    fn damage_is_an_error_of_who_touches_its_block_and_of_who_compares_all() {
        let (directory, body) = index();
        // A copy: nobody writes what is read.
        let directory = directory.power_cut();
        flip(&directory, &body, HIGH);
        let body = found(&directory, &body);
        assert_eq!(rank(&body, 10).unwrap(), 10, "it lies elsewhere");
        assert!(names_block(rank(&body, HIGH), &body));
        assert!(names_block(rank(&body, HIGH + 1), &body), "what is damaged is never known");
        assert_eq!(rank(&body, 10).unwrap(), 10);
        assert!(names_block(body.verified_entries().map(drop), &body), "a merge reads all of it");
        let own = own(&body);
        // As the check reads it.
        let read = ReadFiles::default().read(&directory, own.place(), own.header());
        assert!(names_block(read.map(drop), &body));
    }

    /// After a failed sync the system may bring back earlier bytes at any time.
    #[test]
    fn of_an_index_that_a_failed_sync_lost_nothing_is_known() {
        let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("db")));
        let directory: Arc<dyn Directory> = Arc::new(failing.clone());
        let (extents, _) = Extents::open(directory, SIZES, [], Reuse::Allowed).unwrap();
        let body = written(&extents);
        assert!(own(&body).blockwise().unwrap().is_verified());
        failing.plan(Fault::new(Operation::Sync, "array-", ErrorKind::Other));
        assert!(extents.sync().is_err() && own(&body).is_lost());
        for _ in 0..2 {
            assert!(!own(&body).blockwise().unwrap().is_verified(), "each touch compares its block");
            assert_eq!(rank(&body, HIGH).unwrap(), HIGH);
            assert_eq!(body.verified_entries().unwrap().count(), COUNT);
        }
    }
}
