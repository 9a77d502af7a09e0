//! `evergraph completions`: the script by which a shell completes commands and options.

use crate::context::Context;
use clap::{Args, Command};
use clap_complete::{Shell, generate};
use evergraph_terminal::failure::Failure;
use serde::Serialize;
use std::fmt;

const AFTER_HELP: &str = "\
Examples:
  evergraph completions bash > ~/.local/share/bash-completion/completions/evergraph
  evergraph completions zsh > ~/.zfunc/_evergraph
  evergraph completions fish > ~/.config/fish/completions/evergraph.fish
  source <(evergraph completions bash)

The last one affects the current shell only. `make install` installs the first
three where shells look for them. Zsh needs to know the folder, in ~/.zshrc:
  fpath+=~/.zfunc; autoload -Uz compinit; compinit";

/// Arguments of `evergraph completions`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct CompletionsArguments {
    /// The shell.
    pub shell: Shell,
}

/// Prints the script for the command line of `program`.
///
/// # Errors
/// If standard output doesn't take it.
pub fn execute(
    arguments: &CompletionsArguments,
    program: &Command,
    context: &Context,
) -> Result<(), Failure> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut visible(program), "evergraph", &mut script);
    let script = String::from_utf8(script).expect("scripts are made of help texts");
    context.console.result(&CompletionsReport { shell: arguments.shell.to_string(), script })
}

/// The command line without what is hidden, which some shells' scripts would offer.
fn visible(command: &Command) -> Command {
    let options = command.get_arguments().filter(|option| !option.is_hide_set()).cloned();
    let below = command.get_subcommands().filter(|below| !below.is_hide_set()).map(visible);
    Command::new(command.get_name().to_owned())
        .about(command.get_about().cloned().unwrap_or_default())
        .version(command.get_version().unwrap_or_default().to_owned())
        .disable_version_flag(command.get_version().is_none())
        .args(options)
        .subcommands(below)
}

/// A script.
#[derive(Debug, Serialize)]
struct CompletionsReport {
    shell: String,
    script: String,
}

impl fmt::Display for CompletionsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.script)
    }
}
