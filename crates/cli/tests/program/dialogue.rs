//! `evergraph shell` at a terminal: a pseudo-terminal of which keys are pressed and lines are read.

use crate::support::{Folder, program, wait_until_it_works};
use rexpect::process::{Signal, WaitStatus};
use rexpect::session::{Options, PtySession, spawn_with_options};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// How long an answer may take, in milliseconds, on a machine that does much else.
const PATIENCE: u64 = 60_000;

struct Terminal(PtySession);

impl Terminal {
    /// A shell at a terminal, whose prompt is there.
    fn with(folder: &Folder, options: &[&str]) -> Self {
        let mut program = program();
        program.args(["shell", "social.eg"]).args(options).current_dir(folder.root());
        program.env("XDG_STATE_HOME", folder.path("state")).env("TERM", "xterm");
        // Which the terminal is.
        program.stdin(Stdio::inherit());
        let options = Options::new().timeout_ms(Some(PATIENCE)).strip_ansi_escape_codes(true);
        let mut terminal = Self(spawn_with_options(program, options).unwrap());
        terminal.sees("3 vertices, 3 edges; :help helps, Ctrl-D ends");
        terminal.is_asked();
        terminal
    }

    #[track_caller]
    fn sees(&mut self, text: &str) {
        if let Err(error) = self.0.exp_string(text) {
            panic!("{text:?} doesn't come: {error}");
        }
    }

    #[track_caller]
    fn is_asked(&mut self) {
        self.sees("social.eg> ");
    }

    fn types(&mut self, text: &str) {
        self.0.send(text).unwrap();
        self.0.flush().unwrap();
    }

    /// Types an input, and Enter.
    fn enters(&mut self, text: &str) {
        self.types(&format!("{text}\r"));
    }

    /// Presses a key together with Ctrl.
    fn control(&mut self, key: char) {
        self.0.send_control(key).unwrap();
    }

    #[track_caller]
    fn ends_with(mut self, code: i32) {
        let rest = self.0.exp_eof().unwrap_or_default();
        let status = self.0.process().wait().unwrap();
        assert!(matches!(status, WaitStatus::Exited(_, found) if found == code), "{status:?}: {rest}");
    }

    #[track_caller]
    fn leaves(mut self) {
        self.control('d');
        self.ends_with(0);
    }
}

#[test]
fn tab_completes_steps_labels_and_keys() {
    let folder = Folder::with_social();
    let mut terminal = Terminal::with(&folder, &[]);
    terminal.types("g.V().hasL\t");
    terminal.sees("hasLabel(");
    terminal.types("'Per\t).valu\t");
    // Several go on so: they are listed.
    terminal.types("\t");
    terminal.sees("valueMap");
    terminal.types("Map('na\t)\r");
    terminal.sees("name");
    terminal.sees("Charles");
    terminal.sees("3 results in ");
    terminal.is_asked();
    terminal.leaves();
}

#[test]
fn an_input_goes_on_while_a_bracket_is_open_and_ctrl_c_drops_it() {
    let folder = Folder::with_social();
    let mut terminal = Terminal::with(&folder, &[]);
    terminal.enters("g.V().where(");
    terminal.enters("__.out()).");
    terminal.enters("count()");
    terminal.sees("\n3\r\n");
    terminal.is_asked();
    terminal.enters("g.addV('Person'");
    // Not before the input goes on in a new line: the prompt is written with each of its changes, and what is typed
    // together with Ctrl-C is dropped with it.
    terminal.sees("g.addV('Person'\r\n");
    terminal.control('c');
    terminal.is_asked();
    terminal.enters("g.E().has('since', 1833).count(); g.V().count()");
    terminal.sees("\n1\r\n");
    terminal.sees("\n3\r\n");
    terminal.is_asked();
    terminal.leaves();
}

#[test]
fn ctrl_c_stops_a_query_and_not_the_shell() {
    let folder = Folder::with_social();
    let mut terminal = Terminal::with(&folder, &["--memory", "64GiB"]);
    for _ in 0..2 {
        terminal.enters("g.V().repeat(both()).times(60).path().count()");
        wait_until_it_works(&folder);
        terminal.control('c');
        terminal.sees("error: cancelled");
        terminal.is_asked();
        // At the prompt there is nothing to be stopped.
        terminal.control('c');
        terminal.is_asked();
    }
    terminal.enters("g.V().values('name').fold()");
    terminal.sees("[\"Ada\", \"Charles\", \"Mary\"]");
    terminal.is_asked();
    terminal.leaves();
}

#[test]
fn errors_are_told_and_it_goes_on() {
    let folder = Folder::with_social();
    let mut terminal = Terminal::with(&folder, &[]);
    terminal.enters("g.V().otu()");
    terminal.sees("error: line 1, column 7: no step is called `otu`; did you mean `out`?\r\n  g.V().otu()\r\n        ^^^\r\n");
    terminal.is_asked();
    terminal.enters("g.inject(1..130).unfold()");
    terminal.sees("\n100\r\n... and 30 more: :rows N or :rows all shows them\r\n130 results in ");
    terminal.is_asked();
    terminal.enters(":quit");
    terminal.ends_with(0);
}

#[test]
fn a_prompt_tells_of_the_transaction_which_the_end_rolls_back() {
    let folder = Folder::with_social();
    let mut terminal = Terminal::with(&folder, &[]);
    terminal.enters(":begin");
    terminal.sees("begun, at the level snapshot");
    terminal.sees("social.eg*> ");
    terminal.enters("g.addV('Person').property('id', '1')");
    terminal.sees("Person.id");
    terminal.sees("social.eg!> ");
    terminal.enters(":rollback");
    terminal.is_asked();
    terminal.enters(":begin");
    terminal.sees("social.eg*> ");
    terminal.enters("g.addV('Person').property('id', '4')");
    terminal.sees("1 result in ");
    terminal.sees("social.eg*> ");
    terminal.control('d');
    terminal.sees("the transaction that was open is rolled back");
    terminal.ends_with(0);
    assert_eq!(folder.run(&["query", "social.eg", "g.V().count()"]).succeeded().out, "3\n");
}

#[test]
fn what_is_typed_is_remembered_for_its_owner_alone() {
    let folder = Folder::with_social();
    let kept = folder.path("state/evergraph/shell_history");
    let mut terminal = Terminal::with(&folder, &["--no-history"]);
    terminal.enters("g.V().count()");
    terminal.is_asked();
    terminal.leaves();
    assert!(!folder.path("state").exists());

    let mut terminal = Terminal::with(&folder, &[]);
    terminal.enters("g.V().count(");
    for input in [")", " g.E().count()", "g.E().limit(1)"] {
        terminal.enters(input);
        terminal.sees("1 result in ");
        terminal.is_asked();
    }
    terminal.enters(":history");
    terminal.sees("\ng.V().count(\r\n)\r\ng.E().limit(1)\r\n:history\r\n");
    terminal.is_asked();
    terminal.leaves();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&kept), mode(&folder.path("state/evergraph"))), (0o600, 0o700));
    let text = fs::read_to_string(&kept).unwrap();
    assert!(text.contains("g.V().count(\\n)\n") && !text.contains("g.E().count()"), "{text}");

    // Up fetches the last input of the last time.
    let mut terminal = Terminal::with(&folder, &[]);
    terminal.types("\u{1b}[A\u{1b}[A\r");
    terminal.sees("Person[1]-KNOWS->Person[2]");
    terminal.is_asked();
    terminal.leaves();
    let mut terminal = Terminal::with(&folder, &["--history", "mine"]);
    terminal.enters("g.V().count()");
    terminal.is_asked();
    terminal.leaves();
    assert!(folder.read("mine").contains("g.V().count()"));
}

#[test]
fn sigterm_ends_it_at_the_prompt() {
    let folder = Folder::with_social();
    let mut terminal = Terminal::with(&folder, &[]);
    terminal.0.process_mut().signal(Signal::SIGTERM).unwrap();
    terminal.sees("error: the shell was asked to end");
    terminal.ends_with(130);
    folder.run(&["check", "social.eg"]).succeeded();
}
