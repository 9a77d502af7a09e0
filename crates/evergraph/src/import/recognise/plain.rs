//! Plain: CSV files whose header has names only, or that have none: which are vertices, which edges.
//!
//! ```text
//! person.csv   person_id, name             a column called id or after its file: vertices
//! knows.csv    from, to, since             a pair of such names: edges; the only vertices there are
//! works.csv    person_id, company_id       two columns called after files of vertices: edges of these
//! codes.csv    code, text                  none of it: vertices, if the first column has no value twice
//! ```
//!
//! All files of an import are looked at together, since one file tells what another's names mean. Labels that
//! a database has count as those of files do, after them.

use crate::import::mapping::rule::{ColumnName, EndColumn, FileFormat, FileRule};
use crate::import::mapping::words::name_of;
use crate::import::options::Role;
use crate::import::recognise::ldbc::type_in_name;
use crate::import::recognise::sample::{ColumnSample, Sample, is_value};
use evergraph_graph::value::ValueType;
use evergraph_graph::value::shortened::Shortened;
use std::collections::HashSet;

/// Names of columns where an edge begins and ends.
const END_NAMES: [(&str, &str); 6] = [
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("src", "dest"),
    ("start", "end"),
    ("source", "destination"),
];

/// A CSV file that doesn't say what its columns hold.
#[derive(Debug)]
pub struct PlainCsv {
    /// The file's name without its endings.
    pub stem: String,
    /// What it must hold, if somebody said so.
    pub role: Option<Role>,
    /// Its first rows.
    pub sample: Sample,
}

/// A label whose vertices come from some file, and the space of their ids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownLabel {
    /// The label.
    pub label: String,
    /// Its id space.
    pub space: String,
}

/// All labels whose vertices edges may join.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KnownLabels {
    /// Those of files that are imported.
    pub of_files: Vec<KnownLabel>,
    /// Those of the database.
    pub of_database: Vec<KnownLabel>,
}

impl KnownLabels {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// All of them, those of files first.
    fn all(&self) -> impl Iterator<Item = &KnownLabel> {
        self.of_files.iter().chain(&self.of_database)
    }

    /// The one that is meant where no name says which: the only one of the files, or if these have none, of
    /// the database.
    fn only(&self) -> Option<&KnownLabel> {
        match (&self.of_files[..], &self.of_database[..]) {
            ([only], _) | ([], [only]) => Some(only),
            _ => None,
        }
    }
}

/// What a file was found to be.
#[derive(Debug)]
pub struct Settled {
    /// How it is read; as far as it is known, if `problem` says that it isn't.
    pub rule: FileRule,
    /// What was guessed.
    pub notes: Vec<String>,
    /// Why it can't be read by that.
    pub problem: Option<String>,
}

impl PlainCsv {
    /// Whether the first line is a header: names, none of them twice.
    #[must_use]
    pub fn has_header(&self) -> bool {
        let mut names = HashSet::new();
        self.sample.first.iter().map(|word| name_of(word)).all(|name| !is_value(name) && names.insert(name))
    }

    /// The label, if this file has vertices without a doubt: a column is called `id` or after the file.
    #[must_use]
    pub fn obvious_label(&self) -> Option<KnownLabel> {
        let is_nodes = self.role.is_none_or(|role| role == Role::Nodes);
        (is_nodes && self.has_header() && self.id_column().is_some() && self.end_columns().is_none())
            .then(|| KnownLabel { label: self.stem.clone(), space: self.stem.clone() })
    }

    /// Decides what the file is, given the vertices of all files.
    #[must_use]
    pub fn settle(&self, labels: &KnownLabels) -> Settled {
        let has_header = self.has_header();
        let ends = match self.role {
            Some(Role::Nodes) => None,
            Some(_) => self.end_columns().or_else(|| (self.width() >= 2).then_some([0, 1])),
            None if !has_header => None,
            None if self.id_column().is_some() => self.end_columns(),
            None => self.end_columns().or_else(|| self.foreign_keys(labels)),
        };
        let mut settled = match ends {
            Some(ends) => self.edges(ends, labels),
            None => self.vertices(),
        };
        if !has_header {
            settled.rule.header = false;
            settled.rule.columns = Some(self.headerless_columns());
            settled.rule.types.clear();
            let note = "guessed: its first line looks like data, so its columns have no names";
            settled.notes.insert(0, note.to_owned());
        }
        settled
    }

    /// What the columns look like, in all rows.
    fn columns(&self) -> &[ColumnSample] {
        if self.has_header() { &self.sample.columns } else { &self.sample.columns_with_first }
    }

    fn width(&self) -> usize {
        self.sample.first.len()
    }

    fn vertices(&self) -> Settled {
        let mut rule = FileRule::new(FileFormat::Csv);
        rule.label = Some(self.stem.clone());
        let by_name = if self.has_header() { self.id_column() } else { None };
        let first_is_key = self.columns().first().is_some_and(|first| first.is_key);
        let id = by_name.or_else(|| first_is_key.then_some(0));
        let mut notes = Vec::new();
        let mut problem = None;
        match id {
            Some(id) => {
                rule.id = Some(self.end_column(id, None));
                let name = self.column_name(id);
                notes.push(format!(
                    "guessed: vertices, column {name} is their id, types from {}",
                    self.looked_at()
                ));
            }
            None => {
                let names: Vec<&str> = self.sample.first.iter().map(|word| name_of(word)).collect();
                problem = Some(format!(
                    "no column tells the ids of vertices (:ID, id, or a first one without repetitions), nor are \
                     there :START_ID and :END_ID of edges: the first line is {}",
                    Shortened::new(&names.join(" "))
                ));
            }
        }
        self.add_types(&mut rule, &id.into_iter().collect::<Vec<_>>());
        Settled { rule, notes, problem }
    }

    fn edges(&self, ends: [usize; 2], labels: &KnownLabels) -> Settled {
        let mut rule = FileRule::new(FileFormat::Csv);
        let named = type_in_name(&self.stem);
        rule.edge_type = Some(named.as_ref().map_or_else(|| self.stem.clone(), |(_, name, _)| name.clone()));
        let words = named.map_or([None, None], |(source, _, target)| [Some(source), Some(target)]);
        let space = |column: usize, word: Option<String>| {
            let by_name = |name: &str| labels.all().find(|known| is_called(name, &known.label));
            let found =
                by_name(name_of(&self.sample.first[column])).or_else(|| word.as_deref().and_then(by_name));
            found.or(labels.only()).map(|known| known.space.clone())
        };
        let [source_word, target_word] = words;
        let spaces = [space(ends[0], source_word), space(ends[1], target_word)];
        let notes = vec![format!(
            "guessed: edges from column {} to column {}, types from {}",
            self.column_name(ends[0]),
            self.column_name(ends[1]),
            self.looked_at()
        )];
        let problem = spaces.iter().any(Option::is_none).then(|| {
            let spaces: Vec<&str> = labels.all().map(|known| known.space.as_str()).collect();
            let known = match &spaces[..] {
                [] => "there is no file of vertices beside it".to_owned(),
                spaces => format!("known are those of {}", spaces.join(", ")),
            };
            format!("its columns don't tell between which vertices its edges are; {known}")
        });
        let [source, target] = spaces;
        rule.start = Some(EndColumn { id_type: None, ..self.end_column(ends[0], source) });
        rule.end = Some(EndColumn { id_type: None, ..self.end_column(ends[1], target) });
        self.add_types(&mut rule, &ends);
        Settled { rule, notes, problem }
    }

    /// The column called `id`, or after the file.
    fn id_column(&self) -> Option<usize> {
        let names = || self.sample.first.iter().map(|word| name_of(word));
        names()
            .position(|name| matches!(name.to_ascii_lowercase().as_str(), "id" | "_id"))
            .or_else(|| names().position(|name| stem_of_key(name).is_some() && is_called(name, &self.stem)))
    }

    /// The columns called by a pair of [`END_NAMES`], with or without `id` behind.
    fn end_columns(&self) -> Option<[usize; 2]> {
        if !self.has_header() {
            return None;
        }
        let find = |wanted: &str| {
            self.sample.first.iter().position(|word| {
                let name = name_of(word).to_ascii_lowercase();
                name == wanted || stem_of_key(&name) == Some(wanted)
            })
        };
        END_NAMES.iter().find_map(|(source, target)| Some([find(source)?, find(target)?]))
    }

    /// The first two columns, if both are called after labels: `person_id`, `Person.id`.
    fn foreign_keys(&self, labels: &KnownLabels) -> Option<[usize; 2]> {
        let is_key = |word: &String| {
            let name = name_of(word);
            stem_of_key(name).is_some() && labels.all().any(|known| is_called(name, &known.label))
        };
        (self.width() >= 2 && self.sample.first[..2].iter().all(is_key)).then_some([0, 1])
    }

    fn end_column(&self, column: usize, space: Option<String>) -> EndColumn {
        let is_long = self.columns()[column].value_type == Some(ValueType::I64);
        let id_type = (is_long && self.has_header()).then(|| "long".to_owned());
        EndColumn { column: ColumnName::Name(self.column_name(column)), space, id_type }
    }

    fn column_name(&self, column: usize) -> String {
        if self.has_header() {
            name_of(&self.sample.first[column]).to_owned()
        } else {
            format!("c{}", column + 1)
        }
    }

    /// States the types of all columns but the ids, where the header doesn't and text isn't meant.
    fn add_types(&self, rule: &mut FileRule, ids: &[usize]) {
        for ((column, word), sample) in self.sample.first.iter().enumerate().zip(self.columns()) {
            let name = name_of(word);
            let states = word.trim() != name;
            if let Some(value_type) = sample.typed()
                && !ids.contains(&column)
                && !states
            {
                rule.types.insert(name.to_owned(), value_type.name().to_owned());
            }
        }
    }

    fn headerless_columns(&self) -> Vec<String> {
        let columns = self.columns();
        let word = |column: usize| match columns[column].typed() {
            // Ids are text or long.
            Some(value_type) if column > 0 || value_type == ValueType::I64 => {
                format!("{}:{}", self.column_name(column), value_type.name())
            }
            _ => self.column_name(column),
        };
        (0..self.width()).map(word).collect()
    }

    fn looked_at(&self) -> String {
        match self.sample.rows + usize::from(!self.has_header()) {
            1 => "one row".to_owned(),
            rows => format!("{rows} rows"),
        }
    }
}

/// `person` of `person_id`, `Person.id`, `personId`.
fn stem_of_key(name: &str) -> Option<&str> {
    let stem =
        ["_id", ".id", "-id", " id", "Id", "ID"].iter().find_map(|ending| name.strip_suffix(ending))?;
    (!stem.is_empty()).then_some(stem)
}

/// Whether a column or word `name` is called after `label`, in any case and number.
fn is_called(name: &str, label: &str) -> bool {
    let plain = |text: &str| {
        let text: String = text.chars().filter(|letter| letter.is_alphanumeric()).collect();
        let text = text.to_lowercase();
        text.strip_suffix('s').map_or(text.clone(), ToOwned::to_owned)
    };
    let label = plain(label);
    plain(name) == label || stem_of_key(name).is_some_and(|stem| plain(stem) == label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::csv_records::CsvFormat;
    use crate::import::input::Input;

    fn plain(stem: &str, text: &str) -> PlainCsv {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, text).unwrap();
        let format = CsvFormat { delimiter: b',', quote: Some(b'"'), escape: None };
        let sample = Sample::of(&Input::new(&path).unwrap(), format).unwrap().unwrap();
        PlainCsv { stem: stem.to_owned(), role: None, sample }
    }

    fn known(labels: &[&str]) -> KnownLabels {
        let known = |label: &&str| KnownLabel { label: (*label).to_owned(), space: (*label).to_owned() };
        KnownLabels { of_files: labels.iter().map(known).collect(), of_database: Vec::new() }
    }

    fn end(name: &str, space: Option<&str>, id_type: Option<&str>) -> Option<EndColumn> {
        Some(EndColumn {
            space: space.map(ToOwned::to_owned),
            id_type: id_type.map(ToOwned::to_owned),
            ..EndColumn::new(ColumnName::Name(name.to_owned()))
        })
    }

    #[test]
    fn a_column_called_id_or_after_the_file_makes_vertices() {
        for (stem, text, id) in [
            ("person", "name,id,born\nAda,1,1815\n", "id"),
            ("persons", "name,person_id,born\nAda,1,1815\n", "person_id"),
        ] {
            let plain = plain(stem, text);
            assert_eq!(plain.obvious_label().unwrap().label, stem);
            let settled = plain.settle(&known(&[]));
            assert_eq!((settled.rule.label.as_deref(), settled.problem), (Some(stem), None));
            assert_eq!(settled.rule.id, end(id, None, Some("long")));
            assert_eq!(settled.rule.types.get("born").map(String::as_str), Some("long"));
            assert_eq!(settled.rule.types.len(), 1, "text needs no word");
        }
    }

    #[test]
    fn a_pair_of_names_makes_edges_between_the_vertices_there_are() {
        let text = "from,to,since\n1,2,2020-01-01\n";
        let settled = plain("knows", text).settle(&known(&["Person"]));
        assert_eq!((settled.rule.edge_type.as_deref(), settled.problem), (Some("knows"), None));
        assert_eq!(settled.rule.start, end("from", Some("Person"), None));
        assert_eq!(settled.rule.end, end("to", Some("Person"), None));
        assert_eq!(settled.rule.types.get("since").map(String::as_str), Some("date"));
        let settled = plain("Person_livesIn_City", text).settle(&known(&["Person", "City"]));
        assert_eq!(settled.rule.edge_type.as_deref(), Some("LIVES_IN"));
        assert_eq!(settled.rule.end, end("to", Some("City"), None));
        let problem = plain("knows", text).settle(&known(&["Person", "City"])).problem.unwrap();
        assert!(problem.contains("known are those of Person, City"), "{problem}");
    }

    #[test]
    fn labels_of_the_database_count_where_files_have_none() {
        let KnownLabels { of_files: of_database, .. } = known(&["Person"]);
        let alone = KnownLabels { of_files: Vec::new(), of_database: of_database.clone() };
        let knows = plain("knows", "from,to,since\n1,2,2020-01-01\n");
        assert_eq!(knows.settle(&alone).rule.start, end("from", Some("Person"), None));
        let beside = KnownLabels { of_database, ..known(&["Dog"]) };
        assert_eq!(knows.settle(&beside).rule.start, end("from", Some("Dog"), None));
        let named = plain("owns", "person_id,dog_id\n1,2\n").settle(&beside);
        assert_eq!(named.rule.start, end("person_id", Some("Person"), None));
        assert_eq!(named.rule.end, end("dog_id", Some("Dog"), None));
    }

    #[test]
    fn columns_called_after_labels_make_edges() {
        let labels = known(&["person", "companies", "company"]);
        let settled = plain("works", "person_id,companyId\n1,2\n").settle(&labels);
        assert_eq!(settled.rule.end, end("companyId", Some("company"), None));
        let settled = plain("works", "person_id,town_id\n1,2\n").settle(&labels);
        assert_eq!(settled.rule.id, end("person_id", None, Some("long")), "the first column is a key");
    }

    #[test]
    fn a_file_without_a_header_has_numbered_columns() {
        let settled = plain("p", "7,Ada,1.5,2020-01-01\n8,Mary,2,\n").settle(&known(&[]));
        assert!(!settled.rule.header);
        assert_eq!(settled.rule.columns.unwrap(), ["c1:long", "c2", "c3:double", "c4:date"]);
        assert_eq!(settled.rule.id, end("c1", None, None));
        assert!(settled.rule.types.is_empty() && settled.problem.is_none());
    }

    #[test]
    fn a_first_column_that_repeats_is_no_id() {
        let problem = plain("p", "town,street\nA,x\nA,y\n").settle(&known(&[])).problem.unwrap();
        assert!(problem.contains("the first line is \"town street\""), "{problem}");
    }

    #[test]
    fn a_role_that_was_told_is_kept() {
        let told = |role| PlainCsv { role: Some(role), ..plain("x", "a,id\n1,2\n") };
        assert_eq!(told(Role::Relationships).settle(&known(&["P"])).rule.start, end("a", Some("P"), None));
        assert_eq!(told(Role::Nodes).settle(&known(&["P"])).rule.id, end("id", None, Some("long")));
    }
}
