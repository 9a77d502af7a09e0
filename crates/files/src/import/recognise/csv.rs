//! CSV: what the first lines of a file with columns show: a complete header, or names to interpret.

use crate::import::bytes::input::Input;
use crate::import::csv::delimiter::{check_delimiter, detect_delimiter, detect_in};
use crate::import::csv::records::{BLANK, CsvFormat, CsvRecords};
use crate::import::field::integer::parse_i64;
use crate::import::file_name::{stem, stem_and_ending};
use crate::import::list::line::Separator;
use crate::import::mapping::rule::{FileFormat, FileRule};
use crate::import::mapping::words::is_role_word;
use crate::import::options::{FirstLine, HeaderPlace, ImportOptions, InputFile};
use crate::import::parquet::file::{look_at_start, refuse_stream};
use crate::import::recognise::columns::PlainColumns;
use crate::import::recognise::first_row::FirstRow;
use crate::import::recognise::list::{ListLook, ListShape, look_at_list};
use crate::import::recognise::look::Look;
use crate::import::recognise::plain::{EndLabel, NullMarks, PlainFile};
use crate::import::recognise::sample::Sample;
use crate::import::recognise::systems::ldbc;
use crate::import::recognise::systems::neo4j::{known_label, neo4j_rule};
use crate::import::recognise::systems::neptune;
use crate::import::recognise::table::{TableLook, leading_count, look_at_table};
use crate::import::role::Role;
use evergraph_graph::error::{Error, Result};

/// Bytes in which quotes are looked for.
const QUOTE_BYTES: usize = 256 * 1024;

/// Endings of files that hold edges, if they are tables at all.
const LIST_ENDINGS: [&str; 6] = ["e", "edges", "el", "edgelist", "ncol", "txt"];

/// Rows of a Parquet file that are looked at.
const PARQUET_ROWS: usize = 4096;

/// What a CSV file is.
///
/// # Errors
/// As reading; `invalid` if it is empty, or its first line can't be read or has one column with the delimiter
/// that was told.
pub fn look_at_csv(file: &InputFile, input: &Input, options: &ImportOptions) -> Result<Look> {
    let rule = csv_rule(file, input, options);
    if file.header != HeaderPlace::FirstLine {
        let rule = with_header(rule, file, options)?;
        let label = known_label(&rule, rule.columns.as_deref().unwrap_or_default());
        return Ok(Look::Rule(rule, label, None));
    }
    let bars = CsvFormat { delimiter: b'|', quote: None, escape: None, comment: None };
    let first_line = CsvRecords::new(input.look()?, bars).read_header()?.unwrap_or_default().join("|");
    if let Some(rule) = ldbc::recognise(&file.path, &first_line) {
        let label = known_label(&rule, rule.columns.as_deref().unwrap_or_default());
        return Ok(Look::Rule(rule, label, None));
    }
    let mut source = input.look()?;
    let told = rule.delimiter.or(options.csv.delimiter);
    let table = look_at_table(&mut source, told, options.csv.quote)?;
    let is_csv = matches!(stem_and_ending(&file.path).1.as_str(), "csv" | "tsv" | "tab" | "psv" | "");
    let is_commented = table.as_ref().is_some_and(|table| table.comment.is_some());
    if let Some(table) = table.filter(|table| is_commented || !is_csv || are_numbers_between_blanks(table)) {
        return look_at_columns(file, input, options, rule, table);
    }
    let delimiter = match told {
        Some(delimiter) => {
            check_delimiter(&mut source, delimiter)?;
            delimiter
        }
        None => detect_in(&mut source)?,
    };
    let table = TableLook { delimiter, width: 0, comment: None, names: None, first_line: String::new() };
    look_at_columns(file, input, options, rule, table)
}

/// What a text is whose name doesn't say that it has columns: a list of edges by numbers, or a table; `None` if
/// it is neither.
///
/// # Errors
/// As [`look_at_csv`].
pub fn look_at_text(file: &InputFile, input: &Input, options: &ImportOptions) -> Result<Option<Look>> {
    if file.header != HeaderPlace::FirstLine {
        return look_at_csv(file, input, options).map(Some);
    }
    let list = look_at_list(input, 2, options)?;
    if list.shape == ListShape::Numbers {
        return Ok(Some(Look::List(FileRule::new(FileFormat::EdgeList), list)));
    }
    let table = look_at_table(&mut input.look()?, options.csv.delimiter, options.csv.quote)?;
    let Some(table) = table else {
        if let Some(count) = leading_count(&mut input.look()?, options.csv.delimiter, options.csv.quote)? {
            let problem = format!("its first line, {count}, counts the others: take it out (tail -n +2)");
            let list = ListLook { problem: Some(problem), ..ListLook::default() };
            return Ok(Some(Look::List(FileRule::new(FileFormat::EdgeList), list)));
        }
        // A line of it is wrong, which its reader names.
        let begins_as_list = list.shape != ListShape::Other;
        return Ok(begins_as_list.then(|| Look::List(FileRule::new(FileFormat::EdgeList), list)));
    };
    let rule = csv_rule(file, input, options);
    look_at_columns(file, input, options, rule, table).map(Some)
}

/// What a file is whose columns stand as `table` says.
fn look_at_columns(
    file: &InputFile,
    input: &Input,
    options: &ImportOptions,
    mut rule: FileRule,
    table: TableLook,
) -> Result<Look> {
    let TableLook { delimiter, comment, names, .. } = table;
    if delimiter != b',' || rule.delimiter.is_some() {
        rule.delimiter = Some(delimiter);
    }
    rule.comment = comment;
    let format = CsvFormat { delimiter, quote: options.csv.quote, escape: options.csv.escape, comment };
    let Some(first) = CsvRecords::new(input.look()?, format).read_header()? else {
        let name = input.name();
        return Err(Error::invalid(format!(
            "{name}: is empty: expected a header, such as id:ID,name,born:int"
        )));
    };
    if first.iter().all(|word| word.trim().is_empty()) {
        let name = input.name();
        return Err(Error::invalid(format!(
            "{name}: its first line has no names: expected a header, such as id:ID,name,born:int"
        )));
    }
    if let Some(why) = foreign(&first, &table.first_line) {
        return Err(Error::invalid(format!("{}: {why}", input.name())));
    }
    let header = names.as_ref().unwrap_or(&first);
    let words =
        neptune::header_words(header, options.ids.vertex_key.as_deref(), options.ids.edge_key.as_deref());
    if let Some(words) = words {
        let words = words.map_err(|why| Error::invalid(format!("{}: header: {why}", input.name())))?;
        let advice = (neptune::has_edge_ids(header) && options.ids.edge_key.is_none())
            .then(|| "the ids of its edges are left out (--edge-id KEY keeps them)".to_owned());
        rule.columns = Some(words.clone());
        return Ok(by_header(rule, words, advice));
    }
    if first.iter().any(|word| is_role_word(word)) {
        return Ok(by_header(rule, first, None));
    }
    let (sample, has_bare_quotes) = sample_of(input, format)?;
    rule.quote = if has_bare_quotes { Some(None) } else { rule.quote };
    let Some(sample) = sample else {
        return Err(Error::invalid(format!("{}: was emptied meanwhile", input.name())));
    };
    let first_row = match (&names, options.csv.first_line) {
        (Some(_), _) => FirstRow { is_header: false, is_certain: true },
        (None, Some(first_line)) => FirstRow { is_header: first_line == FirstLine::Header, is_certain: true },
        (None, None) => FirstRow::of(&sample),
    };
    let columns = PlainColumns::of_text(&sample, first_row, names.as_deref());
    let plain = PlainFile { has_bare_quotes, ..plain(file, input, options, (columns, &sample)) };
    let is_list = file.role.is_none_or(|role| role == Role::Edges) && is_edge(&first);
    if is_list {
        let list = look_at_list(input, 2, options)?;
        if list.shape == ListShape::Numbers && list.problem.is_none() {
            return Ok(Look::Numbers(list, plain, rule));
        }
    }
    Ok(Look::Plain(plain, rule))
}

/// The first rows of `input`, and whether quotes are characters in it: without quoting rows are of one width, and
/// with it some aren't, or run into one another.
fn sample_of(input: &Input, format: CsvFormat) -> Result<(Option<Sample>, bool)> {
    let quoted = Sample::of(input, format);
    let rows = match &quoted {
        Ok(Some(sample)) if sample.odd_rows == 0 => sample.rows,
        _ => 0,
    };
    if let Some(quote) = format.quote
        && input.look()?.peek(QUOTE_BYTES)?.contains(&quote)
    {
        let bare = Sample::of(input, CsvFormat { quote: None, ..format })?;
        let is_even = |sample: &Sample| sample.odd_rows == 0 && sample.rows > rows && sample.first.len() > 1;
        if bare.as_ref().is_some_and(is_even) {
            return Ok((bare, true));
        }
    }
    Ok((quoted?, false))
}

/// What a Parquet file is.
///
/// # Errors
/// As reading; `invalid` for a stream.
pub fn look_at_parquet(file: &InputFile, input: &Input, options: &ImportOptions) -> Result<Look> {
    refuse_stream(input)?;
    let rule = FileRule { format: FileFormat::Parquet, delimiter: None, ..csv_rule(file, input, options) };
    let start = look_at_start(&file.path, PARQUET_ROWS)?;
    if start.names.iter().any(|name| is_role_word(name)) {
        return Ok(by_header(rule, start.names, None));
    }
    let texts = (0..start.names.len()).map(|column| start.texts(column));
    let sample = Sample::of_columns(&start.names, start.types.iter().copied().zip(texts));
    Ok(Look::Plain(plain(file, input, options, (PlainColumns::of_schema(&sample), &sample)), rule))
}

/// A file with a header in Neo4j's conventions.
fn by_header(rule: FileRule, header: Vec<String>, advice: Option<String>) -> Look {
    let rule = neo4j_rule(rule, &header);
    match known_label(&rule, &header) {
        None if rule.label.is_none() => Look::Edges(rule, header, advice),
        label => Look::Rule(rule, label, advice),
    }
}

/// A file with undeclared columns.
fn plain(
    file: &InputFile,
    input: &Input,
    options: &ImportOptions,
    (columns, sample): (PlainColumns, &Sample),
) -> PlainFile {
    // Edges, of either form: a list would have begun with two numbers.
    let role = file.role.map(|role| if role == Role::Edges { Role::Relationships } else { role });
    let end_label = match &file.label {
        Some(label) => EndLabel::Told(label.clone()),
        None => EndLabel::Default(options.lists.vertex_label.clone()),
    };
    PlainFile {
        stem: names_of(file, input, options).0,
        role,
        columns,
        is_whole: sample.is_whole,
        is_list: LIST_ENDINGS.contains(&stem_and_ending(&file.path).1.as_str()),
        null_marks: match (&options.csv.null, sample.has_null_marks) {
            (Some(_), _) => NullMarks::None,
            (None, true) => NullMarks::Seen,
            (None, false) if sample.is_whole => NullMarks::None,
            (None, false) => NullMarks::Possible,
        },
        null_word: sample.null_word.filter(|_| options.csv.null.is_none()),
        has_bare_quotes: false,
        end_label,
    }
}

/// What a file is that looks like a table and is none of ours.
fn foreign(first: &[String], first_line: &str) -> Option<String> {
    let starts = |at: usize, text: &str| first.get(at).is_some_and(|field| field.starts_with(text));
    let named = |name: &str| first.iter().any(|word| word == name);
    match () {
        () if (starts(0, "<http") || starts(0, "_:")) && starts(1, "<http") => {
            Some("is RDF, whose triples aren't read; make a table of subject, predicate and object of it".to_owned())
        }
        () if first_line.starts_with("sep=") || (first.len() <= 2 && starts(0, "sep=")) => {
            Some("its first line tells Excel the delimiter: take it out (tail -n +2)".to_owned())
        }
        () if first.len() == 1 && first[0].contains("::") => Some(
            "fields stand between `::`, and a delimiter is one character: put a tab there (sed 's/::/\\t/g')".to_owned(),
        ),
        () if named("_id") && named("_labels") && named("_start") && named("_end") => Some(
            "has vertices and edges in one table, as apoc.export.csv writes it: export with bulkImport: true, or as \
             GraphML or JSON"
                .to_owned(),
        ),
        () => None,
    }
}

/// Whether a CSV file, against its name, is a list of numbers between blanks.
fn are_numbers_between_blanks(table: &TableLook) -> bool {
    table.delimiter == BLANK && is_edge_line(table.first_line.as_bytes())
}

/// Whether a line begins with two whole numbers.
fn is_edge_line(line: &[u8]) -> bool {
    let mut fields = Separator::Blanks.fields(line);
    (0..2).all(|_| fields.next().is_some_and(|field| parse_i64(field).is_ok()))
}

/// The rule of a CSV file that is known only by its name.
fn csv_rule(file: &InputFile, input: &Input, options: &ImportOptions) -> FileRule {
    let (_, ending) = stem_and_ending(&file.path);
    let delimiter = match ending.as_str() {
        _ if options.csv.delimiter.is_some() => None,
        "tsv" | "tab" => Some(b'\t'),
        "psv" => Some(b'|'),
        _ => None,
    };
    let (label, edge_type) = names_of(file, input, options);
    FileRule {
        label: file.role.is_none_or(|role| role == Role::Nodes).then_some(label),
        edge_type: file.role.is_none_or(|role| role != Role::Nodes).then_some(edge_type),
        delimiter,
        ..FileRule::new(FileFormat::Csv)
    }
}

/// The label and the type of what is in the file, if nothing in it tells.
fn names_of(file: &InputFile, input: &Input, options: &ImportOptions) -> (String, String) {
    if input.is_nameless() {
        return (options.lists.vertex_label.clone(), options.lists.edge_type.clone());
    }
    let stem = stem(&file.path);
    (stem.clone(), stem)
}

/// `rule` with the header that the user gave.
fn with_header(rule: FileRule, file: &InputFile, options: &ImportOptions) -> Result<FileRule> {
    let (text, header) = match &file.header {
        HeaderPlace::FirstLine => return Ok(rule),
        HeaderPlace::Replaced(text) => (text, true),
        HeaderPlace::Given(text) => (text, false),
    };
    let delimiter =
        rule.delimiter.or(options.csv.delimiter).unwrap_or_else(|| detect_delimiter(text.as_bytes()));
    let columns =
        CsvFormat { delimiter, quote: options.csv.quote, escape: options.csv.escape, comment: None }
            .split(text)?;
    Ok(FileRule { header, columns: Some(columns), delimiter: Some(delimiter), ..rule })
}

fn is_edge(first_line: &[String]) -> bool {
    let [source, target, ..] = first_line else { return false };
    [source, target].iter().all(|field| parse_i64(field.trim().as_bytes()).is_ok())
}
