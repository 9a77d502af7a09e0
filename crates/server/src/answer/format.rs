//! `AnswerFormat` and `AnswerEncoder`: what a request needs to write its answer.

use crate::answer::memory::AnswerMemory;
use crate::failure::Failure;
use crate::http::error::HttpError;
use crate::outbox::{BodyPart, Frame, FrameKind};
use crate::result_chunk::{RESULTS_MAX, ResultChunk};
use evergraph_protocol::error::EncodeError;
use evergraph_protocol::request::operation::MaterializeProperties;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::frame::ResultForm;
use evergraph_query::value::item::Item;
use std::sync::Arc;

/// How results of a query are written, as its request says.
#[derive(Clone, Copy, Debug)]
pub struct ResultOptions {
    /// What becomes of a result that occurs several times.
    pub form: ResultForm,
    /// Results in a frame, if the request says so.
    pub batch_size: Option<usize>,
    /// Which parts of elements are sent.
    pub properties: MaterializeProperties,
}

/// What an encoder is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EncoderPurpose {
    /// What it writes is sent.
    Answer,
    /// Whether results can be sent is found out; what it writes is dropped.
    Trial,
}

/// How the answer to one request is written.
pub trait AnswerFormat: Send + Sync {
    /// Whether results are sent without the properties of elements, whatever the request says.
    fn leaves_properties_out(&self) -> bool {
        false
    }

    /// Results that are computed and read together: as many as a part takes, so that a query that waits for its client
    /// holds few, unless that are too few to be worth a batch. `batch_size` is what the request says.
    fn chunk_results(&self, _batch_size: Option<usize>) -> usize {
        RESULTS_MAX
    }

    /// An encoder of its results. What it keeps until the last one is known counts in `memory`; one for a trial counts all
    /// that the answer will keep, until it is dropped.
    fn encoder(
        &self,
        options: ResultOptions,
        purpose: EncoderPurpose,
        memory: &Arc<AnswerMemory>,
    ) -> Box<dyn AnswerEncoder>;

    /// The whole answer to a request that has no results: a commit, a rollback.
    fn nothing(&self, attributes: &Attributes) -> Frame;

    /// The answer to a request that failed, or its end if parts of it were sent.
    fn failure(&self, failure: &Failure) -> Frame;
}

/// Writes the results of one request, in parts.
pub trait AnswerEncoder: Send {
    /// Adds a result that occurs `bulk` times to the part; returns how many of these are left, because the part is full.
    ///
    /// # Errors
    /// If a result cannot be sent. The part is as it was before.
    fn push(&mut self, item: &Item, bulk: u64, elements: &ResultChunk) -> Result<u64, EncodeError>;

    /// Bytes of the part so far, if it is sent when it is full.
    fn part_bytes(&self) -> u64 {
        0
    }

    /// What was added since the last part, when more follows, with what a program should know of it beside.
    ///
    /// # Errors
    /// If results cannot be sent together.
    fn part(&mut self, attributes: &Attributes) -> Result<Frame, EncodeError>;

    /// What comes when there are no more results. Called until it is the end.
    ///
    /// # Errors
    /// As [`AnswerEncoder::part`].
    fn end(&mut self, attributes: &Attributes) -> Result<AnswerEnd, EncodeError>;

    /// Bytes, about, that follow what the last call of [`AnswerEncoder::part`] or the first one of [`AnswerEncoder::end`]
    /// gave: of an answer that is made as a whole.
    fn following_bytes(&self) -> u64 {
        0
    }
}

/// What is sent when there are no more results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AnswerEnd {
    /// A part, and then more.
    More(Frame),
    /// The last part.
    Last(Frame),
}

/// The failure of a request whose results were kept until the last one was known: nothing was sent before, unless the time
/// limit was reached while they were sent, and then the answer is broken off.
#[must_use]
pub fn broken_off(failure: &Failure) -> Frame {
    let error = HttpError::from(failure.clone());
    let bytes = format!("{}\n", error.json()).into_bytes();
    Frame { bytes, kind: FrameKind::Body(BodyPart::Failed(error.status.as_u16())) }
}
