//! Access to NATS: where the log of a cluster is, and how a node shows who it is there, as its own file says.

use crate::log::nats::options::{NatsLogin, NatsMonitor, NatsOptions, NatsServer, NatsSync};
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

/// Where the log is, how it is known that it keeps what it acknowledges, and who asks there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NatsAccess {
    /// Servers of NATS, the nearest first.
    pub servers: Vec<NatsServer>,
    /// How it is known that servers sync every write.
    pub sync: NatsSync,
    /// Files of certificates, with servers of `tls`.
    pub tls: Option<LogTls>,
    /// Who asks, where servers demand it.
    pub login: Option<NatsLoginFile>,
    /// Whether a password or token may go over a network without TLS.
    pub cleartext: CleartextLogin,
    /// How long a request may take; the log's default if there is none.
    pub time_limit: Option<Duration>,
}

/// Who asks, with what is secret in a file that nobody else can read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NatsLoginFile {
    /// A user, and the file of the password. A newline at its end is not part of it.
    Password {
        /// The name.
        user: String,
        /// The file.
        file: PathBuf,
    },
    /// The file of a token.
    Token(PathBuf),
    /// A credentials file, as `nsc` writes it.
    Credentials(PathBuf),
}

/// The table of a node's file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct NatsTable {
    servers: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    monitors: Vec<Spanned<String>>,
    sync_interval_always: Option<Spanned<bool>>,
    root: Option<PathBuf>,
    certificate: Option<Spanned<PathBuf>>,
    key: Option<PathBuf>,
    user: Option<Spanned<String>>,
    password_file: Option<PathBuf>,
    token_file: Option<PathBuf>,
    credentials_file: Option<PathBuf>,
    #[serde(default)]
    allow_cleartext_password: bool,
    time_limit_ms: Option<u64>,
}

impl NatsAccess {
    /// Of servers without certificates and log-in.
    #[must_use]
    pub fn new(servers: Vec<NatsServer>, sync: NatsSync) -> Self {
        let cleartext = CleartextLogin::default();
        Self { servers, sync, tls: None, login: None, cleartext, time_limit: None }
    }

    /// What the table says, whose files are relative to `folder`.
    pub(super) fn of(table: NatsTable, document: &Document, folder: &Path) -> Result<Self> {
        let wrong = |problem: &str| Err(document.wrong("nats.servers", &table.servers, problem));
        let parse = |url: &Spanned<String>| {
            url.get_ref().parse().map_err(|error| document.wrong("nats.servers", url, error))
        };
        let servers = table.servers.get_ref().iter().map(parse).collect::<Result<Vec<NatsServer>>>()?;
        let parse = |url: &Spanned<String>| {
            url.get_ref().parse().map_err(|error| document.wrong("nats.monitors", url, error))
        };
        let monitors = table.monitors.iter().map(parse).collect::<Result<Vec<NatsMonitor>>>()?;
        let sync = match &table.sync_interval_always {
            Some(always) if !*always.get_ref() => {
                let problem = "a log on NATS loses what it has acknowledged unless every server has `sync_interval: always`";
                return Err(document.wrong("nats.sync-interval-always", always, problem));
            }
            // Whoever names ports as well has them asked.
            Some(_) if monitors.is_empty() => NatsSync::Asserted,
            _ => NatsSync::Monitored(monitors),
        };
        let logins = [
            table.user.is_some() || table.password_file.is_some(),
            table.token_file.is_some(),
            table.credentials_file.is_some(),
        ];
        if logins.into_iter().filter(|is_there| *is_there).count() > 1 {
            return wrong("a user's password, a token and credentials exclude each other");
        }
        let login = match (table.user, table.password_file, table.token_file, table.credentials_file) {
            (Some(user), Some(file), ..) => {
                Some(NatsLoginFile::Password { user: user.into_inner(), file: folder.join(file) })
            }
            (Some(user), None, ..) => {
                return Err(document.wrong("nats.user", &user, "the file of its password is missing"));
            }
            (None, Some(_), ..) => return wrong("there is a password without a user"),
            (_, _, Some(file), _) => Some(NatsLoginFile::Token(folder.join(file))),
            (.., Some(file)) => Some(NatsLoginFile::Credentials(folder.join(file))),
            _ => None,
        };
        let cleartext = match table.allow_cleartext_password {
            true => CleartextLogin::Anywhere,
            false => CleartextLogin::Loopback,
        };
        let keys = TlsKeys { root: table.root, certificate: table.certificate, key: table.key };
        let tls = keys.tls("nats", ("servers", &table.servers), document, folder)?;
        let time_limit = table.time_limit_ms.map(Duration::from_millis);
        Ok(Self { servers, sync, tls, login, cleartext, time_limit })
    }

    /// How a log under `key` is opened: a stream has no slashes in its name.
    ///
    /// # Errors
    /// `invalid` for a secret that others can read, or that is no text; `not_found`, `io`.
    pub fn options(&self, key: &str) -> Result<NatsOptions> {
        let stream = key.replace('/', "-");
        let mut options = NatsOptions::new(self.servers.clone(), stream, self.sync.clone());
        options.tls.clone_from(&self.tls);
        options.cleartext = self.cleartext;
        options.login = match &self.login {
            None => None,
            Some(NatsLoginFile::Password { user, file }) => {
                let password = read_secret(file, "password")?;
                Some(NatsLogin::Password { user: user.clone(), password })
            }
            Some(NatsLoginFile::Token(file)) => Some(NatsLogin::Token(read_secret(file, "token")?)),
            Some(NatsLoginFile::Credentials(file)) => {
                Some(NatsLogin::Credentials(read_secret(file, "credentials")?))
            }
        };
        if let Some(time_limit) = self.time_limit {
            options.time_limit = time_limit;
        }
        Ok(options)
    }

    /// The same, with its files copied into the folder of a node.
    pub(super) fn copied(&self, copy: &CopyFile<'_>) -> Result<Self> {
        let secret = |file: &Path, name: &str| copy(file, name, FileSecrecy::Secret);
        let login = |login: &NatsLoginFile| {
            Ok::<_, evergraph_graph::error::Error>(match login {
                NatsLoginFile::Password { user, file } => {
                    NatsLoginFile::Password { user: user.clone(), file: secret(file, "nats-password")? }
                }
                NatsLoginFile::Token(file) => NatsLoginFile::Token(secret(file, "nats-token")?),
                NatsLoginFile::Credentials(file) => NatsLoginFile::Credentials(secret(file, "nats.creds")?),
            })
        };
        Ok(Self {
            tls: self.tls.as_ref().map(|tls| copied_tls(tls, "nats", copy)).transpose()?,
            login: self.login.as_ref().map(login).transpose()?,
            ..self.clone()
        })
    }

    /// The table of a node's file.
    pub(super) fn to_toml(&self) -> String {
        let mut table = TableText::new("nats");
        table.put_urls("servers", &self.servers);
        match &self.sync {
            NatsSync::Monitored(monitors) => table.put_urls("monitors", monitors),
            NatsSync::Asserted => table.put("sync-interval-always", true),
        }
        table.put_tls(self.tls.as_ref());
        match &self.login {
            None => {}
            Some(NatsLoginFile::Password { user, file }) => {
                table.put_text("user", user);
                table.put_path("password-file", file);
            }
            Some(NatsLoginFile::Token(file)) => table.put_path("token-file", file),
            Some(NatsLoginFile::Credentials(file)) => table.put_path("credentials-file", file),
        }
        table.put_cleartext(self.cleartext);
        table.finish(self.time_limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::server_access::LogClientCertificate;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[derive(Deserialize)]
    struct Whole {
        nats: NatsTable,
    }

    fn access(text: &str) -> Result<NatsAccess> {
        let document = Document::of("n/node.toml", text);
        let whole: Whole = document.parse()?;
        NatsAccess::of(whole.nats, &document, Path::new("/n"))
    }

    fn plain() -> NatsAccess {
        NatsAccess::new(vec!["nats://127.0.0.1:4222".parse().unwrap()], NatsSync::Asserted)
    }

    #[test]
    fn access_reads_back_as_it_was_written() {
        let monitors = vec!["http://a:8222".parse().unwrap(), "http://b:8222".parse().unwrap()];
        let client = Some(LogClientCertificate { certificate: "/n/c.pem".into(), key: "/n/c.key".into() });
        let secure = NatsAccess {
            servers: vec!["tls://a:4222".parse().unwrap(), "tls://b:4222".parse().unwrap()],
            sync: NatsSync::Monitored(monitors),
            tls: Some(LogTls { root: "/n/root.pem".into(), client }),
            login: Some(NatsLoginFile::Credentials("/n/nats.creds".into())),
            cleartext: CleartextLogin::Anywhere,
            time_limit: Some(Duration::from_secs(5)),
        };
        let user = NatsLoginFile::Password { user: "evergraph".to_owned(), file: "/n/password".into() };
        let with = |login| NatsAccess { login: Some(login), ..plain() };
        for written in [secure, with(user), with(NatsLoginFile::Token("/n/token".into())), plain()] {
            assert_eq!(access(&written.to_toml()).unwrap(), written);
        }
    }

    #[test]
    fn what_cannot_be_is_named_by_its_line() {
        for (text, said) in [
            (
                "monitors = ['nats://a']",
                "n/node.toml:3: nats.monitors: `nats://a` is not the URL of a monitoring",
            ),
            ("sync-interval-always = false", "n/node.toml:3: nats.sync-interval-always: a log on NATS loses"),
            ("certificate = 'c'", "n/node.toml:3: nats.certificate: its key is missing"),
            ("user = 'u'", "n/node.toml:3: nats.user: the file of its password is missing"),
            ("password-file = 'p'", "a password without a user"),
            (
                "token-file = 't'\ncredentials-file = 'c'",
                "n/node.toml:2: nats.servers: a user's password, a token",
            ),
            ("token = 't'", "n/node.toml:3: unknown field `token`"),
        ] {
            let text = format!("[nats]\nservers = ['nats://localhost']\n{text}");
            let error = access(&text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        // Named later, when all is known that it could follow from.
        let nothing = access("[nats]\nservers = ['nats://localhost']").unwrap();
        let error = nothing.options("evergraph/1").unwrap().check().unwrap_err();
        assert!(error.to_string().contains("`sync_interval: always`"), "{error}");
    }

    #[test]
    fn a_secret_is_read_from_a_file_of_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let access = NatsAccess { login: Some(NatsLoginFile::Token(file.clone())), ..plain() };
        fs::write(&file, "open sesame\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let error = access.options("evergraph/1").unwrap_err().to_string();
        assert!(error.contains("the token in ") && error.contains("chmod 600"), "{error}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let options = access.options("evergraph/1").unwrap();
        assert_eq!(options.login, Some(NatsLogin::Token("open sesame".to_owned())));
        assert_eq!(options.stream, "evergraph-1");
        options.check().unwrap();
    }
}
