//! Harness: test programs, which all have the feature `planted`, and one test of them, run with a bug or without.
//!
//! Programs are built where `make test` builds those of their kind: for shuttle and loom in target directories
//! of their own. They run in a directory of their own, so that no failure leaves a file in the sources.

use crate::catcher::Catcher;
use evergraph_storage::planted::{Bug, VARIABLE};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long one test may take; several times what the slowest one does.
const TIME_MAX: Duration = Duration::from_secs(180);

/// Programs by the folder of their crate and the name of their tests.
pub struct Built {
    programs: BTreeMap<String, PathBuf>,
    directory: tempfile::TempDir,
}

/// How a test ended.
#[derive(PartialEq, Eq)]
pub enum Outcome {
    /// It ran, and passed.
    Passed,
    /// It ran, and an assertion failed.
    Failed,
    /// It was ended after [`TIME_MAX`].
    TimedOut,
    /// Something else: no such test, no such bug, a signal.
    Broken,
}

/// What became of one test.
pub struct Run {
    pub outcome: Outcome,
    pub seconds: f64,
    output: String,
}

impl Built {
    /// Builds the programs that `catchers` name.
    pub fn new(catchers: &[Catcher]) -> Result<Self, String> {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().ok_or("no target directory")?;
        let mut programs = BTreeMap::new();
        for cfg in [None, Some("shuttle"), Some("loom")] {
            let chosen = catchers.iter().filter(|catcher| catcher.cfg() == cfg);
            build(&chosen.map(|catcher| catcher.tests).collect(), cfg, target, &mut programs)?;
        }
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        Ok(Self { programs, directory })
    }

    /// Runs one test.
    pub fn run(&self, catcher: &Catcher, bug: Option<Bug>) -> Run {
        let begun = Instant::now();
        let (outcome, output) = match self.start(catcher, bug, begun) {
            Ok(ended) => ended,
            Err(problem) => (Outcome::Broken, problem),
        };
        Run { outcome, seconds: begun.elapsed().as_secs_f64(), output }
    }

    fn start(
        &self,
        catcher: &Catcher,
        bug: Option<Bug>,
        begun: Instant,
    ) -> Result<(Outcome, String), String> {
        let program =
            self.programs.get(catcher.tests).ok_or_else(|| format!("{} was not built", catcher.tests))?;
        let said = |error: std::io::Error| error.to_string();
        let file = tempfile::NamedTempFile::new_in(&self.directory).map_err(said)?;
        let output = || file.reopen().map_err(said);
        let mut command = Command::new(program);
        command.args(["--exact", catcher.name]).current_dir(&self.directory);
        command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1").env("PROPTEST_RNG_SEED", "1");
        command
            .env("SHUTTLE_RANDOM_SEED", "1")
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            .env("RUST_BACKTRACE", "0")
            .env_remove(VARIABLE);
        command.envs(bug.map(|bug| (VARIABLE, bug.name())));
        // One history, and no search for its smallest form.
        let history = catcher.seed.map(|seed| ("EVERGRAPH_SIM_SEED", seed.to_string()));
        command.envs(history).env("EVERGRAPH_SIM_IMAGES", "1").env("EVERGRAPH_SIM_SHRINK_SECONDS", "0");
        command.stdin(Stdio::null()).stdout(output()?).stderr(output()?);
        let mut child = command.spawn().map_err(said)?;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(said)? {
                break status;
            }
            if begun.elapsed() > TIME_MAX {
                child.kill().and_then(|()| child.wait()).map_err(said)?;
                return Ok((Outcome::TimedOut, "it did not end".to_owned()));
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let output = std::fs::read(file.path()).map_err(said)?;
        let output = String::from_utf8_lossy(&output).into_owned();
        let outcome = match status.code() {
            Some(0) if output.contains("test result: ok. 1 passed") => Outcome::Passed,
            Some(101) if output.contains("test result: FAILED. 0 passed; 1 failed") => Outcome::Failed,
            _ => Outcome::Broken,
        };
        Ok((outcome, output))
    }
}

impl Run {
    /// Whether the test failed, with one of these texts in its output.
    pub fn says(&self, texts: &[&str]) -> bool {
        self.outcome == Outcome::Failed && texts.iter().any(|text| self.output.contains(text))
    }

    /// One word for a line: `wanted`, if it is so, or what happened instead.
    pub fn verdict(&self, wanted: &'static str, is_so: bool) -> &'static str {
        match self.outcome {
            _ if is_so => wanted,
            Outcome::Passed => "MISSED",
            Outcome::Failed => "FAILED",
            Outcome::TimedOut => "TIMED OUT",
            Outcome::Broken => "BROKEN",
        }
    }

    /// Prints the end of the output, unless all is well.
    pub fn explain(&self, is_well: bool) {
        if !is_well {
            let lines: Vec<&str> = self.output.lines().filter(|line| !line.is_empty()).collect();
            let shown = lines[lines.len().saturating_sub(20)..].iter();
            shown.for_each(|line| println!("      {}", line.chars().take(200).collect::<String>()));
        }
    }
}

/// Builds programs by `cargo`, which tells their paths in its messages.
fn build(
    names: &BTreeSet<&str>,
    cfg: Option<&str>,
    target: &Path,
    programs: &mut BTreeMap<String, PathBuf>,
) -> Result<(), String> {
    if names.is_empty() {
        return Ok(());
    }
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    // What cargo tells a test of its package, it would take for a change: some crates are compiled again when it differs.
    for (name, _) in std::env::vars_os() {
        let told = name.to_string_lossy();
        if told.starts_with("CARGO_MANIFEST_") || told.starts_with("CARGO_PKG_") {
            command.env_remove(name);
        }
    }
    command.args(["test", "--no-run", "--quiet", "--message-format", "json-render-diagnostics"]);
    // With the workspace's features what `make test` built is built; the other two it builds as here.
    let engines = ["memory-engine", "disk-engine", "mapped-engine"];
    let others: &[&str] = if cfg == Some("shuttle") { &["storage", "packed"] } else { &[] };
    let packages = engines.iter().chain(others).map(|name| format!("--package=evergraph-{name}"));
    match cfg {
        None => command.arg("--workspace"),
        Some(_) => command.args(packages),
    };
    command.arg("--target-dir").arg(cfg.map_or(target.to_owned(), |cfg| target.join(cfg)));
    command.args(std::env::var("CARGO_FLAGS").iter().flat_map(|flags| flags.split_whitespace()));
    let of_crates: BTreeSet<&str> = names.iter().map(|name| file_name(name)).collect();
    command.args(of_crates.into_iter().flat_map(|name| ["--test", name]));
    if let Some(cfg) = cfg {
        let given = std::env::var("RUSTFLAGS").unwrap_or_default();
        command.env("RUSTFLAGS", format!("{given} --cfg {cfg}"));
    }
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status));
    }
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        // {"reason":"compiler-artifact", ... "manifest_path":"CRATE/Cargo.toml", ...
        //  "executable":"TARGET/debug/deps/front-0123456789abcdef", ...}
        let path_of = |field: &str| {
            let rest = line.split(&format!("\"{field}\":\"")).nth(1)?;
            Some(PathBuf::from(rest.split('"').next()?.replace("\\\\", "\\")))
        };
        let (Some(manifest), Some(program)) = (path_of("manifest_path"), path_of("executable")) else {
            continue;
        };
        let folder = manifest.parent().and_then(Path::file_name).and_then(|folder| folder.to_str());
        let stem = program.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if let (Some(folder), Some((name, _))) = (folder, stem.rsplit_once('-')) {
            programs.insert(format!("{folder}/{name}"), program.clone());
            programs.insert(name.to_owned(), program);
        }
    }
    Ok(())
}

/// The name of tests without the folder of their crate.
pub fn file_name(tests: &str) -> &str {
    tests.rsplit('/').next().unwrap_or(tests)
}
