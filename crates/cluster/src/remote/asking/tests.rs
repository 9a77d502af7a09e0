//! Asking: the policy step by step, and asks over a network that loses, doubles and delays, of holders whose moods change.

use super::*;
use crate::log_position::LogPosition;
use crate::planted::assert_found;
use crate::seeded::{EventQueue, OneIn, SeededChance};
use crate::transport::frame::Frame;
use crate::transport::interface::Transport;
use crate::transport::memory::{MemoryNetwork, MemoryTransport, NetworkFaults};
use evergraph_graph::partition::PartitionCount;
use std::ops::Range;

const OWN: Author = Author { node: NodeId(0), incarnation: 1 };
const PARTITION: PartitionId = PartitionId(0);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A graph of one partition, which these nodes serve.
fn served_by(nodes: &[u16]) -> Placement {
    let nodes: Vec<NodeId> = nodes.iter().copied().map(NodeId).collect();
    Placement::spread(PartitionCount::new(1).unwrap(), &nodes, nodes.len())
}

fn ask_at(position: u64, patience: u64) -> Ask {
    let at = SeenLog { position: LogPosition(position), ..SeenLog::START };
    Ask { partition: PARTITION, at, patience: ms(patience), asked: vec![9; 5] }
}

/// Somebody who asks, and what they were told to do.
struct Asker {
    asking: Asking,
    placement: Placement,
    actions: Vec<AskingAction>,
}

impl Asker {
    fn new(holders: &[u16]) -> Self {
        let asking = Asking::new(OWN, AskingOptions::default());
        Self { asking, placement: served_by(holders), actions: Vec::new() }
    }

    fn ask(&mut self, now: u64, patience: u64) -> AskId {
        self.asking.ask(ms(now), ask_at(7, patience)).unwrap()
    }

    /// Whom it asks in a step, and which questions those are.
    fn asks(&mut self, now: u64) -> Vec<(u16, QuestionId)> {
        self.asking.step(ms(now), &self.placement, &mut self.actions);
        let mut sent = Vec::new();
        self.actions.retain(|action| match action {
            AskingAction::Send(node, question) => {
                sent.push((node.0, question.id));
                false
            }
            _ => true,
        });
        sent
    }

    fn asks_whom(&mut self, now: u64) -> Vec<u16> {
        self.asks(now).into_iter().map(|(node, _)| node).collect()
    }

    fn answer(&mut self, now: u64, (from, id): (u16, QuestionId)) {
        let answer = Answer { id, answered: vec![1] };
        self.asking.answered(ms(now), NodeId(from), answer, &mut self.actions);
    }

    fn refuse(&mut self, now: u64, (from, id): (u16, QuestionId), reason: RefusalReason) {
        let refusal = QuestionRefusal { id, reason };
        self.asking.refused(ms(now), NodeId(from), refusal, &mut self.actions);
    }

    fn actions(&mut self) -> Vec<AskingAction> {
        std::mem::take(&mut self.actions)
    }
}

#[test]
fn the_own_copy_is_asked_first_and_others_in_turn() {
    let mut own = Asker::new(&[2, 0, 1]);
    let mut others = Asker::new(&[1, 2, 3]);
    let mut asked = Vec::new();
    for now in 0..3 {
        own.ask(now, 100);
        others.ask(now, 100);
        assert_eq!(own.asks_whom(now), [0]);
        asked.extend(others.asks_whom(now));
    }
    asked.sort_unstable();
    assert_eq!(asked, [1, 2, 3], "each has a turn");
}

#[test]
fn a_silent_node_costs_one_wait_and_is_asked_last_until_it_answers() {
    let mut asker = Asker::new(&[0, 1]);
    let first = asker.ask(0, 1000);
    let to_own = asker.asks(0);
    assert_eq!(to_own[0].0, 0);
    assert_eq!(asker.asking.next_step_at(), Some(ms(200)));
    assert_eq!(asker.asks_whom(199), [0; 0]);
    let hedge = asker.asks(200);
    assert_eq!(hedge.iter().map(|(node, _)| *node).collect::<Vec<_>>(), [1], "another one as well");
    assert_eq!(asker.asking.suspected(ms(200)).collect::<Vec<_>>(), [NodeId(0)]);
    asker.answer(250, hedge[0]);
    let done = AskingAction::Done(first, AskOutcome::Answered(vec![1]));
    assert_eq!(asker.actions(), [AskingAction::Forget(NodeId(0), to_own[0].1), done]);
    asker.ask(300, 1000);
    let second = asker.asks(300);
    assert_eq!(second[0].0, 1, "at once, since the other was silent");
    // It was slow, not lost.
    asker.answer(310, to_own[0]);
    assert_eq!(asker.actions(), [], "nobody waits for that any more");
    asker.answer(320, second[0]);
    asker.ask(330, 1000);
    assert_eq!(asker.asks_whom(330), [0], "it is trusted again");
}

#[test]
fn when_all_are_suspected_all_are_asked_at_once_and_one_is_tried_again_after_a_while() {
    let mut asker = Asker::new(&[1, 2]);
    asker.ask(0, 500);
    assert_eq!([0, 200, 400].map(|now| asker.asks_whom(now).len()), [1, 1, 0]);
    assert_eq!(asker.asks_whom(500), [0; 0]);
    let ended = asker.actions();
    assert!(matches!(ended[..], [.., AskingAction::Done(_, AskOutcome::NotAnswered { reason: None })]));
    asker.ask(600, 500);
    assert_eq!(asker.asks_whom(600).len(), 2, "nothing is lost by it");
    asker.asks_whom(1100);
    asker.ask(6200, 500);
    assert_eq!(asker.asks_whom(6200).len(), 1, "5 s later");
}

#[test]
fn what_is_refused_goes_elsewhere_at_once_and_again_when_all_have_refused() {
    let mut asker = Asker::new(&[1, 2]);
    asker.ask(0, 1000);
    let reasons = [RefusalReason::NotKept, RefusalReason::Busy];
    let mut seen = Vec::new();
    for reason in reasons {
        let sent = asker.asks(0);
        assert_eq!(sent.len(), 1, "another one, after {seen:?}");
        seen.push(sent[0].0);
        asker.refuse(0, sent[0], reason);
    }
    seen.sort_unstable();
    assert_eq!((seen, asker.asks_whom(0)), (vec![1, 2], vec![]));
    assert_eq!(asker.asking.next_step_at(), Some(ms(20)));
    for (now, next) in [(20, 60), (60, 140)] {
        for _ in 0..2 {
            let sent = asker.asks(now);
            let failed = RefusalReason::Failed { reason: "disk".to_owned() };
            asker.refuse(now, sent[0], failed);
        }
        assert_eq!((asker.asks_whom(now), asker.asking.next_step_at()), (vec![], Some(ms(next))));
    }
    let last = asker.asks(140);
    asker.answer(141, last[0]);
    assert!(matches!(asker.actions()[..], [AskingAction::Done(_, AskOutcome::Answered(_))]));
    assert_eq!((asker.asking.count(), asker.asking.next_step_at()), (0, None));
}

#[test]
fn a_snapshot_is_too_old_if_no_holder_has_it_any_more() {
    let mut asker = Asker::new(&[1, 2]);
    let first = asker.ask(0, 9000);
    let sent = asker.asks(0);
    asker.refuse(5, sent[0], RefusalReason::TooOld);
    let other = asker.asks(5);
    assert_ne!(other[0].0, sent[0].0, "another one may have it");
    asker.refuse(9, other[0], RefusalReason::TooOld);
    assert_eq!(asker.asks_whom(9), [0; 0]);
    assert_eq!(asker.actions(), [AskingAction::Done(first, AskOutcome::TooOld)]);
    // One has it.
    asker.ask(10, 9000);
    let sent = asker.asks(10);
    asker.refuse(15, sent[0], RefusalReason::TooOld);
    let other = asker.asks(15);
    asker.answer(20, other[0]);
    assert!(matches!(asker.actions()[..], [AskingAction::Done(_, AskOutcome::Answered(_))]));
    // One is silent.
    let third = asker.ask(20, 9000);
    let sent = asker.asks(20);
    asker.refuse(25, sent[0], RefusalReason::TooOld);
    let silent = asker.asks(25);
    asker.asks(225);
    asker.asks(1025);
    let actions = asker.actions();
    let done = AskingAction::Done(third, AskOutcome::TooOld);
    assert_eq!(actions, [AskingAction::Forget(NodeId(silent[0].0), silent[0].1), done]);
}

#[test]
fn a_holder_that_lives_is_waited_for_though_the_snapshot_is_too_old_for_another_one() {
    let mut asker = Asker::new(&[1, 2]);
    let first = asker.ask(0, 9000);
    let sent = asker.asks(0);
    asker.refuse(5, sent[0], RefusalReason::TooOld);
    let working = asker.asks(5);
    for now in (250..=3000).step_by(250) {
        asker.asking.alive(ms(now), NodeId(working[0].0));
        asker.asks(now);
        assert_eq!(asker.actions(), [], "it works on the question");
    }
    asker.answer(3100, working[0]);
    let done = AskingAction::Done(first, AskOutcome::Answered(vec![1]));
    assert_eq!(asker.actions(), [done]);
    // It falls silent. The other one, which has refused, is not waited for.
    let second = asker.ask(4000, 9000);
    let refused = asker.asks(4000);
    asker.refuse(4005, refused[0], RefusalReason::TooOld);
    let silent = asker.asks(4005);
    asker.asking.alive(ms(4500), NodeId(silent[0].0));
    asker.asking.alive(ms(5400), NodeId(refused[0].0));
    asker.asks(5499);
    assert_eq!(asker.actions(), []);
    asker.asks(5500);
    let done = AskingAction::Done(second, AskOutcome::TooOld);
    assert_eq!(asker.actions(), [AskingAction::Forget(NodeId(silent[0].0), silent[0].1), done]);
}

#[test]
fn who_was_busy_for_a_moment_is_asked_again_though_another_one_is_silent() {
    let mut asker = Asker::new(&[1, 2]);
    let id = asker.ask(0, 9000);
    let busy = asker.asks(0);
    asker.refuse(0, busy[0], RefusalReason::Busy);
    let silent = asker.asks(0);
    assert_ne!(silent[0].0, busy[0].0);
    assert_eq!([199, 200].map(|now| asker.asks_whom(now).len()), [0, 0], "it may still answer");
    assert_eq!(asker.asking.next_step_at(), Some(ms(220)));
    let again = asker.asks(220);
    assert_eq!(again.iter().map(|(node, _)| *node).collect::<Vec<_>>(), [busy[0].0]);
    asker.answer(221, again[0]);
    let done = AskingAction::Done(id, AskOutcome::Answered(vec![1]));
    assert_eq!(asker.actions(), [AskingAction::Forget(NodeId(silent[0].0), silent[0].1), done]);
}

#[test]
fn who_is_busy_may_have_what_is_too_old_elsewhere() {
    let (busy, too_old) = (RefusalReason::Busy, RefusalReason::TooOld);
    for reasons in [[busy.clone(), too_old.clone()], [too_old, busy]] {
        let mut asker = Asker::new(&[1, 2]);
        asker.ask(0, 9000);
        for reason in reasons {
            let sent = asker.asks(0);
            asker.refuse(0, sent[0], reason);
        }
        assert_eq!((asker.asks_whom(0), asker.actions()), (vec![], vec![]));
        let again = asker.asks(20);
        asker.answer(21, again[0]);
        assert!(matches!(asker.actions()[..], [AskingAction::Done(_, AskOutcome::Answered(_))]));
    }
}

#[test]
fn a_holder_of_another_log_raises_one_alarm_and_others_are_asked() {
    let mut asker = Asker::new(&[1, 2]);
    let first = asker.ask(0, 9000);
    let alarm_of = |node| AskingAction::OtherLog(NodeId(node), ask_at(7, 0).at);
    let sent = asker.asks(0);
    asker.refuse(5, sent[0], RefusalReason::OtherLog);
    assert_eq!(asker.actions(), [alarm_of(sent[0].0)]);
    let other = asker.asks(5);
    asker.refuse(9, other[0], RefusalReason::OtherLog);
    asker.asks(9);
    let done = AskingAction::Done(first, AskOutcome::OtherLog);
    assert_eq!(asker.actions(), [alarm_of(other[0].0), done], "nobody has the log of this node");
    asker.ask(10, 9000);
    for _ in 0..2 {
        let sent = asker.asks(10);
        asker.refuse(10, sent[0], RefusalReason::OtherLog);
    }
    asker.asks(10);
    assert_eq!(asker.actions().len(), 1, "no second alarm");
    // A reason that passes beside it: they are asked again.
    asker.ask(20, 9000);
    for reason in [RefusalReason::OtherLog, RefusalReason::Busy] {
        let sent = asker.asks(20);
        asker.refuse(20, sent[0], reason);
    }
    assert_eq!((asker.asks_whom(20), asker.actions()), (vec![], vec![]));
    assert_eq!(asker.asks_whom(40).len(), 1);
}

#[test]
fn everything_ends_at_its_deadline() {
    let mut asker = Asker::new(&[1, 2]);
    let ended = asker.ask(0, 100);
    let sent = asker.asks(0);
    asker.refuse(50, sent[0], RefusalReason::Busy);
    let other = asker.asks(50);
    assert_eq!(asker.asking.next_step_at(), Some(ms(100)));
    asker.asks(100);
    let reason = Some(RefusalReason::Busy);
    let done = AskingAction::Done(ended, AskOutcome::NotAnswered { reason });
    let forget = AskingAction::Forget(NodeId(other[0].0), other[0].1);
    assert_eq!(asker.actions(), [forget, done], "it is over");
    asker.answer(101, other[0]);
    assert_eq!(asker.actions(), []);
    // Nobody serves the partition.
    let nobody = Ask { partition: PartitionId(9), ..ask_at(7, 30) };
    let ended = asker.asking.ask(ms(200), nobody).unwrap();
    assert_eq!(asker.asks_whom(200), [0; 0]);
    asker.asks(230);
    let done = AskingAction::Done(ended, AskOutcome::NotAnswered { reason: None });
    assert_eq!(asker.actions(), [done]);
}

#[test]
fn a_question_that_may_be_lost_is_sent_again_as_it_was() {
    let mut asker = Asker::new(&[1]);
    let id = asker.ask(0, 9000);
    let sent = asker.asks(0);
    let again: Vec<_> = [200, 999, 1000, 1999, 2000, 3999, 4000, 7999, 8000]
        .map(|now| asker.asks(now))
        .into_iter()
        .filter(|asked| !asked.is_empty())
        .collect();
    assert_eq!(again, vec![sent.clone(); 4], "at 1, 2, 4 and 8 s");
    asker.asking.unsent(ms(8001), sent[0].1);
    assert_eq!(asker.asks_whom(8001), [0; 0], "all were tried");
    let new = asker.asks(8021);
    assert_ne!(new[0].1, sent[0].1);
    asker.asking.forget(id, &mut asker.actions);
    assert_eq!(asker.actions(), [AskingAction::Forget(NodeId(1), new[0].1)]);
    assert_eq!(asker.asking.count(), 0);
}

#[test]
fn what_is_asked_at_once_is_limited() {
    let options = AskingOptions { asks_max: 2, bytes_max: 12, ..AskingOptions::default() };
    let mut asking = Asking::new(OWN, options);
    let mut actions = Vec::new();
    let first = asking.ask(ms(0), ask_at(1, 10)).unwrap();
    let large = Ask { asked: vec![0; 8], ..ask_at(1, 10) };
    assert_eq!(asking.ask(ms(0), large.clone()), Err(AskRefusal::Full), "13 bytes");
    asking.ask(ms(0), ask_at(1, 10)).unwrap();
    let none = Ask { asked: vec![], ..ask_at(1, 10) };
    assert_eq!(asking.ask(ms(0), none), Err(AskRefusal::Full), "two are open");
    asking.forget(first, &mut actions);
    assert_eq!(asking.ask(ms(0), large), Err(AskRefusal::Full));
    asking.ask(ms(0), ask_at(1, 10)).unwrap();
    let too_large = Ask { asked: vec![0; CONTENT_BYTES_MAX + 1], ..ask_at(1, 10) };
    assert_eq!(asking.ask(ms(0), too_large), Err(AskRefusal::TooLarge));
}

/// How a holder treats questions at present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mood {
    Answers,
    Silent,
    Busy,
    NotKept,
    Fails,
}

/// A node that is asked.
struct Holder {
    transport: MemoryTransport,
    mood: Mood,
    /// Snapshots before are refused as too old.
    horizon: u64,
    /// What it answers, when it has worked for a while.
    work: EventQueue<(NodeId, Frame)>,
}

impl Holder {
    fn step(&mut self, now: Duration, chance: &mut SeededChance) {
        while let Some(received) = self.transport.receive() {
            let Frame::Question(question) = received.frame else { continue };
            let reason = match self.mood {
                Mood::Silent => continue,
                _ if question.at.position.0 < self.horizon => RefusalReason::TooOld,
                Mood::Answers => {
                    let answered = question.at.position.0.to_le_bytes().to_vec();
                    let answer = Frame::Answer(Answer { id: question.id, answered });
                    self.work.plan(now + chance.up_to(ms(60)), (received.from, answer));
                    continue;
                }
                Mood::Busy => RefusalReason::Busy,
                Mood::NotKept => RefusalReason::NotKept,
                Mood::Fails => RefusalReason::Failed { reason: "disk".to_owned() },
            };
            let refusal = Frame::Refusal(QuestionRefusal { id: question.id, reason });
            self.work.plan(now, (received.from, refusal));
        }
        while let Some((_, (to, frame))) = self.work.take_due(now) {
            // What is not sent is lost: another one is asked, or the same one again.
            let _ = self.transport.send(to, &frame);
        }
    }
}

/// How holders are, by their places, and how often one changes in a tick of 5 ms.
struct Moods {
    choose: fn(&mut SeededChance, usize) -> Mood,
    change: OneIn,
}

/// Node 0 asks three others for some seconds, with some patience. What came of each ask, and after how long.
fn play(
    seed: u64,
    faults: NetworkFaults,
    moods: &Moods,
    patience: Range<u64>,
) -> Vec<(AskOutcome, Duration)> {
    let mut chance = SeededChance::new(seed);
    let network = MemoryNetwork::new(seed, faults, 50);
    let mut transport = network.connect(OWN.node);
    let mut holders = Vec::new();
    for place in 0..3 {
        let transport = network.connect(NodeId(1 + place as u16));
        let mood = (moods.choose)(&mut chance, place);
        holders.push(Holder { transport, mood, horizon: 0, work: EventQueue::default() });
    }
    let placement = served_by(&[1, 2, 3]);
    let mut asking = Asking::new(OWN, AskingOptions::default());
    let mut actions = Vec::new();
    // Each open ask, its snapshot, and when it began and ends.
    let mut open: BTreeMap<AskId, (u64, Duration, Duration)> = BTreeMap::new();
    let mut outcomes = Vec::new();
    for tick in 0..1500 {
        let now = ms(5 * tick);
        network.advance_to(now);
        for (place, holder) in holders.iter_mut().enumerate() {
            if chance.happens(moods.change) {
                holder.mood = (moods.choose)(&mut chance, place);
                holder.horizon = (tick / 2 + 20).saturating_sub(chance.below(100));
            }
            holder.step(now, &mut chance);
        }
        if tick < 600 && chance.happens(OneIn(6)) {
            let patience = patience.start + chance.below(patience.end - patience.start);
            let id = asking.ask(now, ask_at(tick / 2, patience)).unwrap();
            open.insert(id, (tick / 2, now, now + ms(patience)));
        }
        while let Some(received) = transport.receive() {
            match received.frame {
                Frame::Answer(answer) => asking.answered(now, received.from, answer, &mut actions),
                Frame::Refusal(refusal) => asking.refused(now, received.from, refusal, &mut actions),
                other => panic!("{other:?}"),
            }
        }
        asking.step(now, &placement, &mut actions);
        for action in std::mem::take(&mut actions) {
            match action {
                AskingAction::Send(node, question) => {
                    let id = question.id;
                    if transport.send(node, &Frame::Question(question)).is_err() {
                        asking.unsent(now, id);
                    }
                }
                AskingAction::Forget(..) => {}
                AskingAction::Done(id, outcome) => {
                    let ended = open.remove(&id);
                    let (position, began_at, ends_at) = ended.expect("an ask ends once");
                    assert!(now <= ends_at + ms(5), "seed {seed}: {id:?} ends too late");
                    if let AskOutcome::Answered(answered) = &outcome {
                        assert_eq!(*answered, position.to_le_bytes(), "seed {seed}: another snapshot");
                    }
                    outcomes.push((outcome, now - began_at));
                }
                AskingAction::OtherLog(..) => panic!("seed {seed}: there is one log"),
            }
        }
    }
    assert!(open.is_empty(), "seed {seed}: some never end");
    assert_eq!((asking.count(), asking.questions.count(), asking.bytes), (0, 0, 0), "seed {seed}");
    assert!(asking.due.is_empty() && asking.of_question.is_empty(), "seed {seed}");
    outcomes
}

fn any_mood(chance: &mut SeededChance, _: usize) -> Mood {
    let moods =
        [Mood::Answers, Mood::Answers, Mood::Answers, Mood::Silent, Mood::Busy, Mood::NotKept, Mood::Fails];
    moods[chance.below(moods.len() as u64) as usize]
}

/// One of the three always answers; the others are silent, or refuse.
fn one_answers(chance: &mut SeededChance, place: usize) -> Mood {
    match place {
        0 => Mood::Answers,
        _ => [Mood::Silent, Mood::Busy, Mood::NotKept, Mood::Fails][chance.below(4) as usize],
    }
}

#[test]
fn whoever_asks_over_a_bad_network_gets_one_outcome_in_time_and_never_that_of_another_snapshot() {
    let (mut answered, mut too_old, mut not_answered) = (0, 0, 0);
    for seed in 0..40 {
        let mut chance = SeededChance::new(seed);
        let often = |chance: &mut SeededChance| OneIn(chance.below(10) as u32);
        let faults = NetworkFaults {
            delay_max: ms(chance.below(60)),
            lost: often(&mut chance),
            doubled: often(&mut chance),
            late: often(&mut chance),
        };
        let moods = Moods { choose: any_mood, change: OneIn(60) };
        for (outcome, _) in play(seed, faults, &moods, 50..3000) {
            match outcome {
                AskOutcome::Answered(_) => answered += 1,
                AskOutcome::TooOld => too_old += 1,
                AskOutcome::NotAnswered { .. } => not_answered += 1,
                AskOutcome::OtherLog => panic!("seed {seed}: there is one log"),
            }
        }
    }
    println!("{answered} answered, {too_old} too old, {not_answered} not answered");
    assert!(answered > 1000 && too_old > 10 && not_answered > 10, "something hardly ever happened");
}

#[test]
fn while_one_holder_answers_everything_is_answered_and_a_lost_one_is_waited_for_once() {
    for seed in 0..20 {
        let faults = NetworkFaults { delay_max: ms(5), ..NetworkFaults::default() };
        let moods = Moods { choose: one_answers, change: OneIn(0) };
        // Enough for two that are silent, one after the other.
        let outcomes = play(seed, faults, &moods, 1000..1001);
        let is_answered = |outcome: &AskOutcome| matches!(outcome, AskOutcome::Answered(_));
        assert!(
            outcomes.iter().all(|(outcome, _)| is_answered(outcome)),
            "seed {seed}: some are not answered"
        );
        let slow = outcomes.iter().filter(|(_, waited)| *waited > ms(200)).count();
        let all = outcomes.len();
        assert!(all > 50 && slow * 4 <= all, "seed {seed}: {slow} of {all} waited for silent nodes");
    }
}

#[test]
fn planted_bugs_are_found() {
    let silent = a_silent_node_costs_one_wait_and_is_asked_last_until_it_answers;
    let refused = what_is_refused_goes_elsewhere_at_once_and_again_when_all_have_refused;
    let answered = while_one_holder_answers_everything_is_answered_and_a_lost_one_is_waited_for_once;
    assert_found(Bug::OneHolderAsked, silent, "another one as well");
    assert_found(Bug::SilenceForgotten, answered, "waited for silent nodes");
    assert_found(Bug::RefusalFinal, refused, "another one, after");
    assert_found(Bug::RefusalFinal, answered, "some are not answered");
    assert_found(Bug::OneHolderAsked, answered, "some are not answered");
    let living = a_holder_that_lives_is_waited_for_though_the_snapshot_is_too_old_for_another_one;
    assert_found(Bug::WorkingHolderLeft, living, "it works on the question");
    assert_found(Bug::AskEndless, everything_ends_at_its_deadline, "it is over");
}
