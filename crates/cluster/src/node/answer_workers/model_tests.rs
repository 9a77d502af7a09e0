//! Answer workers beside a model: calls from a seed, and after each of them all that waits, works and is answered.
//!
//! Threads work, but what they do is certain: work goes on when the test lets it, and the next call comes when the workers have
//! done what the model says.

use super::tests::{Desk, LONG, id_of, message, short_message};
use super::*;
use crate::planted::assert_found;
use crate::remote::view_question::ViewQuestion;
use crate::seeded::{OneIn, SeededChance};
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::park_timeout;

const SEEDS: u64 = 120;
const CALLS: usize = 100;
const ASKERS: [u16; 3] = [1, 2, 3];
/// A few answers of those that [`Outcome::random`] makes.
const ANSWERS_BYTES_MAX: usize = 12;
/// How long the test waits for the next look at a state, and how often.
const LOOK_INTERVAL: Duration = Duration::from_micros(20);
const LOOKS_MAX: u32 = 500_000;

/// What becomes of work that nobody stops.
#[derive(Clone, Copy)]
enum Outcome {
    Answer { bytes: usize },
    Conflict,
    Invalid,
    Panic,
}

/// A question of the model, which waits or is worked on.
struct ModelQuestion {
    id: QuestionId,
    ends_at: Duration,
    is_long: bool,
    outcome: Outcome,
    /// Whether its work looks at the clock before it ends.
    looks: bool,
    is_forgotten: bool,
    /// Lets the work go on; dropped, it waits for the end of the workers.
    go_on: Sender<()>,
}

/// What the workers have to do.
struct Model {
    options: AnswerWorkersOptions,
    asker_threads_max: usize,
    now: Duration,
    /// As they came.
    waiting: Vec<ModelQuestion>,
    working: Vec<ModelQuestion>,
    answers: VecDeque<(QuestionId, Answered)>,
    served: Option<NodeId>,
    /// Whether the thread of the node was woken for all of `answers`.
    is_told: bool,
}

/// How often something happened that a test without it would not show.
#[derive(Debug, Default)]
struct Occurrences {
    answered: u32,
    busy: u32,
    too_late: u32,
    too_old: u32,
    failed: u32,
    full: u32,
    closed_at_work: u32,
}

/// Workers and their model. What work waits for is dropped before the workers, which wait for work.
struct Calls {
    chance: SeededChance,
    model: Model,
    asked: BTreeMap<u16, u64>,
    taken: BTreeSet<QuestionId>,
    begins: Sender<QuestionId>,
    begun: Receiver<QuestionId>,
    /// Each work that is not dropped has another one.
    work_mark: Arc<()>,
    desk: Desk,
}

impl Outcome {
    fn random(chance: &mut SeededChance) -> Self {
        match chance.below(8) {
            0 => Self::Conflict,
            1 => Self::Invalid,
            2 => Self::Panic,
            _ => Self::Answer { bytes: chance.below(9) as usize },
        }
    }

    /// What the work makes of it.
    fn work(self, id: QuestionId) -> Result<Vec<u8>> {
        match self {
            Self::Answer { bytes } => Ok(content(id, bytes)),
            Self::Conflict => Err(Error::conflict("merged away")),
            Self::Invalid => Err(Error::invalid("another partition")),
            Self::Panic => panic!("on purpose"),
        }
    }

    /// What its asker hears.
    fn heard(self, id: QuestionId) -> Answered {
        let failed = |reason: &str| Err(RefusalReason::Failed { reason: reason.to_owned() });
        match self {
            Self::Answer { bytes } => Ok(content(id, bytes)),
            Self::Conflict => Err(RefusalReason::TooOld),
            Self::Invalid => failed("another partition"),
            Self::Panic => failed("the work on the answer panicked"),
        }
    }
}

/// An answer that says whose it is: asker and number, again and again.
fn content(id: QuestionId, bytes: usize) -> Vec<u8> {
    [id.asker.node.0 as u8, id.number as u8].into_iter().cycle().take(bytes).collect()
}

impl Model {
    fn answers_bytes(&self) -> usize {
        self.answers.iter().map(|(_, answered)| answered.as_ref().map_or(0, Vec::len)).sum()
    }

    fn waiting_of(&self, asker: NodeId) -> usize {
        self.waiting.iter().filter(|question| question.id.asker.node == asker).count()
    }

    fn has_room(&self, asker: NodeId) -> bool {
        self.waiting.len() < self.options.waiting_max
            && self.waiting_of(asker) < self.options.asker_waiting_max
    }

    /// Whose turn it is: of askers by number, from behind the one that was served last.
    fn next_asker(&self) -> Option<NodeId> {
        let threads_of =
            |asker: NodeId| self.working.iter().filter(|question| question.id.asker.node == asker).count();
        let mut askers = ASKERS.map(NodeId);
        askers.sort_by_key(|asker| (self.served.is_some_and(|served| *asker <= served), *asker));
        let may_begin =
            |asker: &NodeId| self.waiting_of(*asker) > 0 && threads_of(*asker) < self.asker_threads_max;
        askers.into_iter().find(may_begin)
    }

    /// The next question that a free worker takes.
    fn take_next(&mut self) -> Option<ModelQuestion> {
        let is_busy = self.working.len() == self.options.threads;
        if is_busy || self.answers_bytes() >= self.options.answers_bytes_max {
            return None;
        }
        let asker = self.next_asker()?;
        self.served = Some(asker);
        let at = self.waiting.iter().position(|question| question.id.asker.node == asker)?;
        Some(self.waiting.remove(at))
    }

    fn put(&mut self, id: QuestionId, answered: Answered) {
        self.answers.push_back((id, answered));
        self.is_told = false;
    }

    /// Whether the thread of the node has to know of the answers: what is worked on is long, if anything is.
    fn must_tell(&self) -> bool {
        !self.answers.is_empty() && self.working.iter().all(|question| question.is_long)
    }
}

impl Calls {
    fn new(seed: u64) -> Self {
        let mut chance = SeededChance::new(seed);
        let threads = 1 + chance.below(3) as usize;
        let asker_waiting_max = 2 + chance.below(3) as usize;
        let waiting_max = asker_waiting_max + 2;
        let answers_bytes_max = ANSWERS_BYTES_MAX;
        let options = AnswerWorkersOptions { threads, waiting_max, asker_waiting_max, answers_bytes_max };
        let model = Model {
            options,
            asker_threads_max: if threads == 1 { 1 } else { threads - 1 },
            now: Duration::ZERO,
            waiting: Vec::new(),
            working: Vec::new(),
            answers: VecDeque::new(),
            served: None,
            is_told: false,
        };
        let (asked, taken, work_mark) = (BTreeMap::new(), BTreeSet::new(), Arc::new(()));
        let ((begins, begun), desk) = (channel(), Desk::with(options));
        Self { chance, model, asked, taken, begins, begun, work_mark, desk }
    }

    fn any_asker(&mut self) -> u16 {
        ASKERS[self.chance.below(ASKERS.len() as u64) as usize]
    }

    /// Any call.
    fn call(&mut self, seen: &mut Occurrences) {
        match self.chance.below(24) {
            0..9 => self.begin(seen),
            9..15 => self.go_on(),
            15..21 => _ = self.take_answer(seen),
            21 | 22 => {
                let asker = self.any_asker();
                // Also of what was answered, and of what comes next.
                let number = 1 + self.chance.below(self.asked.get(&asker).map_or(0, |asked| *asked) + 1);
                self.forget(id_of(asker, number));
            }
            _ if self.chance.happens(OneIn(2)) => {
                let asker = self.any_asker();
                let asked = self.asked.get(&asker).map_or(0, |asked| *asked);
                (1..=asked).for_each(|number| self.forget(id_of(asker, number)));
            }
            // Which of two workers finds first that something is too late is not certain.
            _ if self.model.options.threads == 1 => {
                let passed = Duration::from_secs(1);
                self.desk.clock.advance(passed);
                self.model.now += passed;
            }
            _ => {}
        }
        self.settle();
        seen.full += u32::from(self.model.answers_bytes() >= self.model.options.answers_bytes_max);
    }

    fn begin(&mut self, seen: &mut Occurrences) {
        let asker = self.any_asker();
        let number = self.asked.entry(asker).or_default();
        *number += 1;
        let id = id_of(asker, *number);
        let (outcome, looks) = (Outcome::random(&mut self.chance), self.chance.happens(OneIn(2)));
        let ends_at = self.model.now + Duration::from_secs(1 + self.chance.below(6));
        let is_long = self.chance.happens(OneIn(3));
        let asked = if is_long { message(&ViewQuestion::IndexSizes) } else { short_message() };
        let ((go_on, goes_on), begins) = (channel(), self.begins.clone());
        let mark = Arc::clone(&self.work_mark);
        let expected_message = asked.clone();
        let work = move |asked: &[u8], check_time: CheckTime<'_>| {
            let mut mark = Some(mark);
            assert_eq!(asked, expected_message);
            // The test may have failed.
            let _ = begins.send(id);
            if goes_on.recv().is_err() {
                // The workers are about to end, and stop it. Else its mark stays, and the test finds that.
                let is_stopped = (0..LOOKS_MAX).any(|_| {
                    park_timeout(LOOK_INTERVAL);
                    check_time().is_err()
                });
                if !is_stopped {
                    std::mem::forget(mark.take());
                }
            }
            if looks {
                check_time()?;
            }
            outcome.work(id)
        };
        self.desk.workers.begin_work(WaitingWork { id, ends_at, asked, work: Box::new(work) });
        let is_busy = !self.model.has_room(id.asker.node);
        let refused = (id, Err(RefusalReason::Busy));
        let was_refused = self.desk.workers.shared.state.lock().answers.back() == Some(&refused);
        assert_eq!(was_refused, is_busy, "refused as busy, unlike the model: {id:?}");
        if is_busy {
            seen.busy += 1;
            return self.model.put(refused.0, refused.1);
        }
        let is_forgotten = false;
        let question = ModelQuestion { id, ends_at, is_long, outcome, looks, is_forgotten, go_on };
        self.model.waiting.push(question);
    }

    /// Lets any work end.
    fn go_on(&mut self) {
        if self.model.working.is_empty() {
            return;
        }
        let at = self.chance.below(self.model.working.len() as u64) as usize;
        let question = self.model.working.remove(at);
        let ModelQuestion { id, ends_at, outcome, looks, is_forgotten, go_on, .. } = question;
        let stops = looks && (is_forgotten || self.model.now >= ends_at);
        self.model.put(id, if stops { Err(RefusalReason::TooLate) } else { outcome.heard(id) });
        go_on.send(()).expect("the work waits");
    }

    fn forget(&mut self, id: QuestionId) {
        self.desk.workers.forget_work(id);
        if let Some(question) = self.model.working.iter_mut().find(|question| question.id == id) {
            question.is_forgotten = true;
        }
        let Some(at) = self.model.waiting.iter().position(|question| question.id == id) else { return };
        self.model.waiting.remove(at);
        let refused = (id, Err(RefusalReason::TooLate));
        let was_refused = self.desk.workers.shared.state.lock().answers.contains(&refused);
        assert!(was_refused, "forgotten, and waits on, unlike the model: {id:?}");
        self.model.put(refused.0, refused.1);
    }

    /// Takes an answer, which is the one that the model has; whether there was one.
    fn take_answer(&mut self, seen: &mut Occurrences) -> bool {
        let found = self.desk.workers.take_answer();
        assert_eq!(found, self.model.answers.pop_front(), "unlike the model");
        let Some((id, answered)) = found else { return false };
        assert!(self.taken.insert(id), "{id:?} is answered twice");
        *match answered {
            Ok(_) => &mut seen.answered,
            Err(RefusalReason::TooLate) => &mut seen.too_late,
            Err(RefusalReason::TooOld) => &mut seen.too_old,
            Err(RefusalReason::Failed { .. }) => &mut seen.failed,
            // Counted as it is refused.
            Err(_) => return true,
        } += 1;
        true
    }

    /// Waits until the workers have done what they do in the model.
    fn settle(&mut self) {
        let mut begins = BTreeSet::new();
        while let Some(question) = self.model.take_next() {
            if self.model.now >= question.ends_at {
                self.model.put(question.id, Err(RefusalReason::TooLate));
            } else {
                begins.insert(question.id);
                self.model.working.push(question);
            }
        }
        let count = begins.len();
        let begun =
            (0..count).map(|_| self.begun.recv_timeout(LONG).expect("a free worker takes what waits"));
        assert_eq!(begun.collect::<BTreeSet<_>>(), begins, "they begin, unlike the model");
        let mut looks = 0;
        while !self.agrees() {
            if let Ok(id) = self.begun.try_recv() {
                panic!("{id:?} begins, unlike the model");
            }
            looks += 1;
            self.model.is_told |= self.desk.rung.recv_timeout(LOOK_INTERVAL).is_ok();
            assert!(looks < LOOKS_MAX, "it stays unlike the model: {}", self.difference());
        }
        assert_eq!(self.begun.try_recv().ok(), None, "it begins, unlike the model");
        self.model.is_told |= self.desk.rung.try_iter().count() > 0;
        if self.model.must_tell() && !self.model.is_told {
            self.desk.rung.recv_timeout(LONG).expect("the bell rings for answers that wait");
            self.model.is_told = true;
        }
    }

    /// Whether the state of the workers is that of the model.
    fn agrees(&self) -> bool {
        let state = self.desk.workers.shared.state.lock();
        let waiting_of = |asker: &u16| {
            let of_model = self.model.waiting.iter().map(|question| question.id);
            let of_model = of_model.filter(|id| id.asker.node.0 == *asker);
            let found = state.waiting.askers.get(&NodeId(*asker)).into_iter().flatten();
            found.map(|waiting| waiting.id).eq(of_model)
        };
        let working: BTreeSet<_> = self.model.working.iter().map(|question| question.id).collect();
        ASKERS.iter().all(waiting_of)
            && state.waiting.count == self.model.waiting.len()
            && state.working.keys().eq(&working)
            && state.answers == self.model.answers
            && state.answers_bytes == self.model.answers_bytes()
            // Work and its snapshot have gone before its answer is there.
            && Arc::strong_count(&self.work_mark) == 1 + state.waiting.count + state.working.len()
    }

    fn difference(&self) -> String {
        let state = self.desk.workers.shared.state.lock();
        let (waiting, working) = (self.model.waiting.len(), self.model.working.len());
        format!(
            "{} wait, {} are worked on, answers are {:?} of {} bytes; not {waiting}, {working}, {:?} of {}",
            state.waiting.count,
            state.working.len(),
            state.answers,
            state.answers_bytes,
            self.model.answers,
            self.model.answers_bytes(),
        )
    }

    /// Lets all work end, and takes all answers: each question has one.
    fn drain(mut self, seen: &mut Occurrences) {
        loop {
            let has_answer = self.take_answer(seen);
            self.settle();
            if !has_answer && self.model.working.is_empty() {
                break;
            }
            self.go_on();
            self.settle();
        }
        let all = self.asked.iter();
        let all = all.flat_map(|(asker, asked)| (1..=*asked).map(|number| id_of(*asker, number)));
        assert_eq!(self.taken, all.collect::<BTreeSet<_>>());
        assert_eq!(self.desk.workers.count(), (0, 0));
        let state = self.desk.workers.shared.state.lock();
        assert_eq!((state.answers_bytes, state.answers.len()), (0, 0));
        assert!(state.waiting.askers.is_empty() && state.waiting.working.is_empty());
    }

    /// Ends the workers while questions wait and are worked on: each work goes, whether it has begun or not.
    fn close(self, seen: &mut Occurrences) {
        let Self { model, work_mark, desk, .. } = self;
        let Model { working, waiting, .. } = model;
        seen.closed_at_work += u32::from(!working.is_empty() && !waiting.is_empty());
        drop((working, waiting));
        drop(desk);
        assert_eq!(Arc::strong_count(&work_mark), 1, "work is left");
    }
}

fn run(seed: u64, seen: &mut Occurrences) {
    // Shown if the test fails.
    println!("seed {seed}");
    let mut calls = Calls::new(seed);
    for _ in 0..CALLS {
        calls.call(seen);
    }
    match seed % 3 {
        0 => calls.close(seen),
        _ => calls.drain(seen),
    }
}

#[test]
fn every_question_of_random_calls_is_answered_once_and_as_the_model_says() {
    let mut seen = Occurrences::default();
    (0..SEEDS).for_each(|seed| run(seed, &mut seen));
    let Occurrences { answered, busy, too_late, too_old, failed, full, closed_at_work } = seen;
    let often = [answered, busy, too_late, too_old, failed, full, closed_at_work];
    assert!(often.iter().all(|times| *times >= 10), "something hardly ever happens: {seen:?}");
}

#[test]
fn planted_bugs_are_found() {
    let any = every_question_of_random_calls_is_answered_once_and_as_the_model_says;
    assert_found(Bug::AskerUnlimited, any, "refused as busy");
    assert_found(Bug::AskerTakesAllThreads, any, "unlike the model");
    assert_found(Bug::ForgottenWorkGoesOn, any, "forgotten, and waits on");
}
