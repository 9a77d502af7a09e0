//! Loading: reads groups and their segments from the files that a manifest names.
//!
//! ```text
//! manifest --> segments by file and offset --> windows of some MiB --> two threads: read, verify,
//!                                                                      decode
//!          --> groups, ascending  <-------------- bodies -------------------/
//! ```
//!
//! What follows is the log: commits after C, put on each segment whose base is older.
//!
//! Reading trusts nothing but the checksums' arithmetic: every rule that the engine relies on is
//! checked again on what was read.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::Arc;

use evergraph_graph::bytes::{DecodeError, Reader};
use evergraph_graph::timestamp::Timestamp;

use crate::checkpoint::body_file::{BodyFile, file_name};
use crate::checkpoint::segment_list::SegmentList;
use crate::group::{EdgeSegment, Group};
use crate::segment::version::{Hub, Segment, Stored};
use evergraph_bodies::body::Body;
use evergraph_bodies::body_form::StableForm;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::segment_id::SegmentId;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::checkpoint::manifest::StoredGroup;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicUsize, Ordering};
use evergraph_storage::sync::thread;

/// Bytes that are read at once, unless one body is longer.
const WINDOW_BYTES: u64 = 8 << 20;
/// Unwanted bytes between bodies that are read along rather than skipped.
const GAP_BYTES: u64 = 1 << 20;

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadedCounts {
    /// Vertex groups.
    pub groups_count: u64,
    /// Segments with a body.
    pub segments_count: u64,
    /// Bytes of bodies.
    pub bytes_count: u64,
}

/// Reads `groups`, which ascend, with the segments of `list` and hands them over in order.
///
/// Cost: every named body is read once and copied once, by two threads unless the store is stepped;
/// while that lasts, some 16 MiB more than the graph takes.
///
/// # Errors
/// [`CheckpointError::Corrupt`], and what the system says.
pub fn load(
    directory: &dyn Directory,
    groups: &[StoredGroup],
    list: &SegmentList,
    background: Background,
    mut attach: impl FnMut(Group),
) -> Result<LoadedCounts, CheckpointError> {
    let bodies = read_bodies(directory, &list.segments, background)?;
    let mut loaded = LoadedCounts { groups_count: groups.len() as u64, ..LoadedCounts::default() };
    let mut segments = list.segments.iter().zip(bodies).peekable();
    for group in groups {
        let mut own = Vec::new();
        while let Some(((id, stored), body)) = segments.next_if(|((id, _), _)| id.group == group.id) {
            loaded.segments_count += 1;
            loaded.bytes_count += stored.length;
            own.push((*id, *stored, body));
        }
        attach(assemble(directory, group, own)?);
    }
    Ok(loaded)
}

/// A body of either kind.
#[derive(Debug)]
enum AnyBody {
    Vertices(VertexBody),
    Edges(EdgeBody),
}

/// Puts the segments of one group together; they ascend, a hub behind its group's segment.
fn assemble(
    directory: &dyn Directory,
    group: &StoredGroup,
    segments: Vec<(SegmentId, Stored, AnyBody)>,
) -> Result<Group, CheckpointError> {
    let mut vertices = Segment::new(Timestamp::ZERO, VertexBody::empty());
    let mut edges: Vec<(SegmentId, Stored, EdgeBody, Vec<Hub<EdgeBody>>)> = Vec::new();
    for (id, stored, body) in segments {
        let misfit = |problem: String| -> Result<Group, CheckpointError> {
            let file = directory.path(&file_name(stored.file));
            Err(CheckpointError::Corrupt { file, offset: stored.offset, problem: format!("{id}: {problem}") })
        };
        match (body, id.hub, edges.last_mut()) {
            (AnyBody::Vertices(body), ..) => {
                vertices = Segment::new(stored.base, body);
                vertices.set_stored(stored);
            }
            (AnyBody::Edges(body), None, _) => edges.push((id, stored, body, Vec::new())),
            (AnyBody::Edges(body), Some(row), Some((_, _, parent, hubs))) => {
                if body.range(row).len() != body.items() {
                    return misfit(format!("edges of row {row} alone expected"));
                }
                if !parent.range(row).is_empty() {
                    return misfit("the group's own segment holds edges of the hub too".to_owned());
                }
                let segment = Segment::new(stored.base, body);
                segment.set_stored(stored);
                hubs.push(Hub { row, segment: Arc::new(segment) });
            }
            (AnyBody::Edges(_), Some(_), None) => return misfit("no segment to belong to".to_owned()),
        }
    }
    let edges = edges.into_iter().map(|(id, stored, body, hubs)| {
        let segment = Segment::with_hubs(stored.base, body, hubs.into());
        segment.set_stored(stored);
        let subject = id.subject.expect("a body of edges was read because there is a subject");
        EdgeSegment { subject, segment: Arc::new(segment) }
    });
    Ok(Group::with_edges(group.id, group.label, vertices, edges.collect()))
}

/// Reads the bodies of `segments`, in their order.
fn read_bodies(
    directory: &dyn Directory,
    segments: &[(SegmentId, Stored)],
    background: Background,
) -> Result<Vec<AnyBody>, CheckpointError> {
    let mut files = BTreeMap::new();
    for (_, stored) in segments {
        if let Entry::Vacant(place) = files.entry(stored.file) {
            place.insert(BodyFile::open(directory, stored.file)?);
        }
    }
    let work = Arc::new(BodyReadTasks {
        files,
        segments: segments.to_vec(),
        windows: windows(segments),
        next: AtomicUsize::new(0),
        outcome: Mutex::new(Ok((0..segments.len()).map(|_| None).collect())),
    });
    let helper = (work.windows.len() > 1 && background.threads(2) > 1).then(|| {
        let work = Arc::clone(&work);
        thread::spawn("read-bodies", move || work.run())
    });
    let helper = helper.transpose().map_err(|source| CheckpointError::Thread { source })?;
    work.run();
    if let Some(helper) = helper {
        helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
    let bodies = std::mem::replace(&mut *work.outcome.lock(), Ok(Vec::new()))?;
    Ok(bodies.into_iter().map(|body| body.expect("every window was read")).collect())
}

/// Bodies that lie together in a file.
#[derive(Debug, PartialEq, Eq)]
struct BodyWindow {
    file: u64,
    range: Range<u64>,
    /// Places in the list of segments.
    members: Vec<usize>,
}

/// Cuts the files into stretches that are read at once.
fn windows(segments: &[(SegmentId, Stored)]) -> Vec<BodyWindow> {
    let mut order: Vec<usize> = (0..segments.len()).collect();
    order.sort_unstable_by_key(|at| (segments[*at].1.file, segments[*at].1.offset));
    let mut windows: Vec<BodyWindow> = Vec::new();
    for at in order {
        let Stored { file, offset, length, .. } = segments[at].1;
        // The manifest was checked: the sum is no greater than 2^64.
        let end = offset + length;
        match windows.last_mut() {
            Some(last)
                if last.file == file
                    && end.saturating_sub(last.range.start) <= WINDOW_BYTES
                    && offset.saturating_sub(last.range.end) <= GAP_BYTES =>
            {
                last.range.end = last.range.end.max(end);
                last.members.push(at);
            }
            _ => windows.push(BodyWindow { file, range: offset..end, members: vec![at] }),
        }
    }
    windows
}

/// What the threads share.
///
/// Concurrency: `next` gives each window to one thread; nothing is published through it. `outcome`
/// is locked twice a window.
#[derive(Debug)]
struct BodyReadTasks {
    files: BTreeMap<u64, BodyFile>,
    segments: Vec<(SegmentId, Stored)>,
    windows: Vec<BodyWindow>,
    next: AtomicUsize,
    /// A body for each segment, or the first error.
    outcome: Mutex<Result<Vec<Option<AnyBody>>, CheckpointError>>,
}

impl BodyReadTasks {
    /// Reads windows until none is left, or one of the threads fails.
    fn run(&self) {
        while let Some(window) = self.windows.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if self.outcome.lock().is_err() {
                return;
            }
            let read = self.read(window);
            let mut outcome = self.outcome.lock();
            match (&mut *outcome, read) {
                (Ok(bodies), Ok(read)) => read.into_iter().for_each(|(at, body)| bodies[at] = Some(body)),
                (Ok(_), Err(error)) => *outcome = Err(error),
                (Err(_), _) => {}
            }
        }
    }

    fn read(&self, window: &BodyWindow) -> Result<Vec<(usize, AnyBody)>, CheckpointError> {
        let file = &self.files[&window.file];
        let bytes = file.read(window.range.clone())?;
        let read_one = |at: &usize| {
            let (id, stored) = &self.segments[*at];
            let mut reader = Reader::new(bytes.bytes(stored.offset..stored.offset + stored.length));
            let corrupt = |error: DecodeError| {
                file.corrupt(stored.offset + error.offset as u64, format!("{id}: {}", error.expected))
            };
            let body = match id.subject {
                None => AnyBody::Vertices(VertexBody::take(&mut reader).map_err(corrupt)?),
                Some(_) => {
                    let body = EdgeBody::take(&mut reader).map_err(corrupt)?;
                    let misfit = |problem| file.corrupt(stored.offset, format!("{id}: {problem}"));
                    id.check_body(&body).map_err(misfit)?;
                    AnyBody::Edges(body)
                }
            };
            Ok((*at, body))
        };
        window.members.iter().map(read_one).collect()
    }
}
