//! Fate: what becomes of something unsynced when the power fails, and by which strategies that is chosen.

use evergraph_storage::io::random::{Random, SplitMix64};

/// The bytes that a disk writes in one piece.
pub const SECTOR_BYTES: usize = 512;

/// What becomes of something unsynced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Kept,
    Lost,
    /// So many bytes of a sector are kept; lengths and names are lost.
    Torn(usize),
    /// Lost, and what lies beside it in its sector is noise.
    Damaged,
}

/// A fate by itself: kept in `eighths` of the cases, otherwise lost, or torn or damaged if it is a sector.
pub fn coin(random: &mut SplitMix64, eighths: u64, sector: Option<usize>) -> Fate {
    let number = random.next_u64();
    match sector {
        _ if number % 8 < eighths => Fate::Kept,
        Some(_) if number.is_multiple_of(15) => Fate::Damaged,
        Some(length) if number.is_multiple_of(3) => Fate::Torn((number >> 32) as usize % length),
        _ => Fate::Lost,
    }
}

/// How a power cut treats the unsynced pieces, told in order: mixtures alone would hardly ever lose just one
/// of many, or keep just one.
pub enum FateStrategy {
    All(Fate),
    /// The first so many are kept, the next is torn: the order of writes held.
    Prefix(usize),
    /// All but this one, or none but this one.
    Only {
        piece: usize,
        fate: Fate,
        others: Fate,
    },
    Coin {
        eighths: u64,
        random: SplitMix64,
    },
}

impl FateStrategy {
    /// One for so many pieces.
    pub fn choose(pieces: usize, random: &mut SplitMix64) -> Self {
        let piece = (random.next_u64() % pieces.max(1) as u64) as usize;
        match random.next_u64() % 16 {
            0 | 1 => Self::All(Fate::Lost),
            2 => Self::All(Fate::Kept),
            3..6 => Self::Prefix(piece),
            6..9 => Self::Only { piece, fate: Fate::Lost, others: Fate::Kept },
            9 | 10 => Self::Only { piece, fate: Fate::Kept, others: Fate::Lost },
            11 => Self::Only { piece, fate: Fate::Torn(SECTOR_BYTES / 3), others: Fate::Kept },
            12 => Self::Only { piece, fate: Fate::Damaged, others: Fate::Kept },
            _ => {
                let eighths = 1 + random.next_u64() % 7;
                Self::Coin { eighths, random: SplitMix64::new(random.next_u64()) }
            }
        }
    }

    /// The fate of the next piece: of a sector of this length, or of a length or a name.
    pub fn next(&mut self, sector: Option<usize>) -> Fate {
        match self {
            Self::All(fate) => *fate,
            Self::Prefix(left) => match left.checked_sub(1) {
                Some(less) => {
                    *left = less;
                    Fate::Kept
                }
                None => Fate::Lost,
            },
            Self::Only { piece, fate, others } => {
                let is_it = *piece == 0;
                *piece = piece.wrapping_sub(1);
                if is_it { *fate } else { *others }
            }
            Self::Coin { eighths, random } => coin(random, *eighths, sector),
        }
    }
}
