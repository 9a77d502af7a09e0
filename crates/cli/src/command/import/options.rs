//! Options: what the arguments of an import mean.

use crate::command::import::arguments::{
    FirstLineArgument, IdTypeArgument, ImportArguments, OnDuplicateArgument, OnError, OnUnknownArgument,
};
use crate::context::Context;
use crate::target::Target;
use evergraph::import::csv::file::header_line;
use evergraph::import::faults::OnBadRow;
use evergraph::import::id_type::IdType;
use evergraph::import::mapping::document::Mapping;
use evergraph::import::options::{FirstLine, HeaderPlace, ImportOptions, Imported, InputFile, Role};
use evergraph::import::plan::is_database;
use evergraph::import::policy::{OnDuplicate, OnUnknown};
use evergraph_graph::error::{Error, Result};
use std::path::{Path, PathBuf};

impl ImportArguments {
    /// What the arguments say of the import.
    ///
    /// # Errors
    /// What reading a mapping or a header meets.
    pub(super) fn options(&self, context: &Context) -> Result<ImportOptions> {
        let header = match (&self.header, &self.replace_header) {
            (Some(header), _) => HeaderPlace::Given(header_text(header)?),
            (_, Some(header)) => HeaderPlace::Replaced(header_text(header)?),
            _ => HeaderPlace::FirstLine,
        };
        let mapping = self.mapping.as_deref().map(Mapping::read).transpose()?;
        // To propose needs no database: the first path may be a file as the others.
        let first = self.folder().filter(|path| self.propose && !is_database(path));
        let files = self.files.iter().map(PathBuf::as_path);
        let mut paths: Vec<PathBuf> = first.into_iter().chain(files).map(Path::to_owned).collect();
        if let (Some(mapping), true) = (&mapping, paths.is_empty()) {
            paths.push(mapping.folder.clone());
        }
        let mut files: Vec<InputFile> = Vec::new();
        for path in paths {
            let is_folder = path.is_dir();
            let mut file = InputFile::new(path).header(header.clone());
            if !is_folder {
                (file.label, file.edge_type) = (self.label.clone(), self.edge_type.clone());
            }
            files.push(file);
        }
        for (named, role) in [
            (&self.nodes, Role::Nodes),
            (&self.edges, Role::Edges),
            (&self.relationships, Role::Relationships),
        ] {
            for group in named {
                files.extend(group.inputs(role, &header)?);
            }
        }
        for (paths, role) in [
            (&self.vertex_lists, Role::VertexList),
            (&self.graphson, Role::GraphSon),
            (&self.graphml, Role::GraphMl),
        ] {
            files.extend(paths.iter().map(|path| InputFile::new(path).role(role)));
        }
        let mut options = ImportOptions::new(files);
        options.mapping = mapping;
        options.csv.delimiter = self.delimiter;
        options.csv.escape = self.escape;
        options.csv.null.clone_from(&self.null);
        options.csv.quote = self.quote.map_or(options.csv.quote, |quote| quote.0);
        options.csv.array_delimiter = self.array_delimiter;
        options.csv.first_line = self.first_line.map(|first_line| match first_line {
            FirstLineArgument::Header => FirstLine::Header,
            FirstLineArgument::Data => FirstLine::Data,
        });
        options.ids.id_type = match self.id_type {
            IdTypeArgument::String => IdType::STRING,
            IdTypeArgument::Integer => IdType::LONG,
        };
        if let Some(label) = &self.label {
            options.lists.vertex_label.clone_from(label);
        }
        if let Some(edge_type) = &self.edge_type {
            options.lists.edge_type.clone_from(edge_type);
        }
        options.lists.vertices = self.vertices.clone();
        options.lists.edge_columns.clone_from(&self.columns);
        options.lists.vertex_columns.clone_from(&self.vertex_columns);
        options.ids.vertex_key.clone_from(&self.vertex_id);
        options.ids.edge_key.clone_from(&self.edge_id);
        options.ids.on_duplicate = match self.on_duplicate {
            OnDuplicateArgument::Fail => OnDuplicate::Fail,
            OnDuplicateArgument::First => OnDuplicate::First,
            OnDuplicateArgument::Last => OnDuplicate::Last,
        };
        options.ids.on_unknown = match self.on_unknown {
            OnUnknownArgument::Fail => OnUnknown::Fail,
            OnUnknownArgument::Skip => OnUnknown::Skip,
            OnUnknownArgument::Create => OnUnknown::Create,
        };
        options.bad_rows.on_bad_row = match (self.on_error, self.max_bad) {
            (OnError::Stop, None) => OnBadRow::Stop,
            (_, at_most) => OnBadRow::Skip { at_most },
        };
        options.bad_rows.report.clone_from(&self.report);
        options.memory = self.memory;
        options.threads = context.threads;
        options.cancel = context.cancel.clone();
        Ok(options)
    }

    /// The folder of the database, if that is one.
    pub(super) fn folder(&self) -> Option<&Path> {
        match &self.database {
            Some(Target::Folder(path)) => Some(path),
            _ => None,
        }
    }

    /// The folder for temporary files: beside the database, which may not be there yet, and on its disk.
    pub(super) fn temporary_folder(&self, database: &Path) -> PathBuf {
        self.temporary.clone().unwrap_or_else(|| match database.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        })
    }

    /// Refuses a name that nothing got: who gave it expects to find it.
    pub(super) fn check_names(&self, imported: &Imported) -> Result<()> {
        if let Some(label) = &self.label
            && imported.load.vertex_table(label).is_none()
        {
            return Err(Error::invalid(format!(
                "--label {label} was not used: columns or file names give the label, or the files are in a \
                 folder; for one file use --nodes {label}=FILE"
            )));
        }
        if let Some(edge_type) = &self.edge_type
            && !imported.load.edges.iter().any(|table| table.edge_type == *edge_type)
        {
            return Err(Error::invalid(format!(
                "--type {edge_type} was not used: columns or file names give the type, or the files are in a \
                 folder; for one file use --edges {edge_type}=FILE"
            )));
        }
        Ok(())
    }
}

/// The header that `text` is, or that is the first line of the file `text` names.
fn header_text(text: &str) -> Result<String> {
    // Every header has a colon: id:ID, or :START_ID and :END_ID.
    if Path::new(text).is_file() || !text.contains(':') {
        return header_line(Path::new(text));
    }
    Ok(text.to_owned())
}
