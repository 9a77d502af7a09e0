//! File: what each file of an import is, judging by its name and first lines.

use crate::import::bytes::input::Input;
use crate::import::file_name::stem_and_ending;
use crate::import::known::Known;
use crate::import::mapping::rule::{FileFormat, FileRule};
use crate::import::options::{ImportOptions, InputFile};
use crate::import::recognise::csv::{look_at_csv, look_at_parquet, look_at_text};
use crate::import::recognise::elements::{ELEMENT_ENDINGS, format_of_elements};
use crate::import::recognise::list::look_at_list;
use crate::import::recognise::look::Look;
use crate::import::recognise::settle::{Recognised, settle};
use crate::import::recognise::stream::ending_by_content;
use crate::import::role::Role;
use evergraph_graph::error::Result;

/// The endings that tell what a file holds.
pub const KNOWN_ENDINGS: &str = "known are .csv .tsv .tab .psv .txt .dat .data .v .e .edges .el .edgelist .ncol .gr .mtx .json .graphson .xml .graphml \
     .gexf .gml .net .paj .cyjs, each also with .gz or .zst, and .parquet";

/// A file of which nothing is known but where it is, and what somebody said of it.
#[derive(Clone, Debug)]
pub struct Unrecognised {
    /// What was said.
    pub file: InputFile,
    /// Its bytes.
    pub input: Input,
    /// Whether it is in a folder that was named, and not named itself.
    pub is_in_folder: bool,
}

/// Finds out what `files` are, in their order, beside a database that has `known`; `None` for those of which
/// nothing tells.
///
/// # Errors
/// As reading; `invalid` for a CSV file that is empty, whose header is not UTF-8, or that has one column with
/// the delimiter that was told and more with another one.
pub fn recognise(
    files: &[Unrecognised],
    options: &ImportOptions,
    known: &Known,
) -> Result<Vec<Option<Recognised>>> {
    let looks = files.iter().map(|file| look(file, options)).collect::<Result<Vec<_>>>()?;
    let inputs: Vec<(&InputFile, &Input)> = files.iter().map(|file| (&file.file, &file.input)).collect();
    Ok(settle(looks, &inputs, options, known))
}

fn look(unrecognised: &Unrecognised, options: &ImportOptions) -> Result<Look> {
    let Unrecognised { file, input, is_in_folder } = unrecognised;
    let rule = |format| Ok(Look::Rule(FileRule::new(format), None, None));
    let list = |format, ids| Ok(Look::List(FileRule::new(format), look_at_list(input, ids, options)?));
    let ending = match file.role {
        // It needs no ending.
        Some(Role::VertexList | Role::GraphSon | Role::GraphMl) => String::new(),
        _ if input.is_nameless() => ending_by_content(input)?.to_owned(),
        _ => stem_and_ending(&file.path).1,
    };
    match (file.role, ending.as_str()) {
        (Some(Role::VertexList), _) | (None, "v") => list(FileFormat::VertexList, 1),
        (None | Some(Role::Edges | Role::EdgeList), "gr") => rule(FileFormat::Dimacs),
        (None | Some(Role::Edges | Role::EdgeList), "mtx") => rule(FileFormat::MatrixMarket),
        (None | Some(Role::Nodes | Role::Relationships | Role::Edges), "parquet") => {
            look_at_parquet(file, input, options)
        }
        (Some(Role::GraphSon), _) => rule(FileFormat::GraphSon),
        (Some(Role::GraphMl), _) => rule(FileFormat::GraphMl),
        (None, ending) if ELEMENT_ENDINGS.contains(&ending) => {
            format_of_elements(ending, input)?.map_or(Ok(Look::Stranger), rule)
        }
        (Some(Role::EdgeList), _) => list(FileFormat::EdgeList, 2),
        (Some(Role::Nodes | Role::Relationships), _)
        | (None | Some(Role::Edges), "csv" | "tsv" | "tab" | "psv") => look_at_csv(file, input, options),
        // What is wrong with a list that is no table is told by its line.
        (None | Some(Role::Edges), "e" | "edges" | "el" | "edgelist" | "ncol") | (Some(Role::Edges), _) => {
            let text = look_at_text(file, input, options)?;
            text.map_or_else(|| list(FileFormat::EdgeList, 2), Ok)
        }
        (None, "txt" | "dat" | "data") => Ok(look_at_text(file, input, options)?.unwrap_or(Look::Stranger)),
        // Somebody means it; in a folder it may be anything.
        (None, _) if !is_in_folder => Ok(look_at_text(file, input, options)?.unwrap_or(Look::Stranger)),
        (None, _) => Ok(Look::Stranger),
    }
}
