//! A copy between a node and those that give it, on a network that loses, doubles and delays; sources that refuse, fall silent, start
//! again or give what is none.

use super::*;
use crate::planted::assert_found;
use crate::seeded::SeededChance;
use evergraph_graph::id::PartitionId;

const SUBJECT: CopySubject = CopySubject::Partition { partition: PartitionId(4), at_least: LogPosition(9) };
const PATIENCE: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_millis(10);

/// A node that gives a copy of `pieces` pieces, whose bytes say whose they are.
struct Source {
    node: NodeId,
    pieces: u64,
    copy: Option<(CopyId, u64, u64)>,
    refuses: Option<CopyRefusal>,
    /// How often it refuses before it gives it.
    refusals: u64,
    /// It cannot read this piece, nor those behind it.
    fails_at: u64,
    /// It says nothing any more after so many messages.
    lives_for: u64,
}

impl Source {
    fn new(node: u16, pieces: u64) -> Self {
        Self {
            node: NodeId(node),
            pieces,
            copy: None,
            refuses: None,
            refusals: u64::MAX,
            fails_at: u64::MAX,
            lives_for: u64::MAX,
        }
    }

    fn piece(&self, copy: CopyId, number: u64) -> CopyMessage {
        if number >= self.fails_at {
            return CopyMessage::Refused { copy, reason: CopyRefusal::failed("a bad block") };
        }
        let (bytes_done, bytes_total, is_last) = (number, self.pieces, number + 1 == self.pieces);
        let changes = vec![self.node.0 as u8, number as u8];
        CopyMessage::Piece(CopyPiece { copy, number, bytes_done, bytes_total, is_last, changes })
    }

    fn take(&mut self, message: CopyMessage) -> Vec<CopyMessage> {
        if self.lives_for == 0 {
            return Vec::new();
        }
        self.lives_for -= 1;
        if matches!(message, CopyMessage::Begin { .. }) {
            match self.refusals.checked_sub(1) {
                Some(left) => self.refusals = left,
                None => self.refuses = None,
            }
        }
        match (message, &self.refuses) {
            (CopyMessage::Begin { copy, subject }, Some(reason)) => {
                assert_eq!(subject, SUBJECT);
                vec![CopyMessage::Refused { copy, reason: reason.clone() }]
            }
            (CopyMessage::Begin { copy, .. }, None) => {
                if self.copy.is_none_or(|(known, ..)| known != copy) {
                    self.copy = Some((copy, 0, 0));
                }
                vec![CopyMessage::Begun { copy, needed_from: LogPosition(5) }]
            }
            (CopyMessage::More { copy, have, up_to, is_again }, _) => match &mut self.copy {
                Some((known, first, next)) if *known == copy => {
                    *first = have.max(*first);
                    *next = if is_again { *first } else { (*first).max(*next) };
                    let send = *next..up_to.min(self.pieces);
                    *next = send.end.max(*next);
                    send.map(|number| self.piece(copy, number)).collect()
                }
                _ => vec![CopyMessage::Refused { copy, reason: CopyRefusal::Unknown }],
            },
            (CopyMessage::End { copy }, _) => {
                self.copy = self.copy.filter(|(known, ..)| *known != copy);
                Vec::new()
            }
            other => panic!("nobody asks {other:?}"),
        }
    }
}

/// What whoever gets the copy has in the end.
#[derive(Debug, Default)]
struct Got {
    bytes: Vec<(u8, u8)>,
    sources: Vec<NodeId>,
    waited_for: Vec<NodeId>,
    is_complete: bool,
    took: Duration,
}

struct World {
    sources: Vec<Source>,
    chance: SeededChance,
    /// One message in so many is lost, and comes twice.
    faults: Option<u64>,
    /// When, whether to the asker, the node, and what.
    under_way: Vec<(Duration, bool, NodeId, CopyMessage)>,
}

impl World {
    fn new(seed: u64, sources: Vec<Source>, faults: Option<u64>) -> Self {
        Self { sources, chance: SeededChance::new(seed), faults, under_way: Vec::new() }
    }

    fn send(&mut self, now: Duration, to_asker: bool, node: NodeId, message: CopyMessage) {
        let copies = match self.faults {
            Some(one_in) if self.chance.below(one_in) == 0 => 0,
            Some(one_in) if self.chance.below(one_in) == 0 => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let delay = if self.faults.is_some() { TICK * self.chance.below(30) as u32 } else { TICK };
            self.under_way.push((now + delay, to_asker, node, message.clone()));
        }
    }

    fn run(&mut self, incoming: &mut IncomingCopy) -> Got {
        let (mut got, mut now) = (Got::default(), Duration::ZERO);
        loop {
            let (mut out, mut events) = (Vec::new(), Vec::new());
            incoming.step(now, &mut out, &mut events);
            let (due, later): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.under_way).into_iter().partition(|(at, ..)| *at <= now);
            self.under_way = later;
            for (_, to_asker, node, message) in due {
                if to_asker {
                    incoming.take(now, node, message, &mut out, &mut events);
                } else {
                    let source = self.sources.iter_mut().find(|source| source.node == node).unwrap();
                    for answer in source.take(message) {
                        self.send(now, true, node, answer);
                    }
                }
            }
            out.into_iter().for_each(|(node, message)| self.send(now, false, node, message));
            for event in events {
                match event {
                    IncomingEvent::Begun { source, needed_from } => {
                        assert_eq!(needed_from, LogPosition(5));
                        got.sources.push(source);
                        got.bytes.clear();
                    }
                    IncomingEvent::Piece(piece) => got.bytes.push((piece.changes[0], piece.changes[1])),
                    IncomingEvent::Complete => got.is_complete = true,
                    IncomingEvent::Waits { source, .. } => got.waited_for.push(source),
                    IncomingEvent::GivenUp => {}
                }
            }
            got.took = now;
            if incoming.next_step_at().is_none() {
                return got;
            }
            now += TICK;
            assert!(now < Duration::from_secs(600), "it goes on for ever: {incoming:?}");
        }
    }
}

fn incoming(sources: &[u16]) -> IncomingCopy {
    let sources = sources.iter().map(|node| NodeId(*node)).collect();
    IncomingCopy::new(Duration::ZERO, SUBJECT, sources, PATIENCE, CopyId(7000))
}

/// All pieces of one node, each once, in order.
fn all_of(node: u8, pieces: u8) -> Vec<(u8, u8)> {
    (0..pieces).map(|number| (node, number)).collect()
}

#[test]
fn a_copy_comes_whole_and_in_order_whatever_the_network_loses_and_doubles() {
    for seed in 0..40 {
        let faults = (seed % 4 > 0).then_some(3 + seed % 7);
        let mut world = World::new(seed, vec![Source::new(1, 60)], faults);
        let got = world.run(&mut incoming(&[1]));
        assert!(got.is_complete, "seed {seed}");
        assert_eq!(got.bytes, all_of(1, 60), "seed {seed}");
    }
}

#[test]
fn a_source_that_falls_silent_refuses_or_starts_again_is_followed_by_the_next_one() {
    // Silent after some pieces.
    let mut first = Source::new(1, 60);
    first.lives_for = 3;
    let got = World::new(1, vec![first, Source::new(2, 60)], None).run(&mut incoming(&[1, 2]));
    assert_eq!((got.sources, got.is_complete), (vec![NodeId(1), NodeId(2)], true));
    assert_eq!(got.bytes, all_of(2, 60), "pieces of two nodes are put together");

    // It refuses, and the next one gives it at once.
    let mut first = Source::new(1, 60);
    first.refuses = Some(CopyRefusal::Behind);
    let mut copy = incoming(&[1, 2]);
    let got = World::new(1, vec![first, Source::new(2, 60)], None).run(&mut copy);
    assert_eq!((got.bytes, got.is_complete), (all_of(2, 60), true));
    assert!(got.took < Duration::from_secs(2), "{:?}", got.took);
    assert!(copy.failures()[&NodeId(1)].contains("has not applied as much"));
}

#[test]
fn a_source_that_knows_the_copy_no_more_is_asked_for_a_new_one() {
    let mut world = World::new(1, vec![Source::new(1, 400)], None);
    let mut copy = incoming(&[1]);
    let (mut out, mut events, mut now) = (Vec::new(), Vec::new(), Duration::ZERO);
    copy.step(now, &mut out, &mut events);
    for _ in 0..6 {
        for (_, message) in std::mem::take(&mut out) {
            for answer in world.sources[0].take(message) {
                copy.take(now, NodeId(1), answer, &mut out, &mut events);
            }
        }
        now += TICK;
        copy.step(now, &mut out, &mut events);
    }
    assert!(events.len() > 20 && !events.contains(&IncomingEvent::Complete));
    // It has started again.
    world.sources[0].copy = None;
    let got = world.run(&mut copy);
    assert!(got.is_complete);
    let numbers: Vec<u8> = got.bytes.iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers, (0..400_u64).map(|number| number as u8).collect::<Vec<u8>>());
}

#[test]
fn damage_ends_the_copy_of_a_node_and_another_one_gives_it() {
    let mut copy = incoming(&[1, 2]);
    let (mut out, mut events) = (Vec::new(), Vec::new());
    copy.step(Duration::ZERO, &mut out, &mut events);
    let first = CopyId(7000);
    let begun = |copy| CopyMessage::Begun { copy, needed_from: LogPosition(5) };
    copy.take(TICK, NodeId(1), begun(first), &mut out, &mut events);
    out.clear();
    copy.damaged(TICK, first, "a piece cannot be read".into(), &mut out);
    // It was written late, and the node has said meanwhile that it gives no more: the next one is asked, none is left out.
    copy.damaged(TICK, first, "a piece cannot be read".into(), &mut out);
    assert_eq!(out, [(NodeId(1), CopyMessage::End { copy: first })]);
    copy.step(TICK, &mut out, &mut events);
    let second = CopyId(7001);
    assert_eq!(out[1], (NodeId(2), CopyMessage::Begin { copy: second, subject: SUBJECT }));
    events.clear();
    // What is late of the one before is none of this one's; nor is what another node says, or what nobody asked for.
    let source = Source::new(2, 60);
    copy.take(TICK, NodeId(2), begun(second), &mut out, &mut events);
    copy.take(TICK, NodeId(1), source.piece(first, 0), &mut out, &mut events);
    copy.take(TICK, NodeId(1), source.piece(second, 0), &mut out, &mut events);
    copy.take(TICK, NodeId(2), source.piece(first, 0), &mut out, &mut events);
    copy.take(TICK, NodeId(2), source.piece(second, PIECES_AHEAD_MAX), &mut out, &mut events);
    assert_eq!(events.len(), 1, "{events:?}");
    copy.take(TICK, NodeId(2), source.piece(second, 0), &mut out, &mut events);
    assert_eq!(events.len(), 2, "{events:?}");
}

#[test]
fn nobody_is_asked_for_ever_and_the_reasons_are_known() {
    let [mut first, mut second] = [1, 2].map(|node| Source::new(node, 5));
    first.refuses = Some(CopyRefusal::NotServed);
    second.lives_for = 0;
    let mut copy = incoming(&[1, 2]);
    let got = World::new(1, vec![first, second], None).run(&mut copy);
    assert!(!got.is_complete && got.took >= PATIENCE && got.took < PATIENCE * 2, "{got:?}");
    let reasons: Vec<&String> = copy.failures().values().collect();
    assert!(reasons[0].contains("its own copy") && reasons[1].contains("does not answer"), "{reasons:?}");
    assert_eq!(copy.silent(), &BTreeSet::from([NodeId(2)]), "one that says why is not silent");
    // Where nobody has one, nobody is waited for.
    assert_eq!(World::new(1, Vec::new(), None).run(&mut incoming(&[])).took, Duration::ZERO);
}

#[test]
fn a_node_that_fails_behind_its_first_pieces_is_not_asked_for_ever() {
    let mut first = Source::new(1, 60);
    first.fails_at = 20;
    let mut copy = incoming(&[1]);
    let got = World::new(1, vec![first], None).run(&mut copy);
    assert!(!got.is_complete && got.took < PATIENCE, "{got:?}");
    assert_eq!(got.sources, [NodeId(1); ATTEMPTS_MAX]);
    assert!(copy.failures()[&NodeId(1)].contains("a bad block") && copy.silent().is_empty(), "{copy:?}");

    // Another one still gives it.
    let [mut first, mut second] = [1, 2].map(|node| Source::new(node, 60));
    first.fails_at = 20;
    second.refuses = Some(CopyRefusal::Busy);
    let mut world = World::new(1, vec![first, second, Source::new(3, 60)], None);
    let got = world.run(&mut incoming(&[1, 2, 3]));
    assert_eq!((got.bytes, got.is_complete), (all_of(3, 60), true));
}

#[test]
fn a_node_that_comes_to_what_is_wanted_is_waited_for_and_not_for_ever() {
    let mut first = Source::new(1, 60);
    first.refuses = Some(CopyRefusal::Behind);
    let mut copy = incoming(&[1]);
    let got = World::new(1, vec![first], None).run(&mut copy);
    assert!(!got.is_complete && copy.silent().is_empty(), "{got:?}");
    assert!(got.took > BEHIND_MAX && got.took < BEHIND_MAX + PATIENCE * 2, "{got:?}");
}

#[test]
fn a_node_that_is_starting_is_waited_for_as_long_as_it_says_so() {
    let mut first = Source::new(1, 60);
    // Once a second, longer than anybody is patient who hears nothing.
    (first.refuses, first.refusals) = (Some(CopyRefusal::Starting), 3 * PATIENCE.as_secs());
    let got = World::new(1, vec![first], None).run(&mut incoming(&[1]));
    assert_eq!((got.bytes, got.is_complete), (all_of(1, 60), true));
    assert!(
        got.took > PATIENCE * 2 && got.waited_for.len() as u64 == 3 * PATIENCE.as_secs(),
        "{:?}",
        got.took
    );
}

#[test]
fn what_every_node_lacks_is_given_up_at_once_and_what_one_has_is_not() {
    let lacks = |node| Source { refuses: Some(CopyRefusal::Lacking), ..Source::new(node, 60) };
    let mut copy = incoming(&[1, 2]);
    let got = World::new(1, vec![lacks(1), lacks(2)], None).run(&mut copy);
    assert!(!got.is_complete && got.took < PATIENCE / 2, "{got:?}");
    assert_eq!(copy.lacking(), &BTreeSet::from([1, 2].map(NodeId)));

    // One that says nothing may have it.
    let mut silent = Source::new(2, 60);
    silent.lives_for = 0;
    let mut copy = incoming(&[1, 2]);
    let got = World::new(1, vec![lacks(1), silent], None).run(&mut copy);
    assert!(!got.is_complete && got.took >= PATIENCE, "{got:?}");
    assert_eq!(copy.lacking(), &BTreeSet::from([NodeId(1)]));

    // And one that has lacked it has it once it has copied it.
    let mut late = lacks(1);
    late.refusals = 1;
    let mut busy = Source::new(2, 60);
    busy.refuses = Some(CopyRefusal::Busy);
    let mut copy = incoming(&[1, 2]);
    let got = World::new(1, vec![late, busy], None).run(&mut copy);
    assert_eq!((got.bytes, got.is_complete), (all_of(1, 60), true));
    assert!(copy.lacking().is_empty(), "{copy:?}");
}

#[test]
fn what_writing_takes_is_not_the_silence_of_the_node_that_gives_the_copy() {
    let mut copy = incoming(&[1, 2]);
    let (mut out, mut events) = (Vec::new(), Vec::new());
    copy.step(Duration::ZERO, &mut out, &mut events);
    let begun = CopyMessage::Begun { copy: CopyId(7000), needed_from: LogPosition(5) };
    copy.take(TICK, NodeId(1), begun, &mut out, &mut events);
    let now = TICK + PATIENCE * 2;
    copy.was_away(PATIENCE * 2);
    copy.step(now, &mut out, &mut events);
    assert_eq!(copy.source(), Some(NodeId(1)), "it was not listened to");
    let now = now + SILENCE_MAX;
    copy.step(now, &mut out, &mut events);
    assert_eq!((copy.source(), events.len()), (Some(NodeId(2)), 1), "{events:?}");
}

#[test]
fn what_comes_slowly_is_not_asked_for_again_while_it_comes() {
    let mut copy = incoming(&[1]);
    let (mut out, mut events) = (Vec::new(), Vec::new());
    copy.step(Duration::ZERO, &mut out, &mut events);
    let (id, source) = (CopyId(7000), Source::new(1, 60));
    let begun = CopyMessage::Begun { copy: id, needed_from: LogPosition(5) };
    copy.take(Duration::ZERO, NodeId(1), begun, &mut out, &mut events);
    out.clear();
    let mut now = Duration::ZERO;
    for number in 0..PIECES_AHEAD_MAX / 4 {
        now += ASK_AGAIN * 3 / 4;
        copy.take(now, NodeId(1), source.piece(id, number), &mut out, &mut events);
        copy.step(now, &mut out, &mut events);
    }
    assert!(out.is_empty(), "{out:?}");
    copy.step(now + ASK_AGAIN, &mut out, &mut events);
    assert!(matches!(out[..], [(NodeId(1), CopyMessage::More { have: 4, is_again: true, .. })]), "{out:?}");
}

#[test]
fn patience_counts_from_what_came_last() {
    // Slow, and never so slow that nothing comes for long.
    let mut source = Source::new(1, 200);
    source.lives_for = 8;
    let mut copy = incoming(&[1]);
    let got = World::new(3, vec![source], None).run(&mut copy);
    assert!(!got.is_complete && got.bytes.len() > 16, "{got:?}");
    assert!(got.took >= PATIENCE, "{got:?}");
}

#[test]
fn planted_bugs_are_found() {
    let test = a_source_that_falls_silent_refuses_or_starts_again_is_followed_by_the_next_one;
    assert_found(Bug::PiecesOfTwoCopies, test, "pieces of two nodes");
}
