//! `match()`: patterns over slots of the frame.

use crate::plan::operator::Traversal;

/// `match()`: all ways to fulfil patterns, as maps of what their slots are.
#[derive(Clone, PartialEq, Debug)]
pub struct Match {
    /// The slot of a traverser that comes without any of `starts`.
    pub begin: usize,
    /// The slots that patterns begin at.
    pub starts: Vec<usize>,
    /// The slots of the answer.
    pub answer: Vec<usize>,
    /// What must be fulfilled, at most [`PATTERNS_MAX`]. In which order is chosen when it runs.
    pub patterns: Vec<Pattern>,
}

/// Patterns of one `match()` at most: which are left is a bit each.
pub const PATTERNS_MAX: usize = 64;

/// One pattern.
#[derive(Clone, PartialEq, Debug)]
pub enum Pattern {
    /// A traversal gives something.
    Path(PathPattern),
    /// One of several lists of patterns is fulfilled; what comes of each comes.
    Any(Vec<Vec<Pattern>>),
}

/// From a slot, by a traversal, to a slot.
#[derive(Clone, PartialEq, Debug)]
pub struct PathPattern {
    /// Where it begins; nowhere in particular if nothing is said.
    pub from: Option<usize>,
    /// The way.
    pub of: Traversal,
    /// Where it ends: this slot becomes what comes, or is it if it is something already.
    pub to: Option<usize>,
    /// The slots that must be something before.
    pub needs: Vec<usize>,
}

impl Pattern {
    /// Adds the slots that must be something before the pattern can be asked.
    pub fn needs(&self, slots: &mut Vec<usize>) {
        match self {
            Self::Path(path) => slots.extend(&path.needs),
            Self::Any(all) => {
                for patterns in all {
                    let (mut needed, mut made) = (Vec::new(), Vec::new());
                    for pattern in patterns {
                        pattern.needs(&mut needed);
                        pattern.makes(&mut made);
                    }
                    slots.extend(needed.iter().filter(|slot| !made.contains(slot)));
                }
            }
        }
    }

    /// Adds the slots that the pattern makes something of.
    pub fn makes(&self, slots: &mut Vec<usize>) {
        match self {
            Self::Path(path) => slots.extend(path.to),
            Self::Any(all) => all.iter().flatten().for_each(|pattern| pattern.makes(slots)),
        }
    }
}

/// Whether all `patterns` can be asked, one after the other, where the slots `bound` are something.
#[must_use]
pub fn is_solvable(patterns: &[Pattern], bound: &[usize]) -> bool {
    let mut bound = bound.to_vec();
    let mut left: Vec<&Pattern> = patterns.iter().collect();
    while !left.is_empty() {
        let before = left.len();
        left.retain(|pattern| {
            let mut needs = Vec::new();
            pattern.needs(&mut needs);
            let waits = needs.iter().any(|slot| !bound.contains(slot));
            if !waits {
                pattern.makes(&mut bound);
            }
            waits
        });
        if left.len() == before {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(from: usize, to: usize) -> Pattern {
        let of = Traversal::default();
        Pattern::Path(PathPattern { from: Some(from), of, to: Some(to), needs: vec![from] })
    }

    #[test]
    fn patterns_are_solvable_where_each_begins_at_what_others_make() {
        let patterns = [path(2, 3), path(1, 2)];
        assert!(is_solvable(&patterns, &[1]));
        assert!(!is_solvable(&patterns, &[2]), "nothing leads to 1");
    }

    #[test]
    fn one_of_several_needs_what_it_does_not_make_itself() {
        let any = Pattern::Any(vec![vec![path(1, 2), path(2, 3)], vec![path(4, 3)]]);
        let (mut needs, mut makes) = (Vec::new(), Vec::new());
        any.needs(&mut needs);
        any.makes(&mut makes);
        assert_eq!((needs, makes), (vec![1, 4], vec![2, 3, 3]));
    }
}
