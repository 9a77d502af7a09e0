//! Runner: statements of scripts, one after the other, until the first error or, if it is to go on, the last statement.

use crate::command::shell::place::placed;
use crate::command::shell::script::Script;
use crate::command::shell::session::{Next, Session};
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_terminal::failure::Failure;
use std::io::BufRead;
use std::process::ExitCode;

/// Runs scripts.
pub struct Runner<'s, 'd> {
    session: &'s mut Session<'d>,
    keep_going: bool,
    /// The exit code of the first error after which it went on.
    code: Option<u8>,
    /// Whether `:quit` came.
    has_quit: bool,
}

impl<'s, 'd> Runner<'s, 'd> {
    /// Runs statements in `session`, also after errors if `keep_going`.
    pub fn new(session: &'s mut Session<'d>, keep_going: bool) -> Self {
        Self { session, keep_going, code: None, has_quit: false }
    }

    /// Runs all statements of `script`, which errors call by its `name`.
    ///
    /// # Errors
    /// What can't be read; the first of a statement, unless it goes on; whatever comes, one that was cancelled, and that
    /// nobody reads the results.
    pub fn run(&mut self, script: impl BufRead, name: Option<&str>) -> Result<(), Failure> {
        let mut script = Script::new(script);
        while !self.has_quit {
            let next = script.next();
            let next = next.map_err(|error| match name {
                Some(name) => error.context(name),
                None => error,
            })?;
            let Some(statement) = next else { break };
            let done = self.session.run(&statement.text).and_then(|next| match next {
                Next::Statement => Ok(()),
                Next::History(_) => Err(Error::invalid(":history works only at a terminal").into()),
                Next::End => {
                    self.has_quit = true;
                    Ok(())
                }
            });
            done.or_else(|failure| self.failed(placed(failure, &statement, name)))?;
        }
        Ok(())
    }

    /// What all scripts together came to.
    ///
    /// # Errors
    /// `invalid` if they ended within a transaction, and not by `:quit`.
    pub fn end(mut self) -> Result<ExitCode, Failure> {
        if self.session.has_transaction() && !self.has_quit {
            let text = "the script ends within a transaction, which was rolled back: :commit is missing";
            self.failed(Error::invalid(text).into())?;
        }
        Ok(self.code.map_or(ExitCode::SUCCESS, ExitCode::from))
    }

    fn failed(&mut self, failure: Failure) -> Result<(), Failure> {
        let ends = match &failure {
            Failure::Error(error) => error.kind() == ErrorKind::Cancelled,
            Failure::ClosedPipe => true,
        };
        if ends || !self.keep_going {
            return Err(failure);
        }
        self.session.console().failure(&failure, None);
        self.code.get_or_insert(failure.exit_code());
        Ok(())
    }
}
