//! Program: the stages of a query that travel, as bytes.
//!
//! ```text
//! program    version:u8, stages:varint, of each: operators:varint, then these
//! operator   1 V() with tests           2 hop: direction, types, to            3 at one vertex one row   4 each once
//!            5 ends of edges            6 values of keys                       7 id()   8 label()        9 constant
//!            10 filter                  11 count, sum of counts, min, max
//! test       kind:u8, a name, a predicate; a predicate is nested at most 32 deep
//! ```
//!
//! Names and not numbers travel: what a name stands for is a matter of the node's catalogue, which is as new as the snapshot at
//! least. What has no form here stays with the coordinator. Counts are compared with the bytes that follow before memory is taken.

use crate::plan::function::Function;
use crate::plan::operator::{EdgeEnd, Expand, ExpandTo, Name, Operator, Reducer, Scan, Test, Traversal};
use crate::plan::predicate::{Operand, Pattern, Predicate, Quantifier, TextTest};
use crate::travel::item_form::{put_item, take_item};
use crate::value::item::Item;
use evergraph_graph::bytes::{Decoded, Reader, put_bytes, put_varint};
use evergraph_graph::filter::Comparison;
use evergraph_graph::id::Direction;
use evergraph_graph::travel::{PROGRAM_BYTES_MAX, STAGES_MAX};

const VERSION: u8 = 1;
/// Operators of a stage, at most.
const OPERATORS_MAX: usize = 256;
/// How deep predicates are nested, at most.
const DEPTH_MAX: usize = 32;

mod kind {
    pub const VERTICES: u8 = 1;
    pub const EXPAND: u8 = 2;
    pub const BULK: u8 = 3;
    pub const EACH_ONCE: u8 = 4;
    pub const EDGE_ENDS: u8 = 5;
    pub const VALUES: u8 = 6;
    pub const ID: u8 = 7;
    pub const LABEL: u8 = 8;
    pub const CONSTANT: u8 = 9;
    pub const FILTER: u8 = 10;
    pub const REDUCE: u8 = 11;
}

/// Stages as bytes; `None` if something in them has no form here, or they are too many.
#[must_use]
pub fn encode(stages: &[Traversal]) -> Option<Vec<u8>> {
    let fits = (1..=usize::from(STAGES_MAX)).contains(&stages.len())
        && stages.iter().all(|stage| stage.operators.len() <= OPERATORS_MAX);
    if !fits {
        return None;
    }
    let mut out = vec![VERSION];
    put_varint(&mut out, stages.len() as u64);
    for stage in stages {
        put_varint(&mut out, stage.operators.len() as u64);
        for operator in &stage.operators {
            put_operator(&mut out, operator)?;
        }
    }
    (out.len() <= PROGRAM_BYTES_MAX).then_some(out)
}

/// Reads what [`encode`] wrote.
///
/// # Errors
/// If there is something else, or of another version.
pub fn decode(bytes: &[u8]) -> Decoded<Vec<Traversal>> {
    let mut reader = Reader::new(bytes);
    if bytes.len() > PROGRAM_BYTES_MAX {
        return Err(reader.error(format!("a program of at most {PROGRAM_BYTES_MAX} bytes expected")));
    }
    match reader.u8()? {
        VERSION => {}
        found => return Err(Reader::new(bytes).error(format!("version {VERSION} expected, found {found}"))),
    }
    let start = reader.clone();
    let count = reader.count(1)?;
    if !(1..=usize::from(STAGES_MAX)).contains(&count) {
        return Err(start.error(format!("1 to {STAGES_MAX} stages expected, found {count}")));
    }
    let mut stages = Vec::with_capacity(count);
    for _ in 0..count {
        let operators = take_all(&mut reader, OPERATORS_MAX, take_operator)?;
        stages.push(Traversal { operators });
    }
    if !reader.is_empty() {
        return Err(reader.error(format!("the end expected, {} bytes left", reader.remaining())));
    }
    Ok(stages)
}

/// Whether an operator has a form here. A scan may have ids besides, which whoever sends the program looks up.
#[must_use]
pub fn is_encodable(operator: &Operator) -> bool {
    let mut out = Vec::new();
    let put = match operator {
        Operator::Vertices(Scan { tests, .. }) => put_tests(&mut out, tests),
        other => put_operator(&mut out, other),
    };
    put.is_some()
}

fn put_operator(out: &mut Vec<u8>, operator: &Operator) -> Option<()> {
    match operator {
        Operator::Vertices(Scan { ids: None, tests }) => {
            out.push(kind::VERTICES);
            put_tests(out, tests)?;
        }
        Operator::Expand(expand) => put_expand(out, expand)?,
        Operator::Bulk => out.push(kind::BULK),
        each if *each == Operator::EACH_ONCE => out.push(kind::EACH_ONCE),
        Operator::EdgeEnds(end) => {
            let end = match end {
                EdgeEnd::Source => 0,
                EdgeEnd::Target => 1,
                EdgeEnd::Both => 2,
                EdgeEnd::Other(_) => return None,
            };
            out.extend([kind::EDGE_ENDS, end]);
        }
        Operator::Properties { keys, values: true } => {
            out.push(kind::VALUES);
            put_names(out, keys);
        }
        Operator::Map(Function::Id) => out.push(kind::ID),
        Operator::Map(Function::Label) => out.push(kind::LABEL),
        Operator::Map(Function::Constant(item @ (Item::Null | Item::Value(_)))) => {
            out.push(kind::CONSTANT);
            put_item(out, item).then_some(())?;
        }
        Operator::Filter(tests) => {
            out.push(kind::FILTER);
            put_tests(out, tests)?;
        }
        Operator::Reduce(reducer) => {
            let reducer = match reducer {
                Reducer::Count => 0,
                Reducer::SumOfCounts => 1,
                Reducer::Min => 2,
                Reducer::Max => 3,
                _ => return None,
            };
            out.extend([kind::REDUCE, reducer]);
        }
        _ => return None,
    }
    Some(())
}

fn take_operator(reader: &mut Reader<'_>) -> Decoded<Operator> {
    let start = reader.clone();
    Ok(match reader.u8()? {
        kind::VERTICES => Operator::Vertices(Scan { ids: None, tests: take_tests(reader)? }),
        kind::EXPAND => Operator::Expand(take_expand(reader)?),
        kind::BULK => Operator::Bulk,
        kind::EACH_ONCE => Operator::EACH_ONCE,
        kind::EDGE_ENDS => {
            let ends = [EdgeEnd::Source, EdgeEnd::Target, EdgeEnd::Both];
            Operator::EdgeEnds(*chosen(reader, &ends, "an end of an edge")?)
        }
        kind::VALUES => Operator::Properties { keys: take_names(reader)?, values: true },
        kind::ID => Operator::Map(Function::Id),
        kind::LABEL => Operator::Map(Function::Label),
        kind::CONSTANT => {
            let start = reader.clone();
            match take_item(reader)? {
                item @ (Item::Null | Item::Value(_)) => Operator::Map(Function::Constant(item)),
                _ => return Err(start.error("a value expected")),
            }
        }
        kind::FILTER => Operator::Filter(take_tests(reader)?),
        kind::REDUCE => {
            let reducers = [Reducer::Count, Reducer::SumOfCounts, Reducer::Min, Reducer::Max];
            Operator::Reduce(chosen(reader, &reducers, "a barrier")?.clone())
        }
        found => return Err(start.error(format!("an operator expected, found {found}"))),
    })
}

/// Reads `count:varint`, at most `most`, and as many things of at least a byte each.
fn take_all<T>(
    reader: &mut Reader<'_>,
    most: usize,
    take: impl Fn(&mut Reader<'_>) -> Decoded<T>,
) -> Decoded<Vec<T>> {
    let start = reader.clone();
    let count = reader.count(1)?;
    if count > most {
        return Err(start.error(format!("at most {most} expected, found {count}")));
    }
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(take(reader)?);
    }
    Ok(all)
}

fn chosen<'c, T>(reader: &mut Reader<'_>, all: &'c [T], what: &str) -> Decoded<&'c T> {
    let start = reader.clone();
    let number = reader.u8()?;
    all.get(usize::from(number)).ok_or_else(|| start.error(format!("{what} expected, found {number}")))
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    put_bytes(out, name.as_bytes());
}

fn take_name(reader: &mut Reader<'_>) -> Decoded<Name> {
    reader.text().map(Name::from)
}

fn put_names(out: &mut Vec<u8>, names: &[Name]) {
    put_varint(out, names.len() as u64);
    names.iter().for_each(|name| put_name(out, name));
}

fn take_names(reader: &mut Reader<'_>) -> Decoded<Vec<Name>> {
    take_all(reader, usize::MAX, take_name)
}

fn put_expand(out: &mut Vec<u8>, expand: &Expand) -> Option<()> {
    let Expand { direction, types, to, edges, vertices } = expand;
    if !edges.operators.is_empty() || !vertices.operators.is_empty() {
        return None;
    }
    let direction = match direction {
        Direction::Out => 0,
        Direction::In => 1,
        Direction::Both => 2,
    };
    let to = match to {
        ExpandTo::Neighbors => 0,
        ExpandTo::Edges(None) => 1,
        ExpandTo::Count => 2,
        ExpandTo::Edges(Some(_)) => return None,
    };
    out.extend([kind::EXPAND, direction, to, u8::from(types.is_some())]);
    types.iter().for_each(|types| put_names(out, types));
    Some(())
}

fn take_expand(reader: &mut Reader<'_>) -> Decoded<Expand> {
    let direction = *chosen(reader, &[Direction::Out, Direction::In, Direction::Both], "a direction")?;
    let to = [ExpandTo::Neighbors, ExpandTo::Edges(None), ExpandTo::Count];
    let to = *chosen(reader, &to, "what a hop leads to")?;
    let has_types = *chosen(reader, &[false, true], "whether types follow")?;
    let types = if has_types { Some(take_names(reader)?) } else { None };
    Ok(Expand::new(direction, types, to))
}

fn put_tests(out: &mut Vec<u8>, tests: &[Test]) -> Option<()> {
    put_varint(out, tests.len() as u64);
    tests.iter().try_for_each(|test| {
        let (number, name) = match test {
            Test::Has(key) => (0, Some(key)),
            Test::HasNot(key) => (1, Some(key)),
            Test::Property(key, _) => (2, Some(key)),
            Test::Label(_) => (3, None),
            Test::Id(_) => (4, None),
            Test::Is(_) => (5, None),
            Test::Elements(Quantifier::All, _) => (6, None),
            Test::Elements(Quantifier::Any, _) => (7, None),
            Test::Elements(Quantifier::None, _) => (8, None),
            Test::Key(_) | Test::Value(_) | Test::Slot(..) => return None,
        };
        out.push(number);
        name.iter().for_each(|name| put_name(out, name));
        test.predicate().map_or(Some(()), |predicate| put_predicate(out, predicate, DEPTH_MAX))
    })
}

fn take_tests(reader: &mut Reader<'_>) -> Decoded<Vec<Test>> {
    take_all(reader, usize::MAX, |reader| {
        let start = reader.clone();
        let predicate = |reader: &mut Reader<'_>| take_predicate(reader, DEPTH_MAX);
        Ok(match reader.u8()? {
            0 => Test::Has(take_name(reader)?),
            1 => Test::HasNot(take_name(reader)?),
            2 => Test::Property(take_name(reader)?, predicate(reader)?),
            3 => Test::Label(predicate(reader)?),
            4 => Test::Id(predicate(reader)?),
            5 => Test::Is(predicate(reader)?),
            6 => Test::Elements(Quantifier::All, predicate(reader)?),
            7 => Test::Elements(Quantifier::Any, predicate(reader)?),
            8 => Test::Elements(Quantifier::None, predicate(reader)?),
            found => return Err(start.error(format!("a test expected, found {found}"))),
        })
    })
}

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

const TEXT_TESTS: [TextTest; 4] =
    [TextTest::StartsWith, TextTest::EndsWith, TextTest::Contains, TextTest::Matches];

fn number_of<T: PartialEq>(one: &T, all: &[T]) -> Option<u8> {
    all.iter().position(|other| other == one).map(|at| at as u8)
}

fn put_predicate(out: &mut Vec<u8>, predicate: &Predicate, depth: usize) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    match predicate {
        Predicate::Compare(comparison, Operand::Item(item)) => {
            out.extend([0, number_of(comparison, &COMPARISONS)?]);
            put_item(out, item).then_some(())?;
        }
        Predicate::Within(items) => {
            out.push(1);
            put_varint(out, items.len() as u64);
            items.iter().all(|item| put_item(out, item)).then_some(())?;
        }
        Predicate::Text(test, text, so) => {
            out.extend([2, number_of(test, &TEXT_TESTS)?, u8::from(*so)]);
            put_name(out, text);
        }
        Predicate::Regex(pattern, so) => {
            out.extend([3, u8::from(*so)]);
            put_name(out, pattern.text());
        }
        Predicate::And(all) | Predicate::Or(all) => {
            out.push(if matches!(predicate, Predicate::And(_)) { 4 } else { 5 });
            put_varint(out, all.len() as u64);
            all.iter().try_for_each(|one| put_predicate(out, one, depth))?;
        }
        Predicate::Not(one) => {
            out.push(6);
            put_predicate(out, one, depth)?;
        }
        _ => return None,
    }
    Some(())
}

fn take_predicate(reader: &mut Reader<'_>, depth: usize) -> Decoded<Predicate> {
    let start = reader.clone();
    let Some(depth) = depth.checked_sub(1) else {
        return Err(start.error(format!("a predicate nested at most {DEPTH_MAX} deep expected")));
    };
    let is_so = |reader: &mut Reader<'_>| chosen(reader, &[false, true], "whether it holds").copied();
    Ok(match reader.u8()? {
        0 => {
            let comparison = *chosen(reader, &COMPARISONS, "a comparison")?;
            Predicate::Compare(comparison, Operand::Item(take_item(reader)?))
        }
        1 => Predicate::Within(take_all(reader, usize::MAX, take_item)?),
        2 => {
            let test = *chosen(reader, &TEXT_TESTS, "a test of a text")?;
            let so = is_so(reader)?;
            Predicate::Text(test, reader.text()?.into(), so)
        }
        3 => {
            let (so, start) = (is_so(reader)?, reader.clone());
            let pattern = Pattern::new(reader.text()?);
            Predicate::Regex(pattern.map_err(|_| start.error("a regular expression expected"))?, so)
        }
        4 => Predicate::And(take_all(reader, usize::MAX, |reader| take_predicate(reader, depth))?),
        5 => Predicate::Or(take_all(reader, usize::MAX, |reader| take_predicate(reader, depth))?),
        6 => Predicate::Not(Box::new(take_predicate(reader, depth)?)),
        found => return Err(start.error(format!("a predicate expected, found {found}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::bindings::Bindings;
    use crate::gremlin::compile::as_written;
    use crate::gremlin::parser::ParseLimits;
    use crate::gremlin::read::read;

    fn operators(text: &str) -> Vec<Operator> {
        as_written(&read(text, &ParseLimits::default(), &Bindings::new()).unwrap()).unwrap().root.operators
    }

    fn stage(operators: Vec<Operator>) -> Traversal {
        Traversal { operators }
    }

    #[test]
    fn programs_read_back() {
        let all = "g.V().hasLabel('a', 'b').has('x').hasNot('y').has('z', within(1, 2.5, 'c').or(gt(7L)))
            .outE('k').inV().both().bothE('a').outV().has('name', startingWith('m').and(notContaining('q')))
            .has('name', regex('a+')).has('name', notRegex('b')).hasId(7).where(__.has('u', not(eq(null))))
            .dedup().values('w').is(neq(3)).constant('c').count()";
        let mut first = operators(all);
        first.retain(|operator| !matches!(operator, Operator::Where { .. }));
        // Nobody asks where an edge was come from.
        for operator in &mut first {
            if let Operator::Expand(expand) = operator {
                expand.to = if expand.to == ExpandTo::Neighbors { expand.to } else { ExpandTo::Edges(None) };
            }
        }
        let hop = Operator::Expand(Expand::new(Direction::In, None, ExpandTo::Count));
        let second = vec![Operator::Bulk, hop, Operator::Reduce(Reducer::SumOfCounts)];
        let third =
            vec![Operator::Map(Function::Id), Operator::Map(Function::Label), Operator::Reduce(Reducer::Max)];
        let stages: Vec<_> = [first, second, third].map(stage).into();
        let bytes = encode(&stages).unwrap();
        assert_eq!(decode(&bytes).unwrap(), stages);
        // Whatever is cut off or changed is refused or reads as something else, and nothing breaks.
        for end in 0..bytes.len() {
            decode(&bytes[..end]).unwrap_err();
        }
        for at in 0..bytes.len() {
            for change in [1, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                let _ = decode(&changed);
            }
        }
    }

    #[test]
    fn limits_are_kept_to() {
        let one = || stage(vec![Operator::Bulk]);
        assert!(encode(&[]).is_none() && encode(&vec![one(); 65]).is_none());
        assert!(encode(&[stage(vec![Operator::Bulk; 257])]).is_none());
        assert!(decode(&[2, 1, 1, 3]).unwrap_err().to_string().contains("version 1"));
        assert!(decode(&[1, 0]).unwrap_err().to_string().contains("1 to 64 stages"));
        assert!(decode(&[1, 1, 200, 3, 3]).is_err());
        let deep = (0..40).fold(Predicate::Within(Vec::new()), |inner, _| Predicate::Not(Box::new(inner)));
        assert!(!is_encodable(&Operator::Filter(vec![Test::Is(deep)])));
        let mut bytes = vec![1, 1, 1, kind::FILTER, 1, 5];
        bytes.extend([6; 5000]);
        assert!(decode(&bytes).unwrap_err().to_string().contains("32 deep"));
        for text in ["g.V().out().as('a')", "g.V().order()", "g.V().unfold()", "g.V().properties()"] {
            assert!(operators(text).last().is_some_and(|last| !is_encodable(last)), "{text}");
        }
    }
}
