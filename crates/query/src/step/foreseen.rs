//! Foreseen reads: what a step and those behind it read of the elements of a batch, announced before the first of them runs.
//!
//! ```text
//! batch ──> announce ──> step ──> ...        the first read that is not known asks for all of it, in one message a machine
//!           └─ project('a', 'b').by(out().values('name')).by(in().values('id')): the lists; then names and ids of what they have
//! ```
//!
//! What is read of every row is announced of whole batches, what is read of some perhaps of few elements alone: so little comes that
//! nobody reads. Many elements are read in few messages anyway, and what is announced has to be kept until it is read: so of many
//! it has to be worth it.

use crate::batch::Batch;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::plan::element_reads::{ElementPart, ElementRead, ElementSource};
use crate::step::announced::AnnouncedElements;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::Result;
use evergraph_graph::value::ValueType;
use std::rc::Rc;

/// Elements of which everything is announced that may be read.
const UNCERTAIN_MAX: usize = 32;
/// Elements of which values are announced that may be read and take a few bytes, whatever they are.
const SMALL_MAX: usize = 256;
/// Vertices of which edges are announced: of more, whoever follows them says how far.
const EDGES_MAX: usize = 64;
/// Elements of which a single read is announced: of more, it takes one message either way.
const SINGLE_MAX: usize = 64;
/// Edges of all rows that are followed, to announce what is read behind them.
const FOLLOWED_EDGES_MAX: usize = 256;
/// Rows of which anything is announced.
const ROWS_MAX: usize = 1024;

/// Announces what is read of the rows of `batch`, if the graph gains by it.
pub fn announce<'r>(reads: impl IntoIterator<Item = &'r ElementRead>, batch: &Batch, cx: &Context<'_>) {
    if batch.is_empty() || batch.len() > ROWS_MAX || !cx.heeds_ahead() {
        return;
    }
    // Of many rows nothing counts but what is read of all of them: which elements they have takes a sort to know.
    let is_large = batch.len() > SMALL_MAX;
    let is_of_all = |read: &&ElementRead| read.is_certain && !matches!(read.part, ElementPart::Edges(..));
    let reads: Vec<&ElementRead> = reads.into_iter().filter(|read| !is_large || is_of_all(read)).collect();
    if is_large && reads.len() < 2 {
        return;
    }
    let (mut worth_it, mut sources) = (Vec::new(), Vec::<(ElementSource, AnnouncedElements<'_>)>::new());
    for read in reads {
        let known = sources.iter().find(|(source, _)| *source == read.source);
        let count = match known {
            Some((_, elements)) => elements.count(),
            None => {
                let Some(elements) = AnnouncedElements::of_rows(batch, read.source, cx) else { return };
                let count = elements.count();
                sources.push((read.source, elements));
                count
            }
        };
        if is_worth_it(read, count, cx) {
            worth_it.push((read, count));
        }
    }
    if let [(_, count)] = worth_it[..]
        && count > SINGLE_MAX
    {
        return;
    }
    let reads = worth_it.into_iter().map(|(read, _)| read).collect();
    let mut hops = announce_all(reads, sources);
    // Traversals that follow edges for each row run one after the other: what they find is announced together, hop by hop. What a
    // single one finds its own steps announce.
    while hops.len() > 1 {
        hops = hops.iter().flat_map(|hop| hop.follow(cx)).collect();
    }
}

/// Whether a read of so many elements is announced.
fn is_worth_it(read: &ElementRead, count: usize, cx: &Context<'_>) -> bool {
    match &read.part {
        ElementPart::Value(name) if cx.computed.has(name) => false,
        _ if count <= UNCERTAIN_MAX => true,
        ElementPart::Edges(..) => read.is_certain && count <= EDGES_MAX,
        _ if read.is_certain => true,
        ElementPart::Value(name) => count <= SMALL_MAX && is_small(name, cx),
        ElementPart::Label | ElementPart::EdgeCount(..) => false,
    }
}

/// Announces reads of elements, by where these are; the edges that traversals follow from there.
fn announce_all<'r, 'v>(
    reads: Vec<&'r ElementRead>,
    sources: Vec<(ElementSource, AnnouncedElements<'v>)>,
) -> Vec<Hop<'r, 'v>> {
    let sources: Vec<_> = sources.into_iter().map(|(source, of)| (source, Rc::new(of))).collect();
    let mut hops = Vec::new();
    for read in reads {
        let Some((_, from)) = sources.iter().find(|(source, _)| *source == read.source) else { continue };
        from.part(&read.part);
        if read.is_certain && !read.beyond.is_empty() {
            hops.push(Hop { read, from: Rc::clone(from) });
        }
    }
    hops
}

/// Edges that a traversal for each row follows.
struct Hop<'r, 'v> {
    read: &'r ElementRead,
    from: Rc<AnnouncedElements<'v>>,
}

impl<'r, 'v> Hop<'r, 'v> {
    /// Announces what is read of these edges and behind them, unless they are many. An error is that of whoever reads them.
    fn follow(&self, cx: &'v Context<'_>) -> Vec<Self> {
        let ElementPart::Edges(types, direction) = &self.read.part else { return Vec::new() };
        let found = self.from.beyond(types.as_deref(), *direction, FOLLOWED_EDGES_MAX, cx);
        let Some([vertices, edges]) = found else { return Vec::new() };
        let count_of = |read: &ElementRead| match read.source {
            ElementSource::Edge => edges.count(),
            ElementSource::Current | ElementSource::Slot(_) => vertices.count(),
        };
        let is_worth_it = |read: &&ElementRead| is_worth_it(read, count_of(read), cx);
        let reads = self.read.beyond.iter().filter(is_worth_it).collect();
        announce_all(reads, vec![(ElementSource::Current, vertices), (ElementSource::Edge, edges)])
    }
}

/// Whether values of a property take a few bytes, of whatever label or edge type.
fn is_small(name: &str, cx: &Context<'_>) -> bool {
    use ValueType::{Bool, Char, Date, DateTime, Duration, F32, F64, I8, I16, I32, I64, Uuid};
    let catalogue = cx.catalogue();
    let Some(key) = catalogue.key(name) else { return true };
    let labels = catalogue.labels().map(|(label, _)| Owner::Label(label));
    let mut owners = labels.chain(catalogue.edge_types().map(|(edge_type, _)| Owner::EdgeType(edge_type)));
    owners.all(|owner| {
        let value_type = catalogue.property_type(owner, key);
        value_type.is_none_or(|of| {
            matches!(of, Bool | Char | Date | DateTime | Duration | F32 | F64 | I8 | I16 | I32 | I64 | Uuid)
        })
    })
}

/// A step that announces what is read of its input, by itself and behind it.
pub struct ForeseeingStep {
    step: Box<dyn Step>,
    reads: Vec<ElementRead>,
    /// Whether the input was announced that the step is not through with.
    is_announced: bool,
}

impl ForeseeingStep {
    /// `step`; as it is if nothing is read.
    #[must_use]
    pub fn around(step: Box<dyn Step>, reads: Vec<ElementRead>) -> Box<dyn Step> {
        if reads.is_empty() { step } else { Box::new(Self { step, reads, is_announced: false }) }
    }
}

impl Step for ForeseeingStep {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if let Some(batch) = input
            && !std::mem::replace(&mut self.is_announced, true)
        {
            announce(&self.reads, batch, cx);
        }
        let made = self.step.process(input, cx)?;
        self.is_announced = input.is_some();
        Ok(made)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        self.step.finish(cx)
    }

    fn reset(&mut self, origins: u32) {
        self.is_announced = false;
        self.step.reset(origins);
    }

    fn again(&mut self, origins: u32) {
        self.is_announced = false;
        self.step.again(origins);
    }

    fn is_done(&self) -> bool {
        self.step.is_done()
    }

    fn settles(&self) -> bool {
        self.step.settles()
    }

    fn settle(&mut self, cx: &mut Context<'_>) -> Result<()> {
        self.step.settle(cx)
    }
}
