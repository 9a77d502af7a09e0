//! Parameters: those of the table as options of the command line, and what was given of them.
//!
//! | parameter | options |
//! |---|---|
//! | `missing_weight`, a number | `--missing-weight W` |
//! | `normalized`, true by default | `--raw`, as the table calls its opposite |
//! | `source`, a vertex | `--source KEY` or `--source-vertex N` |
//! | `sources`, vertices | the same, as often as one likes |

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, value_parser};
use evergraph_algorithms::range::WholeRange;
use evergraph_analysis::arguments::{Argument, Arguments};
use evergraph_analysis::parameter::{DefaultValue, Kind, Parameter, direction_name};
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;

/// What was given for a parameter.
#[derive(Clone, PartialEq, Debug)]
pub enum ParameterInput {
    /// A value.
    Value(Argument),
    /// Vertices by their keys, and by their numbers.
    Vertices(Vec<String>, Vec<u32>),
}

/// `command` with an option for each of `parameters`.
#[must_use]
pub fn with_parameters(command: Command, parameters: &[Parameter]) -> Command {
    parameters.iter().fold(command, |command, parameter| match parameter.kind {
        Kind::Vertex | Kind::Vertices => with_vertex(command, parameter),
        _ => command.arg(option(parameter, parameters)),
    })
}

/// The name of an option.
fn long(name: &str) -> String {
    name.replace('_', "-")
}

/// The name of the options that say a vertex: `source` for `sources`.
fn singular(parameter: &Parameter) -> &'static str {
    match parameter.kind {
        Kind::Vertices => parameter.name.trim_end_matches('s'),
        _ => parameter.name,
    }
}

/// The options for a vertex, or for several.
fn with_vertex(command: Command, parameter: &Parameter) -> Command {
    let name = singular(parameter);
    let number = format!("{name}_vertex");
    let (one, many) = (parameter.summary.trim_end_matches('.'), parameter.kind == Kind::Vertices);
    let (this, more) = if many { ("these vertices", "; repeat it for more") } else { ("this vertex", "") };
    let help = |by: &str| format!("{}{more}", one.replace(this, by));
    let (by_key, by_number) = if many {
        ("the vertices with these unique keys", "the vertices with these numbers")
    } else {
        ("the vertex with this unique key", "the vertex with this number")
    };
    let action = if many { ArgAction::Append } else { ArgAction::Set };
    let mut key_option = Arg::new(name)
        .long(long(name))
        .value_name("KEY")
        .allow_hyphen_values(true)
        .action(action.clone())
        .help(help(by_key));
    let number_option = Arg::new(number.clone())
        .long(long(&number))
        .value_name("N")
        .value_parser(value_parser!(u32))
        .action(action)
        .help(help(by_number));
    if parameter.default != DefaultValue::Required {
        key_option = key_option.conflicts_with(number);
        return command.arg(key_option).arg(number_option);
    }
    let group = ArgGroup::new(format!("{name} or its number")).args([name.to_owned(), number]);
    command.arg(key_option).arg(number_option).group(group.required(true).multiple(many))
}

/// The option for anything else.
fn option(parameter: &Parameter, parameters: &[Parameter]) -> Arg {
    let name = parameter.name;
    if let Some(flag) = parameter.flag {
        return Arg::new(name)
            .long(flag.name)
            .action(ArgAction::SetTrue)
            .help(flag.summary.trim_end_matches('.'));
    }
    let mut help = parameter.summary.trim_end_matches('.').to_owned();
    if let DefaultValue::Nothing(otherwise) = parameter.default
        && !otherwise.is_empty()
    {
        help += &format!(" [default: {otherwise}]");
    }
    let mut option = Arg::new(name).long(long(name)).value_name(parameter.symbol).help(help);
    option = match parameter.kind {
        Kind::Whole(range) => option.value_parser(move |text: &str| whole(text, range)),
        Kind::Real(_) => option.value_parser(value_parser!(f64)),
        Kind::Direction(choices) => {
            let choices = choices.iter().map(|(choice, summary)| {
                PossibleValue::new(direction_name(*choice)).help(summary.trim_end_matches('.'))
            });
            option.value_parser(PossibleValuesParser::new(choices))
        }
        Kind::Boolean | Kind::Vertex | Kind::Vertices | Kind::EdgeProperty => option,
    };
    option = match parameter.default {
        DefaultValue::Required => option.required(true),
        DefaultValue::Whole(number) => option.default_value(number.to_string()),
        DefaultValue::Real(number) if number.is_finite() => option.default_value(number.to_string()),
        DefaultValue::Direction(direction) => option.default_value(direction_name(direction)),
        DefaultValue::Property(name) => option.default_value(name),
        DefaultValue::Nothing(_) | DefaultValue::Boolean(_) | DefaultValue::Real(_) => option,
    };
    // One that has a default is there always.
    let may_be_missing = |name| {
        let mut others = parameters.iter().filter(|other| other.name == name);
        others.any(|other| matches!(other.default, DefaultValue::Nothing(_)))
    };
    match parameter.needs {
        Some(other) if may_be_missing(other) => option.requires(other),
        _ => option,
    }
}

/// The whole number that `text` is, if it is in `range`; what it must be otherwise.
fn whole(text: &str, range: WholeRange) -> std::result::Result<u64, String> {
    let Ok(number) = text.parse::<i128>() else { return Err("must be a whole number".to_owned()) };
    match range.rule(number) {
        None => Ok(u64::try_from(number).unwrap_or(range.most)),
        Some(rule) => Err(format!("must be {rule}")),
    }
}

/// What `matches` has of `parameters`.
#[must_use]
pub fn given(parameters: &'static [Parameter], matches: &ArgMatches) -> Vec<(&'static str, ParameterInput)> {
    let one = |parameter: &'static Parameter| Some((parameter.name, given_one(parameter, matches)?));
    parameters.iter().filter_map(one).collect()
}

fn given_one(parameter: &Parameter, matches: &ArgMatches) -> Option<ParameterInput> {
    let name = parameter.name;
    let text = || matches.get_one::<String>(name).cloned();
    Some(ParameterInput::Value(match parameter.kind {
        Kind::Boolean => Argument::Boolean(!matches.get_flag(name)),
        Kind::Whole(_) => Argument::Whole(*matches.get_one::<u64>(name)?),
        Kind::Real(_) => Argument::Real(*matches.get_one::<f64>(name)?),
        Kind::Direction(choices) => {
            let chosen = text()?;
            let found = choices.iter().find(|(choice, _)| direction_name(*choice) == chosen);
            Argument::Direction(found?.0)
        }
        Kind::EdgeProperty => Argument::Property(text()?),
        Kind::Vertex | Kind::Vertices => {
            let name = singular(parameter);
            let keys: Vec<String> = matches.get_many(name).into_iter().flatten().cloned().collect();
            let numbers = matches.get_many::<u32>(&format!("{name}_vertex"));
            let numbers: Vec<u32> = numbers.into_iter().flatten().copied().collect();
            return (!keys.is_empty() || !numbers.is_empty())
                .then_some(ParameterInput::Vertices(keys, numbers));
        }
    }))
}

/// The values of `parameters` that `given` stands for: `find` gives the vertex of an option's key.
///
/// # Errors
/// Those of `find`, and of [`Arguments::new`].
pub fn arguments(
    parameters: &'static [Parameter],
    given: &[(&'static str, ParameterInput)],
    mut find: impl FnMut(&str, &str) -> Result<VertexId>,
) -> Result<Arguments> {
    let found = given.iter().map(|(name, given)| {
        let argument = match given {
            ParameterInput::Value(argument) => argument.clone(),
            ParameterInput::Vertices(named, numbers) => {
                let option =
                    parameters.iter().find(|parameter| parameter.name == *name).map_or(*name, singular);
                let named = named.iter().map(|key| find(option, key));
                let numbered = numbers.iter().map(|number| Ok(VertexId(*number)));
                Argument::Vertices(named.chain(numbered).collect::<Result<_>>()?)
            }
        };
        Ok((*name, argument))
    });
    Arguments::new(parameters, found.collect::<Result<Vec<_>>>()?)
}

/// `arguments` as figures: what was chosen, and the defaults.
pub fn figures(arguments: &Arguments) -> impl Iterator<Item = (String, serde_json::Value)> + '_ {
    use serde_json::json;
    arguments.iter().map(|(parameter, argument)| {
        let name = match parameter.kind {
            Kind::Vertex => format!("{}_vertex", parameter.name),
            Kind::Vertices => format!("{}_vertices", singular(parameter)),
            _ => parameter.name.to_owned(),
        };
        let value = match argument {
            Argument::Nothing => json!(null),
            Argument::Boolean(value) => json!(value),
            Argument::Whole(number) => json!(number),
            Argument::Real(number) => json!(number),
            Argument::Direction(direction) => json!(direction_name(*direction)),
            Argument::Vertex(vertex) => json!(vertex.0),
            Argument::Vertices(vertices) => json!(vertices.iter().map(|vertex| vertex.0).collect::<Vec<_>>()),
            Argument::Property(name) => json!(name),
        };
        (name, value)
    })
}
