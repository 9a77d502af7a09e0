//! Answer workers: what becomes of questions whose work a test begins and ends.

use super::*;
use crate::planted::assert_found;
use crate::record_id::{Author, NodeId};
use crate::remote::view_question::{ViewQuestion, ViewQuestions};
use evergraph_graph::id::{GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::newest::NewestEdges;
use evergraph_storage::io::clock::ManualClock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Wake;

/// Far more than anything here takes.
pub(super) const LONG: Duration = Duration::from_secs(60);

/// The thread of the node hears that there is something.
struct Bell(Sender<()>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // Whoever listened may have gone.
        let _ = self.0.send(());
    }
}

pub(super) struct Desk {
    pub(super) workers: AnswerWorkers,
    pub(super) clock: Arc<ManualClock>,
    pub(super) rung: Receiver<()>,
}

/// Work that says when it begins, and goes on when it is told to.
struct HeldWork {
    begun: Receiver<()>,
    go_on: Sender<()>,
}

fn id(number: u64) -> QuestionId {
    id_of(3, number)
}

pub(super) fn id_of(node: u16, number: u64) -> QuestionId {
    QuestionId { asker: Author { node: NodeId(node), incarnation: 0 }, number }
}

/// A message of one question.
pub(super) fn message(question: &ViewQuestion) -> Vec<u8> {
    ViewQuestions::encode(1 << 20, std::iter::once(question))
}

/// A message that is answered by a few looks.
pub(super) fn short_message() -> Vec<u8> {
    message(&ViewQuestion::Labels { vertices: vec![VertexId(0)] })
}

impl Desk {
    fn new(threads: usize, waiting_max: usize, answers_bytes_max: usize) -> Self {
        let asker_waiting_max = waiting_max;
        Self::with(AnswerWorkersOptions { threads, waiting_max, asker_waiting_max, answers_bytes_max })
    }

    pub(super) fn with(options: AnswerWorkersOptions) -> Self {
        let (bell, rung) = channel();
        let clock = Arc::new(ManualClock::new(0));
        let waker = Waker::from(Arc::new(Bell(bell)));
        let workers = AnswerWorkers::start("node-0", options, Arc::clone(&clock) as Arc<dyn Clock>, waker);
        Self { workers: workers.expect("the system has a few threads"), clock, rung }
    }

    fn begin(&self, number: u64, work: impl FnOnce(CheckTime<'_>) -> Result<Vec<u8>> + Send + 'static) {
        self.begin_message(id(number), short_message(), work);
    }

    fn begin_message(
        &self,
        id: QuestionId,
        asked: Vec<u8>,
        work: impl FnOnce(CheckTime<'_>) -> Result<Vec<u8>> + Send + 'static,
    ) {
        let work = Box::new(move |_: &[u8], check_time: CheckTime<'_>| work(check_time));
        self.workers.begin_work(WaitingWork { id, ends_at: Duration::from_secs(9), asked, work });
    }

    /// Begins work that answers with one byte once it goes on, unless nobody waits for it by then.
    fn begin_held(&self, number: u64) -> HeldWork {
        self.begin_held_message(number, short_message())
    }

    fn begin_held_message(&self, number: u64, asked: Vec<u8>) -> HeldWork {
        let ((begins, begun), (go_on, goes_on)) = (channel(), channel());
        self.begin_message(id(number), asked, move |check_time| {
            // The test may have gone.
            let _ = begins.send(());
            let _ = goes_on.recv();
            check_time()?;
            Ok(vec![number as u8])
        });
        HeldWork { begun, go_on }
    }

    /// Waits for the next answer.
    fn next(&self) -> (u64, Answered) {
        loop {
            if let Some((id, answered)) = self.workers.take_answer() {
                return (id.number, answered);
            }
            self.rung.recv_timeout(LONG).expect("the bell rings for each answer");
        }
    }
}

impl HeldWork {
    fn has_begun(&self) {
        self.begun.recv_timeout(LONG).expect("a worker is free");
    }

    fn go_on(&self) {
        self.go_on.send(()).expect("the work waits");
    }
}

#[test]
fn every_question_is_answered_once_and_more_than_may_wait_are_busy() {
    let desk = Desk::new(1, 2, 1 << 20);
    let held = desk.begin_held(1);
    held.has_begun();
    (2..=5).for_each(|number| desk.begin(number, move |_| Ok(vec![number as u8; 3])));
    assert_eq!(desk.workers.count(), (2, 1));
    let busy = [desk.next(), desk.next()];
    assert_eq!(busy, [4, 5].map(|number| (number, Err(RefusalReason::Busy))));
    held.go_on();
    let answered = [desk.next(), desk.next(), desk.next()];
    assert_eq!(answered, [(1, Ok(vec![1])), (2, Ok(vec![2; 3])), (3, Ok(vec![3; 3]))]);
    assert_eq!((desk.workers.take_answer(), desk.workers.count()), (None, (0, 0)));
}

#[test]
fn one_asker_neither_fills_the_queue_nor_goes_before_all_others() {
    let (waiting_max, asker_waiting_max) = (9, 3);
    let options = AnswerWorkersOptions { threads: 1, waiting_max, asker_waiting_max, answers_bytes_max: 99 };
    let desk = Desk::with(options);
    let begin = |node, number| desk.begin_message(id_of(node, number), short_message(), |_| Ok(Vec::new()));
    let held = desk.begin_held(1);
    held.has_begun();
    (2..=5).for_each(|number| begin(3, number));
    (6..=7).for_each(|number| begin(4, number));
    begin(2, 8);
    assert_eq!(desk.workers.count(), (6, 1), "a fourth of node 3 waits");
    assert_eq!(desk.next(), (5, Err(RefusalReason::Busy)));
    desk.workers.forget_work(id(3));
    assert_eq!(desk.next(), (3, Err(RefusalReason::TooLate)));
    begin(3, 9);
    assert_eq!(desk.workers.count(), (6, 1), "there is room again");
    held.go_on();
    let order: Vec<_> = (0..7).map(|_| desk.next().0).collect();
    assert_eq!(order, [1, 6, 8, 2, 7, 4, 9], "in turn");
    assert_eq!(desk.workers.count(), (0, 0));
}

#[test]
fn one_asker_leaves_a_thread_for_others_however_long_its_questions_take() {
    let desk = Desk::new(3, 9, 1 << 20);
    let long: Vec<_> = (1..=3).map(|number| desk.begin_held(number)).collect();
    long[..2].iter().for_each(HeldWork::has_begun);
    assert!(long[2].begun.recv_timeout(Duration::from_millis(50)).is_err(), "node 3 has all threads");
    desk.begin_message(id_of(4, 4), short_message(), |_| Ok(vec![4]));
    assert_eq!(desk.next(), (4, Ok(vec![4])));
    long[0].go_on();
    long[2].has_begun();
    assert_eq!(desk.next(), (1, Ok(vec![1])));
    long[1..].iter().for_each(HeldWork::go_on);
    let mut rest = [desk.next().0, desk.next().0];
    rest.sort_unstable();
    assert_eq!((rest, desk.workers.count()), ([2, 3], (0, 0)));
}

#[test]
fn what_is_forgotten_stops_and_what_has_not_begun_never_does() {
    let desk = Desk::new(1, 9, 1 << 20);
    let held = desk.begin_held(1);
    held.has_begun();
    desk.begin(2, |_| panic!("it begins"));
    [2, 1, 7].into_iter().for_each(|number| desk.workers.forget_work(id(number)));
    held.go_on();
    let answered = [desk.next(), desk.next()];
    assert_eq!(
        answered,
        [2, 1].map(|number| (number, Err(RefusalReason::TooLate))),
        "forgotten work goes on"
    );
}

#[test]
fn work_ends_with_the_patience_of_its_asker() {
    let desk = Desk::new(1, 9, 1 << 20);
    let held = desk.begin_held(1);
    held.has_begun();
    desk.begin(2, |_| panic!("it begins"));
    desk.clock.advance(Duration::from_secs(9));
    held.go_on();
    let answered = [desk.next(), desk.next()];
    assert_eq!(answered, [1, 2].map(|number| (number, Err(RefusalReason::TooLate))));
}

#[test]
fn a_panic_and_an_error_end_one_question_and_no_thread() {
    let desk = Desk::new(1, 9, 1 << 20);
    desk.begin(1, |_| panic!("on purpose"));
    desk.begin(2, |_| Err(Error::conflict("merged away")));
    desk.begin(3, |_| Err(Error::invalid("another partition")));
    desk.begin(4, |_| Ok(vec![4]));
    let failed = |reason: &str| Err(RefusalReason::Failed { reason: reason.to_owned() });
    assert_eq!(desk.next(), (1, failed("the work on the answer panicked")));
    assert_eq!(desk.next(), (2, Err(RefusalReason::TooOld)));
    assert_eq!(desk.next(), (3, failed("another partition")));
    assert_eq!(desk.next(), (4, Ok(vec![4])));
}

#[test]
fn nothing_begins_while_too_many_bytes_of_answers_are_not_taken() {
    let desk = Desk::new(1, 9, 10);
    desk.begin(1, |_| Ok(vec![1; 10]));
    desk.rung.recv_timeout(LONG).expect("it is answered");
    let held = desk.begin_held(2);
    assert!(held.begun.recv_timeout(Duration::from_millis(50)).is_err(), "there is no room for its answer");
    assert_eq!(desk.next(), (1, Ok(vec![1; 10])));
    held.has_begun();
    held.go_on();
    assert_eq!(desk.next(), (2, Ok(vec![2])));
}

#[test]
fn the_end_stops_work_and_drops_what_waits() {
    // Two of which are for one asker.
    let desk = Desk::new(3, 9, 1 << 20);
    let ((begins, begun), (held_by_work, dropped)) = (channel(), channel::<()>());
    for number in 1..=2 {
        let begins = begins.clone();
        desk.begin(number, move |check_time| {
            begins.send(()).expect("the test waits");
            while check_time().is_ok() {
                evergraph_storage::sync::thread::yield_now();
            }
            Ok(Vec::new())
        });
        begun.recv_timeout(LONG).expect("a worker is free");
    }
    desk.begin(3, move |_| {
        drop(held_by_work);
        Ok(Vec::new())
    });
    drop(desk);
    assert!(dropped.try_recv().is_err_and(|error| error == std::sync::mpsc::TryRecvError::Disconnected));
}

#[test]
fn answers_of_questions_that_wait_together_are_told_once() {
    let desk = Desk::new(1, 20, 1 << 20);
    let held = desk.begin_held(1);
    held.has_begun();
    (2..=12).for_each(|number| desk.begin(number, move |_| Ok(vec![number as u8])));
    held.go_on();
    desk.rung.recv_timeout(LONG).expect("the bell rings for the last of them");
    let answered: Vec<_> = std::iter::from_fn(|| desk.workers.take_answer()).collect();
    let all = Vec::from_iter((1..=12).map(|number| (id(number), Ok(vec![number as u8]))));
    assert_eq!(answered, all, "the bell rings before the last of them");
    assert!(desk.rung.recv_timeout(Duration::from_millis(30)).is_err(), "the bell rings again");
}

#[test]
fn an_answer_does_not_wait_for_a_long_question_behind_it() {
    let desk = Desk::new(1, 9, 1 << 20);
    let first = desk.begin_held(1);
    first.has_begun();
    let ((looks, looked), (go_on, goes_on)) = (channel(), channel());
    desk.begin(2, move |check_time| {
        while goes_on.recv().is_ok() {
            check_time()?;
            looks.send(()).expect("the test waits");
        }
        Ok(vec![2])
    });
    first.go_on();
    let look = || {
        go_on.send(()).expect("the work goes on");
        looked.recv_timeout(LONG).expect("it looks at the clock");
    };
    look();
    assert!(desk.rung.try_recv().is_err(), "it is told at once");
    desk.clock.advance(TELL_AFTER);
    look();
    assert!(desk.rung.try_recv().is_ok(), "the first answer waits for the second");
    assert_eq!(desk.workers.take_answer(), Some((id(1), Ok(vec![1]))));
    look();
    assert!(desk.rung.try_recv().is_err(), "it is told twice");
    drop(go_on);
    assert_eq!(desk.next(), (2, Ok(vec![2])));
}

/// The clock stands still, and the work on the question does not look at it.
#[test]
fn an_answer_is_told_before_a_question_that_looks_at_the_clock_late() {
    let newest = NewestEdges::new(VertexId(0), TypeId(0), KeyId(0));
    for question in [
        ViewQuestion::IndexSizes,
        ViewQuestion::Newest { asked: newest, after: None, limit: 1, keys: Vec::new() },
        ViewQuestion::Groups { groups: vec![GroupId(0)] },
        ViewQuestion::Labels { vertices: (0..4096).map(VertexId).collect() },
    ] {
        let desk = Desk::new(1, 9, 1 << 20);
        let first = desk.begin_held(1);
        first.has_begun();
        let short = desk.begin_held(2);
        let long = desk.begin_held_message(3, message(&question));
        first.go_on();
        short.has_begun();
        assert!(desk.rung.try_recv().is_err(), "an answer is told before a short question");
        short.go_on();
        long.has_begun();
        assert!(desk.rung.try_recv().is_ok(), "answers wait for {question:?}");
        assert!(desk.rung.try_recv().is_err(), "they are told twice");
        let told = || std::iter::from_fn(|| desk.workers.take_answer()).collect::<Vec<_>>();
        assert_eq!(told(), [1, 2].map(|number| (id(number), Ok(vec![number as u8]))));
        desk.clock.advance(TELL_AFTER);
        long.go_on();
        desk.rung.recv_timeout(LONG).expect("the bell rings for the long one");
        assert_eq!(told(), [(id(3), Ok(vec![3]))], "it rings for those that were told");
    }
}

/// Workers call each other, one by one: each that a question waits for is called.
#[test]
fn each_thread_is_called_while_questions_wait() {
    let desk = Desk::new(4, 9, 1 << 20);
    for round in 0..50 {
        let held: Vec<_> = (1..=3).map(|number| desk.begin_held(3 * round + number)).collect();
        held.iter().for_each(HeldWork::has_begun);
        held.iter().for_each(HeldWork::go_on);
        let mut answered: Vec<_> = held.iter().map(|_| desk.next().0).collect();
        answered.sort_unstable();
        assert_eq!(answered, Vec::from_iter(3 * round + 1..=3 * round + 3));
    }
}

#[test]
fn planted_bugs_are_found() {
    let held_back = an_answer_does_not_wait_for_a_long_question_behind_it;
    assert_found(Bug::AnswersHeldBack, held_back, "the first answer waits for the second");
    let before_long = an_answer_is_told_before_a_question_that_looks_at_the_clock_late;
    assert_found(Bug::LongQuestionFirst, before_long, "answers wait for IndexSizes");
    let together = answers_of_questions_that_wait_together_are_told_once;
    assert_found(Bug::EachAnswerTold, together, "the bell rings");
    let forgotten = what_is_forgotten_stops_and_what_has_not_begun_never_does;
    assert_found(Bug::ForgottenWorkGoesOn, forgotten, "forgotten work goes on");
    let asker = one_asker_neither_fills_the_queue_nor_goes_before_all_others;
    assert_found(Bug::AskerUnlimited, asker, "a fourth of node 3 waits");
    let threads = one_asker_leaves_a_thread_for_others_however_long_its_questions_take;
    assert_found(Bug::AskerTakesAllThreads, threads, "node 3 has all threads");
}
