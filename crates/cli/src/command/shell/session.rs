//! Session: a database that is asked statement by statement; its settings, variables, and the transaction that is open.
//!
//! ```text
//!            :begin                 a query that writes fails
//! none ───────────────────> open ─────────────────────────────> broken
//!   ^                        │                                     │
//!   └── :commit, :rollback ──┴───────────── :rollback ─────────────┘
//! ```
//!
//! A query that failed may have written a part of what it was to, so that nothing more is done in its transaction, which
//! is forgotten at once. It is still there to the eye until `:rollback`, so that what was typed ahead or stands
//! behind it in a script isn't committed query by query instead.

use crate::command::query::execution::{QueryOptions, QueryOutcome, answered};
use crate::command::shell::backend::{ShellDatabase, ShellTransaction};
use crate::command::shell::command::{Command, Setting, parse, split};
use crate::command::shell::help::help;
use crate::command::shell::variables::{SettingsReport, VariablesReport};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Error;
use evergraph_query::error::TextError;
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::parser::variable::parse_variable;
use evergraph_terminal::console::Console;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::count;
use std::collections::BTreeMap;

/// A database that is asked statement by statement.
pub struct Session<'d> {
    database: &'d dyn ShellDatabase,
    console: Console,
    asking: QueryOptions,
    rows_max: u64,
    timing: bool,
    /// Values as they were written.
    variables: BTreeMap<String, String>,
    within: Within,
}

/// What transaction queries are asked within.
enum Within {
    None,
    Open(Box<dyn ShellTransaction>),
    Broken,
}

/// What comes after a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterStatement {
    /// The next one.
    Statement,
    /// A list of the last inputs: so many.
    History(usize),
    /// Nothing.
    End,
}

impl<'d> Session<'d> {
    /// Asks `database` as `asking` says, and shows `rows_max` results of each query; `timing` says whether it is told
    /// how long each took. `variables` are those of `asking` as they were written.
    #[must_use]
    pub fn new(
        database: &'d dyn ShellDatabase,
        console: Console,
        asking: QueryOptions,
        rows_max: u64,
        timing: bool,
        variables: BTreeMap<String, String>,
    ) -> Self {
        Self { database, console, asking, rows_max, timing, variables, within: Within::None }
    }

    /// What stops what is run from now on.
    pub fn set_cancel(&mut self, cancel: CancelFlag) {
        self.asking.cancel = cancel;
    }

    /// Where results and errors go.
    #[must_use]
    pub fn console(&self) -> &Console {
        &self.console
    }

    /// The end of a prompt, which tells whether a transaction is open, and whether it is broken.
    #[must_use]
    pub fn prompt(&self) -> &'static str {
        match self.within {
            Within::None => "> ",
            Within::Open(_) => "*> ",
            Within::Broken => "!> ",
        }
    }

    /// Whether a transaction is open that could be committed.
    #[must_use]
    pub fn has_transaction(&self) -> bool {
        matches!(self.within, Within::Open(_))
    }

    /// Forgets the transaction that is open, if one is; whether it was.
    pub fn roll_back(&mut self) -> bool {
        !matches!(std::mem::replace(&mut self.within, Within::None), Within::None)
    }

    /// Runs a statement: a command, which begins with a colon, or a query.
    ///
    /// # Errors
    /// `invalid` for what is none, with the place in `text`; what it meets.
    pub fn run(&mut self, text: &str) -> Result<AfterStatement, Failure> {
        self.run_statement(text).map_err(|failure| self.asking.explain_refusal(failure))
    }

    fn run_statement(&mut self, text: &str) -> Result<AfterStatement, Failure> {
        if split(text).is_none() {
            return self.answer(text).map(|()| AfterStatement::Statement);
        }
        match parse(text)? {
            Command::Help(subject) => self.console.result(&help(subject)?)?,
            Command::Explain(at) => self.explain(&behind(text, at), false)?,
            Command::Profile(at) => self.explain(&behind(text, at), true)?,
            Command::Schema => self.console.result(&self.database.schema()?)?,
            Command::Settings => self.console.result(&SettingsReport::new(
                &self.asking,
                self.rows_max,
                self.console.is_json(),
                self.timing,
            ))?,
            Command::Set(setting) => self.set(setting),
            Command::Variables => self.console.result(&VariablesReport { variables: &self.variables })?,
            Command::Bind(name, at) => {
                let value = behind(text, at);
                let argument = parse_variable(value.trim_end_matches(ends_value), &ParseLimits::default())
                    .map_err(|wrong| told(wrong, &value))?;
                self.asking.bindings.bind_argument(name, argument);
                self.variables.insert(name.to_owned(), value.trim_matches(ends_value).to_owned());
            }
            Command::Begin(isolation) => {
                if !matches!(self.within, Within::None) {
                    let text = "a transaction is open already: :commit or :rollback ends it";
                    return Err(Error::invalid(text).into());
                }
                let isolation = isolation.unwrap_or(self.asking.isolation);
                self.within = Within::Open(self.database.begin(&self.asking, isolation)?);
                self.console.note_on_terminal(format!("begun, at the level {}", isolation.name()));
            }
            Command::Commit => self.commit()?,
            Command::Rollback if self.roll_back() => self.console.note_on_terminal("rolled back"),
            Command::Rollback => return Err(none_open()),
            Command::History(count) => return Ok(AfterStatement::History(count)),
            Command::Quit => return Ok(AfterStatement::End),
        }
        Ok(AfterStatement::Statement)
    }

    fn answer(&mut self, text: &str) -> Result<(), Failure> {
        let (json, rows_max) = (self.console.is_json(), self.rows_max);
        let (outcome, found) = match &mut self.within {
            Within::Broken => return Err(broken()),
            Within::None => {
                let (asking, database) = (&self.asking, self.database);
                let (wrote, found) =
                    answered(json, rows_max, |output| database.answer(asking, text, output))?;
                (if wrote { ", committed" } else { "" }, found)
            }
            Within::Open(transaction) => {
                let asking = &self.asking;
                let answer = answered(json, rows_max, |output| transaction.answer(asking, text, output));
                let (writes, found) = self.or_broken(answer)?;
                (if writes { ", to be committed" } else { "" }, found)
            }
        };
        self.tell(&found, outcome);
        Ok(())
    }

    fn explain(&mut self, text: &str, profile: bool) -> Result<(), Failure> {
        match &mut self.within {
            Within::Broken => Err(broken()),
            Within::None => self.database.explain(&self.asking, text, profile),
            Within::Open(transaction) => {
                let explained = transaction.explain(&self.asking, text, profile);
                self.or_broken(explained)
            }
        }
    }

    /// What was `done` in the transaction, which may be broken if that failed.
    fn or_broken<T>(&mut self, done: Result<T, Failure>) -> Result<T, Failure> {
        if done.is_err()
            && let Within::Open(transaction) = &mut self.within
            && transaction.is_broken()
        {
            self.within = Within::Broken;
        }
        done
    }

    fn commit(&mut self) -> Result<(), Failure> {
        match std::mem::replace(&mut self.within, Within::None) {
            Within::None => Err(none_open()),
            Within::Broken => {
                self.within = Within::Broken;
                Err(broken())
            }
            Within::Open(transaction) => {
                transaction.commit(&self.asking)?;
                self.console.note_on_terminal("committed");
                Ok(())
            }
        }
    }

    fn set(&mut self, setting: Setting) {
        match setting {
            Setting::Timeout(timeout) => self.asking.limits.timeout = timeout,
            Setting::Memory(bytes) => self.asking.limits.memory_bytes = bytes,
            Setting::Rows(rows) => self.rows_max = rows,
            Setting::Json(json) => {
                self.console = self.console.with_json(json);
                self.asking.console = self.console;
            }
            Setting::Timing(timing) => self.timing = timing,
            Setting::Isolation(isolation) => self.asking.isolation = isolation,
            Setting::Strict(strict) => self.asking.strict = strict,
        }
    }

    fn tell(&self, found: &QueryOutcome, outcome: &str) {
        if found.left_out_count > 0 {
            let left_out = count(found.left_out_count);
            self.console.note(format!("... and {left_out} more: :rows N or :rows all shows them"));
        }
        if self.timing {
            self.console.note(format!("{}{outcome}", found.summary()));
        }
    }
}

/// What stands behind byte `at` of `text`, in its place: blanks before it.
fn behind(text: &str, at: usize) -> String {
    let blank = |char: char| if char == '\n' { '\n' } else { ' ' };
    text[..at].chars().map(blank).chain(text[at..].chars()).collect()
}

/// What stands around a value and is no part of it.
fn ends_value(char: char) -> bool {
    char.is_whitespace() || char == ';'
}

fn told(wrong: TextError, text: &str) -> Error {
    Error::new(wrong.kind, wrong.shown_in(text)).because(wrong)
}

fn broken() -> Failure {
    let text = "a query failed while writing in this transaction, which cannot continue: :rollback ends it";
    Error::invalid(text).into()
}

fn none_open() -> Failure {
    Error::invalid("no transaction is open: :begin begins one").into()
}
