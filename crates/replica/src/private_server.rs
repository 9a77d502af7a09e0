//! `PrivateServer`: a PostgreSQL server of one's own in a temporary folder, for demonstrations, benchmarks and tests.
//!
//! ```text
//! /tmp/evergraph-postgres-…/   data/   the cluster       log   what the server says       .s.PGSQL.PORT   its socket
//! ```
//!
//! It listens on a free port of this machine alone. It ends with this, or with the process however that ends: a guardian
//! process waits for the end of a pipe, ends the server then, and removes the folder. PostgreSQL refuses to run as root, so it
//! runs as the user `postgres` where this process is root.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};

use crate::source::error::SourceError;
use crate::source::postgres::connection::Connection;
use crate::source::postgres::settings::ConnectionSettings;
use crate::wire::startup::{Password, Purpose};

/// How to get PostgreSQL, for those who have none.
pub const HOW_TO_INSTALL: &str = "PostgreSQL's programs are not here: install version 14 or newer, on Debian and Ubuntu by \
    `apt install postgresql`, on Fedora by `dnf install postgresql-server`, on macOS by `brew install postgresql@16`";

/// Where distributions keep several versions beside each other.
const VERSIONS_FOLDER: &str = "/usr/lib/postgresql";
/// How long a server may take until it answers.
const START_TIME_MAX: Duration = Duration::from_secs(60);
/// How long a server may recover from a kill, while it answers that it does: on a busy machine minutes.
const RECOVERY_TIME_MAX: Duration = Duration::from_secs(900);
/// How long a server of the same folder that was killed may take to be gone.
const GONE_TIME_MAX: Duration = Duration::from_secs(20);
/// How often it is looked whether it answers.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Until a server that cannot start has said so, and until processes of a killed one are gone.
const SETTLE_TIME: Duration = Duration::from_millis(300);
/// Ends the server of the folder `$1` when its input ends, and removes the folder.
const GUARDIAN: &str = "trap '' INT TERM HUP; cat; kill -QUIT \"$(head -n 1 \"$1/data/postmaster.pid\")\"; sleep 1; rm -rf \"$1\"";
/// Settings of every such server: it decodes, and its data may be lost with the machine.
const SETTINGS: [&str; 5] = [
    "listen_addresses=127.0.0.1",
    "wal_level=logical",
    "fsync=off",
    "shared_buffers=32MB",
    "password_encryption=scram-sha-256",
];

/// How a private server is set up.
#[derive(Clone, Debug, Default)]
pub struct PrivateServerOptions<'a> {
    /// Settings beside those that are needed, as `name=value`.
    pub settings: &'a [&'a str],
    /// The lines of `pg_hba.conf`; by default whoever has the password of the superuser `postgres` logs in.
    pub host_rules: Option<&'a str>,
    /// Files in the data folder, which only the server's user reads: name and content.
    pub files: &'a [(&'a str, &'a [u8])],
}

/// A server of one's own.
pub struct PrivateServer {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
    settings: Vec<String>,
    password: String,
    process: Child,
    /// Its input ends with this.
    _guardian: Child,
}

impl PrivateServer {
    /// Makes a cluster and starts its server.
    ///
    /// Cost: some seconds, 60 MB of disk.
    ///
    /// # Errors
    /// `not_found` where PostgreSQL isn't installed, or this is root and there is no user `postgres`; `io`.
    pub fn start(options: &PrivateServerOptions<'_>) -> Result<Self> {
        let programs = usable_programs().ok_or_else(|| Error::new(ErrorKind::NotFound, HOW_TO_INSTALL))?;
        let made = tempfile::Builder::new().prefix("evergraph-postgres-").tempdir();
        let folder = made.map_err(|error| failed("make a temporary folder for PostgreSQL", error))?.keep();
        // From here on the folder goes with the guardian.
        let guardian = Command::new("sh")
            .args(["-c", GUARDIAN, "guardian"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed("start a shell that ends PostgreSQL", error))?;
        let password = random_password()?;
        make_cluster(&programs, &folder, &password, options)?;
        let port = free_port()?;
        let settings: Vec<String> =
            SETTINGS.iter().chain(options.settings).map(|setting| (*setting).to_owned()).collect();
        let process = run(&programs, &folder, port, &settings)?;
        let mut server = Self { folder, programs, port, settings, password, process, _guardian: guardian };
        server.wait()?;
        Ok(server)
    }

    /// Whether there is a PostgreSQL here that [`PrivateServer::start`] can run.
    #[must_use]
    pub fn is_possible() -> bool {
        usable_programs().is_some()
    }

    /// How to connect to a database of it, as the superuser and without TLS.
    #[must_use]
    pub fn connection_settings(&self, database: &str) -> ConnectionSettings {
        let url = self.url(database);
        let settings = ConnectionSettings::from_url_and(&url, &|_| None).expect("the URL is ours");
        ConnectionSettings { password: Some(Password::new(self.password.as_bytes())), ..settings }
    }

    /// The URL of a database of it, for its superuser.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// The password of the superuser, for the variable PGPASSWORD of programs that connect.
    #[must_use]
    pub fn password(&self) -> &str {
        &self.password
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder with its socket, its log and its data.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Kills it as a power cut of its programs would.
    ///
    /// # Errors
    /// `io` if the system refuses.
    pub fn kill(&mut self) -> Result<()> {
        let killed = self.process.kill().and_then(|()| self.process.wait());
        killed.map_err(|error| failed("kill PostgreSQL", error))?;
        // Its processes see that their parent is gone; until then a new server does not start.
        std::thread::sleep(SETTLE_TIME);
        Ok(())
    }

    /// Shuts it down as for a restart: whoever reads its log gets all of it first.
    ///
    /// # Errors
    /// `io` if it does not end.
    pub fn shut_down(&mut self) -> Result<()> {
        let doing = "shut PostgreSQL down";
        let mut command = as_owner(&self.programs.join("pg_ctl"), &self.folder);
        command.args(["stop", "--silent", "--mode", "fast", "-D"]).arg(self.folder.join("data"));
        let output = command.output().map_err(|error| failed(doing, error))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Error::new(ErrorKind::Io, format!("{doing}: {why}")));
        }
        self.process.wait().map_err(|error| failed(doing, error))?;
        Ok(())
    }

    /// Starts it after a kill, or when it was shut down.
    ///
    /// # Errors
    /// `io` if it does not start.
    pub fn start_again(&mut self) -> Result<()> {
        let began = Instant::now();
        loop {
            self.process = run(&self.programs, &self.folder, self.port, &self.settings)?;
            std::thread::sleep(SETTLE_TIME);
            if self.has_ended()?.is_none() {
                return self.wait();
            }
            if began.elapsed() > GONE_TIME_MAX {
                return Err(self.did_not_start("it ended"));
            }
        }
    }

    /// What the server wrote to its log.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn wait(&mut self) -> Result<()> {
        let began = Instant::now();
        loop {
            let settings = self.connection_settings("postgres");
            match Connection::open(&settings, Purpose::Queries, &CancelFlag::default()) {
                Ok(_) => return Ok(()),
                // It answers: whether it lets anybody in is up to the rules.
                Err(error @ SourceError::Server { .. }) if !error.is_transient() => return Ok(()),
                Err(error) => {
                    let is_recovering = matches!(error, SourceError::Server { .. });
                    let time_max = if is_recovering { RECOVERY_TIME_MAX } else { START_TIME_MAX };
                    if began.elapsed() > time_max {
                        return Err(self.did_not_start(&error.to_string()));
                    }
                }
            }
            if let Some(status) = self.has_ended()? {
                return Err(self.did_not_start(&status));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn has_ended(&mut self) -> Result<Option<String>> {
        let ended = self.process.try_wait().map_err(|error| failed("look after PostgreSQL", error))?;
        Ok(ended.map(|status| status.to_string()))
    }

    fn did_not_start(&self, why: &str) -> Error {
        let log = self.log();
        let last = log.lines().last().unwrap_or("its log is empty");
        Error::new(ErrorKind::Io, format!("PostgreSQL did not start: {why}; {last}"))
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // One that has ended is not there any more.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn make_cluster(
    programs: &Path,
    folder: &Path,
    password: &str,
    options: &PrivateServerOptions<'_>,
) -> Result<()> {
    let doing = "make a cluster for PostgreSQL";
    let owner = owner();
    let give = |path: &Path| match owner {
        #[cfg(unix)]
        Some((user, group)) => std::os::unix::fs::chown(path, Some(user), Some(group)),
        _ => Ok(()),
    };
    let write = |path: &Path, content: &[u8]| {
        fs::write(path, content)?;
        #[cfg(unix)]
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        give(path)
    };
    let (data, secret) = (folder.join("data"), folder.join("password"));
    give(folder).and_then(|()| write(&secret, password.as_bytes())).map_err(|error| failed(doing, error))?;
    let mut command = as_owner(&programs.join("initdb"), folder);
    command.args([
        "--no-sync",
        "--username=postgres",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
    ]);
    command.arg("--pwfile").arg(&secret).arg("--pgdata").arg(&data).stdin(Stdio::null());
    let made = command.output().map_err(|error| failed(doing, error))?;
    if !made.status.success() {
        let said = String::from_utf8_lossy(&made.stderr);
        let last = said.trim().lines().last().unwrap_or_default().to_owned();
        return Err(Error::new(ErrorKind::Io, format!("{doing}: initdb: {last}")));
    }
    let rules = options
        .host_rules
        .unwrap_or("local all all scram-sha-256\nhost all,replication all 127.0.0.1/32 scram-sha-256\n");
    let files = options.files.iter().copied().chain([("pg_hba.conf", rules.as_bytes())]);
    let written = files.into_iter().try_for_each(|(name, content)| write(&data.join(name), content));
    written.and_then(|()| fs::remove_file(&secret)).map_err(|error| failed(doing, error))
}

fn run(programs: &Path, folder: &Path, port: u16, settings: &[String]) -> Result<Child> {
    let doing = "start PostgreSQL";
    let log = File::options().create(true).append(true).open(folder.join("log"));
    let (log, errors) =
        log.and_then(|log| Ok((log.try_clone()?, log))).map_err(|error| failed(doing, error))?;
    let mut command = as_owner(&programs.join("postgres"), folder);
    command.arg("-D").arg(folder.join("data")).args(["-p", &port.to_string()]).arg("-k").arg(folder);
    for setting in settings {
        command.args(["-c", setting]);
    }
    // Ctrl-C at a terminal is for this process, which ends the server itself.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.stdin(Stdio::null()).stdout(log).stderr(errors);
    command.spawn().map_err(|error| failed(doing, error))
}

/// Where the programs of PostgreSQL are, if they can run here.
fn usable_programs() -> Option<PathBuf> {
    find_programs(program_folders()).filter(|_| !is_root() || owner().is_some())
}

/// Where the programs of PostgreSQL may be, the best place first.
fn program_folders() -> Vec<PathBuf> {
    let told = Command::new("pg_config").arg("--bindir").output().ok();
    let told = told.map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    let mut folders: Vec<PathBuf> = told.into_iter().collect();
    // pg_config comes with the headers: Debian's servers, the newest first, then whatever is on the path.
    let versions = fs::read_dir(VERSIONS_FOLDER).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    found.sort_by_key(|folder| version_of(folder));
    folders.extend(found.into_iter().rev());
    folders.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    folders
}

/// The first of `folders` that has the programs of a server.
fn find_programs(folders: Vec<PathBuf>) -> Option<PathBuf> {
    let has_both = |folder: &PathBuf| folder.join("postgres").exists() && folder.join("initdb").exists();
    folders.into_iter().find(has_both)
}

/// 15 of `/usr/lib/postgresql/15/bin`.
fn version_of(folder: &Path) -> u32 {
    let name = folder.parent().and_then(Path::file_name);
    name.and_then(|name| name.to_str()?.parse().ok()).unwrap_or_default()
}

fn free_port() -> Result<u16> {
    let bound = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    bound.map(|address| address.port()).map_err(|error| failed("find a free port", error))
}

fn random_password() -> Result<String> {
    let mut bytes = [0; 24];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| failed("make a password for PostgreSQL", error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn id(arguments: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(arguments).stderr(Stdio::null()).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}

fn is_root() -> bool {
    id(&["-u"]) == Some(0)
}

/// Who runs the server, if that is not who runs this.
fn owner() -> Option<(u32, u32)> {
    is_root().then(|| Some((id(&["-u", "postgres"])?, id(&["-g", "postgres"])?))).flatten()
}

fn as_owner(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env("LC_ALL", "C");
    #[cfg(unix)]
    if let Some((user, group)) = owner() {
        std::os::unix::process::CommandExt::uid(&mut command, user);
        std::os::unix::process::CommandExt::gid(&mut command, group);
    }
    command
}

fn failed(doing: &str, error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{doing}: {error}")).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packages of the client alone have `pg_config`, and some folders have one of the two.
    #[test]
    fn a_folder_has_a_server_if_it_has_both_programs() {
        let root = tempfile::tempdir().unwrap();
        let [client, half, first, second] =
            ["client", "half", "first", "second"].map(|name| root.path().join(name));
        for (folder, programs) in [
            (&client, &["psql"][..]),
            (&half, &["postgres"][..]),
            (&first, &["postgres", "initdb"][..]),
            (&second, &["postgres", "initdb"][..]),
        ] {
            fs::create_dir(folder).unwrap();
            programs.iter().for_each(|name| fs::write(folder.join(name), "").unwrap());
        }
        let none = root.path().join("none");
        assert_eq!(find_programs(vec![]), None);
        assert_eq!(find_programs(vec![none.clone(), client.clone(), half.clone()]), None);
        assert_eq!(find_programs(vec![none, client, half, first.clone(), second]), Some(first));
    }

    #[test]
    fn the_newest_version_is_the_greatest_number() {
        let folders =
            ["/usr/lib/postgresql/9.6/bin", "/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/9/bin"];
        assert_eq!(folders.map(|folder| version_of(Path::new(folder))), [0, 15, 9]);
    }
}
