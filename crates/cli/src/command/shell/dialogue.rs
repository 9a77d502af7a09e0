//! Dialogue: what a person types at a terminal is run, input by input; errors are told, and it goes on.

use crate::command::shell::arguments::ShellArguments;
use crate::command::shell::backend::ShellDatabase;
use crate::command::shell::editor::{Editor, Input};
use crate::command::shell::history::{HistoryReport, usual_file};
use crate::command::shell::script::Script;
use crate::command::shell::script_position::placed;
use crate::command::shell::session::{AfterStatement, Session};
use crate::context::Context;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::table::visible;

/// Asks for inputs and runs them until somebody has enough.
///
/// # Errors
/// `io` if the terminal is gone, or a history that was named can't be read; `cancelled` after SIGTERM.
pub fn talk(
    session: &mut Session<'_>,
    database: &dyn ShellDatabase,
    arguments: &ShellArguments,
    context: &Context,
) -> Result<(), Failure> {
    let names = || database.names();
    let mut editor = Editor::new(&names)?;
    remember(&mut editor, arguments, context)?;
    let name = arguments.database.short_name();
    let summary = database.summary()?;
    context.console.note(format!("{}: {}; :help helps, Ctrl-D ends", visible(&name), visible(&summary)));
    let interrupt = &context.interrupt;
    while !interrupt.is_ending() {
        let prompt = format!("{name}{}", session.prompt());
        let input = interrupt.while_waiting(|| editor.read(&prompt))?;
        session.set_cancel(interrupt.flag());
        match input {
            Input::Dropped => {}
            Input::End => break,
            Input::Text(text) if text.trim().is_empty() => {}
            Input::Text(text) => {
                editor.remember(&text).unwrap_or_else(|error| context.console.note(error));
                if !enter(&text, session, &editor)? {
                    break;
                }
            }
        }
    }
    if session.roll_back() {
        context.console.note("the transaction that was open is rolled back");
    }
    match interrupt.is_ending() {
        true => Err(Error::new(ErrorKind::Cancelled, "the shell was asked to end").into()),
        false => Ok(()),
    }
}

/// Runs the statements of an input, up to the first error; whether more may come.
fn enter(text: &str, session: &mut Session<'_>, editor: &Editor<'_>) -> Result<bool, Failure> {
    let mut script = Script::new(text.as_bytes());
    while let Some(statement) = script.next()? {
        match session.run(&statement.text) {
            Ok(AfterStatement::Statement) => {}
            Ok(AfterStatement::History(count)) => {
                session.console().result(&HistoryReport { inputs: editor.last(count) })?;
            }
            Ok(AfterStatement::End) => return Ok(false),
            Err(Failure::ClosedPipe) => return Err(Failure::ClosedPipe),
            Err(failure) => {
                session.console().failure(&placed(failure, &statement, None), None);
                break;
            }
        }
    }
    Ok(true)
}

fn remember(editor: &mut Editor<'_>, arguments: &ShellArguments, context: &Context) -> Result<(), Failure> {
    if let Some(file) = &arguments.history {
        return Ok(editor.remember_in(file)?);
    }
    if !arguments.no_history {
        // Nobody asked for it: who can't have it can do without.
        let usual = usual_file().and_then(|file| file.map_or(Ok(()), |file| editor.remember_in(&file)));
        usual.unwrap_or_else(|error| context.console.note(format!("{error}; nothing is remembered")));
    }
    Ok(())
}
