//! Packed lists: what neighbours in fewer bits would save, and what scans of them would cost.
//!
//! ```text
//! plain    u32 u32 u32 u32 ...                       as a body keeps them
//! packed   frame: least, width | 128 x (neighbour - least), width bits each
//! ```
//!
//! The lists of a group of 4,096 rows are packed together, without regard to where a list ends, and a scan unpacks a group
//! into a buffer, then reads its lists there. The engine keeps plain lists; this measures whether it should.
//!
//! Source: Lemire and Boytsov, Decoding billions of integers per second through vectorization (2015), frame of reference.

use crate::edges::sorted;
use crate::engine::store::Edge;
use crate::goals::baseline;
use crate::plan::{Work, expect};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::Stopwatch;
use crate::workload::pool::pool;
use bitpacking::{BitPacker, BitPacker4x};
use evergraph_graph::error::Result;
use evergraph_graph::id::GROUP_SIZE;
use evergraph_measure::figure::Unit;
use rayon::prelude::*;

const FRAME: usize = BitPacker4x::BLOCK_LEN;

/// Measures bytes, and two scans of the out lists.
///
/// # Errors
/// `corrupt` if packed lists have another sum than plain ones.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let mut edges = sorted(work.plan, 16)?;
    let out = groups(&edges, work.plan.vertices());
    edges.iter_mut().for_each(|edge| *edge = (edge.1, edge.0));
    edges.sort_unstable();
    let incoming = groups(&edges, work.plan.vertices());
    let bytes: usize = out.iter().chain(&incoming).map(Group::packed_bytes).sum();
    let heading = Heading::new("packed.bytes", "bytes an edge, both directions, packed", Unit::BytesPerEdge);
    work.add(&heading, &[bytes as f64 / edges.len() as f64]);

    let scores: Vec<f32> = (0..work.plan.vertices()).map(|vertex| vertex as f32).collect();
    let score = |neighbor: &u32| f64::from(scores[*neighbor as usize]);
    for threads in work.plan.threads.clone() {
        race(work, threads, &out, "scan", "sum of all neighbours", |list| {
            list.iter().map(|v| u64::from(*v)).sum()
        })?;
        let sum = |list: &[u32]| list.iter().map(score).sum::<f64>() as u64;
        race(work, threads, &out, "scores", "a number of each neighbour, as PageRank reads them", sum)?;
    }
    work.note("frames of 128 neighbours of a group, each less the least of its frame; plain lists are what the engine keeps");
    Ok(())
}

fn race(
    work: &mut Work<'_>,
    threads: usize,
    groups: &[Group],
    name: &str,
    title: &str,
    visitor: impl Fn(&[u32]) -> u64 + Sync,
) -> Result<()> {
    let pool = pool(threads)?;
    let mut race = Race::new(["packed", baseline::PLAIN]);
    if threads == 1 {
        race = race.undisturbed();
    }
    let sum = |place: usize| -> u64 {
        let sum_of = |buffer: &mut Vec<u32>, group: &Group| match place {
            0 => group.sum(group.unpack(buffer), &visitor),
            _ => group.sum(&group.neighbors, &visitor),
        };
        pool.install(|| groups.par_iter().map_init(Vec::new, sum_of).sum())
    };
    let expected = sum(1);
    for round in 0..work.plan.rounds {
        race.round(round, |place| {
            let watch = Stopwatch::start();
            let found = sum(place);
            let spent = watch.stop();
            expect("a packed list", title, found, expected)?;
            Ok(Sample::timed(spent.wall, spent))
        })?;
    }
    let plural = if threads == 1 { "" } else { "s" };
    let title = format!("{title}, packed lists, {threads} thread{plural}");
    work.add_race(&Heading::new(format!("packed.{name}.threads_{threads}"), title, Unit::Seconds), &race);
    Ok(())
}

/// The lists of 4,096 rows, both ways.
struct Group {
    /// Where each row's list ends.
    ends: Vec<u32>,
    neighbors: Vec<u32>,
    /// The least neighbour of each frame, and how many bits each takes.
    frames: Vec<(u32, u8)>,
    bits: Vec<u8>,
}

/// `edges` ascend.
fn groups(edges: &[Edge], vertices: u32) -> Vec<Group> {
    let mut rest = edges;
    let first_rows = (0..vertices).step_by(GROUP_SIZE as usize);
    let group = |first: u32| {
        let (own, later) = rest.split_at(rest.partition_point(|edge| edge.0 < first + GROUP_SIZE));
        rest = later;
        let end = |row: u32| own.partition_point(|edge| edge.0 <= row) as u32;
        let ends = (first..vertices.min(first + GROUP_SIZE)).map(end).collect();
        Group::new(ends, own.iter().map(|edge| edge.1).collect())
    };
    first_rows.map(group).collect()
}

impl Group {
    fn new(ends: Vec<u32>, neighbors: Vec<u32>) -> Self {
        let packer = BitPacker4x::new();
        let (mut frames, mut bits) = (Vec::new(), Vec::new());
        for some in neighbors.chunks(FRAME) {
            let least = some.iter().copied().min().unwrap_or(0);
            let mut frame = [0; FRAME];
            frame.iter_mut().zip(some).for_each(|(place, neighbor)| *place = neighbor - least);
            let width = packer.num_bits(&frame);
            let start = bits.len();
            bits.resize(start + BitPacker4x::compressed_block_size(width), 0);
            packer.compress(&frame, &mut bits[start..], width);
            frames.push((least, width));
        }
        Self { ends, neighbors, frames, bits }
    }

    /// Its lists packed, and where they end.
    fn packed_bytes(&self) -> usize {
        self.bits.len()
            + self.frames.len() * (size_of::<u32>() + size_of::<u8>())
            + size_of_val(&self.ends[..])
    }

    fn unpack<'a>(&self, buffer: &'a mut Vec<u32>) -> &'a [u32] {
        let packer = BitPacker4x::new();
        buffer.resize(buffer.len().max(self.frames.len() * FRAME), 0);
        let mut bits = &self.bits[..];
        for ((least, width), frame) in self.frames.iter().zip(buffer.chunks_exact_mut(FRAME)) {
            bits = &bits[packer.decompress(bits, frame, *width)..];
            frame.iter_mut().for_each(|neighbor| *neighbor = neighbor.wrapping_add(*least));
        }
        &buffer[..self.neighbors.len()]
    }

    fn sum(&self, neighbors: &[u32], visitor: impl Fn(&[u32]) -> u64) -> u64 {
        let mut from = 0;
        let list = |end: &u32| {
            let list = &neighbors[from..*end as usize];
            from = *end as usize;
            visitor(list)
        };
        self.ends.iter().map(list).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_lists_are_the_plain_ones() {
        let edges: Vec<Edge> =
            (0..9_000).flat_map(|v| (0..v % 5).map(move |n| (v, v * 31 % 9_000 + n))).collect();
        let groups = groups(&edges, 9_000);
        assert_eq!(groups.len(), 3);
        let mut buffer = Vec::new();
        let unpacked: Vec<u32> = groups.iter().flat_map(|group| group.unpack(&mut buffer).to_vec()).collect();
        assert_eq!(unpacked, edges.iter().map(|edge| edge.1).collect::<Vec<_>>());
        let lists = std::sync::Mutex::new(Vec::new());
        groups[2].sum(&groups[2].neighbors, |list| {
            lists.lock().unwrap().push(list.to_vec());
            0
        });
        let of =
            |vertex: u32| edges.iter().filter(|edge| edge.0 == vertex).map(|edge| edge.1).collect::<Vec<_>>();
        assert_eq!(*lists.lock().unwrap(), (8_192..9_000).map(of).collect::<Vec<_>>());
    }
}
