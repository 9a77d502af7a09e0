//! Access to etcd: where the log of a cluster is, and how a node shows who it is there, as its own file says.

use crate::log::etcd::options::{EtcdEndpoint, EtcdLogin, EtcdOptions};
use crate::log::server_access::{CleartextLogin, LogTls};
use crate::running::document::Document;
use crate::running::new_folder::FileSecrecy;
use crate::running::server_files::{CopyFile, TlsKeys, copied_tls, read_secret};
use crate::running::table_text::TableText;
use evergraph_graph::error::Result;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// Where the log is, and who asks there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EtcdAccess {
    /// Members of etcd, the nearest first.
    pub endpoints: Vec<EtcdEndpoint>,
    /// Files of certificates, with endpoints of `https`.
    pub tls: Option<LogTls>,
    /// A user of etcd, where it demands one.
    pub login: Option<EtcdPasswordFile>,
    /// How long a request may take; the log's default if there is none.
    pub time_limit: Option<Duration>,
}

/// A user of etcd whose password is in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EtcdPasswordFile {
    /// The name.
    pub user: String,
    /// The file of the password, which nobody else can read. A newline at its end is not part of it.
    pub password_file: PathBuf,
    /// Whether the password may go over a network without TLS.
    pub cleartext: CleartextLogin,
}

/// The table of a node's file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct EtcdTable {
    endpoints: Spanned<Vec<Spanned<String>>>,
    root: Option<PathBuf>,
    certificate: Option<Spanned<PathBuf>>,
    key: Option<PathBuf>,
    user: Option<Spanned<String>>,
    password_file: Option<PathBuf>,
    #[serde(default)]
    allow_cleartext_password: bool,
    time_limit_ms: Option<u64>,
}

impl EtcdAccess {
    /// Of members without certificates and log-in.
    #[must_use]
    pub fn new(endpoints: Vec<EtcdEndpoint>) -> Self {
        Self { endpoints, tls: None, login: None, time_limit: None }
    }

    /// What the table says, whose files are relative to `folder`.
    pub(super) fn of(table: EtcdTable, document: &Document, folder: &Path) -> Result<Self> {
        let parse = |url: &Spanned<String>| {
            url.get_ref().parse().map_err(|error| document.wrong("etcd.endpoints", url, error))
        };
        let endpoints = table.endpoints.get_ref().iter().map(parse).collect::<Result<Vec<EtcdEndpoint>>>()?;
        let keys = TlsKeys { root: table.root, certificate: table.certificate, key: table.key };
        let tls = keys.tls("etcd", ("endpoints", &table.endpoints), document, folder)?;
        let login = match (table.user, table.password_file) {
            (Some(user), Some(file)) => Some(EtcdPasswordFile {
                user: user.into_inner(),
                password_file: folder.join(file),
                cleartext: match table.allow_cleartext_password {
                    true => CleartextLogin::Anywhere,
                    false => CleartextLogin::Loopback,
                },
            }),
            (Some(user), None) => {
                return Err(document.wrong("etcd.user", &user, "the file of its password is missing"));
            }
            (None, Some(_)) => {
                let problem = "there is a password without a user";
                return Err(document.wrong("etcd.endpoints", &table.endpoints, problem));
            }
            (None, None) => None,
        };
        let time_limit = table.time_limit_ms.map(Duration::from_millis);
        Ok(Self { endpoints, tls, login, time_limit })
    }

    /// How a log under `key` is opened.
    ///
    /// # Errors
    /// `invalid` for a password that others can read, or that is no text; `not_found`, `io`.
    pub fn options(&self, key: String) -> Result<EtcdOptions> {
        let mut options = EtcdOptions::new(self.endpoints.clone(), key);
        options.tls.clone_from(&self.tls);
        if let Some(EtcdPasswordFile { user, password_file, cleartext }) = &self.login {
            let password = read_secret(password_file, "password")?;
            options.login = Some(EtcdLogin { user: user.clone(), password, cleartext: *cleartext });
        }
        if let Some(time_limit) = self.time_limit {
            options.time_limit = time_limit;
        }
        Ok(options)
    }

    /// The same, with its files copied into the folder of a node.
    pub(super) fn copied(&self, copy: &CopyFile<'_>) -> Result<Self> {
        let login = |login: &EtcdPasswordFile| -> Result<EtcdPasswordFile> {
            let password_file = copy(&login.password_file, "etcd-password", FileSecrecy::Secret)?;
            Ok(EtcdPasswordFile { password_file, ..login.clone() })
        };
        Ok(Self {
            tls: self.tls.as_ref().map(|tls| copied_tls(tls, "etcd", copy)).transpose()?,
            login: self.login.as_ref().map(login).transpose()?,
            ..self.clone()
        })
    }

    /// The table of a node's file.
    pub(super) fn to_toml(&self) -> String {
        let mut table = TableText::new("etcd");
        table.put_urls("endpoints", &self.endpoints);
        table.put_tls(self.tls.as_ref());
        if let Some(login) = &self.login {
            table.put_text("user", &login.user);
            table.put_path("password-file", &login.password_file);
            table.put_cleartext(login.cleartext);
        }
        table.finish(self.time_limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::server_access::LogClientCertificate;
    use evergraph_graph::error::ErrorKind;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[derive(Deserialize)]
    struct Whole {
        etcd: EtcdTable,
    }

    fn access(text: &str) -> Result<EtcdAccess> {
        let document = Document::of("n/node.toml", text);
        let whole: Whole = document.parse()?;
        EtcdAccess::of(whole.etcd, &document, Path::new("/n"))
    }

    fn secure() -> EtcdAccess {
        EtcdAccess {
            endpoints: vec!["https://etcd1:2379".parse().unwrap(), "https://etcd2:2379".parse().unwrap()],
            tls: Some(LogTls {
                root: "/n/etcd-root.pem".into(),
                client: Some(LogClientCertificate { certificate: "/n/c.pem".into(), key: "/n/c.key".into() }),
            }),
            login: Some(EtcdPasswordFile {
                user: "evergraph".to_owned(),
                password_file: "/n/password".into(),
                cleartext: CleartextLogin::Anywhere,
            }),
            time_limit: Some(Duration::from_secs(5)),
        }
    }

    #[test]
    fn access_reads_back_as_it_was_written() {
        for access_written in [secure(), EtcdAccess::new(vec!["http://127.0.0.1:2379".parse().unwrap()])] {
            assert_eq!(access(&access_written.to_toml()).unwrap(), access_written);
        }
    }

    #[test]
    fn half_of_a_pair_is_named_by_its_line() {
        for (text, said) in [
            ("certificate = 'c'", "n/node.toml:3: etcd.certificate: its key is missing"),
            ("key = 'c'", "n/node.toml:2: etcd.endpoints: there is a key without a certificate"),
            ("certificate = 'c'\nkey = 'k'", "no root"),
            ("user = 'u'", "n/node.toml:3: etcd.user: the file of its password is missing"),
            ("password-file = 'p'", "a password without a user"),
            ("password = 'p'", "n/node.toml:3: unknown field `password`"),
        ] {
            let text = format!("[etcd]\nendpoints = ['http://localhost']\n{text}");
            let error = access(&text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        let error = access("[etcd]\nendpoints = ['etcd1:2379']").unwrap_err().to_string();
        assert!(error.starts_with("n/node.toml:2: etcd.endpoints: `etcd1:2379` is not the URL"), "{error}");
    }

    #[test]
    fn a_password_is_read_from_a_file_of_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        let mut access = secure();
        access.login.as_mut().unwrap().password_file.clone_from(&file);
        let options = || access.options("key".to_owned());
        assert_eq!(options().unwrap_err().kind(), ErrorKind::NotFound);
        fs::write(&file, "open sesame\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(options().unwrap_err().to_string().contains("chmod 600"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let options_read = options().unwrap();
        let login = options_read.login.unwrap();
        assert_eq!((login.user.as_str(), login.password.as_str()), ("evergraph", "open sesame"));
        assert_eq!((options_read.time_limit, options_read.key.as_str()), (Duration::from_secs(5), "key"));
        fs::write(&file, "\n").unwrap();
        assert!(options().unwrap_err().to_string().contains("no password"));
    }
}
