//! `evergraph man`: manual pages, one a command, made from the same texts as its help.

use crate::context::Context;
use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::result_file::ResultFile;
use serde::Serialize;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  evergraph man | man -l -
  evergraph man run pagerank | man -l -
  evergraph man --output ~/.local/share/man/man1

`make install` installs all pages where `man evergraph-import` finds them.";

/// Arguments of `evergraph man`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ManArguments {
    /// The command whose page to print [default: the page of the whole program].
    #[arg(conflicts_with = "output")]
    pub command: Vec<String>,
    /// Write the pages of all commands to this folder, replacing older ones.
    #[arg(long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

/// Prints a page of `program`, or writes all of them.
///
/// # Errors
/// `not_found` for a command that isn't there; what writing meets.
pub fn execute(arguments: &ManArguments, program: Command, context: &Context) -> Result<(), Failure> {
    // A page for `help` would say what the pages themselves do.
    let program = with_all_options(program).disable_help_subcommand(true);
    let mut program = program.mut_subcommand("run", |run| {
        let algorithms = |command: Command| {
            let usage = format!("evergraph run DATABASE {} [OPTIONS]", command.get_name());
            command.override_usage(usage)
        };
        run.override_usage("evergraph run DATABASE ALGORITHM [OPTIONS]").mut_subcommands(algorithms)
    });
    program.build();
    if let Some(folder) = &arguments.output {
        let made = fs::create_dir_all(folder);
        made.map_err(|error| {
            Error::new(ErrorKind::Io, format!("make the folder {}: {error}", folder.display())).because(error)
        })?;
        let mut files = Vec::new();
        write_all(&program, folder, &mut files)?;
        return context.console.summary(&PagesReport { files });
    }
    let mut command = &program;
    for name in &arguments.command {
        command = command.find_subcommand(name).filter(|found| !found.is_hide_set()).ok_or_else(|| {
            let there: Vec<&str> = visible(command).map(Command::get_name).collect();
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            let text = format!("{} has no command {name}; it has {there}", command.get_name());
            Error::new(ErrorKind::NotFound, text)
        })?;
    }
    let page = page(command).map_err(Failure::of_output)?;
    let page = String::from_utf8(page).expect("pages are made of help texts");
    context.console.result(&PageReport { page })
}

/// Pages describe the options that only `--help` has, too.
fn with_all_options(command: Command) -> Command {
    let command = command.mut_args(|option| option.hide_short_help(false));
    command.mut_subcommands(with_all_options)
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set())
}

fn write_all(command: &Command, folder: &Path, files: &mut Vec<String>) -> Result<(), Failure> {
    let name = Man::new(command.clone()).get_filename();
    let mut file = ResultFile::create(&folder.join(name), true)?;
    let written = page(command).and_then(|page| file.write_all(&page));
    written.map_err(|error| file.failed(error))?;
    files.push(file.name().to_owned());
    file.finish()?;
    visible(command).try_for_each(|below| write_all(below, folder, files))
}

/// The page in roff: clap's sections, and what stands behind a help's options with lines as they are.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone())
        .source(concat!("evergraph ", env!("CARGO_PKG_VERSION")))
        .manual("Evergraph");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if visible(command).next().is_some() {
        man.render_subcommands_section(&mut page)?;
    }
    let after = command.get_after_long_help().or(command.get_after_help());
    if let Some(after) = after.map(ToString::to_string) {
        sections(&after).to_writer(&mut page)?;
    }
    see_also(command).to_writer(&mut page)?;
    Ok(page)
}

/// Paragraphs; one whose first line ends with a colon gets it as its heading.
fn sections(text: &str) -> Roff {
    let mut roff = Roff::new();
    let mut has_heading = false;
    for paragraph in text.split("\n\n") {
        let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        let heading = first.strip_suffix(':').filter(|heading| !heading.contains(' ') || heading.len() < 20);
        let body = match heading {
            Some(heading) => {
                roff.control("SH", [heading.to_uppercase().as_str()]);
                rest
            }
            None if has_heading => {
                roff.control("SH", ["NOTES"]);
                paragraph
            }
            None => {
                roff.control("PP", []);
                paragraph
            }
        };
        has_heading = heading.is_some();
        // As it is: lines and their columns are part of what they say.
        roff.control("nf", []);
        for line in body.lines() {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff
}

fn see_also(command: &Command) -> Roff {
    let mut roff = Roff::new();
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    if let Some((above, _)) = name.rsplit_once('-') {
        roff.control("SH", ["SEE ALSO"]);
        roff.text([bold(above), roman("(1)")]);
    }
    roff
}

/// Pages that were written.
#[derive(Debug, Serialize)]
struct PagesReport {
    files: Vec<String>,
}

impl fmt::Display for PagesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.iter().try_for_each(|file| writeln!(f, "{file}"))
    }
}

/// A page.
#[derive(Debug, Serialize)]
struct PageReport {
    page: String,
}

impl fmt::Display for PageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.page)
    }
}
