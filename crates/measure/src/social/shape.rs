//! Shape: how many links a node has, and how often which node is read and written.
//!
//! ```text
//! rank   0 1 2 3 ...      by links: quantiles of the measured distribution, most first
//!                         by reads, writes: Zipf, weight 1 / (rank + 1)^exponent
//! node   = shuffle(rank)  another shuffle for each purpose, but where the two go together
//! ```
//!
//! Measured out-degrees come from LinkBench's `Distribution.dat.gz` (lines `links share`, cumulative, in
//! percent, below the line `nlinks`). Without it a power law stands in: 45 of 100 nodes have no link, and
//! 0.547 k^-1.4 of all have k or more, which fits the measured ones up to a hundred links and has fewer
//! nodes beyond.

use evergraph::generate::random::Random;
use evergraph_graph::error::{Error, ErrorKind, Result};
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// How many links nodes have, as a distribution.
#[derive(Clone, PartialEq, Debug)]
pub enum Degrees {
    /// Numbers of links, ascending, and which share of nodes has at most so many, in percent.
    Measured(Vec<(u32, f64)>),
    /// A power law.
    PowerLaw,
}

impl Degrees {
    /// Reads the measured ones.
    ///
    /// # Errors
    /// `io` if the file can't be read; `corrupt`, with its line, if it isn't what it should be.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Io, format!("read {}: {error}", path.display())).because(error)
        };
        let file = File::open(path).map_err(failed)?;
        let mut degrees: Vec<(u32, f64)> = Vec::new();
        let mut inside = false;
        for (number, line) in (1..).zip(BufReader::new(GzDecoder::new(file)).lines()) {
            let line = line.map_err(failed)?;
            if line.starts_with(char::is_alphabetic) {
                inside = line.trim() == "nlinks";
                continue;
            }
            if !inside || line.trim().is_empty() {
                continue;
            }
            let parsed = line.split_once(' ').and_then(|(links, share)| {
                Some((links.trim().parse().ok()?, share.trim().parse::<f64>().ok()?))
            });
            let parsed = parsed.filter(|(links, share)| {
                let grows = degrees.last().is_none_or(|last| last.0 < *links && last.1 <= *share);
                grows && (0.0..=100.0).contains(share)
            });
            degrees.push(parsed.ok_or_else(|| {
                let text = format!(
                    "{}, line {number}: expected links and a share of at most 100, both growing, found `{line}`",
                    path.display()
                );
                Error::new(ErrorKind::Corrupt, text)
            })?);
        }
        if degrees.last().is_none_or(|last| last.1 < 100.0) {
            let text = format!("{}: its part `nlinks` doesn't reach 100", path.display());
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        Ok(Self::Measured(degrees))
    }

    /// Links of the node of `rank` among `nodes`: the most for rank 0, never more than there are nodes.
    #[must_use]
    pub fn links(&self, rank: u32, nodes: u32) -> u32 {
        // The middle of the rank's share.
        let above = (f64::from(rank) + 0.5) / f64::from(nodes);
        let links = match self {
            Self::Measured(degrees) => {
                let wanted = 100.0 * (1.0 - above);
                let at = degrees.partition_point(|(_, share)| *share < wanted);
                degrees.get(at).or(degrees.last()).map_or(0, |(links, _)| *links)
            }
            Self::PowerLaw if above > 0.547 => 0,
            Self::PowerLaw => (above / 0.547).powf(-1.0 / 1.4) as u32,
        };
        links.min(nodes.saturating_sub(1))
    }

    /// For people.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self {
            Self::Measured(_) => "links a node by LinkBench's measured distribution",
            Self::PowerLaw => "links a node by a power law that stands in for LinkBench's distribution",
        }
    }
}

/// Draws ranks so that rank k has weight 1 / (k + 1)^exponent, in constant time.
///
/// Source: Gray et al., "Quickly Generating Billion-Record Synthetic Databases" (SIGMOD 1994), which
/// LinkBench draws by, too. The first two ranks are exact, the others an approximation.
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    ranks: f64,
    /// 1 / (1 - exponent).
    alpha: f64,
    /// The weight of the second rank.
    second: f64,
    /// All weights.
    sum: f64,
    eta: f64,
}

impl Zipf {
    /// Draws from at least two `ranks`; `exponent` is less than 1. Cost: a sum over the ranks.
    #[must_use]
    pub fn new(ranks: u32, exponent: f64) -> Self {
        let sum: f64 = (1..=ranks).map(|rank| f64::from(rank).powf(-exponent)).sum();
        let (ranks, second) = (f64::from(ranks), 0.5f64.powf(exponent));
        let eta = (1.0 - (2.0 / ranks).powf(1.0 - exponent)) / (1.0 - (1.0 + second) / sum);
        Self { ranks, alpha: 1.0 / (1.0 - exponent), second, sum, eta }
    }

    /// A rank.
    pub fn draw(&self, random: &mut Random) -> u32 {
        let unit = random.unit();
        let weight = unit * self.sum;
        if weight < 1.0 {
            return 0;
        }
        if weight < 1.0 + self.second {
            return 1;
        }
        let rank = self.ranks * (self.eta * unit - self.eta + 1.0).powf(self.alpha);
        rank.min(self.ranks - 1.0) as u32
    }
}

/// A fixed order of the numbers below `count`, so that a low rank doesn't mean a low number.
#[derive(Clone, Copy, Debug)]
pub struct Shuffle {
    count: u64,
    factor: u64,
    /// `factor * inverse % count` is 1.
    inverse: u64,
    shift: u64,
}

impl Shuffle {
    /// An order of the numbers below `count`, which is positive. Cost: a look at them.
    #[must_use]
    pub fn new(count: u32, random: &mut Random) -> Self {
        let count = u64::from(count);
        let mut factor = 1 + random.below(count);
        while greatest_common_divisor(factor, count) > 1 {
            factor += 1;
        }
        let inverse = (0..count).find(|number| factor * number % count == 1 % count);
        let inverse = inverse.expect("a factor without a common divisor has an inverse");
        Self { count, factor, inverse, shift: random.below(count) }
    }

    /// The number at `rank`.
    #[must_use]
    pub fn at(&self, rank: u32) -> u32 {
        ((u64::from(rank) * self.factor + self.shift) % self.count) as u32
    }

    /// The rank that `number` is at.
    #[must_use]
    pub fn rank_of(&self, number: u32) -> u32 {
        ((u64::from(number) + self.count - self.shift) % self.count * self.inverse % self.count) as u32
    }
}

fn greatest_common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut packed = GzEncoder::new(file.reopen().unwrap(), Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap();
        file
    }

    #[test]
    fn nodes_have_links_by_the_quantiles_of_the_file() {
        let degrees = file("nlinks\n0 50\n1 75\n9 100\nlink_nreads\n0 100\n");
        let degrees = Degrees::read(degrees.path()).unwrap();
        let links: Vec<u32> = (0..8).map(|rank| degrees.links(rank, 8)).collect();
        assert_eq!(links, [7, 7, 1, 1, 0, 0, 0, 0], "and never more than there are others");
    }

    #[test]
    fn a_broken_file_is_told_by_its_line() {
        for (text, told) in [
            ("nlinks\n0 50\n0 60\n", "line 3"),
            ("nlinks\n0 50\n1 x\n", "line 3"),
            ("nlinks\n0 50\n", "doesn't reach 100"),
            ("other\n0 100\n", "doesn't reach 100"),
        ] {
            let error = Degrees::read(file(text).path()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert!(error.to_string().contains(told), "{error}");
        }
    }

    #[test]
    fn the_power_law_has_the_shares_that_it_says() {
        let nodes = 100_000;
        let at_least = |links: u32| {
            let count = (0..nodes).filter(|rank| Degrees::PowerLaw.links(*rank, nodes) >= links).count();
            count as f64 / f64::from(nodes)
        };
        for (links, share) in [(1, 0.547), (2, 0.207), (10, 0.0218), (100, 0.00087)] {
            assert!((at_least(links) / share - 1.0).abs() < 0.02, "{links}: {}", at_least(links));
        }
    }

    #[test]
    fn ranks_come_up_by_their_weight() {
        let (zipf, mut random) = (Zipf::new(1000, 0.8), Random::new(1, 0, 0));
        let mut seen = vec![0u32; 1000];
        (0..200_000).for_each(|_| seen[zipf.draw(&mut random) as usize] += 1);
        let sum: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-0.8)).sum();
        for rank in [0, 1] {
            let wanted = f64::from(rank + 1).powf(-0.8) / sum;
            let share = f64::from(seen[rank as usize]) / 200_000.0;
            assert!((share / wanted - 1.0).abs() < 0.1, "rank {rank}: {share} for {wanted}");
        }
        let upper: u32 = seen[500..].iter().sum();
        let wanted: f64 = (501..=1000).map(|rank| f64::from(rank).powf(-0.8)).sum::<f64>() / sum;
        assert!((f64::from(upper) / 200_000.0 / wanted - 1.0).abs() < 0.1);
    }

    #[test]
    fn a_shuffle_has_every_number_once() {
        for count in [1, 2, 97, 1000] {
            let shuffle = Shuffle::new(count, &mut Random::new(5, 0, 0));
            let mut numbers: Vec<u32> = (0..count).map(|rank| shuffle.at(rank)).collect();
            assert!((0..count).all(|rank| shuffle.rank_of(shuffle.at(rank)) == rank));
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..count));
        }
    }
}
