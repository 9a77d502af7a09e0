//! Runs the binary in a folder of its own.

use rcgen::{CertificateParams, KeyPair};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder that goes away, in which the program runs.
pub struct Folder(TempDir);

/// What a run of the program left behind.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The program, on which no settings of whoever runs the tests work.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evergraph"));
    command.stdin(Stdio::null());
    without_settings(&mut command);
    command
}

/// A line of the shell, in which `evergraph` is the program.
pub fn shell(line: &str) -> Command {
    let folder = Path::new(env!("CARGO_BIN_EXE_evergraph")).parent().unwrap();
    let path = std::env::join_paths(
        [folder.to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut command = Command::new("bash");
    command.args(["-o", "pipefail", "-c", line]).env("PATH", path.unwrap()).stdin(Stdio::null());
    without_settings(&mut command);
    command
}

fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        // A planted bug is no setting: the program has it, so that a test catches it.
        if name.to_string_lossy().starts_with("EVERGRAPH_") && name != "EVERGRAPH_PLANTED" {
            command.env_remove(name);
        }
    }
    command
        .env_remove("NO_COLOR")
        .env("XDG_CONFIG_HOME", "/nonexistent")
        .env("XDG_STATE_HOME", "/nonexistent");
}

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// With the three people of the README, who know each other in a ring, in the database `social.eg`.
    pub fn with_social() -> Self {
        let folder = Self::new();
        folder.write("people.csv", "id:ID,name:string,born:int,:LABEL\n1,Ada,1815,Person\n2,Charles,1791,Person\n3,Mary,1780,Person\n");
        folder.write(
            "knows.csv",
            ":START_ID,:END_ID,:TYPE,since:int\n1,2,KNOWS,1833\n3,1,KNOWS,1840\n2,3,KNOWS,1827\n",
        );
        folder.run(&["import", "social.eg", "people.csv", "knows.csv"]).succeeded();
        folder
    }

    /// With a seeded payments network in the database `bank.eg`.
    pub fn with_bank() -> Self {
        let folder = Self::new();
        let size = ["--accounts", "1000", "--transfers", "5000", "--rings", "5"];
        folder.run(&[&["generate", "payments", "bank.eg"], &size[..]].concat()).succeeded();
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs the program with `arguments` in this folder.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(program().args(arguments).current_dir(self.root()).output().unwrap())
    }

    /// Runs it with `input` as its standard input.
    pub fn run_on(&self, input: &str, arguments: &[&str]) -> Ran {
        self.run_on_with(&[], input, arguments)
    }

    /// The same with these variables of the environment.
    pub fn run_on_with(&self, variables: &[(&str, &str)], input: &str, arguments: &[&str]) -> Ran {
        let mut program = program();
        program.args(arguments).current_dir(self.root()).envs(variables.iter().copied());
        program.stdin(Stdio::piped());
        let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // One that ended at an error reads no further.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        Ran::of(child.wait_with_output().unwrap())
    }

    /// Runs a line of the shell in this folder.
    pub fn shell(&self, line: &str) -> Ran {
        Ran::of(shell(line).current_dir(self.root()).output().unwrap())
    }

    /// Runs it with these variables of the environment.
    pub fn run_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
        let mut program = program();
        program.args(arguments).current_dir(self.root()).envs(variables.iter().copied());
        Ran::of(program.output().unwrap())
    }

    /// Starts it, and sends it SIGINT after so long: it may have ended before, or not listen yet.
    pub fn interrupted(&self, arguments: &[&str], after: Duration) -> Ran {
        let mut program = program();
        program.args(arguments).current_dir(self.root()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Instant::now();
        let child = program.spawn().unwrap();
        sleep(after.saturating_sub(began.elapsed()));
        // It is not waited for yet, so the number is still its own.
        send("-INT", &child);
        Ran::of(child.wait_with_output().unwrap())
    }

    /// Starts `evergraph serve` in this folder with `arguments`, at a free port of this machine.
    pub fn serve(&self, arguments: &[&str]) -> Served {
        self.serve_with(&[], arguments)
    }

    /// The same with these variables of the environment.
    pub fn serve_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Served {
        self.serve_by(&["serve"], variables, arguments)
    }

    /// Starts a command that serves, as [`Folder::serve_with`] does.
    pub fn serve_by(&self, command: &[&str], variables: &[(&str, &str)], arguments: &[&str]) -> Served {
        let listen = ["--listen", "127.0.0.1:0"];
        let listen = if arguments.contains(&"--listen") { &[][..] } else { &listen[..] };
        let mut child = program()
            .args(command)
            .args(arguments)
            .args(listen)
            .envs(variables.iter().copied())
            .current_dir(self.root())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        // Of a JSON document, all lines up to that of the address.
        while !first.contains("://") && out.read_line(&mut first).unwrap() > 0 {}
        let address = first.split("://").nth(1).and_then(|rest| rest.split('/').next());
        let Some(address) = address.map(str::to_owned) else {
            panic!("{first:?} {:?}", Ran::of(child.wait_with_output().unwrap()))
        };
        Served { child, out, first, address }
    }

    /// Starts `evergraph serve` with TLS, and with the user `ann`, who has these roles. What [`ACCESS`] names is in this folder.
    pub fn serve_secured(&self, roles: &[(&str, &str)], arguments: &[&str]) -> Served {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        self.write("root.pem", params.self_signed(&key).unwrap().pem());
        self.write("password", "correct horse\n");
        self.write("key.pem", key.serialize_pem());
        for name in ["password", "key.pem"] {
            fs::set_permissions(self.path(name), Permissions::from_mode(0o600)).unwrap();
        }
        self.run_on("correct horse\n", &["user", "add", "users.json", "ann"]).succeeded();
        for (database, role) in roles {
            self.run(&["user", "grant", "users.json", "ann", database, role]).succeeded();
        }
        let security = ["--users", "users.json", "--tls-certificate", "root.pem", "--tls-key", "key.pem"];
        self.serve(&[arguments, &security].concat())
    }

    /// Runs it with `--json` besides; the document it printed.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.run(&[arguments, &["--json"]].concat());
        serde_json::from_str(&ran.succeeded().out).unwrap()
    }

    /// The newest file of the database `name` whose name begins with `prefix`.
    pub fn file_of(&self, name: &str, prefix: &str) -> PathBuf {
        let entries = fs::read_dir(self.path(name)).unwrap().map(|entry| entry.unwrap().path());
        let mut found: Vec<PathBuf> =
            entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix)).collect();
        found.sort();
        found.pop().unwrap()
    }
}

/// A server that runs. It is killed with the test.
pub struct Served {
    child: Child,
    /// What it prints after the first line.
    pub out: BufReader<ChildStdout>,
    /// What it printed up to its address: the first line, but of a JSON document.
    pub first: String,
    /// Where it listens.
    pub address: String,
}

/// How the user `ann` of [`Folder::serve_secured`] connects, beside [`Served::secured_url`].
pub const ACCESS: [&str; 4] = ["--password-file", "password", "--tls-root", "root.pem"];

impl Served {
    /// Where `ann` finds a database by TLS.
    pub fn secured_url(&self, database: &str) -> String {
        format!("https://ann@{}/{database}", self.address)
    }

    /// Where it listens, without TLS.
    pub fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// The answer to `GET path`, head and all.
    pub fn get(&self, path: &str) -> String {
        self.ask("GET", path)
    }

    /// The answer to a request without content, head and all.
    pub fn ask(&self, method: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: 0", self.address);
        write!(stream, "{head}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Sends it a signal, such as `-TERM`.
    pub fn signal(&self, signal: &str) {
        send(signal, &self.child);
    }

    /// How many queries and algorithms it runs.
    pub fn running_queries(&self) -> usize {
        let answer = self.get("/queries");
        let document: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        document["queries"].as_array().unwrap().len()
    }

    /// Ends it by a signal; what it said, without the first line.
    pub fn end(mut self, signal: &str) -> Ran {
        self.signal(signal);
        let (mut out, mut err) = (String::new(), String::new());
        self.out.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        Ran { code: self.child.wait().unwrap().code(), out, err }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // One that has ended is not there any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ran {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Holds that it ended with `code`, said `words` in its error, and nothing on standard output.
    #[track_caller]
    pub fn failed(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.err.starts_with("error: "), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word:?} isn't in {self:?}");
        }
        assert_eq!(self.out, "");
        self
    }
}

/// A list of indexes without their bytes: how much room a hash table leaves depends on the process's random seed.
pub fn without_bytes(mut list: Value) -> Value {
    for index in list["indexes"].as_array_mut().unwrap() {
        index["bytes"] = Value::Null;
    }
    list
}

/// Sends a signal, such as `-TERM`.
pub fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// Waits until the program catches signals. One that comes before would end it, or be lost: whoever started the tests may ignore
/// SIGINT, as a shell does for what it runs in the background, and a new process inherits that.
pub fn wait_until_it_catches_signals(child: &Child) {
    const SIGINT: u32 = 2;
    eventually("it catches signals", || {
        let Ok(status) = fs::read_to_string(format!("/proc/{}/status", child.id())) else {
            // A system without such files.
            sleep(Duration::from_millis(500));
            return true;
        };
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() >> (SIGINT - 1) & 1 == 1
    });
}

/// Waits until the program has read so many bytes and waits for more: all of its threads sleep.
pub fn wait_until_it_waits_for_more(child: &Child, bytes: usize) {
    const LOOKS: usize = 5;
    let process = PathBuf::from(format!("/proc/{}", child.id()));
    let mut looks = 0;
    eventually("it waits for more", || {
        let Ok(counts) = fs::read_to_string(process.join("io")) else {
            // A system without such files.
            sleep(Duration::from_millis(500));
            return true;
        };
        let read = counts.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
        let is_read = read.parse::<usize>().unwrap() >= bytes;
        looks = if is_read && threads_sleep(&process) { looks + 1 } else { 0 };
        looks == LOOKS
    });
}

/// Whether all threads of a process sleep. One that has ended meanwhile does not count.
fn threads_sleep(process: &Path) -> bool {
    let threads = fs::read_dir(process.join("task")).unwrap();
    let mut states =
        threads.filter_map(|thread| fs::read_to_string(thread.unwrap().path().join("stat")).ok());
    states.all(|state| state.rsplit(") ").next().is_some_and(|fields| fields.starts_with('S')))
}

/// Waits until the program that runs in `folder` has worked for a while: it is in the midst of what it was asked for then.
pub fn wait_until_it_works(folder: &Folder) {
    const TICKS: u64 = 10;
    let Some(before) = processor_ticks(folder) else {
        // A system without such files.
        return sleep(Duration::from_millis(500));
    };
    eventually("it works", || processor_ticks(folder).is_some_and(|now| now >= before + TICKS));
}

/// The time of processors, in ticks of the system, that the program in `folder` took.
fn processor_ticks(folder: &Folder) -> Option<u64> {
    let is_there = |process: &PathBuf| {
        fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == folder.root().canonicalize().unwrap())
    };
    let process = fs::read_dir("/proc").ok()?.filter_map(|entry| Some(entry.ok()?.path())).find(is_there)?;
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    // Behind the name, which may have spaces: the state is the third field, and times are the 14th and the 15th one.
    let fields: Vec<&str> = stat.rsplit(") ").next()?.split(' ').collect();
    Some(fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?)
}

/// Waits until `is_so`, which is to come; `what` for people.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        sleep(Duration::from_millis(20));
    }
}

/// Flips a bit of `file`.
pub fn flip(file: &Path, offset: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[offset] ^= 0x10;
    fs::write(file, bytes).unwrap();
}
