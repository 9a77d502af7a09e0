//! Console: where results, progress and errors go, and in which form.
//!
//! | | a result | a summary of what was done | progress | notes |
//! |---|---|---|---|---|
//! | plain | text on standard output | text on standard output | standard error, if it is a terminal | standard error |
//! | `--quiet` | text on standard output | | | |
//! | `--json` | one document on standard output | one document on standard output | | standard error |
//!
//! `--progress` changes the fourth column, but for `--quiet`.

use crate::failure::{Failure, tell};
use crate::meter::Meter;
use clap::ValueEnum;
use serde::Serialize;
use std::env;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// When to show optional output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum DisplayMode {
    /// If a person is likely to see it.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// When to use colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Color {
    /// On a terminal, unless the environment has NO_COLOR.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Whether what goes to `stream` is coloured.
    fn on(self, stream: &impl IsTerminal) -> bool {
        let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        match self {
            Self::Auto => stream.is_terminal() && !unwanted,
            Self::Never => false,
            Self::Always => true,
        }
    }
}

/// What a command has to say: its fields are the JSON document, its text is for people.
pub trait Report: Serialize + Display {}

impl<T: Serialize + Display> Report for T {}

/// Where everything goes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Console {
    json: bool,
    quiet: bool,
    color: Color,
    progress: DisplayMode,
}

impl Console {
    /// A console of this form.
    #[must_use]
    pub fn new(json: bool, quiet: bool, color: Color, progress: DisplayMode) -> Self {
        Self { json, quiet, color, progress }
    }

    /// The same, with results as JSON documents or as text.
    #[must_use]
    pub fn with_json(self, json: bool) -> Self {
        Self { json, ..self }
    }

    /// Whether results are JSON documents.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether summaries and notes are unwanted.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints what was asked for.
    ///
    /// # Errors
    /// If standard output doesn't take it.
    pub fn result(&self, report: &impl Report) -> Result<(), Failure> {
        let text = if self.json {
            let mut text =
                serde_json::to_string_pretty(report).expect("reports have text keys and finite numbers");
            text.push('\n');
            text
        } else {
            report.to_string()
        };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::of_output)
    }

    /// Prints what was done, unless it is to be quiet.
    ///
    /// # Errors
    /// If standard output doesn't take it.
    pub fn summary(&self, report: &impl Report) -> Result<(), Failure> {
        if self.quiet && !self.json { Ok(()) } else { self.result(report) }
    }

    /// Tells something besides the result, unless it is to be quiet.
    pub fn note(&self, text: impl Display) {
        if !self.quiet {
            tell(&text.to_string());
        }
    }

    /// As [`Console::note`], if a person is likely to see it.
    pub fn note_on_terminal(&self, text: impl Display) {
        if io::stderr().is_terminal() {
            self.note(text);
        }
    }

    /// As [`Console::note`], where nobody watches a terminal, and so no progress.
    pub fn note_off_terminal(&self, text: impl Display) {
        if !io::stderr().is_terminal() {
            self.note(text);
        }
    }

    /// Shows the progress of one command.
    #[must_use]
    pub fn meter(&self) -> Meter {
        let is_terminal = io::stderr().is_terminal();
        match self.progress {
            _ if self.quiet => Meter::silent(),
            DisplayMode::Never => Meter::silent(),
            DisplayMode::Auto if self.json || !is_terminal => Meter::silent(),
            DisplayMode::Auto | DisplayMode::Always if is_terminal => Meter::bar(),
            DisplayMode::Auto | DisplayMode::Always => Meter::lines(),
        }
    }

    /// Tells why the command failed, and `hint`, where the failure itself suggests nothing.
    pub fn failure(&self, failure: &Failure, hint: Option<&str>) {
        failure.tell(self.json, self.color.on(&io::stderr()), hint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn colour_goes_to_no_file_unless_it_must() {
        let file = File::open("/dev/null").unwrap();
        assert_eq!(
            [Color::Auto, Color::Never, Color::Always].map(|color| color.on(&file)),
            [false, false, true]
        );
    }
}
