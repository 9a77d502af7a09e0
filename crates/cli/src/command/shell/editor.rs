//! Editor: reads what a person types, with completion, history, and inputs of several lines.

use crate::command::shell::complete::complete;
use crate::command::shell::script::is_unfinished;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_terminal::table::visible;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Helper};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Inputs that are remembered.
const HISTORY_MAX: usize = 10_000;
/// Candidates that are listed without a question.
const LISTED_MAX: usize = 200;

/// Reads inputs at a terminal.
pub struct Editor<'n> {
    editor: rustyline::Editor<Assistant<'n>, FileHistory>,
    /// Where inputs are remembered; `None` if they aren't.
    history: Option<PathBuf>,
}

/// What a person did.
pub enum Input {
    /// Entered a text.
    Text(String),
    /// Dropped what was typed.
    Dropped,
    /// Had enough.
    End,
}

impl<'n> Editor<'n> {
    /// An editor that completes names that `names` gives, and remembers inputs only as long as it is there.
    ///
    /// # Errors
    /// `io` if the terminal is none to edit at.
    pub fn new(names: &'n dyn Fn() -> Arc<Catalogue>) -> Result<Self> {
        let config = Config::builder()
            .max_history_size(HISTORY_MAX)
            .map_err(failed)?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .completion_prompt_limit(LISTED_MAX)
            .build();
        let mut editor = rustyline::Editor::with_config(config).map_err(failed)?;
        editor.set_helper(Some(Assistant(names)));
        Ok(Self { editor, history: None })
    }

    /// Remembers inputs in `file`, which only its owner may read, and knows those that are in it.
    ///
    /// # Errors
    /// `io` if it is there and can't be read.
    pub fn remember_in(&mut self, file: &Path) -> Result<()> {
        match self.editor.load_history(file) {
            Err(ReadlineError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            read => read.map_err(|error| {
                failed(error).context(format_args!("read the history {}", file.display()))
            })?,
        }
        self.history = Some(file.to_owned());
        Ok(())
    }

    /// Waits for an input.
    ///
    /// # Errors
    /// `io` if the terminal has nothing to give.
    pub fn read(&mut self, prompt: &str) -> Result<Input> {
        match self.editor.readline(&visible(prompt)) {
            Ok(text) => Ok(Input::Text(text)),
            Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => Ok(Input::Dropped),
            Err(ReadlineError::Eof) => Ok(Input::End),
            Err(error) => Err(failed(error).context("read from the terminal")),
        }
    }

    /// Remembers an input.
    ///
    /// # Errors
    /// `io` if the file doesn't take it; no further one is written to it.
    pub fn remember(&mut self, input: &str) -> Result<()> {
        self.editor.add_history_entry(input.trim_end()).map_err(failed)?;
        let Some(file) = self.history.take() else { return Ok(()) };
        self.editor
            .append_history(&file)
            .map_err(|error| failed(error).context(format_args!("write the history {}", file.display())))?;
        self.history = Some(file);
        Ok(())
    }

    /// The last `count` inputs, the last one last.
    #[must_use]
    pub fn last(&self, count: usize) -> Vec<&str> {
        let mut last: Vec<&str> =
            self.editor.history().iter().rev().take(count).map(String::as_str).collect();
        last.reverse();
        last
    }
}

fn failed(error: ReadlineError) -> Error {
    Error::new(ErrorKind::Io, error.to_string()).because(error)
}

/// What the line editor asks while somebody types.
struct Assistant<'n>(&'n dyn Fn() -> Arc<Catalogue>);

impl Completer for Assistant<'_> {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let completion = complete(&line[..at], &(self.0)());
        let pairs = completion.candidates.into_iter();
        let pairs = pairs.map(|(name, replacement)| Pair { display: visible(&name), replacement });
        Ok((completion.start, pairs.collect()))
    }
}

impl Validator for Assistant<'_> {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match is_unfinished(context.input()) {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

impl Hinter for Assistant<'_> {
    type Hint = String;
}

impl Highlighter for Assistant<'_> {}

impl Helper for Assistant<'_> {}
