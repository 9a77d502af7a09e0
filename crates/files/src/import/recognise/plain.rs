//! Plain: which files with a plain header, or with none, hold vertices and which hold edges.
//!
//! ```text
//! person.csv   person_id, name             a column called id or after its file: vertices
//! knows.csv    from, to, since             a pair of such names: edges; the only vertices there are
//! works.csv    person_id, company_id       two columns called after files of vertices: edges of these
//! list.csv     source, target              edges, and no file of vertices: their ends become some
//! codes.csv    code, text                  none of it: vertices, if the first column has no value twice
//! ```
//!
//! All files of an import are looked at together, since one file tells what another's names mean. Labels that
//! a database has count as those of files do, after them.

use crate::import::mapping::rule::{ColumnName, EndColumn, FileFormat, FileRule};
use crate::import::recognise::columns::{PlainColumns, stem_of_key};
use crate::import::recognise::end_names::Scope;
use crate::import::recognise::ends::{self, Evidence, FoundEnds, NameHint};
use crate::import::recognise::first_row::names_property;
use crate::import::recognise::labels::{KnownLabel, KnownLabels};
use crate::import::recognise::sample::NULL_MARK;
use crate::import::recognise::systems::ldbc::type_in_name;
use crate::import::role::Role;
use evergraph_graph::value::ValueType;
use evergraph_graph::value::shortened::Shortened;
use std::sync::Arc;

/// Columns of a file that may hold edges, at most, if nothing but their number and kind shows it.
const WIDTH_OF_EDGES: usize = 4;

/// A file that doesn't say what its columns hold.
#[derive(Debug)]
pub struct PlainFile {
    /// The file's name without its endings.
    pub stem: String,
    /// What it must hold, if the user said so.
    pub role: Option<Role>,
    /// Its columns.
    pub columns: PlainColumns,
    /// Whether its ending is one of lists of edges.
    pub is_list: bool,
    /// Whether all of its rows were looked at.
    pub is_whole: bool,
    /// Whether fields are [`NULL_MARK`].
    pub null_marks: NullMarks,
    /// A word in its fields that may mean no value.
    pub null_word: Option<&'static str>,
    /// Whether quotes are characters as others are, against what the options say.
    pub has_bare_quotes: bool,
    /// The label of vertices that are created from the ends of edges, and whether the user named it.
    pub end_label: EndLabel,
}

/// The label of vertices that are made of the ends of edges, where no file has vertices.
#[derive(Clone, Debug)]
pub enum EndLabel {
    /// The user named it.
    Told(String),
    /// It is the one for all lists.
    Default(String),
}

/// Whether fields of a file are [`NULL_MARK`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NullMarks {
    /// None is, or they mean something else.
    None,
    /// Some are.
    Seen,
    /// Of those that weren't looked at, some may be.
    Possible,
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

/// Where the vertices of one end are.
struct EndLabelFound {
    space: String,
    /// Whether vertices that aren't there are created.
    creates: bool,
    /// Whether a file or the database has vertices of it.
    is_known: bool,
}

impl PlainFile {
    /// The label, if this file has vertices without a doubt: a column is called `id` or after the file.
    #[must_use]
    pub fn obvious_label(&self) -> Option<KnownLabel> {
        let id = self.columns.id_column(&self.stem)?;
        let is_nodes = self.role.is_none_or(|role| role == Role::Nodes);
        let is_edges = || ends::find(&self.columns, self.hint(), &KnownLabels::default()).is_some();
        // It may be called after two labels, which the other files show.
        let is_vague = type_in_name(&self.stem).is_some() && !self.columns.samples[id].is_key;
        (is_nodes && (self.role.is_some() || (!is_vague && !is_edges()))).then(|| self.label_of(id))
    }

    /// The label, if this file has vertices.
    #[must_use]
    pub fn label(&self) -> Option<KnownLabel> {
        self.vertex_id().map(|id| self.label_of(id))
    }

    /// The ends of the edges that this file has, if it has some, beside files of vertices of `labels`.
    #[must_use]
    pub fn find_ends(&self, labels: &KnownLabels) -> Option<FoundEnds> {
        match self.role {
            Some(Role::Nodes) => None,
            Some(_) => ends::find_told(&self.columns, labels),
            None => ends::find(&self.columns, self.hint(), labels),
        }
    }

    /// The ends by ids of `labels`, of a file that may just as well have vertices.
    #[must_use]
    pub fn find_ends_by_ids(&self, labels: &KnownLabels) -> Option<FoundEnds> {
        if self.role.is_some() || self.columns.id_column(&self.stem).is_some() {
            return None;
        }
        ends::by_ids(&self.columns, labels)
    }

    /// Decides how the file is read, whose edges have `ends`, or that has vertices, beside those of `labels`.
    #[must_use]
    pub fn settle(&self, ends: Option<FoundEnds>, labels: &KnownLabels) -> Settled {
        let mut settled = match ends {
            Some(ends) => self.edges(ends, labels),
            None => self.vertices(labels),
        };
        if self.null_marks != NullMarks::None {
            settled.rule.null = Some(NULL_MARK.to_owned());
        }
        if self.null_marks == NullMarks::Seen {
            settled.notes.push(format!("{NULL_MARK} stands for no value"));
        }
        if let Some(word) = self.null_word {
            settled.notes.push(format!("{word} is a text in it (--null {word} makes it no value)"));
        }
        if self.has_bare_quotes {
            settled.notes.push("quotes are ordinary characters in it (--quote none)".to_owned());
        }
        settled.notes.extend(self.first_line_note());
        if let Some(column) = self.columns.row_numbers {
            let name = &self.columns.names[column];
            let name = if name.is_empty() { "without a name".to_owned() } else { name.clone() };
            settled.notes.push(format!("column {} ({name}) counts rows and is left out", column + 1));
        }
        settled
    }

    /// What was decided about the first line, if that isn't plain.
    fn first_line_note(&self) -> Option<String> {
        let PlainColumns { has_header, has_names, is_certain, .. } = self.columns;
        match (has_header, is_certain) {
            (false, _) if has_names => Some("a comment before its rows names its columns".to_owned()),
            (false, true) => Some("its first line looks like data, so its columns have no names".to_owned()),
            (false, false) => Some(
                "its first line is taken for data, so its columns have no names (--first-line header takes it for \
                 their names)"
                    .to_owned(),
            ),
            (true, false) => Some(
                "its first line is taken for the names of columns (--first-line data takes it for a row)"
                    .to_owned(),
            ),
            (true, true) => None,
        }
    }

    fn hint(&self) -> NameHint<'_> {
        NameHint { stem: &self.stem, is_list: self.is_list }
    }

    /// The column that is the id of vertices.
    fn vertex_id(&self) -> Option<usize> {
        self.columns.id_column(&self.stem).or_else(|| self.columns.first_key())
    }

    fn label_of(&self, id: usize) -> KnownLabel {
        let sample = &self.columns.samples[id];
        KnownLabel {
            id_name: self.columns.has_names.then(|| self.columns.key(id).to_owned()),
            ids: self.is_whole.then(|| Arc::new(sample.clone())),
            ..KnownLabel::new(self.stem.clone())
        }
    }

    fn vertices(&self, labels: &KnownLabels) -> Settled {
        let mut rule = self.rule();
        rule.label = Some(self.stem.clone());
        let id = self.vertex_id();
        let (mut notes, mut problem) = (Vec::new(), None);
        match id {
            Some(id) => {
                let id_type = self.id_type(&[id]).map(ToOwned::to_owned);
                rule.id = Some(EndColumn { id_type, ..self.end_column(id) });
                let name = &self.columns.names[id];
                notes.push(format!(
                    "guessed: vertices, column {name} is their id, types from {}",
                    self.looked_at()
                ));
                notes.extend(self.doubt(id, labels));
            }
            None => {
                let names = self.columns.names.join(" ");
                problem = Some(format!(
                    "no column tells the ids of vertices (:ID, id, or a first one without repetitions), nor are \
                     there :START_ID and :END_ID of edges: the first line is {}; if its rows are edges between the \
                     first two columns, say --edges TYPE=FILE",
                    Shortened::new(&names)
                ));
            }
        }
        self.add_types(&mut rule, &id.into_iter().collect::<Vec<_>>());
        Settled { rule, notes, problem }
    }

    /// Why a file that was read as vertices may hold edges, and what to do then.
    fn doubt(&self, id: usize, labels: &KnownLabels) -> Option<String> {
        if self.role.is_some() {
            return None;
        }
        let columns = &self.columns;
        let says = |[source, target]: [usize; 2]| {
            format!(
                "it may hold edges from column {} to column {}: --edges TYPE=FILE reads it so",
                columns.names[source], columns.names[target]
            )
        };
        if let Some(ends) = ends::by_names(columns, Scope::Anywhere) {
            return Some(says(ends.columns));
        }
        let is_obvious = columns.id_column(&self.stem).is_some();
        let used: Vec<usize> = columns.used().collect();
        if let ([first, second, ..], false) = (&used[..], is_obvious)
            && used.len() <= WIDTH_OF_EDGES
            && columns.samples[*second].may_be_id()
            && columns.samples[*second].is_text() == columns.samples[*first].is_text()
            && !(columns.has_names && names_property(columns.key(*second)))
        {
            return Some(says([*first, *second]));
        }
        let is_key = |column: &usize| {
            let name = columns.key(*column);
            *column != id && columns.has_names && stem_of_key(name).is_some() && labels.named(name).is_some()
        };
        let keys: Vec<&str> =
            used.iter().filter(|at| is_key(at)).map(|at| columns.names[*at].as_str()).collect();
        (!keys.is_empty()).then(|| {
            format!(
                "of column{} {} no edges are made: they need a file of their own, which --edges TYPE=FILE reads",
                if keys.len() == 1 { "" } else { "s" },
                keys.join(", ")
            )
        })
    }

    fn edges(&self, ends: FoundEnds, labels: &KnownLabels) -> Settled {
        let mut rule = self.rule();
        let FoundEnds { columns: [source, target], type_column, .. } = ends;
        let is_known = |(source, _, target): &(String, String, String)| {
            labels.named(source).is_some() && labels.named(target).is_some()
        };
        let named = type_in_name(&self.stem).filter(is_known);
        rule.edge_type = Some(named.as_ref().map_or_else(|| self.stem.clone(), |(_, name, _)| name.clone()));
        let words = named.map_or([None, None], |(source, _, target)| [Some(source), Some(target)]);
        let [source_word, target_word] = words;
        let found = [
            self.label_of_end(source, source_word.as_deref(), &ends, labels),
            self.label_of_end(target, target_word.as_deref(), &ends, labels),
        ];
        let notes = self.notes_of_edges(&ends, &found);
        let mut problem = found.iter().any(Option::is_none).then(|| {
            let spaces: Vec<&str> = labels.all().map(|known| known.space.as_str()).collect();
            format!(
                "its columns don't tell between which vertices its edges are; known are those of {}",
                spaces.join(", ")
            )
        });
        if let Some(label_columns) = ends.label_columns {
            let [one, other] = label_columns.map(|column| &self.columns.names[column]);
            problem = Some(format!(
                "columns {one} and {other} name the labels of its ends row by row, which isn't read: make a file of \
                 the edges between each pair of labels; or if ids differ in all labels, say --edges TYPE=FILE"
            ));
        }
        // Of one space, ids are of one type.
        let id_types = if found[0].as_ref().map(|end| &end.space) == found[1].as_ref().map(|end| &end.space) {
            [self.id_type(&[source, target]); 2]
        } else {
            [source, target].map(|column| self.id_type(&[column]))
        };
        let end = |column: usize, found: Option<EndLabelFound>, id_type: Option<&str>| {
            let (space, creates, is_known) =
                found.map_or((None, false, true), |found| (Some(found.space), found.creates, found.is_known));
            let id_type = id_type.filter(|_| !is_known).map(ToOwned::to_owned);
            Some(EndColumn { space, creates, id_type, ..self.end_column(column) })
        };
        let [at_source, at_target] = found;
        rule.start = end(source, at_source, id_types[0]);
        rule.end = end(target, at_target, id_types[1]);
        if let Some(column) = type_column {
            let words = rule.columns.get_or_insert_with(|| self.columns.words.clone());
            ":TYPE".clone_into(&mut words[column]);
            rule.types.remove(self.columns.key(column));
        }
        let mut others: Vec<usize> = [source, target].into_iter().chain(type_column).collect();
        for column in self.columns.attribute_columns() {
            let words = rule.columns.get_or_insert_with(|| self.columns.words.clone());
            words[column] = self.columns.attributes_word(column);
            others.push(column);
        }
        self.add_types(&mut rule, &others);
        Settled { rule, notes, problem }
    }

    /// Whose ids `column` has, which is one of `ends`; `word` is what the file's name calls it. `None` if several
    /// labels may be meant.
    fn label_of_end(
        &self,
        column: usize,
        word: Option<&str>,
        ends: &FoundEnds,
        labels: &KnownLabels,
    ) -> Option<EndLabelFound> {
        let columns = &self.columns;
        let default = |label: &str| {
            let is_known = labels.of_database.iter().any(|known| known.label == label);
            Some(EndLabelFound { space: label.to_owned(), creates: true, is_known })
        };
        // Somebody who names a label for a file of edges means their ends.
        if let (EndLabel::Told(label), true) = (&self.end_label, labels.of_files.is_empty()) {
            return default(label);
        }
        let name = if columns.has_names { columns.key(column) } else { "" };
        let known = labels
            .named(name)
            .filter(|_| !name.is_empty())
            .or_else(|| word.and_then(|word| labels.named(word)))
            .or_else(|| ends.subject.as_deref().and_then(|subject| labels.about(subject)))
            .or_else(|| labels.having(&columns.samples[column]));
        if let Some(known) = known {
            return Some(EndLabelFound { space: known.space.clone(), creates: false, is_known: true });
        }
        if ends.evidence == Evidence::Keys {
            let label = stem_of_key(name).unwrap_or(name);
            return default(label);
        }
        let (EndLabel::Told(label) | EndLabel::Default(label)) = &self.end_label;
        match labels.only() {
            Some(known) if labels.of_files.is_empty() && known.label == *label => default(label),
            Some(known) => Some(EndLabelFound { space: known.space.clone(), creates: false, is_known: true }),
            None if labels.is_empty() => default(label),
            None => None,
        }
    }

    fn notes_of_edges(&self, ends: &FoundEnds, found: &[Option<EndLabelFound>; 2]) -> Vec<String> {
        let columns = &self.columns;
        let [source, target] = ends.columns.map(|column| columns.names[column].as_str());
        let mut text = format!("guessed: edges from column {source} to column {target}");
        if let Some(column) = ends.type_column {
            text += &format!(", their type is column {}", columns.names[column]);
        }
        let used = |column: &usize| !ends.columns.contains(column) && ends.type_column != Some(*column);
        let name = |column: usize| match columns.attribute_columns().any(|other| other == column) {
            true => columns.samples[column].attributes.iter().map(|(key, _)| key.as_str()).collect(),
            false => vec![columns.names[column].as_str()],
        };
        let others: Vec<&str> = columns.used().filter(used).flat_map(name).collect();
        if !others.is_empty() && others.len() <= 12 {
            text += &format!(", properties {}", others.join(", "));
        }
        text += &format!(", types from {}", self.looked_at());
        let mut notes = vec![text];
        let mut created: Vec<&str> = Vec::new();
        for label in found.iter().flatten().filter(|found| found.creates).map(|found| found.space.as_str()) {
            if !created.contains(&label) {
                created.push(label);
            }
        }
        if !created.is_empty() {
            let plural = if created.len() == 1 { "" } else { "s" };
            let one = if created.len() == 1 { "" } else { " (--label LABEL makes them of one)" };
            notes.push(format!("their ends become vertices of label{plural} {}{one}", created.join(", ")));
        }
        if !ends.evidence.is_sure() && self.role.is_none() {
            notes.push("if its rows are vertices, say --nodes LABEL=FILE".to_owned());
        }
        if columns.has_names
            && let Some(column) = columns.used().find(|column| says_undirected(columns, *column))
        {
            notes.push(format!(
                "column {} says Undirected: each edge is stored once, from {source} to {target}",
                columns.names[column]
            ));
        }
        notes
    }

    /// A rule that says what the columns are called, where the first line doesn't.
    fn rule(&self) -> FileRule {
        let mut rule = FileRule::new(FileFormat::Csv);
        let columns = &self.columns;
        rule.header = columns.has_header;
        if !columns.is_as_in_file {
            rule.columns = Some(columns.words.clone());
        } else {
            // Of Parquet, whose columns keep their names.
            rule.ignore.extend(columns.row_numbers.map(|column| ColumnName::Number(column + 1)));
        }
        rule
    }

    fn end_column(&self, column: usize) -> EndColumn {
        EndColumn::new(ColumnName::Name(self.columns.key(column).to_owned()))
    }

    /// The type of ids in all of `columns` together, if they aren't texts.
    fn id_type(&self, columns: &[usize]) -> Option<&'static str> {
        let all = |wanted: &[ValueType]| {
            let types = columns.iter().filter_map(|column| self.columns.samples[*column].value_type);
            columns.iter().any(|column| self.columns.samples[*column].value_type.is_some())
                && types.into_iter().all(|of| wanted.contains(&of))
        };
        match () {
            () if all(&[ValueType::I64]) => Some(ValueType::I64.name()),
            () if all(&[ValueType::I64, ValueType::BigInteger]) => Some(ValueType::BigInteger.name()),
            () => None,
        }
    }

    /// States the types of all columns but `ids`, where the header doesn't and text isn't meant.
    fn add_types(&self, rule: &mut FileRule, ids: &[usize]) {
        for column in self.columns.used().filter(|column| !ids.contains(column)) {
            let (name, sample) = (self.columns.key(column), &self.columns.samples[column]);
            let states = self.columns.words[column].trim() != name;
            let found = if sample.are_maps { Some(ValueType::Map) } else { sample.typed() };
            if let Some(value_type) = found.filter(|_| !states) {
                rule.types.insert(name.to_owned(), value_type.name().to_owned());
            }
        }
    }

    fn looked_at(&self) -> String {
        match self.columns.rows {
            1 => "one row".to_owned(),
            rows => format!("{rows} rows"),
        }
    }
}

/// Whether `column` is what Gephi writes of edges without direction.
fn says_undirected(columns: &PlainColumns, column: usize) -> bool {
    let sample = &columns.samples[column];
    columns.key(column).eq_ignore_ascii_case("type") && (sample.has("Undirected") || sample.has("undirected"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::bytes::input::Input;
    use crate::import::csv::records::CsvFormat;
    use crate::import::recognise::first_row::FirstRow;
    use crate::import::recognise::sample::Sample;

    fn plain(stem: &str, text: &str) -> PlainFile {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, text).unwrap();
        let format = CsvFormat { delimiter: b',', quote: Some(b'"'), escape: None, comment: None };
        let sample = Sample::of(&Input::new(&path).unwrap(), format).unwrap().unwrap();
        PlainFile {
            stem: stem.to_owned(),
            role: None,
            columns: PlainColumns::of_text(&sample, FirstRow::of(&sample), None),
            is_list: false,
            is_whole: true,
            null_marks: NullMarks::None,
            null_word: None,
            has_bare_quotes: false,
            end_label: EndLabel::Default("Vertex".to_owned()),
        }
    }

    fn settle(plain: &PlainFile, labels: &KnownLabels) -> Settled {
        plain.settle(plain.find_ends(labels), labels)
    }

    fn known(labels: &[&str]) -> KnownLabels {
        let known = |label: &&str| KnownLabel::new(*label);
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
            let settled = settle(&plain, &known(&[]));
            assert_eq!((settled.rule.label.as_deref(), settled.problem), (Some(stem), None));
            assert_eq!(settled.rule.id, end(id, None, Some("long")));
            assert_eq!(settled.rule.types.get("born").map(String::as_str), Some("long"));
            assert_eq!(settled.rule.types.len(), 1, "text needs no word");
        }
    }

    #[test]
    fn a_pair_of_names_makes_edges_between_the_vertices_there_are() {
        let text = "from,to,since\n1,2,2020-01-01\n";
        let settled = settle(&plain("knows", text), &known(&["Person"]));
        assert_eq!((settled.rule.edge_type.as_deref(), settled.problem), (Some("knows"), None));
        assert_eq!(settled.rule.start, end("from", Some("Person"), None));
        assert_eq!(settled.rule.end, end("to", Some("Person"), None));
        assert_eq!(settled.rule.types.get("since").map(String::as_str), Some("date"));
        let settled = settle(&plain("Person_livesIn_City", text), &known(&["Person", "City"]));
        assert_eq!(settled.rule.edge_type.as_deref(), Some("LIVES_IN"));
        assert_eq!(settled.rule.end, end("to", Some("City"), None));
        let problem = settle(&plain("knows", text), &known(&["Person", "City"])).problem.unwrap();
        assert!(problem.contains("known are those of Person, City"), "{problem}");
    }

    #[test]
    fn labels_of_the_database_count_where_files_have_none() {
        let KnownLabels { of_files: of_database, .. } = known(&["Person"]);
        let alone = KnownLabels { of_files: Vec::new(), of_database: of_database.clone() };
        let knows = plain("knows", "from,to,since\n1,2,2020-01-01\n");
        assert_eq!(settle(&knows, &alone).rule.start, end("from", Some("Person"), None));
        let beside = KnownLabels { of_database, ..known(&["Dog"]) };
        assert_eq!(settle(&knows, &beside).rule.start, end("from", Some("Dog"), None));
        let named = settle(&plain("owns", "person_id,dog_id\n1,2\n"), &beside);
        assert_eq!(named.rule.start, end("person_id", Some("Person"), None));
        assert_eq!(named.rule.end, end("dog_id", Some("Dog"), None));
    }

    #[test]
    fn columns_called_after_labels_make_edges() {
        let labels = known(&["person", "companies", "company"]);
        let settled = settle(&plain("works", "person_id,companyId\n1,2\n"), &labels);
        assert_eq!(settled.rule.end, end("companyId", Some("company"), None));
        let settled = settle(&plain("works", "person_id,town_id\n1,2\n"), &labels);
        assert_eq!(settled.rule.id, end("person_id", None, Some("long")), "the first column is a key");
    }

    #[test]
    fn a_file_without_a_header_has_numbered_columns() {
        let settled = settle(&plain("p", "7,Ada,1.5,2020-01-01\n8,Mary,2,\n"), &known(&[]));
        assert!(!settled.rule.header);
        assert_eq!(settled.rule.columns.unwrap(), ["c1", "c2", "c3", "c4"]);
        assert_eq!(settled.rule.id, end("c1", None, Some("long")));
        let types: Vec<&str> = settled.rule.types.values().map(String::as_str).collect();
        assert_eq!((types, settled.problem), (vec!["double", "date"], None));
    }

    #[test]
    fn a_first_column_that_repeats_is_no_id() {
        let problem = settle(&plain("p", "town,street\nA,x\nA,y\n"), &known(&[])).problem.unwrap();
        assert!(problem.contains("the first line is \"town street\""), "{problem}");
    }

    #[test]
    fn a_role_that_was_told_is_kept() {
        let told = |role| PlainFile { role: Some(role), ..plain("x", "a,id\n1,2\n") };
        assert_eq!(settle(&told(Role::Relationships), &known(&["P"])).rule.start, end("a", Some("P"), None));
        assert_eq!(settle(&told(Role::Nodes), &known(&["P"])).rule.id, end("id", None, Some("long")));
    }
}
