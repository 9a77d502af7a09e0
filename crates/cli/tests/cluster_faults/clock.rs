//! Clock: the wall clock of a process, which jumps when a test says so.
//!
//! A library that is loaded into the process (`clock.c`, compiled by the C compiler that Rust links with) adds the number in a file to
//! what the system says. The clocks of etcd's members cannot be moved this way: their program asks the kernel itself.

use std::env;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SOURCE: &str = include_str!("clock.c");

/// The wall clock of one process.
pub struct JumpingClock {
    library: PathBuf,
    file: PathBuf,
}

impl JumpingClock {
    /// So many, whose files lie in `folder`.
    pub fn all(folder: &Path, count: usize) -> Vec<Self> {
        let library = folder.join("clock.so");
        compile(&library);
        let clock = |number: usize| {
            let clock = Self { library: library.clone(), file: folder.join(format!("clock-{number}")) };
            fs::write(&clock.file, 0_i64.to_ne_bytes()).unwrap();
            clock
        };
        (0..count).map(clock).collect()
    }

    /// What a process needs that has this clock.
    pub fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        vec![("LD_PRELOAD", self.library.clone()), ("CLOCK_OFFSET_FILE", self.file.clone())]
    }

    /// Jumps to so many seconds later than the system's clock, or earlier.
    pub fn jump_to(&self, seconds: i64) {
        // In place: the process has mapped the file.
        let file = File::options().write(true).open(&self.file).unwrap();
        file.write_all_at(&seconds.to_ne_bytes(), 0).unwrap();
    }
}

fn compile(library: &Path) {
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut command = Command::new(compiler);
    command.args(["-shared", "-fPIC", "-O1", "-x", "c", "-", "-ldl", "-o"]).arg(library);
    let mut compiling = command.stdin(Stdio::piped()).spawn().expect("Rust links by a C compiler");
    compiling.stdin.take().unwrap().write_all(SOURCE.as_bytes()).unwrap();
    assert!(compiling.wait().unwrap().success(), "clock.c does not compile");
}

#[test]
fn a_clock_jumps_there_and_back_while_its_process_runs() {
    let folder = tempfile::tempdir().unwrap();
    let clock = &JumpingClock::all(folder.path(), 1)[0];
    // Three lines, each when the one before was answered.
    let mut shell = Command::new("bash");
    shell.args(["-c", "for i in 1 2 3; do printf '%(%s)T\\n' -1; read -r; done"]).envs(clock.environment());
    let mut running = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(running.stdout.take().unwrap()));
    let mut input = running.stdin.take().unwrap();
    for offset in [0, 86_400, -3600] {
        if offset != 0 {
            clock.jump_to(offset);
            writeln!(input).unwrap();
        }
        let told: i64 = lines.next().unwrap().unwrap().parse().unwrap();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let real = told - offset;
        assert!((now.as_secs() as i64 - real).abs() <= 10, "{told} with an offset of {offset}");
    }
    writeln!(input).unwrap();
    assert!(running.wait().unwrap().success());
}
