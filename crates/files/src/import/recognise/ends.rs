//! Ends: the columns with the ends of edges in a plain file, if it has any.
//!
//! ```text
//! source,target,weight       by their names (end_names)
//! person_id,company_id       called after labels that there are (labels)
//! Adam,Waterloo              their values are ids of labels that there are
//! userId,movieId,rating      two ids, and the first of them comes again: it is none of the rows'
//! Tom,knows,Bill             names of one kind on both sides
//! ```
//!
//! The surest counts. A file that has ids of its own is one of vertices, unless names say clearly what
//! they mean.

use crate::import::recognise::columns::{PlainColumns, stem_has, stem_of_key};
use crate::import::recognise::end_names::{self, Rank, Scope, words_of};
use crate::import::recognise::labels::KnownLabels;
use crate::import::recognise::systems::ldbc::type_in_name;
use evergraph_graph::value::ValueType;

/// Words in the names of files that hold edges.
const EDGE_WORDS: [&str; 14] = [
    "edge",
    "edges",
    "edgelist",
    "link",
    "links",
    "relation",
    "relations",
    "relationship",
    "relationships",
    "rels",
    "arcs",
    "triples",
    "follows",
    "knows",
];

/// Words in the names of files that hold vertices.
const VERTEX_WORDS: [&str; 14] = [
    "node",
    "nodes",
    "vertex",
    "vertices",
    "user",
    "users",
    "person",
    "people",
    "entities",
    "label",
    "labels",
    "features",
    "attributes",
    "classes",
];

/// Columns of a file without names in which ends are looked for by their values.
const NARROW: usize = 4;

/// Types of edges that one column names, at most.
const TYPES_MAX: usize = 512;

/// Names, in words, of columns that name the type of an edge.
const TYPE_NAMES: [&str; 12] = [
    "relation",
    "relationship",
    "predicate",
    "rel",
    "rel type",
    "relation type",
    "relationship type",
    "edge type",
    "edge label",
    "interaction type",
    "link type",
    "property id",
];

/// Where the edges of a file begin and end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundEnds {
    /// The columns of sources and targets.
    pub columns: [usize; 2],
    /// What shows it.
    pub evidence: Evidence,
    /// The column that names the type of each edge.
    pub type_column: Option<usize>,
    /// What both ends are ids of, as far as names say.
    pub subject: Option<String>,
    /// Columns that name the label of each end, row by row: so it can't be read.
    pub label_columns: Option<[usize; 2]>,
}

/// What the name of a file says.
#[derive(Clone, Copy, Debug)]
pub struct NameHint<'a> {
    /// The name without its endings.
    pub stem: &'a str,
    /// Whether its ending is one of lists of edges.
    pub is_list: bool,
}

/// What shows that columns are ends of edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// The user said that the file holds edges.
    Told,
    /// The names of the columns.
    Names(Rank),
    /// They are called after labels.
    Labels,
    /// Their values are ids of labels.
    Ids,
    /// Both are called ids of something, and rows have none of their own.
    Keys,
    /// They share values.
    Values,
    /// They are the first ones, and rows have no ids of their own.
    Place,
}

impl Evidence {
    /// Whether it is beyond doubt.
    #[must_use]
    pub fn is_sure(self) -> bool {
        matches!(self, Self::Told | Self::Names(Rank::Clear | Rank::Likely) | Self::Labels | Self::Ids)
    }
}

/// The ends that the columns of a file show, among `labels`; `None` if it holds vertices, or
/// nothing tells.
#[must_use]
pub fn find(columns: &PlainColumns, hint: NameHint<'_>, labels: &KnownLabels) -> Option<FoundEnds> {
    let has_id = columns.id_column(hint.stem).is_some();
    let has_key = columns.first_key().is_some();
    let named = by_names(columns, Scope::First)
        .filter(|ends| !has_id || ends.evidence == Evidence::Names(Rank::Clear));
    let called = if named.is_some() { None } else { by_stem(columns, hint.stem, labels) };
    if has_id || named.is_some() || called.is_some() {
        return named.or(called);
    }
    by_labels(columns, labels)
        .or_else(|| if has_key { None } else { by_keys(columns) })
        .or_else(|| if columns.has_names && has_key { None } else { by_values(columns) })
        .or_else(|| by_place(columns, hint))
}

/// The ends of a file of which somebody said that it holds edges: the first two columns if nothing else
/// shows which they are.
#[must_use]
pub fn find_told(columns: &PlainColumns, labels: &KnownLabels) -> Option<FoundEnds> {
    let first = || {
        let mut used = columns.used();
        Some(found(columns, [used.next()?, used.next()?], Evidence::Told))
    };
    let ends = by_names(columns, Scope::Anywhere)
        .or_else(|| by_labels(columns, labels))
        .or_else(|| if columns.has_names { None } else { by_values(columns) });
    ends.or_else(first).map(|ends| FoundEnds { label_columns: None, ..ends })
}

/// The ends by ids of `labels`, of a file that may just as well hold vertices.
#[must_use]
pub fn by_ids(columns: &PlainColumns, labels: &KnownLabels) -> Option<FoundEnds> {
    let is_end = |column: &usize| {
        let sample = &columns.samples[*column];
        sample.is_text() && labels.of_files.iter().any(|known| known.has_all(sample))
    };
    let mut ends = columns.used().take(NARROW).filter(is_end);
    let ends = [ends.next()?, ends.next()?];
    (ends[0] == columns.used().next()?).then(|| found(columns, ends, Evidence::Ids))
}

/// The ends by the names of columns.
#[must_use]
pub fn by_names(columns: &PlainColumns, scope: Scope) -> Option<FoundEnds> {
    if !columns.has_names {
        return None;
    }
    // Columns that nobody uses are no names; the others keep their places.
    let names: Vec<&str> = (0..columns.width())
        .map(
            |column| {
                if columns.used().any(|used| used == column) { columns.names[column].as_str() } else { "" }
            },
        )
        .collect();
    let ends = end_names::find(&names, &columns.samples, scope)?;
    let evidence = Evidence::Names(ends.rank);
    if let Some(columns_behind) = namesakes_behind(columns, ends.columns) {
        return Some(found(columns, columns_behind, evidence));
    }
    let label_columns = ends.label_columns;
    Some(FoundEnds { subject: ends.subject, label_columns, ..found(columns, ends.columns, evidence) })
}

/// The columns right behind `ends`, if both have one name: `From Bank, Account, To Bank, Account` joins accounts.
fn namesakes_behind(columns: &PlainColumns, ends: [usize; 2]) -> Option<[usize; 2]> {
    let behind = ends.map(|end| end + 1);
    let [one, other] = [columns.names.get(behind[0])?, columns.names.get(behind[1])?];
    (*other == format!("{one}_2") && behind.iter().all(|column| columns.samples[*column].may_be_id()))
        .then_some(behind)
}

/// The first two columns of a file that is called after two labels: `Comment_hasTag_Tag`.
fn by_stem(columns: &PlainColumns, stem: &str, labels: &KnownLabels) -> Option<FoundEnds> {
    let (source, _, target) = type_in_name(stem)?;
    let mut used = columns.used();
    let ends = [used.next()?, used.next()?];
    let are_known = labels.named(&source).is_some() && labels.named(&target).is_some();
    let are_ids = ends.iter().all(|end| columns.samples[*end].may_be_id());
    (are_known && are_ids).then(|| found(columns, ends, Evidence::Labels))
}

/// Columns called after labels: the first two, or any two if rows have no ids of their own.
fn by_labels(columns: &PlainColumns, labels: &KnownLabels) -> Option<FoundEnds> {
    if !columns.has_names {
        return None;
    }
    let is_key =
        |column: &usize| columns.samples[*column].may_be_id() && labels.named(columns.key(*column)).is_some();
    let mut keys = columns.used().filter(is_key);
    let ends = [keys.next()?, keys.next()?];
    let first: Vec<usize> = columns.used().take(2).collect();
    let is_first = first == ends;
    (is_first || (ends[0] == first[0] && columns.first_key().is_none()))
        .then(|| found(columns, ends, Evidence::Labels))
}

/// Two ids of different things.
fn by_keys(columns: &PlainColumns) -> Option<FoundEnds> {
    if !columns.has_names {
        return None;
    }
    let is_key =
        |column: &usize| stem_of_key(columns.key(*column)).is_some() && columns.samples[*column].may_be_id();
    let mut keys = columns.used().filter(is_key);
    let ends = [keys.next()?, keys.next()?];
    (ends[0] == columns.used().next()?).then(|| found(columns, ends, Evidence::Keys))
}

/// Two columns of texts that share values, and one between them that names the types.
fn by_values(columns: &PlainColumns) -> Option<FoundEnds> {
    let is_end = |column: &usize| {
        let sample = &columns.samples[*column];
        sample.is_text() && sample.filled == columns.rows
    };
    let texts: Vec<usize> = columns.used().filter(is_end).collect();
    let is_narrow = columns.used().count() <= NARROW;
    // Where rows have ids, or columns names that say nothing, only the first column is where edges begin.
    let is_bound = columns.has_names || columns.first_key().is_some();
    let first = columns.used().next();
    let least = match (is_narrow, columns.has_names) {
        (true, false) => 0.1,
        (true, true) => 0.3,
        // In wide files columns of codes share values by chance.
        (false, _) => 0.5,
    };
    let mut best: Option<(f64, [usize; 2])> = None;
    for (at, source) in texts.iter().copied().enumerate() {
        for target in texts[at + 1..].iter().copied() {
            let [one, other] = [source, target].map(|column| &columns.samples[column]);
            let shared = one.shared(other);
            let share = shared as f64 / one.values.len().min(other.values.len()).max(1) as f64;
            let is_enough = share >= least && shared >= if is_narrow { 1 } else { 10 };
            let may_begin = !is_bound || first == Some(source);
            if is_enough && may_begin && best.is_none_or(|(most, _)| share > most) {
                best = Some((share, [source, target]));
            }
        }
    }
    let shared = best.map(|(_, ends)| found(columns, ends, Evidence::Values));
    shared.or_else(|| triple(columns))
}

/// Three columns of texts with few values in the middle one: subject, predicate, object.
fn triple(columns: &PlainColumns) -> Option<FoundEnds> {
    let used: Vec<usize> = columns.used().collect();
    let [subject, predicate, object] = used[..] else { return None };
    let values = |column: usize| columns.samples[column].values.len();
    let are_texts = used.iter().all(|column| columns.samples[*column].is_text());
    (are_texts && values(predicate) * 2 <= values(subject).min(values(object)))
        .then(|| found(columns, [subject, object], Evidence::Values))
        .filter(|ends| ends.type_column.is_some())
}

/// The first two columns of a file without names, or one called after edges, if they are of one kind.
fn by_place(columns: &PlainColumns, hint: NameHint<'_>) -> Option<FoundEnds> {
    let mut used = columns.used();
    let ends = [used.next()?, used.next()?];
    let is_narrow = columns.used().count() <= NARROW;
    let [one, other] = ends.map(|column| &columns.samples[column]);
    let are_full = one.filled == columns.rows && other.filled == columns.rows;
    let are_alike = are_full && one.may_be_id() && other.may_be_id() && one.is_text() == other.is_text();
    let are_numbers = one.value_type == Some(ValueType::I64) && are_alike;
    let has_edge_name = hint.is_list || stem_has(hint.stem, &EDGE_WORDS);
    let is_edge = match () {
        () if !are_alike || !is_narrow => false,
        () if stem_has(hint.stem, &VERTEX_WORDS) && !has_edge_name && one.is_key => false,
        () if columns.has_names => has_edge_name,
        () => has_edge_name || are_numbers || !one.is_key,
    };
    is_edge.then(|| found(columns, ends, Evidence::Place))
}

/// What is known of `ends`, with the column that names types.
fn found(columns: &PlainColumns, ends: [usize; 2], evidence: Evidence) -> FoundEnds {
    let type_column =
        columns.used().find(|column| !ends.contains(column) && names_types(columns, *column, ends));
    FoundEnds { columns: ends, evidence, type_column, subject: None, label_columns: None }
}

/// Whether `column` names types of edges: its name says so, or it stands between ends without names and has
/// few values, and none that the ends have.
fn names_types(columns: &PlainColumns, column: usize, ends: [usize; 2]) -> bool {
    let sample = &columns.samples[column];
    let is_full = sample.filled == columns.rows && sample.values.len() <= TYPES_MAX;
    if !sample.is_text() || !is_full {
        return false;
    }
    if columns.has_names {
        let name = columns.key(column);
        let words = words_of(name).join(" ");
        return TYPE_NAMES.contains(&words.as_str()) || name == "_type" || name == ":TYPE";
    }
    let is_between = ends[0] < column && column < ends[1];
    let is_other = ends.iter().all(|end| columns.samples[*end].shared(sample) == 0);
    let most = ends.map(|end| columns.samples[end].values.len());
    is_between && is_other && sample.values.len() <= most[0].max(most[1])
}
