//! `ConnectionSettings`: where a PostgreSQL server is and how to connect, as its other clients are told.
//!
//! ```text
//! postgres://ann@db.example:5432/shop?sslmode=verify-full&sslrootcert=root.pem&application_name=graph
//!            user     host   port database  parameters
//! postgres:///shop?host=/var/run/postgresql       a socket in the file system
//! ```
//!
//! What a URL leaves out comes from the section of a service file that it or PGSERVICE names; then from the variables that libpq
//! reads: PGHOST, PGPORT, PGUSER, PGDATABASE, PGSSLMODE, PGSSLROOTCERT, PGSSLCERT, PGSSLKEY, PGCONNECT_TIMEOUT, PGAPPNAME, PGOPTIONS,
//! PGCHANNELBINDING; then from its defaults, such as the name of the system's user. A password comes from a service file, PGPASSWORD
//! or the password file alone: other users of the machine see command lines, and logs keep URLs.
//!
//! Not supported, and refused: several hosts, `sslmode=allow`, GSSAPI, and parameters that are not listed here.
//! No crate that parses such URLs is kept up, knows `verify-full` and the password file, and comes without a runtime.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;

use crate::source::error::{SourceError, SourceResult};
use crate::source::postgres::passfile::{self, Login};
use crate::source::postgres::service_file::{self, ServiceLine};
use crate::wire::startup::Password;

/// The port of PostgreSQL.
pub const DEFAULT_PORT: u16 = 5432;
/// Folders in which distributions' servers have their sockets.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];
/// How long connecting takes at most, unless `connect_timeout` says something else.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(30);

/// Where a server is and how to connect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectionSettings {
    /// Where it listens.
    pub host: Host,
    /// The port; part of the name of a socket in the file system, too.
    pub port: u16,
    /// Who logs in.
    pub user: String,
    /// The database.
    pub database: String,
    /// Whether and how TLS is used.
    pub tls: TlsSettings,
    /// Whether a log-in is bound to its TLS connection.
    pub channel_binding: ChannelBindingMode,
    /// The session's name in `pg_stat_activity`.
    pub application_name: String,
    /// Command-line options for the server, such as `-c wal_sender_timeout=90s`.
    pub options: Option<String>,
    /// How long connecting and logging in take at most.
    pub connect_time_max: Duration,
    /// The password of PGPASSWORD.
    pub password: Option<Password>,
    /// The password file.
    pub passfile: Option<PathBuf>,
}

/// Where a server listens.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Host {
    /// A name or an address.
    Tcp(String),
    /// A socket in this folder.
    Unix(PathBuf),
}

/// Whether and how TLS is used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsSettings {
    /// How much is asked for.
    pub mode: SslMode,
    /// A file with the roots that are trusted, by default `~/.postgresql/root.crt` if it is there; `None` for the system's.
    pub root: Option<PathBuf>,
    /// The client's certificate.
    pub certificate: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
}

/// PostgreSQL's `sslmode`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SslMode {
    /// No TLS.
    Disable,
    /// TLS if the server has it; anybody may be in the middle.
    Prefer,
    /// TLS, whoever the server is; with a file of roots as [`SslMode::VerifyCa`].
    Require,
    /// TLS with a certificate that a trusted root signed.
    VerifyCa,
    /// The same, for the host that was named.
    VerifyFull,
}

/// PostgreSQL's `channel_binding`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChannelBindingMode {
    /// Never.
    Disable,
    /// If both ends can.
    Prefer,
    /// Always.
    Require,
}

impl ConnectionSettings {
    /// Reads a URL, with the process's environment for what it leaves out.
    ///
    /// # Errors
    /// [`SourceError::Invalid`], which shows no part of a password.
    pub fn from_url(url: &str) -> SourceResult<Self> {
        Self::read(url, &|name| std::env::var_os(name), &system_user)
    }

    /// As [`ConnectionSettings::from_url`], with `variable` for the environment, and without the system's user.
    ///
    /// # Errors
    /// The same.
    pub fn from_url_and(url: &str, variable: &dyn Fn(&str) -> Option<OsString>) -> SourceResult<Self> {
        Self::read(url, variable, &|| None)
    }

    fn read(
        url: &str,
        variable: &dyn Fn(&str) -> Option<OsString>,
        system_user: &dyn Fn() -> Option<String>,
    ) -> SourceResult<Self> {
        let shown = Self::without_password(url);
        Parts::of_url(url, variable, system_user)
            .and_then(|parts| parts.settings(variable))
            .map_err(|why| SourceError::Invalid(format!("the source {shown:?}: {why}")))
    }

    /// Whether `text` is such a URL, and not a path.
    #[must_use]
    pub fn is_url(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// `url` without what may be a password in it.
    #[must_use]
    pub fn without_password(url: &str) -> String {
        let (url, query) = url.split_once('?').unwrap_or((url, ""));
        let kept =
            query.split('&').filter(|part| !part.trim_start().to_ascii_lowercase().starts_with("password"));
        let query = kept.collect::<Vec<_>>().join("&");
        let mark = if query.is_empty() { "" } else { "?" };
        let Some((scheme, rest)) = url.split_once("://") else { return format!("{url}{mark}{query}") };
        let Some((user, host)) = rest.rsplit_once('@') else {
            return format!("{scheme}://{rest}{mark}{query}");
        };
        let user = user.split_once(':').map_or(user, |(user, _)| user);
        format!("{scheme}://{user}@{host}{mark}{query}")
    }

    /// The server and the database, for messages.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.host {
            Host::Tcp(host) if host.contains(':') => format!("[{host}]:{}/{}", self.port, self.database),
            Host::Tcp(host) => format!("{host}:{}/{}", self.port, self.database),
            Host::Unix(folder) => {
                format!("{}/.s.PGSQL.{}, database {}", folder.display(), self.port, self.database)
            }
        }
    }

    /// The password of PGPASSWORD, or of the password file.
    ///
    /// # Errors
    /// If the password file cannot be read, or by others as well.
    pub fn find_password(&self) -> SourceResult<Option<Password>> {
        if self.password.is_some() {
            return Ok(self.password.clone());
        }
        let Some(path) = &self.passfile else { return Ok(None) };
        let host = match &self.host {
            Host::Tcp(host) => Cow::Borrowed(&**host),
            Host::Unix(folder) if SOCKET_FOLDERS.iter().any(|default| Path::new(default) == folder) => {
                "localhost".into()
            }
            Host::Unix(folder) => folder.to_string_lossy(),
        };
        passfile::find(
            path,
            Login { host: &host, port: self.port, database: &self.database, user: &self.user },
        )
    }
}

/// What a URL, a service file and the environment say, as texts.
#[derive(Default)]
struct Parts {
    host: Option<String>,
    port: Option<String>,
    user: Option<String>,
    database: Option<String>,
    ssl_mode: Option<String>,
    ssl_root: Option<String>,
    ssl_certificate: Option<String>,
    ssl_key: Option<String>,
    channel_binding: Option<String>,
    connect_timeout: Option<String>,
    application_name: Option<String>,
    options: Option<String>,
    passfile: Option<String>,
    service: Option<String>,
    /// Of a service file.
    password: Option<String>,
}

impl Parts {
    fn of_url(
        url: &str,
        variable: &dyn Fn(&str) -> Option<OsString>,
        system_user: &dyn Fn() -> Option<String>,
    ) -> Result<Self, String> {
        let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        let rest = rest.ok_or("it does not begin with postgres:// or postgresql://")?;
        if rest.contains('#') {
            return Err("it has a `#`: write it as %23".to_owned());
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut parts = Self::default();
        let place = match authority.rsplit_once('@') {
            None => authority,
            Some((user, _)) if user.contains(':') => return Err(PASSWORD_IN_URL.to_owned()),
            Some((user, place)) => {
                parts.user = Some(decoded(user)?);
                place
            }
        };
        if place.contains(',') {
            return Err("it names several hosts, which is not supported: name the one to follow".to_owned());
        }
        let (host, port) = split_port(place)?;
        parts.host = (!host.is_empty()).then(|| decoded(host)).transpose()?;
        parts.port = port.filter(|port| !port.is_empty()).map(str::to_owned);
        parts.database = (!path.is_empty()).then(|| decoded(path)).transpose()?;
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) =
                parameter.split_once('=').ok_or_else(|| format!("`{parameter}` has no value"))?;
            *parts.field(&decoded(name)?)? = Some(decoded(value)?);
        }
        parts.read_service(variable)?;
        parts.complete(variable, system_user)?;
        Ok(parts)
    }

    /// What the parameter `name` says.
    fn field(&mut self, name: &str) -> Result<&mut Option<String>, String> {
        Ok(match name {
            "host" => &mut self.host,
            "port" => &mut self.port,
            "user" => &mut self.user,
            "dbname" => &mut self.database,
            "sslmode" => &mut self.ssl_mode,
            "sslrootcert" => &mut self.ssl_root,
            "sslcert" => &mut self.ssl_certificate,
            "sslkey" => &mut self.ssl_key,
            "channel_binding" => &mut self.channel_binding,
            "connect_timeout" => &mut self.connect_timeout,
            "application_name" | "fallback_application_name" => &mut self.application_name,
            "options" => &mut self.options,
            "passfile" => &mut self.passfile,
            "service" => &mut self.service,
            "password" => return Err(PASSWORD_IN_URL.to_owned()),
            _ => {
                return Err(format!(
                    "the parameter `{name}` is not supported; host, port, user, dbname, sslmode, sslrootcert, sslcert, sslkey, \
                     channel_binding, connect_timeout, application_name, options, passfile and service are"
                ));
            }
        })
    }

    /// Takes from the section of a service file what the URL left out.
    fn read_service(&mut self, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<(), String> {
        let of_environment = || {
            let name = variable("PGSERVICE").filter(|name| !name.is_empty())?;
            Some(name.into_string().map_err(|_| "the variable PGSERVICE is not UTF-8 text".to_owned()))
        };
        let Some(service) = self.service.clone().map(Ok).or_else(of_environment).transpose()? else {
            return Ok(());
        };
        let section = service_file::find(&service_file::paths(variable), &service)?;
        for ServiceLine { at, name, value } in section {
            let field = match &*name {
                "password" => &mut self.password,
                "service" => return Err(format!("{at}: a service cannot name another one")),
                name => self.field(name).map_err(|why| format!("{at}: {why}"))?,
            };
            field.get_or_insert(value);
        }
        Ok(())
    }

    /// Takes from the environment and the system what the URL and a service file left out.
    fn complete(
        &mut self,
        variable: &dyn Fn(&str) -> Option<OsString>,
        system_user: &dyn Fn() -> Option<String>,
    ) -> Result<(), String> {
        for (field, name) in [
            (&mut self.host, "PGHOST"),
            (&mut self.port, "PGPORT"),
            (&mut self.user, "PGUSER"),
            (&mut self.database, "PGDATABASE"),
            (&mut self.ssl_mode, "PGSSLMODE"),
            (&mut self.ssl_root, "PGSSLROOTCERT"),
            (&mut self.ssl_certificate, "PGSSLCERT"),
            (&mut self.ssl_key, "PGSSLKEY"),
            (&mut self.channel_binding, "PGCHANNELBINDING"),
            (&mut self.connect_timeout, "PGCONNECT_TIMEOUT"),
            (&mut self.application_name, "PGAPPNAME"),
            (&mut self.options, "PGOPTIONS"),
            (&mut self.passfile, "PGPASSFILE"),
        ] {
            if let Some(value) = variable(name).filter(|value| !value.is_empty() && field.is_none()) {
                *field =
                    Some(value.into_string().map_err(|_| format!("the variable {name} is not UTF-8 text"))?);
            }
        }
        // As for all clients.
        self.user = self.user.take().or_else(system_user);
        // Where the system does not say it, as of users of a directory service.
        if self.user.is_none() {
            let found = ["USER", "LOGNAME"]
                .iter()
                .find_map(|name| variable(name))
                .and_then(|user| user.into_string().ok());
            self.user = found.filter(|user| !user.is_empty());
        }
        Ok(())
    }

    fn settings(self, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<ConnectionSettings, String> {
        let port = match self.port {
            None => DEFAULT_PORT,
            Some(port) => {
                let number = port.parse().ok().filter(|number| *number > 0);
                number.ok_or_else(|| format!("the port {port:?} is not between 1 and 65535"))?
            }
        };
        let host = match self.host {
            Some(host) if host.starts_with('/') => Host::Unix(host.into()),
            Some(host) if host.starts_with('@') => {
                return Err("sockets outside of the file system (@) are not supported".to_owned());
            }
            Some(host) if host.contains(',') => {
                return Err("several hosts are not supported: name the one to follow".to_owned());
            }
            Some(host) => Host::Tcp(host),
            None => {
                let has_socket = |folder: &&&str| Path::new(folder).join(format!(".s.PGSQL.{port}")).exists();
                match SOCKET_FOLDERS.iter().find(has_socket) {
                    Some(folder) if cfg!(unix) => Host::Unix(folder.into()),
                    _ => Host::Tcp("localhost".to_owned()),
                }
            }
        };
        let user = self
            .user
            .ok_or("it names no user, as in postgres://USER@HOST/DATABASE; PGUSER is not set, and the system does not say who runs this")?;
        let mode = match self.ssl_mode.as_deref() {
            None | Some("prefer") => SslMode::Prefer,
            Some("disable") => SslMode::Disable,
            Some("require") => SslMode::Require,
            Some("verify-ca") => SslMode::VerifyCa,
            Some("verify-full") => SslMode::VerifyFull,
            Some("allow") => {
                return Err("sslmode=allow is not supported: use prefer, or better verify-full".to_owned());
            }
            Some(other) => {
                return Err(format!(
                    "sslmode is disable, prefer, require, verify-ca or verify-full, not {other:?}"
                ));
            }
        };
        let channel_binding = match self.channel_binding.as_deref() {
            None | Some("prefer") => ChannelBindingMode::Prefer,
            Some("disable") => ChannelBindingMode::Disable,
            Some("require") => ChannelBindingMode::Require,
            Some(other) => {
                return Err(format!("channel_binding is disable, prefer or require, not {other:?}"));
            }
        };
        let connect_time_max = match self.connect_timeout {
            None => CONNECT_TIME_MAX,
            Some(text) => match text.parse::<u32>() {
                Ok(0) => Duration::MAX,
                Ok(seconds) => Duration::from_secs(seconds.into()),
                Err(_) => return Err(format!("connect_timeout is a number of seconds, not {text:?}")),
            },
        };
        if self.ssl_certificate.is_some() != self.ssl_key.is_some() {
            return Err("sslcert and sslkey are named together".to_owned());
        }
        let home = || variable("HOME").map(PathBuf::from);
        let root = match self.ssl_root.as_deref() {
            Some("system") => None,
            Some(path) => Some(PathBuf::from(path)),
            None => home().map(|home| home.join(".postgresql/root.crt")).filter(|path| path.exists()),
        };
        let passfile = self.passfile.map(PathBuf::from).or_else(|| home().map(|home| home.join(".pgpass")));
        let of_environment = || variable("PGPASSWORD").filter(|password| !password.is_empty());
        let password = self.password.map(OsString::from).or_else(of_environment);
        Ok(ConnectionSettings {
            host,
            port,
            database: self.database.unwrap_or_else(|| user.clone()),
            user,
            tls: TlsSettings {
                mode,
                root,
                certificate: self.ssl_certificate.map(PathBuf::from),
                key: self.ssl_key.map(PathBuf::from),
            },
            channel_binding,
            application_name: self.application_name.unwrap_or_else(|| "evergraph".to_owned()),
            options: self.options,
            connect_time_max,
            password: password.map(|password| Password::new(password.into_encoded_bytes())),
            passfile,
        })
    }
}

/// The name of the user that this process runs as, by the system's file of users.
#[cfg(unix)]
fn system_user() -> Option<String> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    name_of_user(&users, rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
fn system_user() -> Option<String> {
    None
}

/// The name of the user `id` in `users`, a line `name:password:id:...` for each.
#[cfg(unix)]
fn name_of_user(users: &str, id: u32) -> Option<String> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse() == Ok(id)).then(|| name.to_owned())
    })
}

const PASSWORD_IN_URL: &str = "it has a password, which other users of this machine may see: set PGPASSWORD, or write it into \
                               ~/.pgpass as host:port:database:user:password";

fn decoded(part: &str) -> Result<String, String> {
    let text = percent_decode_str(part)
        .decode_utf8()
        .map_err(|_| "one of its parts is not UTF-8 text".to_owned())?;
    match text.chars().any(char::is_control) {
        true => Err("one of its parts has a control character".to_owned()),
        false => Ok(text.into_owned()),
    }
}

/// Host and port of `HOST:PORT`, `[ADDRESS]:PORT` or either without a port.
fn split_port(place: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(rest) = place.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or("its `[` is not closed")?;
        return match after.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if after.is_empty() => Ok((host, None)),
            None => Err("what stands behind its `]` is no port".to_owned()),
        };
    }
    match place.split_once(':') {
        Some((_, port)) if port.contains(':') => {
            Err("an address of IPv6 stands in brackets, as in postgres://[::1]/shop".to_owned())
        }
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((place, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str, variables: &[(&str, &str)]) -> Result<ConnectionSettings, String> {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        ConnectionSettings::from_url_and(url, &find).map_err(|error| error.to_string())
    }

    #[test]
    fn a_url_names_everything_or_leaves_it_to_the_environment() {
        let settings = parse(
            "postgresql://a%40b@db.example:6432/my%20shop?sslmode=verify-full&sslrootcert=/r.pem&connect_timeout=5&options=-c%20a%3D1",
            &[("PGUSER", "no"), ("HOME", "/home/a"), ("PGPASSWORD", "secret")],
        )
        .unwrap();
        assert_eq!((&*settings.user, &*settings.database, settings.port), ("a@b", "my shop", 6432));
        assert_eq!(settings.host, Host::Tcp("db.example".into()));
        assert_eq!((settings.tls.mode, settings.tls.root), (SslMode::VerifyFull, Some("/r.pem".into())));
        assert_eq!(
            (settings.connect_time_max, &*settings.options.unwrap()),
            (Duration::from_secs(5), "-c a=1")
        );
        assert_eq!(settings.passfile, Some("/home/a/.pgpass".into()));
        assert!(settings.password.is_some());
        let environment =
            [("PGHOST", "/run/pg"), ("PGPORT", "6000"), ("USER", "ann"), ("PGSSLMODE", "disable")];
        let settings = parse("postgres://", &environment).unwrap();
        assert_eq!((settings.host, settings.port), (Host::Unix("/run/pg".into()), 6000));
        assert_eq!(
            (&*settings.user, &*settings.database, settings.tls.mode),
            ("ann", "ann", SslMode::Disable)
        );
        let settings = parse("postgres://[::1]/d?host=%2Ftmp%2Fx", &environment).unwrap();
        assert_eq!(settings.host, Host::Unix("/tmp/x".into()));
        assert_eq!(parse("postgres://a@[::1]:1/d", &[]).unwrap().place(), "[::1]:1/d");
    }

    #[cfg(unix)]
    #[test]
    fn without_a_name_the_user_is_that_of_the_system_before_that_of_the_environment() {
        let users = "root:x:0:0:root:/root:/bin/sh\n\n+::::::\nann:x:1000:1000::/home/ann:/bin/sh\n";
        assert_eq!(name_of_user(users, 1000).as_deref(), Some("ann"));
        assert_eq!(name_of_user(users, 7), None);
        let user = |url: &str, system: Option<&str>| {
            let variable = |name: &str| (name == "USER").then(|| "of_environment".into());
            let settings = ConnectionSettings::read(url, &variable, &|| system.map(str::to_owned)).unwrap();
            (settings.user, settings.database)
        };
        let both = |name: &str| (name.to_owned(), name.to_owned());
        assert_eq!(user("postgres://h", Some("ann")), both("ann"));
        assert_eq!(user("postgres://h", None), both("of_environment"));
        assert_eq!(user("postgres://bob@h", Some("ann")), both("bob"));
    }

    #[test]
    fn a_service_says_what_the_url_leaves_out_and_ranks_above_other_variables() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("services");
        std::fs::write(
            &path,
            "[shop]\nhost=db\nport=6000\nuser=ann\ndbname=shop\npassword=secret\n[odd]\nkeepalives=1\n[nested]\nservice=shop\n",
        )
        .unwrap();
        let file = path.to_str().unwrap();
        let environment =
            [("PGSERVICEFILE", file), ("PGSERVICE", "shop"), ("PGPORT", "7"), ("PGPASSWORD", "no")];
        let settings = parse("postgres://bob@", &environment).unwrap();
        assert_eq!((&*settings.user, settings.place()), ("bob", "db:6000/shop".to_owned()));
        assert_eq!(settings.password, Some(Password::new(*b"secret")));
        let settings = parse("postgres://?service=shop", &environment[..1]).unwrap();
        assert_eq!((&*settings.user, settings.place()), ("ann", "db:6000/shop".to_owned()));
        for (service, why) in [
            ("none", "no service \"none\""),
            ("odd", "services, line 8: the parameter `keepalives` is not supported"),
            ("nested", "services, line 10: a service cannot name another one"),
        ] {
            let error = parse(&format!("postgres://?service={service}"), &environment[..1]).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_password_in_a_url_is_refused_and_not_shown() {
        for url in [
            "postgres://a:secret@h/d",
            "postgres://a:s@cret:secret@h/d?x=1",
            "postgres://a@h/d?Password=secret&x=1",
            "postgres://a@h/d?password=secret",
        ] {
            let error = parse(url, &[]).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(parse("postgres://a:secret@h/d", &[]).unwrap_err().contains("PGPASSWORD"));
    }

    #[test]
    fn what_is_not_supported_is_refused_by_name() {
        for (url, why) in [
            ("mysql://h", "begin with"),
            ("postgres://a@h1,h2/d", "several hosts"),
            ("postgres://a@h:0/d", "65535"),
            ("postgres://a@h:x/d", "65535"),
            ("postgres://a@::1/d", "brackets"),
            ("postgres://a@[::1/d", "not closed"),
            ("postgres://h/d", "names no user"),
            ("postgres://a@h/d?sslmode=maybe", "verify-full"),
            ("postgres://a@h/d?sslmode=allow", "prefer"),
            ("postgres://a@h/d?target_session_attrs=any", "`target_session_attrs` is not supported"),
            ("postgres://a@h/d?sslcert=c", "together"),
            ("postgres://a@h/d?connect_timeout=soon", "seconds"),
            ("postgres://a@h/d?x", "no value"),
            ("postgres://a@h/%ff", "UTF-8"),
            ("postgres://a@h/%00", "control"),
        ] {
            let error = parse(url, &[]).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
