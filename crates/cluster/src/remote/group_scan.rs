//! Group scan: which groups a reader that goes through a graph reads next, so that it asks about several at once.
//!
//! ```text
//! groups        0 A   1 B   2 A   3 B   4 A   5 B   6 A ...
//!
//! of one label  read 0: asks 0         read 2: asks 2, 4             read 6: asks 6, 8, 10, 12 ...
//! across labels read 0: asks 0         read 1: asks 1                read 2: asks 2, 3               read 4: asks 4 to 7 ...
//! ```
//!
//! Each time that a scan goes on it asks about twice as many groups: of its label, until it has gone from a group of one label to
//! the very next one, of another label. A reader of one label skips those. What was read in between, and is known, counts,
//! too. So scans of several labels in turn keep their places, and one that begins again asks about one group first.

use evergraph_graph::id::{GroupId, LabelId};
use std::collections::BTreeMap;

/// Groups that a scan asks about at once, at most.
const SCANNED_GROUPS_MAX: usize = 64;
/// Groups that are looked at for the next ones.
const LOOKED_AT_GROUPS_MAX: u32 = 1 << 14;

/// The groups of a graph that have a label.
pub struct LabelledGroups<'a> {
    /// One more than the highest of them.
    pub count: u32,
    /// The label of a group, if it has one.
    pub label: &'a dyn Fn(GroupId) -> Option<LabelId>,
}

impl LabelledGroups<'_> {
    /// Those behind a group, of the next few thousand.
    fn behind(&self, group: GroupId) -> impl Iterator<Item = (GroupId, LabelId)> {
        let first = group.0.saturating_add(1);
        let groups = (first..self.count.min(first.saturating_add(LOOKED_AT_GROUPS_MAX))).map(GroupId);
        groups.filter_map(|group| Some((group, (self.label)(group)?)))
    }
}

/// The scans of one snapshot.
#[derive(Debug, Default)]
pub struct GroupScans {
    /// The group that was read last.
    last_read: Option<(GroupId, LabelId)>,
    /// Whether the scan has gone from one label to another, and has left no group out since.
    crosses_labels: bool,
    /// How far was asked about the rows of one label, and about those of all.
    rows: BTreeMap<Option<LabelId>, ScanFront>,
    /// How far was asked about edge types, for whoever reads those first.
    edge_types: ScanFront,
}

/// How far a scan has asked.
#[derive(Clone, Copy, Debug, Default)]
struct ScanFront {
    /// The last group.
    last: Option<GroupId>,
    /// Groups that were asked about together.
    groups: usize,
}

impl ScanFront {
    /// `group`, and as many of those behind it as come next.
    fn advance(
        &mut self,
        goes_on: bool,
        group: GroupId,
        behind: impl Iterator<Item = GroupId>,
    ) -> Vec<GroupId> {
        self.groups = if goes_on { (2 * self.groups).min(SCANNED_GROUPS_MAX) } else { 1 };
        let groups: Vec<_> = std::iter::once(group).chain(behind.take(self.groups - 1)).collect();
        self.last = groups.last().copied();
        groups
    }
}

impl GroupScans {
    /// The rows of `group`, a group of `label`, are read, known or not.
    pub fn reads(&mut self, groups: &LabelledGroups<'_>, group: GroupId, label: LabelId) {
        let before = self.last_read.replace((group, label));
        let Some((last, of)) = before.filter(|(last, _)| *last != group) else { return };
        let is_next = last < group && groups.behind(last).next().is_some_and(|(next, _)| next == group);
        self.crosses_labels = is_next && (self.crosses_labels || of != label);
    }

    /// Whose rows to ask for with those of `group`, which are not known: ascending, from it on.
    pub fn next_rows(
        &mut self,
        groups: &LabelledGroups<'_>,
        (group, label): (GroupId, LabelId),
        is_known: impl Fn(GroupId) -> bool,
    ) -> Vec<GroupId> {
        let of = (!self.crosses_labels).then_some(label);
        let front = self.rows.entry(of).or_default();
        let goes_on = front.last.is_some_and(|last| last < group);
        let behind = groups.behind(group).filter(|(_, label)| of.is_none_or(|of| of == *label));
        front.advance(goes_on, group, behind.map(|(group, _)| group).filter(|group| !is_known(*group)))
    }

    /// Whose edge types to ask for with those of `group`, which are not known: ascending, from it on. Most readers know of
    /// which groups they read; so a scan is taken for one only if it leaves no group out.
    pub fn next_edge_types(
        &mut self,
        groups: &LabelledGroups<'_>,
        group: GroupId,
        is_known: impl Fn(GroupId) -> bool,
    ) -> Vec<GroupId> {
        let unknown = |last| groups.behind(last).map(|(next, _)| next).find(|next| !is_known(*next));
        let goes_on = self.edge_types.last.is_some_and(|last| last < group && unknown(last) == Some(group));
        let behind = groups.behind(group).map(|(next, _)| next).filter(|next| !is_known(*next));
        self.edge_types.advance(goes_on, group, behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Goes through groups as a reader does that keeps what it was told; what was asked, round by round.
    fn asked(
        scans: &mut GroupScans,
        labels: &[Option<u16>],
        read: impl Iterator<Item = u32>,
    ) -> Vec<Vec<u32>> {
        let label = |group: GroupId| labels[group.0 as usize].map(LabelId);
        let groups = LabelledGroups { count: labels.len() as u32, label: &label };
        let (mut known, mut rounds) = (BTreeSet::new(), Vec::new());
        for group in read.map(GroupId) {
            let Some(of) = label(group) else { continue };
            scans.reads(&groups, group, of);
            if !known.contains(&group) {
                let round = scans.next_rows(&groups, (group, of), |group| known.contains(&group));
                rounds.push(round.iter().map(|group| group.0).collect());
                known.extend(round);
            }
        }
        rounds
    }

    fn sizes(rounds: &[Vec<u32>]) -> Vec<usize> {
        rounds.iter().map(Vec::len).collect()
    }

    #[test]
    fn a_scan_across_labels_asks_about_more_groups_each_time() {
        // Two labels in turn, then in pieces; groups without one in between.
        let labels: Vec<_> = (0..300_u32)
            .map(|group| match group {
                0..100 => Some((group % 2) as u16),
                100..200 => (group % 3 > 0).then_some(3),
                _ => Some((group / 40) as u16),
            })
            .collect();
        let rounds = asked(&mut GroupScans::default(), &labels, 0..300);
        assert_eq!(sizes(&rounds), [1, 1, 2, 4, 8, 16, 32, 64, 64, 64, 11]);
        let all: Vec<_> = rounds.concat();
        let wanted = (0..300).filter(|group| labels[*group as usize].is_some());
        assert!(all.into_iter().eq(wanted), "each once, in order");
    }

    #[test]
    fn labels_in_long_stretches_are_crossed_as_well() {
        let labels: Vec<_> = (0..400_u16).map(|group| Some(group / 100)).collect();
        let rounds = asked(&mut GroupScans::default(), &labels, 0..400);
        // One label first; then all.
        assert_eq!(sizes(&rounds), [1, 2, 4, 8, 16, 32, 37, 1, 2, 4, 8, 16, 32, 64, 64, 64, 45]);
    }

    #[test]
    fn a_scan_of_one_label_asks_about_no_other_and_several_keep_their_places() {
        let labels: Vec<_> = (0..200_u16).map(|group| Some(group % 5 / 2)).collect();
        let of = |label: u16| (0..200).filter(move |group| group % 5 / 2 == u32::from(label));
        let mut scans = GroupScans::default();
        let rounds = asked(&mut scans, &labels, of(0));
        assert_eq!(sizes(&rounds), [1, 2, 4, 8, 16, 32, 17]);
        assert!(rounds.concat().into_iter().eq(of(0)));
        // Two in turn: the one is not read on by the other.
        let in_turn = of(0).zip(of(1)).flat_map(|(one, other)| [one, other]).filter(|group| group % 5 != 1);
        let rounds = asked(&mut GroupScans::default(), &labels, in_turn);
        assert!(rounds.len() <= 14, "{rounds:?}");
        let others = rounds.concat().into_iter().filter(|group| group % 5 == 4).count();
        assert_eq!(others, 0, "a label that nobody reads");
    }

    #[test]
    fn a_scan_that_begins_again_or_reads_at_random_asks_about_one_group() {
        let labels: Vec<_> = (0..100_u16).map(|_| Some(0)).collect();
        let mut scans = GroupScans::default();
        assert_eq!(sizes(&asked(&mut scans, &labels, 0..7)), [1, 2, 4]);
        assert_eq!(sizes(&asked(&mut scans, &labels, 0..3)), [1, 2]);
        assert_eq!(sizes(&asked(&mut scans, &labels, [80, 60, 40, 20].into_iter())), [4, 1, 1, 1]);
    }

    #[test]
    fn edge_types_are_asked_for_ahead_if_no_group_is_left_out() {
        let label = |group: GroupId| (!group.0.is_multiple_of(4)).then_some(LabelId(0));
        let groups = LabelledGroups { count: 100, label: &label };
        let (mut scans, mut known, mut rounds) = (GroupScans::default(), BTreeSet::new(), Vec::new());
        known.insert(GroupId(50));
        for group in (0..100).map(GroupId).filter(|group| label(*group).is_some()) {
            if !known.contains(&group) {
                let round = scans.next_edge_types(&groups, group, |group| known.contains(&group));
                rounds.push(round.len());
                known.extend(round);
            }
        }
        assert_eq!(rounds, [1, 2, 4, 8, 16, 32, 11]);
        let at_random = [5, 9, 17, 33].map(GroupId);
        let mut next = |group| scans.next_edge_types(&groups, group, |_| false).len();
        assert_eq!(at_random.map(&mut next), [1; 4]);
    }
}
