//! Another user: a process that may read the files of a database and not write what it has to, by real modes.
//!
//! ```text
//! test     writes a database, chooses modes, runs itself again as another user
//! child    opens the database to read it, and prints what it is told
//! ```
//!
//! Modes do not bind root. Where the tests run as root, the child has another user's id; elsewhere their own.

use crate::history::{checkpoint, graph_at, open_writer, write};
use crate::model::dump;
use evergraph_engines::reader::open_reader;
use evergraph_graph::view::GraphView as _;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::open::OpenOptions;
use evergraph_tests::skips::skip;
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// Names the folder of the database in a child.
const CHILD: &str = "EVERGRAPH_TEST_OTHER_USER";
/// Owns no file here; no user needs to have it.
const OTHER_USER: u32 = 65_534;

/// No test but in a child.
#[test]
fn child_that_may_not_write() {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let directory: Arc<dyn Directory> = Arc::new(DiskDirectory::open(folder).unwrap());
    match open_reader(directory, &OpenOptions::default()) {
        Ok(reader) => {
            let snapshot = reader.store().snapshot();
            assert!(dump(&snapshot, 7) == graph_at(snapshot.timestamp()), "it is not its commits");
            println!("it sees commit {}", snapshot.timestamp());
        }
        Err(error) => println!("refused as {:?}: {error}", error.kind()),
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A database, and this program where another user may run it.
struct Shared {
    folder: PathBuf,
    program: PathBuf,
    is_root: bool,
}

impl Shared {
    fn new(place: &Path) -> Self {
        let (folder, program) = (place.join("db"), place.join("program"));
        fs::create_dir(&folder).unwrap();
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        set_mode(&program, 0o755);
        set_mode(place, 0o755);
        let is_root = fs::metadata(&folder).unwrap().uid() == 0;
        Self { folder, program, is_root }
    }

    /// What the child says when everybody may read all files, and these are the modes of the folder and of `live`. `None` where no
    /// other user's process can be started.
    fn says(&self, folder_mode: u32, live_mode: u32) -> Option<String> {
        for entry in fs::read_dir(&self.folder).unwrap() {
            let entry = entry.unwrap();
            let mode = if entry.file_name() == "live" { live_mode } else { 0o644 };
            // What the writer's background removed meanwhile needs none.
            let _ = fs::set_permissions(entry.path(), Permissions::from_mode(mode));
        }
        set_mode(&self.folder, folder_mode);
        let mut command = Command::new(&self.program);
        command.args(["--exact", "other_user::child_that_may_not_write", "--nocapture"]);
        command.env(CHILD, &self.folder).current_dir("/");
        if self.is_root {
            command.uid(OTHER_USER).gid(OTHER_USER);
        }
        let ran = loop {
            match command.output() {
                // A child of another test has the copy open for a moment, until it runs its own program.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                ran => break ran,
            }
        };
        set_mode(&self.folder, 0o755);
        match ran {
            Ok(ran) => {
                let said = String::from_utf8_lossy(&ran.stdout).into_owned();
                let failed = String::from_utf8_lossy(&ran.stderr);
                assert!(ran.status.success() && said.contains("1 passed"), "{said}\n{failed}");
                Some(said)
            }
            Err(error) => {
                skip(&format!("another user can't run {}: {error}", self.program.display()));
                None
            }
        }
    }

    /// Whether the child was told that it may not write `file`; true where there is no child.
    fn is_told(&self, file: &str, folder_mode: u32, live_mode: u32) -> bool {
        let said = self.says(folder_mode, live_mode);
        let text = format!("{file}: a process that reads the database needs permission to write this file");
        said.is_none_or(|said| said.contains("refused as Io") && said.contains(&text))
    }
}

#[test]
fn a_process_that_may_not_write_is_told_the_file_and_reads_once_it_may() {
    let place = tempfile::tempdir().unwrap();
    let shared = Shared::new(place.path());
    let directory: Arc<dyn Directory> = Arc::new(DiskDirectory::open(&shared.folder).unwrap());
    let writer = open_writer(&directory);
    write(&writer, 20);
    checkpoint(&writer);
    assert!(shared.is_told("live", 0o777, 0o444));
    assert!(shared.is_told("reader-0", 0o555, 0o666));
    let sees = |said: Option<String>| said.is_none_or(|said| said.contains("it sees commit 20"));
    assert!(sees(shared.says(0o777, 0o666)));
    writer.close().unwrap();
    drop(writer);
    // What nobody writes needs a lock as well.
    assert!(shared.is_told("reader-0", 0o555, 0o666));
    assert!(sees(shared.says(0o777, 0o666)));
}
