//! Element reads: what operators read of the elements that rows are at, or have in slots.
//!
//! ```text
//! as('e').inV().order().by(select('e').values('since')).by('id')     of the edge: since        of the vertex behind inV(): id
//! has('age', gt(30)).project('n').by('name')                         age; name, perhaps: of the rows that the filter leaves
//! ```
//!
//! A graph on other machines is told of all of them before the first one is read: each by itself takes a message there and back.
//! Whatever is missing here costs time alone, and so does what is here and is not read.

use crate::plan::function::Function;
use crate::plan::operator::{
    By, Chooser, EdgeEnd, Expand, ExpandTo, GroupValue, Name, Operator, Repeat, RepeatCondition, Test,
    Traversal,
};
use crate::stack::deeper;
use crate::value::item::Token;
use evergraph_graph::id::Direction;

/// Operators that are looked at, at most: a plan is walked through from each of its operators.
const OPERATORS_MAX: usize = 100;
/// Lists of edges that are followed one after the other.
const HOPS_MAX: usize = 3;

/// Where a row has an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementSource {
    /// The row is at it.
    Current,
    /// It is in this slot.
    Slot(usize),
    /// The row is at the vertex behind this edge: see [`ElementRead::beyond`].
    Edge,
}

/// What is read of an element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ElementPart {
    /// A property.
    Value(Name),
    /// The label.
    Label,
    /// The edges of these types, or of all.
    Edges(Option<Vec<Name>>, Direction),
    /// How many these are.
    EdgeCount(Option<Vec<Name>>, Direction),
}

/// Something that is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ElementRead {
    /// Of which element.
    pub source: ElementSource,
    /// What of it.
    pub part: ElementPart,
    /// Whether it is read of every row; else of some, or perhaps of none.
    pub is_certain: bool,
    /// Of edges that a traversal for each row follows: what it reads of these edges and the vertices behind them.
    pub beyond: Vec<ElementRead>,
}

/// What is read of the elements of rows that come to the first of several operators, each once.
///
/// Cost: a walk over at most 100 operators.
#[must_use]
pub fn element_reads(operators: &[Operator]) -> Vec<ElementRead> {
    let mut walk = ReadWalk::default();
    walk.through(operators, RowState { source: Some(ElementSource::Current), is_certain: true });
    walk.reads
}

/// The same, behind `tests` on the same elements, which were looked for by their label.
#[must_use]
pub fn element_reads_behind(tests: &[Test], operators: &[Operator]) -> Vec<ElementRead> {
    let mut walk = ReadWalk::default();
    let at = RowState { source: Some(ElementSource::Current), is_certain: true };
    let behind = walk.tests(tests, at, LabelTests::Pass);
    walk.through(operators, behind);
    walk.reads
}

/// The same of rows that have gone through the body of `repeat`, which stands before `operators`: those that go through it once more
/// and those that go on.
#[must_use]
pub fn repeat_reads(repeat: &Repeat, operators: &[Operator]) -> [Vec<ElementRead>; 2] {
    [&repeat.body.operators[..], operators].map(|operators| {
        let mut walk = ReadWalk::default();
        let mut at = RowState { source: Some(ElementSource::Current), is_certain: true };
        for (condition, _) in repeat.until.iter().chain(&repeat.emit) {
            if let RepeatCondition::Exists(of) = condition {
                walk.within(of, at);
                at = at.perhaps();
            }
        }
        walk.through(operators, at);
        walk.reads
    })
}

/// What rows are at, and whether all rows come there.
#[derive(Clone, Copy, Debug)]
struct RowState {
    /// `None`: something that nobody has yet.
    source: Option<ElementSource>,
    is_certain: bool,
}

impl RowState {
    fn perhaps(self) -> Self {
        Self { is_certain: false, ..self }
    }

    fn elsewhere(self) -> Self {
        Self { source: None, ..self }
    }
}

/// What tests of labels do with rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LabelTests {
    /// All pass: they were looked for by their label.
    Pass,
    /// They leave some out.
    LeaveOut,
}

#[derive(Default)]
struct ReadWalk {
    reads: Vec<ElementRead>,
    /// What slots get on the way.
    named: Vec<(usize, Option<ElementSource>)>,
    operators: usize,
    /// How many traversals around have rows of their own.
    depth: usize,
    /// How many lists of edges were followed so far.
    hops: usize,
}

impl ReadWalk {
    fn read(&mut self, at: RowState, part: ElementPart) {
        let Some(source) = at.source else { return };
        self.read_beyond(source, part, at.is_certain, Vec::new());
    }

    fn read_beyond(
        &mut self,
        source: ElementSource,
        part: ElementPart,
        is_certain: bool,
        beyond: Vec<ElementRead>,
    ) {
        match self.reads.iter_mut().find(|read| read.source == source && read.part == part) {
            Some(known) => {
                known.is_certain |= is_certain;
                known.beyond.extend(beyond);
            }
            None => self.reads.push(ElementRead { source, part, is_certain, beyond }),
        }
    }

    fn within(&mut self, of: &Traversal, at: RowState) {
        self.depth += 1;
        deeper(|| self.through(&of.operators, at));
        self.depth -= 1;
    }

    fn through(&mut self, operators: &[Operator], mut at: RowState) {
        let named = self.named.len();
        for (place, operator) in operators.iter().enumerate() {
            self.operators += 1;
            if self.operators > OPERATORS_MAX {
                break;
            }
            let next = match operator {
                Operator::Expand(expand) => Some(self.expand(expand, at, &operators[place + 1..])),
                _ => self.step(operator, at),
            };
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        self.named.truncate(named);
    }

    /// Where rows are behind `operator`; `None` if what they are is not followed any further.
    fn step(&mut self, operator: &Operator, at: RowState) -> Option<RowState> {
        match operator {
            Operator::Filter(tests) => return Some(self.tests(tests, at, LabelTests::LeaveOut)),
            Operator::Properties { keys, values: true } if keys.len() == 1 => {
                self.read(at, ElementPart::Value(keys[0].clone()));
                return Some(at.perhaps().elsewhere());
            }
            Operator::EdgeEnds(end) => {
                let is_behind = at.source == Some(ElementSource::Edge) && *end != EdgeEnd::Both;
                let source = is_behind.then_some(ElementSource::Current);
                return Some(RowState { source, ..at });
            }
            Operator::Map(function) => return Some(self.function(function, at)),
            Operator::As(slot) => {
                self.named.push((*slot, at.source));
                return Some(at);
            }
            Operator::Bulk | Operator::Barrier { .. } => return Some(at),
            Operator::Dedup { slots, by } => {
                if slots.is_empty() {
                    by.iter().for_each(|by| self.by(by, at));
                }
                // Rows at the same element are one.
                let stays = slots.is_empty() && by.is_empty();
                return Some(if stays { at } else { at.perhaps() });
            }
            Operator::Order(by) => {
                by.iter().for_each(|(by, _)| self.by(by, at));
                return Some(at);
            }
            Operator::Top(by, _) => by.iter().for_each(|(by, _)| self.by(by, at)),
            Operator::SetSack { by, .. } | Operator::Aggregate { by, .. } => {
                self.by(by, at);
                return Some(at);
            }
            Operator::SideEffect(of) => {
                self.within(of, at);
                return Some(at);
            }
            Operator::Where { of, .. } => self.within(of, at),
            Operator::WhereBy { left: None, by, .. } => {
                by.first().into_iter().for_each(|by| self.by(by, at));
            }
            Operator::Any(all) => self.first_of(all, at),
            Operator::WhereBy { .. }
            | Operator::SimplePath { .. }
            | Operator::Range { .. }
            | Operator::Tail(_)
            | Operator::TimeLimit(_)
            | Operator::Coin(_) => {}
            Operator::Repeat(repeat) => return self.repeat(repeat, at),
            other => {
                self.last(other, at);
                return None;
            }
        }
        Some(at.perhaps())
    }

    /// What an operator reads behind which rows are not followed.
    fn last(&mut self, operator: &Operator, at: RowState) {
        match operator {
            Operator::Group(group) => {
                self.by(&group.key, at);
                match &group.value {
                    GroupValue::List(by) => self.by(by, at),
                    GroupValue::Traversal(of) => self.within(of, at),
                    GroupValue::Count => {}
                }
            }
            Operator::Union(all) => all.iter().for_each(|of| self.within(of, at)),
            Operator::Coalesce(all) => self.first_of(all, at),
            Operator::Optional(of)
            | Operator::Local(of)
            | Operator::Child { of, .. }
            | Operator::Parallel(of) => self.within(of, at),
            Operator::Choose(choose) => match &choose.on {
                Chooser::Exists(of) => self.within(of, at),
                Chooser::By(by) => self.by(by, at),
            },
            _ => {}
        }
    }

    /// The first of them runs on all rows, another one where those before it give nothing.
    fn first_of(&mut self, all: &[Traversal], at: RowState) {
        let states = std::iter::once(at).chain(std::iter::repeat(at.perhaps()));
        all.iter().zip(states).for_each(|(of, at)| self.within(of, at));
    }

    fn repeat(&mut self, repeat: &Repeat, at: RowState) -> Option<RowState> {
        let [until, emit] = [&repeat.until, &repeat.emit].map(|condition| match condition {
            Some((condition, true)) => Some(condition),
            _ => None,
        });
        if let Some(RepeatCondition::Exists(of)) = until {
            self.within(of, at);
        }
        let inside = if until.is_some() { at.perhaps() } else { at };
        if let Some(RepeatCondition::Exists(of)) = emit {
            self.within(of, inside);
        }
        self.within(&repeat.body, inside);
        // Some go on as they came.
        (until.is_some() || emit.is_some()).then(|| at.perhaps())
    }

    /// What rows are behind tests of which each leaves some out, but for the labels of what was looked for by its label.
    fn tests(&mut self, tests: &[Test], mut at: RowState, labels: LabelTests) -> RowState {
        for test in tests {
            match test {
                Test::Has(key) | Test::HasNot(key) | Test::Property(key, _) => {
                    self.read(at, ElementPart::Value(key.clone()));
                }
                Test::Label(_) => {
                    self.read(at, ElementPart::Label);
                    if labels == LabelTests::Pass {
                        continue;
                    }
                }
                _ => {}
            }
            at = at.perhaps();
        }
        at
    }

    fn expand(&mut self, expand: &Expand, at: RowState, behind: &[Operator]) -> RowState {
        let (types, direction) = (expand.types.clone(), expand.direction);
        let (part, found) = match expand.to {
            ExpandTo::Count => (ElementPart::EdgeCount(types, direction), None),
            ExpandTo::Neighbors => (ElementPart::Edges(types, direction), Some(ElementSource::Current)),
            ExpandTo::Edges(_) => (ElementPart::Edges(types, direction), Some(ElementSource::Edge)),
        };
        let leaves_out = !expand.edges.operators.is_empty() || !expand.vertices.operators.is_empty();
        if let Some(source) = at.source {
            let mut beyond =
                Self { depth: 1, hops: self.hops + 1, operators: self.operators, ..Self::default() };
            // What follows in the plan itself announces what it reads of what was found.
            if found.is_some() && self.depth > 0 && beyond.hops < HOPS_MAX && at.is_certain && !leaves_out {
                beyond.through(behind, RowState { source: found, is_certain: true });
                beyond.reads.retain(|read| !matches!(read.source, ElementSource::Slot(_)));
                self.operators = beyond.operators;
            }
            self.read_beyond(source, part, at.is_certain, beyond.reads);
        }
        at.perhaps().elsewhere()
    }

    fn function(&mut self, function: &Function, at: RowState) -> RowState {
        match function {
            Function::Label => self.read(at, ElementPart::Label),
            Function::Project { by, .. } => by.iter().for_each(|by| self.by(by, at)),
            Function::Select { names, by } => {
                let slots = names.iter().map(|selected| selected.slot).enumerate();
                for (turn, slot) in slots {
                    let of = RowState { source: slot.and_then(|slot| self.source_of(slot)), ..at };
                    match by.get(turn % by.len().max(1)) {
                        Some(by) => self.by(by, of),
                        None if names.len() == 1 => return of,
                        None => {}
                    }
                }
            }
            _ => {}
        }
        at.elsewhere()
    }

    fn source_of(&self, slot: usize) -> Option<ElementSource> {
        let named = self.named.iter().rev().find(|(named, _)| *named == slot);
        named.map_or(Some(ElementSource::Slot(slot)), |(_, source)| *source)
    }

    fn by(&mut self, by: &By, at: RowState) {
        match by {
            By::Key(key) => self.read(at, ElementPart::Value(key.clone())),
            By::Token(Token::Label) => self.read(at, ElementPart::Label),
            By::Child(of) => self.within(of, at),
            By::OrNull(by) => deeper(|| self.by(by, at)),
            By::Itself | By::Item(_) | By::Token(_) | By::Slot(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::bindings::Bindings;
    use crate::gremlin::compile::compile;
    use crate::gremlin::parser::ParseLimits;
    use crate::gremlin::read::read;
    use crate::plan::operator::Plan;

    fn shown(read: &ElementRead, plan: &Plan) -> String {
        let source = match read.source {
            ElementSource::Current => String::new(),
            ElementSource::Slot(slot) => format!("{}.", plan.slots[slot]),
            ElementSource::Edge => "edge.".to_owned(),
        };
        let types = |types: &Option<Vec<Name>>| types.clone().unwrap_or_default().join(",");
        let part = match &read.part {
            ElementPart::Value(key) => key.to_string(),
            ElementPart::Label => "label".to_owned(),
            ElementPart::Edges(of, direction) => format!("{direction:?}({})", types(of)).to_lowercase(),
            ElementPart::EdgeCount(of, direction) => {
                format!("{direction:?}({}).count", types(of)).to_lowercase()
            }
        };
        let beyond: Vec<String> = read.beyond.iter().map(|read| shown(read, plan)).collect();
        let beyond = if beyond.is_empty() { String::new() } else { format!("[{}]", beyond.join(" ")) };
        format!("{source}{part}{}{beyond}", if read.is_certain { "" } else { "?" })
    }

    /// What is read of the vertices of `V()`, or behind so many operators; what is uncertain with a question mark.
    fn reads_behind(text: &str, operators: usize) -> Vec<String> {
        let query = read(text, &ParseLimits::default(), &Bindings::new()).unwrap();
        let plan = compile(&query).unwrap();
        let reads = match plan.root.operators.as_slice() {
            [Operator::Vertices(scan), rest @ ..] if operators == 0 => {
                element_reads_behind(&scan.tests, rest)
            }
            all => element_reads(&all[operators..]),
        };
        reads.iter().map(|read| shown(read, &plan)).collect()
    }

    #[test]
    fn what_is_read_of_a_vertex_is_known_beyond_filters_and_within_modulators() {
        let text = "g.V().has('p', 'id', 3).project('a', 'b', 'c').by('name').by(out('at').values('id'))
            .by(coalesce(values('text'), values('file')))";
        let expected = ["label", "id", "name?", "out(at)?", "text?", "file?"];
        assert_eq!(reads_behind(text, 0), expected);
        // Behind the look-up all but another alternative are read of every row.
        assert_eq!(reads_behind(text, 1), ["name", "out(at)[id]", "text", "file?"]);
        let text = "g.V().order().by('born').by(both('k').count()).limit(3).elementMap()";
        assert_eq!(reads_behind(text, 0), ["born", "both(k).count"]);
    }

    #[test]
    fn what_has_a_name_is_read_where_it_is() {
        let text = "g.V().bothE('k').as('e').otherV().order().by(select('e').values('since')).by('id')";
        let behind = |operators| reads_behind(text, operators);
        assert_eq!(behind(2), ["since"], "of the edge, that gets its name here");
        assert_eq!(behind(3), ["e.since"], "of the edge that has it");
        assert_eq!(behind(4), ["e.since", "id"]);
        let text = "g.V().as('a').out().select('a').by('name')";
        assert_eq!(reads_behind(text, 0), ["out()", "name?"]);
    }

    #[test]
    fn what_a_traversal_for_each_row_reads_beyond_edges_is_known() {
        let text = "g.V().project('a', 'b').by(out('at').out('in').values('name'))
            .by(outE('at').as('e').inV().order().by('id').project('x', 'y').by(select('e').values('since')).by('name').fold())";
        assert_eq!(reads_behind(text, 1), ["out(at)[out(in)[name] id edge.since name]"]);
        // Rows of the plan itself announce it when they are there; filters leave nobody knows what.
        assert_eq!(reads_behind("g.V().out('at').values('name')", 1), ["out(at)"]);
        let text = "g.V().project('a').by(out('at').has('w', 1).values('name'))";
        assert_eq!(reads_behind(text, 1), ["out(at)[w name?]"]);
    }

    #[test]
    fn a_repeat_reads_its_condition_and_what_follows() {
        let text = "g.V().until(hasLabel('post')).repeat(out('reply')).as('p').out('by').values('id')";
        assert_eq!(reads_behind(text, 0), ["label", "out(reply)?", "out(by)?"]);
        let text = "g.V().repeat(out('reply')).times(2).values('id')";
        assert_eq!(reads_behind(text, 0)[..1], ["out(reply)"]);
    }

    #[test]
    fn a_long_plan_is_not_followed_to_its_end() {
        let many: String = (0..2 * OPERATORS_MAX).map(|at| format!(".dedup().by('k{at}')")).collect();
        let reads = reads_behind(&format!("g.V(){many}"), 0);
        assert!(!reads.is_empty() && reads.len() <= OPERATORS_MAX, "{}", reads.len());
    }
}
