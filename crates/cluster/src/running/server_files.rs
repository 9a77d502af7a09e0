//! Files for servers of a log: certificates, passwords and the like, which each engine's table of a node's file names.
//!
//! A secret stands in a file of its own, which nobody else may read, as keys do: settings are shown to others more often.

use crate::log::server_access::{LogClientCertificate, LogTls};
use crate::running::document::Document;
use crate::running::new_folder::FileSecrecy;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::io::directory::Directory as _;
use evergraph_storage::io::disk::DiskDirectory;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Bytes of a secret.
const SECRET_BYTES_MAX: u64 = 1 << 16;

/// Copies a file into the folder of a node, under a name: the path there.
pub(super) type CopyFile<'a> = dyn Fn(&Path, &str, FileSecrecy) -> Result<PathBuf> + 'a;

/// What a table says of certificates.
pub(super) struct TlsKeys {
    pub(super) root: Option<PathBuf>,
    pub(super) certificate: Option<Spanned<PathBuf>>,
    pub(super) key: Option<PathBuf>,
}

impl TlsKeys {
    /// The files, relative to `folder`. `table` is whose they are, and `servers` its first key, for what has no line of its own.
    ///
    /// # Errors
    /// `invalid` for a part without the others.
    pub(super) fn tls<T>(
        self,
        table: &str,
        servers: (&str, &Spanned<T>),
        document: &Document,
        folder: &Path,
    ) -> Result<Option<LogTls>> {
        let (name, value) = servers;
        let wrong = |problem: &str| Err(document.wrong(&format!("{table}.{name}"), value, problem));
        let client = match (&self.certificate, self.key) {
            (Some(certificate), Some(key)) => Some(LogClientCertificate {
                certificate: folder.join(certificate.get_ref()),
                key: folder.join(key),
            }),
            (Some(certificate), None) => {
                let name = format!("{table}.certificate");
                return Err(document.wrong(&name, certificate, "its key is missing"));
            }
            (None, Some(_)) => return wrong("there is a key without a certificate"),
            (None, None) => None,
        };
        match (self.root, client) {
            (Some(root), client) => Ok(Some(LogTls { root: folder.join(root), client })),
            (None, Some(_)) => wrong("there is a certificate to show, and no root to check the servers' by"),
            (None, None) => Ok(None),
        }
    }
}

/// Copies files of certificates: they are named `ENGINE-root.pem` and so on.
///
/// # Errors
/// Those of `copy`.
pub(super) fn copied_tls(tls: &LogTls, engine: &str, copy: &CopyFile<'_>) -> Result<LogTls> {
    let client = |client: &LogClientCertificate| -> Result<LogClientCertificate> {
        let name = |end: &str| format!("{engine}-client.{end}");
        let certificate = copy(&client.certificate, &name("pem"), FileSecrecy::Readable)?;
        let key = copy(&client.key, &name("key"), FileSecrecy::Secret)?;
        Ok(LogClientCertificate { certificate, key })
    };
    let root = copy(&tls.root, &format!("{engine}-root.pem"), FileSecrecy::Readable)?;
    Ok(LogTls { root, client: tls.client.as_ref().map(client).transpose()? })
}

/// Reads a secret: `what` it is. A newline at its end is not part of it.
///
/// # Errors
/// `invalid` for one that others can read, that is no text, or empty; `not_found`, `io`.
pub(super) fn read_secret(path: &Path, what: &str) -> Result<String> {
    let failed = |error: std::io::Error| {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Io,
        };
        Error::new(kind, format!("read the {what} for the log, {}: {error}", path.display())).because(error)
    };
    let metadata = fs::metadata(path).map_err(failed)?;
    let mode = metadata.permissions().mode() & 0o777;
    // A group may read one of root's: so services get their secrets.
    let allowed = if metadata.uid() == 0 { 0o740 } else { 0o700 };
    if metadata.is_file() && mode & !allowed != 0 {
        let path = path.display();
        return Err(Error::invalid(format!(
            "the {what} in {path} can be read or written by other users of this machine (its mode is {mode:03o}): \
             chmod 600 {path}"
        )));
    }
    let (folder, name) = split(path)?;
    let bytes = DiskDirectory::open(folder).and_then(|folder| folder.read_all(name, SECRET_BYTES_MAX))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::invalid(format!("the {what} in {} is not UTF-8", path.display())))?;
    let secret = text.strip_suffix('\n').unwrap_or(&text);
    if secret.is_empty() {
        return Err(Error::invalid(format!("there is no {what} in {}", path.display())));
    }
    Ok(secret.to_owned())
}

/// The folder and the name of a file.
///
/// # Errors
/// `invalid` if it has none.
pub(super) fn split(path: &Path) -> Result<(&Path, &str)> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Error::invalid(format!("{} is not the path of a file", path.display())))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok((folder.unwrap_or(Path::new(".")), name))
}
