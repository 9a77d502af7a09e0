//! Settle: recognises files that can only be understood beside others.
//!
//! ```text
//! 1  files that tell everything, and files of vertices without a doubt     labels
//! 2  files that have edges by themselves; of the others, those whose       edges
//!    values are ids of the rest
//! 3  the rest has vertices                                                 more labels
//! 4  ends of edges find their labels; where there is none, it is made
//! ```

use crate::import::bytes::input::Input;
use crate::import::known::Known;
use crate::import::mapping::rule::{FileFormat, FileRule};
use crate::import::mapping::words::header_words;
use crate::import::options::{ImportOptions, InputFile};
use crate::import::policy::OnUnknown;
use crate::import::recognise::ends::{Evidence, FoundEnds};
use crate::import::recognise::known_types::yield_to_known;
use crate::import::recognise::labels::{KnownLabel, KnownLabels};
use crate::import::recognise::list::ListLook;
use crate::import::recognise::look::Look;
use crate::import::recognise::plain::{PlainFile, Settled};
use crate::import::recognise::systems::neo4j::create_ends;

/// What a file was found to be.
#[derive(Debug)]
pub struct Recognised {
    /// How it is read.
    pub rule: FileRule,
    /// What was guessed.
    pub notes: Vec<String>,
    /// What one may want to say of it.
    pub advice: Option<String>,
    /// Why it can't be read by that.
    pub problem: Option<String>,
}

/// Decides what files are of which there are `looks`, in their order, beside a database that has `known`.
#[must_use]
pub fn settle(
    looks: Vec<Look>,
    files: &[(&InputFile, &Input)],
    options: &ImportOptions,
    known: &Known,
) -> Vec<Option<Recognised>> {
    let (ends, labels) = find_ends(&looks, known);
    let settled = looks.into_iter().zip(files).zip(ends);
    let settle = |((look, (file, input)), ends): ((Look, &(&InputFile, &Input)), Option<FoundEnds>)| {
        settle_one(look, (file, input), ends, &labels, options, known)
    };
    settled.map(settle).collect()
}

/// The ends of each file's edges, and all labels that they may be of.
fn find_ends(looks: &[Look], known: &Known) -> (Vec<Option<FoundEnds>>, KnownLabels) {
    let of_database: Vec<KnownLabel> = known.labels().into_iter().map(KnownLabel::new).collect();
    let told: Vec<Option<KnownLabel>> = looks.iter().map(told_label).collect();
    let labels_of = |of_files: &[Option<KnownLabel>]| KnownLabels {
        of_files: of_files.iter().flatten().cloned().collect(),
        of_database: of_database.clone(),
    };
    let first = labels_of(&told);
    let mut ends: Vec<Option<FoundEnds>> = looks
        .iter()
        .zip(&told)
        .map(|(look, told)| plain(look).filter(|_| told.is_none()).and_then(|plain| plain.find_ends(&first)))
        .collect();
    let label = |at: usize, ends: &[Option<FoundEnds>]| {
        let guessed = || plain(&looks[at]).filter(|_| ends[at].is_none()).and_then(PlainFile::label);
        told[at].clone().or_else(guessed)
    };
    for at in 0..looks.len() {
        if told[at].is_some() || ends[at].is_some() {
            continue;
        }
        let others: Vec<Option<KnownLabel>> =
            (0..looks.len()).map(|other| label(other, &ends).filter(|_| other != at)).collect();
        ends[at] = plain(&looks[at]).and_then(|plain| plain.find_ends_by_ids(&labels_of(&others)));
    }
    let all: Vec<Option<KnownLabel>> = (0..looks.len()).map(|at| label(at, &ends)).collect();
    (ends, labels_of(&all))
}

fn told_label(look: &Look) -> Option<KnownLabel> {
    match look {
        Look::Rule(_, label, _) => label.clone(),
        Look::Plain(plain, _) | Look::Numbers(_, plain, _) => plain.obvious_label(),
        Look::List(..) | Look::Edges(..) | Look::Stranger => None,
    }
}

fn plain(look: &Look) -> Option<&PlainFile> {
    match look {
        Look::Plain(plain, _) | Look::Numbers(_, plain, _) => Some(plain),
        _ => None,
    }
}

fn settle_one(
    look: Look,
    (file, input): (&InputFile, &Input),
    ends: Option<FoundEnds>,
    labels: &KnownLabels,
    options: &ImportOptions,
    known: &Known,
) -> Option<Recognised> {
    let found = |rule| Recognised { rule, notes: Vec::new(), advice: None, problem: None };
    let as_list = |rule, ListLook { advice, problem, .. }| {
        Some(Recognised { advice, problem, ..found(named(rule, file)) })
    };
    match look {
        Look::Stranger => None,
        Look::Rule(rule, _, advice) => Some(Recognised { advice, ..found(named(rule, file)) }),
        Look::Edges(mut rule, header, advice) => {
            let label = file.label.as_ref().unwrap_or(&options.lists.vertex_label);
            // Where somebody has vertices, an unknown space is a typing error.
            let is_alone = labels.is_empty() && options.ids.on_unknown != OnUnknown::Skip;
            let is_alone = is_alone && create_ends(&mut rule, &header, label);
            let made = is_alone.then(|| "its ends become vertices, for no file has some".to_owned());
            let advice: Vec<String> = made.into_iter().chain(advice).collect();
            let advice = (!advice.is_empty()).then(|| advice.join("; "));
            Some(Recognised { advice, ..found(named(rule, file)) })
        }
        Look::List(rule, mut list) => {
            if rule.format == FileFormat::EdgeList {
                list.advice = list.advice.or_else(|| beside(labels, file, options));
            }
            as_list(rule, list)
        }
        Look::Numbers(mut list, plain, _) if is_list_of_its_own(&plain, ends.as_ref(), labels) => {
            list.advice = list.advice.or_else(|| beside(labels, file, options));
            if plain.role.is_none() && list.advice.is_none() {
                list.advice = Some(
                    "read as a list of edges: a line is source, target, weight and time, as many as there are; if \
                     its rows are vertices, say --nodes LABEL=FILE"
                        .to_owned(),
                );
            }
            as_list(FileRule::new(FileFormat::EdgeList), list)
        }
        Look::Plain(plain, dialect) | Look::Numbers(_, plain, dialect) => {
            let Settled { rule, notes, problem } = plain.settle(ends, labels);
            let FileRule { format, delimiter, quote, comment, .. } = dialect;
            let mut rule = FileRule { format, delimiter, quote, comment, ..rule };
            if input.is_nameless() {
                rule.edge_type = rule.edge_type.map(|_| options.lists.edge_type.clone());
            }
            rule = named(rule, file);
            let mut remedy = None;
            if format == FileFormat::Parquet {
                // Its schema states them.
                (rule.header, rule.columns) = (true, None);
                rule.types.clear();
                [&mut rule.id, &mut rule.start, &mut rule.end]
                    .into_iter()
                    .flatten()
                    .for_each(|end| end.id_type = None);
            } else {
                yield_to_known(&mut rule, &plain.columns.words, known);
                remedy = if labels.is_empty() { None } else { header_to_say(&rule, &plain, options) };
            }
            let problem = problem.map(|problem| match remedy {
                Some(header) => format!("{problem}; say which ones, as in {header}"),
                None => problem,
            });
            Some(Recognised { notes, problem, ..found(rule) })
        }
    }
}

/// Whether the edges of a list of numbers have vertices of their own: no file has some, or nothing tells which.
fn is_list_of_its_own(plain: &PlainFile, ends: Option<&FoundEnds>, labels: &KnownLabels) -> bool {
    let Some(ends) = ends else { return false };
    let is_list = ends.evidence == Evidence::Place || plain.role.is_some();
    is_list && (labels.of_files.is_empty() || plain.settle(Some(ends.clone()), labels).problem.is_some())
}

/// What to say of a list that has vertices of its own beside files that have others.
fn beside(labels: &KnownLabels, file: &InputFile, options: &ImportOptions) -> Option<String> {
    let label = file.label.as_ref().unwrap_or(&options.lists.vertex_label);
    (!labels.of_files.is_empty()).then(|| {
        format!(
            "its ends are vertices of label {label}, and not those of the other files: --relationships TYPE=FILE \
             joins these"
        )
    })
}

/// The option that says what the columns of edges are, but for the label.
fn header_to_say(rule: &FileRule, plain: &PlainFile, options: &ImportOptions) -> Option<String> {
    let mut rule = rule.clone();
    rule.start.as_ref()?;
    for end in [&mut rule.start, &mut rule.end].into_iter().flatten() {
        end.space.get_or_insert_with(|| "LABEL".to_owned());
    }
    let option = if rule.header { "--replace-header" } else { "--header" };
    let words = rule.columns.clone().unwrap_or_else(|| plain.columns.words.clone());
    let delimiter = char::from(rule.delimiter.or(options.csv.delimiter).unwrap_or(b','));
    let words = header_words(&words, &rule).ok()?;
    Some(format!("{option} '{}'", words.join(&delimiter.to_string())))
}

/// `rule` with the names that the user gave to the file's label or type.
fn named(rule: FileRule, file: &InputFile) -> FileRule {
    let FileRule { label, edge_type, id, .. } = rule;
    // Where the label is the space as well, edges may be waiting for it.
    let id = id.map(|mut id| {
        if file.label.is_some() && id.space.is_none() {
            id.space.clone_from(&label);
        }
        id
    });
    let has_columns = matches!(rule.format, FileFormat::Csv | FileFormat::Parquet);
    let has_edges = edge_type.is_some() || !has_columns;
    let has_vertices = label.is_some() || !has_columns;
    FileRule {
        label: file.label.clone().filter(|_| has_vertices).or(label),
        edge_type: file.edge_type.clone().filter(|_| has_edges).or(edge_type),
        id,
        ..rule
    }
}
