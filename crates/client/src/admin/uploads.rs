//! Uploads: files that are sent to a server for an import.

use crate::admin::call::{Admin, path_of};
use evergraph_graph::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::time::Duration;
use ureq::http::Method;

/// How long removing an upload may take. The server removes it itself after an hour.
const REMOVE_TIME: Duration = Duration::from_secs(10);

/// Files that were sent to a server, for one import. Dropped, it is removed there.
#[derive(Debug)]
pub struct Upload {
    admin: Admin,
    id: String,
}

#[derive(Deserialize)]
struct NewUpload {
    id: String,
}

#[derive(Serialize)]
struct NoMembers {}

impl Admin {
    /// Begins an upload for the database, without files. Needs the role admin.
    ///
    /// # Errors
    /// `invalid` if the server has no place for it; `busy` if there are too many.
    pub fn begin_upload(&self) -> Result<Upload> {
        let NewUpload { id } =
            self.change(Method::POST, &self.database_path(&["uploads"])?, &NoMembers {})?;
        Ok(Upload { admin: self.clone(), id })
    }
}

impl Upload {
    /// Its name, which a job of kind `import` has as its member `upload`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Sends a file under `name`, part by part, so that it is never in memory as a whole; `tell` is told how many bytes were read.
    /// `length` is how long it is, if that is known: the server then refuses one that is too long before it is sent.
    ///
    /// # Errors
    /// `invalid` for what cannot be the name of a file, and one that is taken; `limit` above the server's `--upload-limit`; `io` if
    /// `bytes` cannot be read, are not as many as `length`, or the connection breaks off: nothing of the file is left then.
    pub fn send(
        &self,
        name: &str,
        bytes: &mut dyn Read,
        length: Option<u64>,
        tell: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let mut source = Source { bytes, left: length, read: 0, failure: None, tell };
        let sent = self.admin.send_file(&path_of(&["uploads", &self.id, name]), &mut source, length);
        match source.failure {
            Some(failure) => {
                Err(Error::new(ErrorKind::Io, format!("read {name} to send it: {failure}")).because(failure))
            }
            None => sent,
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // An import that is done has removed it; if the server is gone, it removes it later.
        let _ = self.admin.in_the_end(REMOVE_TIME).delete(&path_of(&["uploads", &self.id]));
    }
}

/// What is sent, with what went wrong with it: that is not the server's fault.
struct Source<'a> {
    bytes: &'a mut dyn Read,
    left: Option<u64>,
    read: u64,
    failure: Option<io::Error>,
    tell: &'a mut dyn FnMut(u64),
}

impl Read for Source<'_> {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        let most =
            self.left.map_or(part.len(), |left| part.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
        if most == 0 {
            return Ok(0);
        }
        let read = self.bytes.read(&mut part[..most]).and_then(|read| match (read, self.left) {
            (0, Some(left)) => {
                let text = format!("it is {left} bytes shorter than it was");
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, text))
            }
            (read, _) => Ok(read),
        });
        match read {
            Ok(read) => {
                self.read += read as u64;
                self.left = self.left.map(|left| left - read as u64);
                (self.tell)(self.read);
                Ok(read)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.failure = Some(error);
                Err(io::Error::new(kind, "the file could not be read"))
            }
        }
    }
}
