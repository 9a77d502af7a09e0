//! Files of an import in a folder of their own, and what its tables hold.

use crate::import::mapping::document::Mapping;
use crate::import::options::InputFile;
use crate::import::read::*;
use evergraph_graph::load::{EdgeTable, VertexTable};
use evergraph_graph::value::Value;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

/// Files of one import in a folder of their own.
pub struct Files {
    pub folder: tempfile::TempDir,
    pub inputs: Vec<InputFile>,
}

impl Files {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut inputs = Vec::new();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            inputs.push(InputFile::new(path));
        }
        Self { folder, inputs }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn options(&self) -> ImportOptions {
        ImportOptions { threads: 2, ..ImportOptions::new(self.inputs.clone()) }
    }

    pub fn load(&self) -> Load {
        self.read(&self.options()).unwrap().load
    }

    pub fn read(&self, options: &ImportOptions) -> Result<Imported> {
        read_in_blocks(options, ExistingGraph::default(), &|_| (), 16)
    }

    /// The text of the error, without the folder's name.
    pub fn error(&self, options: &ImportOptions) -> (ErrorKind, String) {
        let error = self.read(options).unwrap_err();
        (error.kind(), error.to_string().replace(&format!("{}/", self.folder.path().display()), ""))
    }
}

pub fn invalid(files: &[(&str, &str)]) -> String {
    let files = Files::new(files);
    let (kind, text) = files.error(&files.options());
    assert_eq!(kind, ErrorKind::Invalid);
    text
}

/// The values of a property that the table has, a row.
pub trait Values {
    fn values(&self, key: &str) -> Vec<Option<Value>>;
}

impl Values for VertexTable {
    fn values(&self, key: &str) -> Vec<Option<Value>> {
        assert!(self.properties.iter().any(|(name, _)| name == key), "{key}: {:?}", self.properties);
        let column = self.column(key).unwrap();
        (0..self.rows as usize).map(|row| column.as_ref()?.get(row)).collect()
    }
}

impl Values for EdgeTable {
    fn values(&self, key: &str) -> Vec<Option<Value>> {
        assert!(self.properties.iter().any(|(name, _)| name == key), "{key}: {:?}", self.properties);
        let column = self.column(key).unwrap();
        (0..self.rows as usize).map(|row| column.as_ref()?.get(row)).collect()
    }
}

pub fn ids(table: &VertexTable) -> Vec<i64> {
    table.values("id").into_iter().map(|id| id.unwrap().as_i64().unwrap()).collect()
}

pub fn edges(table: &EdgeTable) -> Vec<(u32, u32)> {
    table.ends().unwrap()
}

pub const PERSONS: &str = "id:ID(Person),name,born:int\n17,Ada,1815\n4,\"Charles \"\"C\"\", Esq.\",\n";
pub const KNOWS: &str = ":START_ID(Person),:END_ID(Person),since:int\n17,4,1833\n";

pub fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Imports `files` as `mapping` says.
pub fn mapped(files: &Files, mapping: &str) -> Result<Imported> {
    let mapping = Mapping::parse("m.toml", mapping, files.folder.path())?;
    let folder = InputFile::new(files.folder.path());
    files.read(&ImportOptions { mapping: Some(mapping), threads: 2, ..ImportOptions::new([folder]) })
}
