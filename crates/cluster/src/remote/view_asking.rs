//! View asking: questions of a view as messages, one a partition at a time, until each is answered whole.
//!
//! ```text
//! questions   p0: labels of 3    p2: list    p0: values of 9000
//!                 └───────┬──────────│──────────────┘
//! messages         to p0: two      to p2: one          asked at once, and waited for together
//! answers          3, and 4100     a page
//! messages         to p0: values of the other 4900     ...
//! ```
//!
//! Lists, maps and what an index finds come in pages, which whoever asked goes through: a question about them is answered when
//! each has a page.

use crate::remote::partition_view::PartitionView;
use crate::remote::question::CONTENT_BYTES_MAX;
use crate::remote::view_answer::{ViewAnswer, decode_answers};
use crate::remote::view_question::{MESSAGE_ITEMS_MAX, MESSAGE_QUESTIONS_MAX, ViewQuestion, ViewQuestions};
use evergraph_graph::bytes::DecodeError;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::PartitionId;
use evergraph_graph::travel::Travels;
use evergraph_storage::snapshot::index_entries::CheckTime;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Items that a question is about, at most: a message has room for some of these.
pub const QUESTION_ITEMS_MAX: usize = MESSAGE_ITEMS_MAX / 8;
/// Bytes from which on a message takes no more questions.
const MESSAGE_BYTES: usize = 1 << 20;
/// Bytes before the questions of a message, at most.
const HEAD_BYTES_MAX: usize = 32;

/// Asks those who keep partitions, for one snapshot, and waits for their answers.
///
/// Whoever implements it knows the snapshot, whom to ask, and how long the reader waits. It blocks the thread of the reader,
/// which is none that network and log need.
pub trait PartitionAsker: Send + Sync {
    /// Asks each partition its message, all at once; what is answered, in the order of the messages. A partition may come
    /// several times. Does `own_work` in this thread, once, while others answer: it ends with the limit of the thread
    /// ([`evergraph_graph::wait_limit`]), which is that of the messages, and with what it gets, which fails once a message has failed.
    /// Without messages it is done all the same.
    ///
    /// # Errors
    /// `conflict` if the snapshot is too old for some holder; `busy` or `io` if one has not answered in time; `cancelled`; those
    /// of `own_work`. Nothing is known of the others then.
    fn ask_beside(
        &self,
        messages: Vec<(PartitionId, Vec<u8>)>,
        own_work: OwnWork<'_>,
    ) -> Result<Vec<Vec<u8>>>;

    /// The same without own work.
    ///
    /// # Errors
    /// As [`PartitionAsker::ask_beside`].
    fn ask(&self, messages: Vec<(PartitionId, Vec<u8>)>) -> Result<Vec<Vec<u8>>> {
        self.ask_beside(messages, &mut |_| Ok(()))
    }

    /// What runs programs where the vertices lie, at the same snapshot, if anything does. Whoever asks by another asker hands on
    /// what that one says: a query whose asker forgets it is right, and slow.
    fn travels(&self) -> Option<Arc<dyn Travels>>;

    /// A partition that the reader's own node keeps, at the same snapshot, if it can be read without a message. It is handed on, as
    /// with [`PartitionAsker::travels`]. Whoever gets it reads it now, and does not keep it: a store keeps what it sees.
    fn own_view(&self, partition: PartitionId) -> Option<Arc<dyn PartitionView>>;

    /// Whether the reader's own node keeps every partition, as far as it knows: then a read takes a message only where a partition
    /// is behind or has failed. It is handed on, too, and is the same for as long as this.
    fn keeps_all(&self) -> bool;
}

/// What the reader's thread does while others answer. It looks now and then at whether they still can.
pub type OwnWork<'a> = &'a mut dyn FnMut(CheckTime<'_>) -> Result<()>;

/// A question, and how much of it was answered.
struct PendingQuestion {
    partition: PartitionId,
    question: ViewQuestion,
    /// Items that were answered.
    answered: usize,
    answer: Option<ViewAnswer>,
    is_done: bool,
}

impl PendingQuestion {
    fn take(&mut self, answer: ViewAnswer) -> Result<()> {
        let (all, came) = (self.question.items_count(), answer.items_count());
        self.is_done = match (all, came) {
            (Some(all), Some(came)) => {
                if came == 0 && self.answered < all {
                    return Err(nothing_answered(self.partition));
                }
                self.answered += came;
                self.answered >= all
            }
            _ => true,
        };
        match &mut self.answer {
            Some(known) => known.append(answer),
            None => self.answer = Some(answer),
        }
        Ok(())
    }
}

/// Questions to one partition.
#[derive(Default)]
struct QuestionMessage<'q> {
    /// Which questions, of all that are asked.
    places: Vec<usize>,
    questions: Vec<Cow<'q, ViewQuestion>>,
    bytes: Vec<u8>,
    items: usize,
}

impl<'q> QuestionMessage<'q> {
    /// Adds what is left of a question, if there is room.
    fn add(&mut self, place: usize, asked: &'q PendingQuestion) {
        let rest = asked.question.rest(asked.answered);
        let items = self.items + rest.items_count().unwrap_or(1);
        let is_full = self.questions.len() == MESSAGE_QUESTIONS_MAX
            || items > MESSAGE_ITEMS_MAX
            || self.bytes.len() > MESSAGE_BYTES;
        if is_full && !self.questions.is_empty() {
            return;
        }
        let before = self.bytes.len();
        rest.encode(&mut self.bytes);
        if self.bytes.len() > CONTENT_BYTES_MAX - HEAD_BYTES_MAX && !self.questions.is_empty() {
            self.bytes.truncate(before);
            return;
        }
        self.items = items;
        self.places.push(place);
        self.questions.push(rest);
    }

    fn encode(&self, answer_bytes_max: usize) -> Result<Vec<u8>> {
        let mut out = ViewQuestions::head(answer_bytes_max, self.questions.len());
        out.extend_from_slice(&self.bytes);
        if out.len() > CONTENT_BYTES_MAX {
            let text =
                format!("a value of {} bytes has no room in a message between nodes", self.bytes.len());
            return Err(Error::new(ErrorKind::Limit, text));
        }
        Ok(out)
    }
}

/// Asks `questions`, each about at most [`QUESTION_ITEMS_MAX`] items, until every item is answered. The answers come in the
/// order of the questions, each with its question.
///
/// # Errors
/// As [`PartitionAsker::ask`]; `limit` if a value that is asked for has no room in a message; `io` for an answer that is none.
pub fn ask_all(
    asker: &dyn PartitionAsker,
    answer_bytes_max: usize,
    questions: Vec<(PartitionId, ViewQuestion)>,
) -> Result<Vec<(ViewQuestion, ViewAnswer)>> {
    let mut all = pending(questions);
    finish(asker, answer_bytes_max, &mut all)?;
    Ok(answered(all))
}

/// The same, and does `own_work` while the first messages are answered; if there are none, all the same.
///
/// # Errors
/// As [`ask_all`]; those of `own_work`.
pub fn ask_all_beside(
    asker: &dyn PartitionAsker,
    answer_bytes_max: usize,
    questions: Vec<(PartitionId, ViewQuestion)>,
    own_work: OwnWork<'_>,
) -> Result<Vec<(ViewQuestion, ViewAnswer)>> {
    let mut all = pending(questions);
    if !ask_round(asker, answer_bytes_max, &mut all, own_work)? {
        asker.ask_beside(Vec::new(), own_work)?;
    }
    finish(asker, answer_bytes_max, &mut all)?;
    Ok(answered(all))
}

fn finish(asker: &dyn PartitionAsker, answer_bytes_max: usize, all: &mut [PendingQuestion]) -> Result<()> {
    while ask_round(asker, answer_bytes_max, all, &mut |_| Ok(()))? {}
    Ok(())
}

fn answered(all: Vec<PendingQuestion>) -> Vec<(ViewQuestion, ViewAnswer)> {
    let answered = all.into_iter().map(|asked| {
        let answer = asked.answer.expect("a question is done when it was answered");
        (asked.question, answer)
    });
    answered.collect()
}

/// What one message a partition brought.
#[derive(Debug)]
pub struct QuestionRound {
    /// Questions with what was answered of each: of items, the first ones.
    pub answered: Vec<(ViewQuestion, ViewAnswer)>,
    /// What is still to be asked, in the order of the questions.
    pub rest: Vec<(PartitionId, ViewQuestion)>,
}

/// Asks each partition one message, with as many of `questions` as have room: so no more than `answer_bytes_max` bytes a
/// partition come at once, about.
///
/// # Errors
/// As [`ask_all`].
pub fn ask_once(
    asker: &dyn PartitionAsker,
    answer_bytes_max: usize,
    questions: Vec<(PartitionId, ViewQuestion)>,
) -> Result<QuestionRound> {
    let mut all = pending(questions);
    ask_round(asker, answer_bytes_max, &mut all, &mut |_| Ok(()))?;
    let mut round = QuestionRound { answered: Vec::new(), rest: Vec::new() };
    for asked in all {
        if !asked.is_done {
            round.rest.push((asked.partition, asked.question.rest(asked.answered).into_owned()));
        }
        if let Some(answer) = asked.answer {
            round.answered.push((asked.question, answer));
        }
    }
    Ok(round)
}

fn pending(questions: Vec<(PartitionId, ViewQuestion)>) -> Vec<PendingQuestion> {
    let asked = |(partition, question)| PendingQuestion {
        partition,
        question,
        answered: 0,
        answer: None,
        is_done: false,
    };
    questions.into_iter().map(asked).collect()
}

/// Asks each partition one message about what is not done, and does `own_work` meanwhile; whether there was something. If not,
/// nothing is done.
fn ask_round(
    asker: &dyn PartitionAsker,
    answer_bytes_max: usize,
    all: &mut [PendingQuestion],
    own_work: OwnWork<'_>,
) -> Result<bool> {
    let mut messages: BTreeMap<PartitionId, QuestionMessage<'_>> = BTreeMap::new();
    for (place, asked) in all.iter().enumerate().filter(|(_, asked)| !asked.is_done) {
        messages.entry(asked.partition).or_default().add(place, asked);
    }
    if messages.is_empty() {
        return Ok(false);
    }
    let encoded = messages
        .iter()
        .map(|(partition, message)| message.encode(answer_bytes_max).map(|bytes| (*partition, bytes)));
    let answers = asker.ask_beside(encoded.collect::<Result<_>>()?, own_work)?;
    if answers.len() != messages.len() {
        let text = format!("{} answers came to {} messages", answers.len(), messages.len());
        return Err(Error::new(ErrorKind::Io, text));
    }
    let mut news = Vec::new();
    for ((partition, message), bytes) in messages.iter().zip(&answers) {
        let questions = message.questions.iter().map(|question| &**question);
        let answers = decode_answers(bytes, questions).map_err(|error| unreadable(*partition, &error))?;
        if answers.is_empty() {
            return Err(nothing_answered(*partition));
        }
        news.extend(message.places.iter().copied().zip(answers));
    }
    drop(messages);
    for (place, answer) in news {
        all[place].take(answer)?;
    }
    Ok(true)
}

#[cold]
fn unreadable(partition: PartitionId, error: &DecodeError) -> Error {
    let text = format!("partition {} was asked, and what came is no answer: {error}", partition.0);
    Error::new(ErrorKind::Io, text)
}

/// The error of a holder that answers, and says nothing.
#[cold]
pub fn nothing_answered(partition: PartitionId) -> Error {
    let text = format!("partition {} was asked, and its answer says nothing", partition.0);
    Error::new(ErrorKind::Io, text)
}

/// The error of a holder that was asked for what follows, and answers with what came before.
#[cold]
pub fn went_back(partition: PartitionId) -> Error {
    let text = format!("partition {} was asked for what follows, and its answer goes back", partition.0);
    Error::new(ErrorKind::Io, text)
}

/// Whether entries ascend strictly, as `comes_before` has it, and the first of them lies behind `after`: whoever goes
/// through pages gets on with each.
///
/// # Errors
/// `io` if not.
pub fn check_progress<T>(
    partition: PartitionId,
    after: Option<&T>,
    entries: &[T],
    comes_before: impl Fn(&T, &T) -> bool,
) -> Result<()> {
    let mut before = after;
    for entry in entries {
        if before.is_some_and(|before| !comes_before(before, entry)) {
            return Err(went_back(partition));
        }
        before = Some(entry);
    }
    Ok(())
}

/// Items by partition, ascending and each once, and where each of them came from.
#[derive(Debug)]
pub struct ScatteredItems<T> {
    /// The items of each question.
    pub parts: Vec<(PartitionId, Vec<T>)>,
    /// Of each question, pairs of a place among its items and the place where the item came from.
    pub places: Vec<Vec<(usize, usize)>>,
}

impl<T: Copy + Ord> ScatteredItems<T> {
    /// Scatters items, each with the place that it came from. Cost: a sort.
    #[must_use]
    pub fn of(items: impl Iterator<Item = (T, usize)>, partition_of: impl Fn(&T) -> PartitionId) -> Self {
        let mut sorted: Vec<_> = items.map(|(item, from)| (partition_of(&item), item, from)).collect();
        sorted.sort_unstable();
        let mut scattered = Self { parts: Vec::new(), places: Vec::new() };
        for (partition, item, from) in sorted {
            let (is_same, has_room) = match scattered.parts.last() {
                Some((of, items)) if *of == partition => {
                    (items.last() == Some(&item), items.len() < QUESTION_ITEMS_MAX)
                }
                _ => (false, false),
            };
            if !is_same && !has_room {
                scattered.parts.push((partition, Vec::new()));
                scattered.places.push(Vec::new());
            }
            let (Some((_, items)), Some(places)) = (scattered.parts.last_mut(), scattered.places.last_mut())
            else {
                continue;
            };
            if !is_same {
                items.push(item);
            }
            places.push((items.len() - 1, from));
        }
        scattered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::answer_writer::AnswersWriter;
    use crate::remote::view_answer::put_label;
    use evergraph_graph::id::{KeyId, LabelId, VertexId};
    use evergraph_graph::index::{IndexId, IndexKind};
    use evergraph_graph::owner::Owner;
    use evergraph_storage::sync::Mutex;

    /// Answers every question about labels with the number of the vertex, and counts messages.
    struct LabelAsker {
        items_max: usize,
        messages: Mutex<Vec<PartitionId>>,
    }

    impl PartitionAsker for LabelAsker {
        fn ask_beside(
            &self,
            messages: Vec<(PartitionId, Vec<u8>)>,
            own_work: OwnWork<'_>,
        ) -> Result<Vec<Vec<u8>>> {
            own_work(&|| Ok(()))?;
            let answer = |(partition, bytes): (PartitionId, Vec<u8>)| -> Result<Vec<u8>> {
                self.messages.lock().push(partition);
                let asked = ViewQuestions::decode(&bytes).expect("it was encoded");
                let mut writer = AnswersWriter::new(asked.answer_bytes_max);
                let mut left = self.items_max;
                for question in &asked.questions {
                    let ViewQuestion::Labels { vertices } = question else { panic!("labels are asked for") };
                    if left == 0 {
                        break;
                    }
                    let mut answer = writer.begin();
                    for vertex in vertices.iter().take(left) {
                        let label = Some(LabelId(vertex.0 as u16));
                        assert!(writer.put(&mut answer, |out| put_label(out, label))?, "there is room");
                    }
                    left -= answer.count();
                    writer.end(answer);
                }
                Ok(writer.finish())
            };
            messages.into_iter().map(answer).collect()
        }

        fn travels(&self) -> Option<Arc<dyn Travels>> {
            None
        }

        fn own_view(&self, _: PartitionId) -> Option<Arc<dyn PartitionView>> {
            None
        }

        fn keeps_all(&self) -> bool {
            false
        }
    }

    fn labels_of(vertices: impl Iterator<Item = u32>) -> ViewQuestion {
        ViewQuestion::Labels { vertices: vertices.map(VertexId).collect() }
    }

    #[test]
    fn questions_of_a_partition_go_in_one_message_until_all_are_answered() {
        let asker = LabelAsker { items_max: 4, messages: Mutex::default() };
        let questions = vec![
            (PartitionId(1), labels_of(10..13)),
            (PartitionId(2), labels_of(50..52)),
            (PartitionId(1), labels_of(20..29)),
        ];
        let answered = ask_all(&asker, 1 << 20, questions.clone()).unwrap();
        for ((question, answer), (_, asked)) in answered.into_iter().zip(&questions) {
            assert_eq!(question, *asked);
            let ViewQuestion::Labels { vertices } = question else { panic!("labels were asked for") };
            let wanted: Vec<_> = vertices.iter().map(|vertex| Some(LabelId(vertex.0 as u16))).collect();
            assert_eq!(answer.into_labels(), wanted);
        }
        // Twelve items of the first partition, four a message.
        let asked = asker.messages.lock().iter().map(|partition| partition.0).collect::<Vec<_>>();
        assert_eq!(asked, [1, 2, 1, 1]);
    }

    #[test]
    fn one_round_brings_a_message_a_partition_and_says_what_is_left() {
        let asker = LabelAsker { items_max: 4, messages: Mutex::default() };
        let questions = vec![
            (PartitionId(1), labels_of(10..13)),
            (PartitionId(2), labels_of(50..52)),
            (PartitionId(1), labels_of(20..29)),
            (PartitionId(1), labels_of(40..41)),
        ];
        let round = ask_once(&asker, 1 << 20, questions).unwrap();
        assert_eq!(asker.messages.lock().len(), 2);
        let counts: Vec<_> = round.answered.iter().map(|(_, answer)| answer.items_count()).collect();
        assert_eq!(counts, [Some(3), Some(2), Some(1)]);
        assert_eq!(round.rest, [(PartitionId(1), labels_of(21..29)), (PartitionId(1), labels_of(40..41))]);
        let nothing = ask_once(&asker, 1 << 20, Vec::new()).unwrap();
        assert!(nothing.answered.is_empty() && nothing.rest.is_empty());
    }

    #[test]
    fn entries_get_on_if_each_lies_behind_the_one_before() {
        let check = |after: Option<u32>, entries: &[u32]| {
            check_progress(PartitionId(3), after.as_ref(), entries, |one, other| one < other)
        };
        assert!([check(None, &[]), check(None, &[1, 2]), check(Some(4), &[5])].iter().all(Result::is_ok));
        for (after, entries) in
            [(Some(4), &[4][..]), (Some(4), &[3, 9][..]), (None, &[2, 1][..]), (None, &[2, 2][..])]
        {
            let error = check(after, entries).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(error.to_string().contains("partition 3"), "{error}");
        }
    }

    #[test]
    fn many_items_take_several_messages() {
        let asker = LabelAsker { items_max: usize::MAX, messages: Mutex::default() };
        let of = |part: usize| {
            let first = (part * QUESTION_ITEMS_MAX) as u32;
            (PartitionId(0), labels_of(first..first + QUESTION_ITEMS_MAX as u32))
        };
        let answered = ask_all(&asker, 1 << 24, (0..10).map(of).collect()).unwrap();
        assert!(answered.iter().all(|(_, answer)| answer.items_count() == Some(QUESTION_ITEMS_MAX)));
        assert_eq!(asker.messages.lock().len(), 2);
    }

    /// Answers every message with the same bytes.
    struct SameAnswer(Vec<u8>);

    impl PartitionAsker for SameAnswer {
        fn ask_beside(
            &self,
            messages: Vec<(PartitionId, Vec<u8>)>,
            own_work: OwnWork<'_>,
        ) -> Result<Vec<Vec<u8>>> {
            own_work(&|| Ok(()))?;
            Ok(vec![self.0.clone(); messages.len()])
        }

        fn travels(&self) -> Option<Arc<dyn Travels>> {
            None
        }

        fn own_view(&self, _: PartitionId) -> Option<Arc<dyn PartitionView>> {
            None
        }

        fn keeps_all(&self) -> bool {
            false
        }
    }

    #[test]
    fn an_answer_that_says_nothing_or_is_none_is_an_error_and_no_endless_question() {
        let ask = |bytes: Vec<u8>| {
            let questions = vec![(PartitionId(7), labels_of(0..3))];
            ask_all(&SameAnswer(bytes), 1000, questions).map(drop).unwrap_err()
        };
        for bytes in [vec![], vec![9; 20], AnswersWriter::new(100).finish()] {
            let error = ask(bytes);
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(error.to_string().contains("partition 7"), "{error}");
        }
        let mut writer = AnswersWriter::new(100);
        let empty = writer.begin();
        writer.end(empty);
        assert!(ask(writer.finish()).to_string().contains("says nothing"));
    }

    #[test]
    fn a_value_without_room_in_a_message_is_refused() {
        let value = "x".repeat(CONTENT_BYTES_MAX).into();
        let index = IndexId { owner: Owner::Label(LabelId(0)), key: KeyId(0), kind: IndexKind::Hash };
        let question = ViewQuestion::ItemsOfValue { index, value, after: None, limit: 1 };
        let error =
            ask_all(&SameAnswer(vec![]), 1000, vec![(PartitionId(0), question)]).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }

    #[test]
    fn items_are_scattered_each_once_and_know_where_they_came_from() {
        let items = [7u32, 2, 7, 4, 3, 2];
        let numbered = items.iter().enumerate().map(|(at, item)| (*item, at));
        let scattered = ScatteredItems::of(numbered, |item| PartitionId((item % 2) as u16));
        assert_eq!(scattered.parts, [(PartitionId(0), vec![2, 4]), (PartitionId(1), vec![3, 7])]);
        assert_eq!(scattered.places, [vec![(0, 1), (0, 5), (1, 3)], vec![(0, 4), (1, 0), (1, 2)]]);
        let many =
            ScatteredItems::of((0..QUESTION_ITEMS_MAX + 1).map(|item| (item, item)), |_| PartitionId(0));
        let sizes: Vec<_> = many.parts.iter().map(|(_, items)| items.len()).collect();
        assert_eq!(sizes, [QUESTION_ITEMS_MAX, 1]);
    }
}
