//! Help: what the shell can do, and what a step takes, as the table of signatures says.

use crate::command::shell::command::COMMANDS;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::nearest::did_you_mean;
use evergraph_query::gremlin::signature::method::Role;
use evergraph_query::gremlin::signature::table::{named, signatures};
use evergraph_query::gremlin::token::Enumeration;
use serde::Serialize;
use std::fmt::{self, Write};

const INTRODUCTION: &str = "\
Enter runs a query in Gremlin:

  g.V().hasLabel('Person').limit(5).elementMap()
  g.V().has('Person', 'name', 'Ada').out('KNOWS').values('name')
  g.addV('Person').property('name', 'Mary')

While a bracket or quote is open, or a line ends in `.` or `,`, the query
continues on the next line; `;` ends it. Tab completes steps, labels, edge types
and keys. Ctrl-C clears the input or stops a query, Ctrl-R searches the history,
Ctrl-D exits. An input that begins with a space is not saved.

A query that writes is committed at its end, unless :begin has begun a
transaction.
";

/// Characters of a line of names.
const WIDTH: usize = 80;

/// A text that helps.
#[derive(Debug, Serialize)]
pub struct Help {
    help: String,
}

impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.help)
    }
}

/// What there is, or what is known of `subject`: a step, predicate, enumeration or command.
///
/// # Errors
/// `invalid` if there is no such thing, with what may be meant.
pub fn help(subject: Option<&str>) -> Result<Help> {
    let help = match subject {
        None => overview(),
        Some("steps") => all_names(),
        Some(subject) => {
            about(subject.trim_start_matches(':').trim_end_matches("()")).ok_or_else(|| unknown(subject))?
        }
    };
    Ok(Help { help })
}

fn unknown(subject: &str) -> Error {
    let known =
        signatures().map(|signature| signature.name).chain(COMMANDS.iter().map(|command| command.name));
    let meant = did_you_mean(subject, known);
    let meant = if meant.is_empty() { "; :help steps lists all steps" } else { &meant };
    Error::invalid(format!("there is no step or command {subject:?}{meant}"))
}

fn overview() -> String {
    let mut text = INTRODUCTION.to_owned() + "\n";
    for command in COMMANDS {
        let call = format!(":{} {}", command.name, command.takes);
        writeln!(text, "  {call:<19} {}", command.about).expect("a String takes any text");
    }
    text
}

fn all_names() -> String {
    let families = [
        ("After g, a query begins with", &[Role::Source, Role::Spawn][..]),
        ("Steps follow", &[Role::Step]),
        ("Modulators of the step before them", &[Role::Modulator]),
        ("A query may end with", &[Role::Terminal]),
        ("Predicates", &[Role::Predicate]),
    ];
    let mut text = String::new();
    for (title, roles) in families {
        let names = signatures().filter(|signature| roles.contains(&signature.role));
        paragraph(&mut text, title, names.map(|signature| signature.name));
    }
    paragraph(&mut text, "Words", Enumeration::ALL.iter().map(|enumeration| enumeration.name()));
    text + ":help NAME describes one of them.\n"
}

fn paragraph<'a>(text: &mut String, title: &str, names: impl Iterator<Item = &'a str>) {
    *text += &format!("{title}:\n");
    let mut line = String::new();
    for name in names {
        if line.len() + name.len() + 3 > WIDTH {
            *text += &(line.split_off(0) + "\n");
        }
        line += &format!("  {name}");
    }
    *text += &(line + "\n\n");
}

fn about(name: &str) -> Option<String> {
    let mut text = String::new();
    for signature in named(name) {
        let role = match signature.role {
            Role::Source => "directly after g",
            Role::Spawn => "begins a traversal",
            Role::Step => "step",
            Role::Modulator => "modulates the step before it",
            Role::Terminal => "ends a query",
            Role::Transaction => "directly after g, or after tx()",
            Role::Predicate => "predicate",
        };
        for form in signature.forms {
            text += &format!("{name}{form}\n");
        }
        text += &format!("  {} ({role})\n", signature.summary);
    }
    if let Some(enumeration) = Enumeration::from_name(name) {
        text += &format!("{name}: {}\n", enumeration.words().join(", "));
    }
    if let Some(command) = COMMANDS.iter().find(|command| command.name == name) {
        text += &format!("{}\n  {}\n", format!(":{name} {}", command.takes).trim_end(), command.about);
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(subject: &str) -> String {
        help(Some(subject)).unwrap().to_string()
    }

    #[test]
    fn it_fits_a_terminal() {
        for text in [help(None).unwrap().to_string(), told("steps")] {
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
        assert!(help(None).unwrap().to_string().lines().count() <= 40);
    }

    #[test]
    fn a_step_is_told_in_all_its_forms_and_roles() {
        assert_eq!(told("count"), "count()\ncount(Scope)\n  How many there are. (step)\n");
        assert_eq!(told("count()"), told("count"));
        let with = told("with");
        assert!(with.contains("directly after g") && with.contains("the step before it"), "{with}");
        assert_eq!(told("Order"), "Order: asc, desc, shuffle\n");
        assert!(told("profile").contains("(step)") && told(":profile").contains(":profile QUERY\n"));
        assert!(told("steps").contains("  valueMap") && told("steps").contains("  startingWith"));
    }

    #[test]
    fn what_is_unknown_is_told_with_what_is_meant() {
        let refused = |subject| help(Some(subject)).unwrap_err().to_string();
        assert_eq!(refused("hasLable"), "there is no step or command \"hasLable\"; did you mean `hasLabel`?");
        assert!(refused("qqq").ends_with(":help steps lists all steps"));
    }
}
