//! Job files: what a job of a server made to be fetched, read part by part.

use crate::admin::answer::Answer;
use crate::admin::call::{Admin, path_of};
use crate::http::response::HttpReader;
use evergraph_graph::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// Bytes that are read at once.
const PART_BYTES: usize = 256 << 10;

/// A file that a job made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RemoteFile {
    /// Its path below the job's folder, with `/` between names. No name is `.` or `..`, or has a character that is special to a
    /// file system.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
}

/// A file of a server that is read part by part, from a connection of its own.
#[derive(Debug)]
pub struct RemoteFileReader {
    body: HttpReader,
    path: String,
    left: u64,
    part: Vec<u8>,
}

#[derive(Deserialize)]
struct FileList {
    files: Vec<RemoteFile>,
}

impl Admin {
    /// The files that a job made to be fetched. The server may be hostile: no path leads out of the folder that it is put below.
    ///
    /// # Errors
    /// `not_found` if there is no such job; `busy` while it has not ended; `io` for a list with other paths.
    pub fn job_files(&self, id: &str) -> Result<Vec<RemoteFile>> {
        let FileList { files } = self.get(&path_of(&["jobs", id, "files"]))?;
        if let Some(wrong) = files.iter().find(|file| !file.path.split('/').all(is_name)) {
            let text =
                format!("the server names a file {:?}, which cannot be the path of one here", wrong.path);
            return Err(Error::new(ErrorKind::Io, text));
        }
        Ok(files)
    }

    /// Opens one of [`Admin::job_files`]. There is no limit of time, but the server may not send nothing for that of
    /// [`Admin::timeout`].
    ///
    /// # Errors
    /// `not_found` if it is not there any more; `io` if its length is another one.
    pub fn job_file(&self, id: &str, file: &RemoteFile) -> Result<RemoteFileReader> {
        let names: Vec<&str> = ["jobs", id, "files"].into_iter().chain(file.path.split('/')).collect();
        let path = path_of(&names);
        let response = self.fetch(&path)?;
        if response.status != 200 {
            let (destination, status, asked) =
                (self.client().destination(), response.status, format!("GET {path}"));
            let body = response.bytes(PART_BYTES as u64)?;
            Answer { destination, asked: &asked, query: None, status, body }.check()?;
            return Err(Error::new(
                ErrorKind::Io,
                format!("the server answered {asked} with status {status}"),
            ));
        }
        if response.content_length().is_some_and(|length| length != file.bytes) {
            let text = format!("the file {:?} of the server is not as long as it said before", file.path);
            return Err(Error::new(ErrorKind::Io, text));
        }
        let (body, path) = (response.reader(), file.path.clone());
        Ok(RemoteFileReader { body, path, left: file.bytes, part: vec![0; PART_BYTES] })
    }

    /// Removes the files of a job from the server.
    ///
    /// # Errors
    /// `not_found` if there is no such job.
    pub fn remove_job_files(&self, id: &str) -> Result<()> {
        self.delete(&path_of(&["jobs", id, "files"])).map(drop)
    }
}

impl RemoteFileReader {
    /// The next part of the file; `None` at its end.
    ///
    /// # Errors
    /// `io` if the connection breaks off, or the file is not as long as the server said; `cancelled`; `limit`.
    pub fn next_part(&mut self) -> Result<Option<&[u8]>> {
        let read = self.body.fill(&mut self.part)?;
        let wrong = |what: &str| {
            Error::new(ErrorKind::Io, format!("{what} of the file {:?} of the server", self.path))
        };
        if read == 0 && self.left > 0 {
            return Err(wrong(&format!("the connection ended {} bytes before the end", self.left)));
        }
        self.left =
            self.left.checked_sub(read as u64).ok_or_else(|| wrong("there is something behind the end"))?;
        Ok((read > 0).then(|| &self.part[..read]))
    }
}

/// Whether `name` can be one name of a path on every system.
fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.chars().any(|char| char.is_control() || r"\:/".contains(char))
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn a_name_leads_nowhere_else() {
        assert!(["people.csv", "a b.csv", "..a", "Größe"].into_iter().all(is_name));
        assert!(!["", ".", "..", "a/b", "a\\b", "C:a", "a\0", "a\n"].into_iter().any(is_name));
    }
}
