//! Arguments: the values of an algorithm's parameters, all of them, each of its kind and in its range.

use crate::parameter::{DefaultValue, Kind, Parameter, direction_name};
use evergraph_algorithms::sources::Sources;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::nearest::did_you_mean;

/// The value of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    /// None: the algorithm does without.
    Nothing,
    /// True or false.
    Boolean(bool),
    /// A count or a length.
    Whole(u64),
    /// A real number.
    Real(f64),
    /// A direction.
    Direction(Direction),
    /// A vertex.
    Vertex(VertexId),
    /// Vertices.
    Vertices(Vec<VertexId>),
    /// The edge property of this name.
    Property(String),
}

/// The values of all parameters of an algorithm.
#[derive(Clone, PartialEq, Debug)]
pub struct Arguments {
    parameters: &'static [Parameter],
    /// One for each parameter.
    values: Vec<Argument>,
}

impl Arguments {
    /// The values that are `given` by name, and the defaults of the others. Where [`Argument::Nothing`] is given,
    /// nothing is chosen.
    ///
    /// # Errors
    /// `invalid` for a name that no parameter has, a value of another kind or out of range, a parameter that must be
    /// chosen and isn't, or one that says nothing without another.
    pub fn new(
        parameters: &'static [Parameter],
        given: impl IntoIterator<Item = (impl AsRef<str>, Argument)>,
    ) -> Result<Self> {
        let mut values = vec![Argument::Nothing; parameters.len()];
        for (name, value) in given {
            let name = name.as_ref();
            let Some(at) = parameters.iter().position(|parameter| parameter.name == name) else {
                return Err(unknown(name, parameters.iter().map(|parameter| parameter.name)));
            };
            values[at] = value;
        }
        for (parameter, value) in parameters.iter().zip(&mut values) {
            if *value == Argument::Nothing {
                *value = default(parameter)?;
            } else {
                *value = checked(parameter, std::mem::replace(value, Argument::Nothing))?;
            }
        }
        let arguments = Self { parameters, values };
        for (parameter, value) in arguments.iter() {
            let Some(other) = parameter.needs else { continue };
            let chosen = matches!(parameter.default, DefaultValue::Nothing(_)) && *value != Argument::Nothing;
            if chosen && *arguments.of(other) == Argument::Nothing {
                return Err(Error::invalid(format!("{} goes with {other}", parameter.name)));
            }
        }
        Ok(arguments)
    }

    /// The values that are `given`, in range or not, and the defaults of the others.
    /// The values that are `given`, whatever they are: kernels refuse what the table refuses.
    #[doc(hidden)]
    #[must_use]
    pub fn unchecked(parameters: &'static [Parameter], given: &[(&'static str, Argument)]) -> Self {
        let value = |parameter: &Parameter| {
            let found = given.iter().rev().find(|(name, _)| *name == parameter.name);
            found.map_or_else(|| default(parameter).unwrap_or(Argument::Nothing), |(_, value)| value.clone())
        };
        let checked = |parameter: &Parameter| match (parameter.kind, value(parameter)) {
            (Kind::Vertices, Argument::Vertex(vertex)) => Argument::Vertices(vec![vertex]),
            (_, value) => value,
        };
        Self { parameters, values: parameters.iter().map(checked).collect() }
    }

    /// Each parameter with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, &Argument)> {
        self.parameters.iter().zip(&self.values)
    }

    /// The value of the parameter `name`.
    fn of(&self, name: &str) -> &Argument {
        let at = self.parameters.iter().position(|parameter| parameter.name == name);
        &self.values[at.expect("an algorithm asks for its own parameters")]
    }

    /// Whether something was chosen, or is the default.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        *self.of(name) != Argument::Nothing
    }

    pub(crate) fn boolean(&self, name: &str) -> bool {
        matches!(self.of(name), Argument::Boolean(true))
    }

    pub(crate) fn optional_whole(&self, name: &str) -> Option<u64> {
        if let Argument::Whole(number) = self.of(name) { Some(*number) } else { None }
    }

    pub(crate) fn whole(&self, name: &str) -> usize {
        let number = self.optional_whole(name).expect("a whole number has a default");
        usize::try_from(number).unwrap_or(usize::MAX)
    }

    pub(crate) fn count(&self, name: &str) -> u32 {
        u32::try_from(self.whole(name)).expect("the range ends there")
    }

    pub(crate) fn optional_real(&self, name: &str) -> Option<f64> {
        if let Argument::Real(number) = self.of(name) { Some(*number) } else { None }
    }

    /// The real number `name`.
    #[must_use]
    pub fn real(&self, name: &str) -> f64 {
        self.optional_real(name).expect("a real number has a default, or is required")
    }

    /// The direction.
    #[must_use]
    pub fn direction(&self) -> Direction {
        match self.of("direction") {
            Argument::Direction(direction) => *direction,
            _ => unreachable!("a direction has a default"),
        }
    }

    pub(crate) fn optional_vertex(&self, name: &str) -> Option<VertexId> {
        if let Argument::Vertex(vertex) = self.of(name) { Some(*vertex) } else { None }
    }

    pub(crate) fn vertex(&self, name: &str) -> VertexId {
        self.optional_vertex(name).expect("a vertex is required")
    }

    /// The vertices `name`; none where nothing is chosen.
    #[must_use]
    pub fn vertices(&self, name: &str) -> &[VertexId] {
        if let Argument::Vertices(vertices) = self.of(name) { vertices } else { &[] }
    }

    pub(crate) fn property(&self, name: &str) -> Option<&str> {
        if let Argument::Property(property) = self.of(name) { Some(property) } else { None }
    }

    /// What `sample` and `seed` say.
    #[must_use]
    pub fn sources(&self) -> Sources {
        let Some(count) = self.optional_whole("sample") else { return Sources::All };
        let seed = self.optional_whole("seed").unwrap_or_default();
        Sources::Sample { count: u32::try_from(count).unwrap_or(u32::MAX), seed }
    }
}

/// What counts where nothing is chosen.
fn default(parameter: &Parameter) -> Result<Argument> {
    Ok(match parameter.default {
        DefaultValue::Required => {
            return Err(Error::invalid(format!("the parameter {} is missing", parameter.name)));
        }
        DefaultValue::Nothing(_) => Argument::Nothing,
        DefaultValue::Boolean(value) => Argument::Boolean(value),
        DefaultValue::Whole(number) => Argument::Whole(number),
        DefaultValue::Real(number) => Argument::Real(number),
        DefaultValue::Direction(direction) => Argument::Direction(direction),
        DefaultValue::Property(name) => Argument::Property(name.to_owned()),
    })
}

/// The `value`, if it is of the parameter's kind and in its range.
fn checked(parameter: &Parameter, value: Argument) -> Result<Argument> {
    let name = parameter.name;
    match (parameter.kind, &value) {
        (Kind::Whole(range), Argument::Whole(number)) => {
            range.check(name, i128::from(*number)).map(Argument::Whole)
        }
        // Whole numbers are real ones.
        (Kind::Real(_), Argument::Whole(number)) => checked(parameter, Argument::Real(*number as f64)),
        (Kind::Real(range), Argument::Real(number)) => range.check(name, *number).map(|()| value),
        (Kind::Direction(choices), Argument::Direction(direction)) => {
            if choices.iter().any(|(choice, _)| choice == direction) {
                return Ok(value);
            }
            let names: Vec<&str> = choices.iter().map(|(choice, _)| direction_name(*choice)).collect();
            let (given, wanted) = (direction_name(*direction), names.join(" or "));
            Err(Error::invalid(format!("{name} is {given}, but must be {wanted}")))
        }
        (Kind::Vertex, Argument::Vertices(vertices)) if vertices.len() == 1 => {
            Ok(Argument::Vertex(vertices[0]))
        }
        (Kind::Vertices, Argument::Vertex(vertex)) => Ok(Argument::Vertices(vec![*vertex])),
        (Kind::Vertices, Argument::Vertices(vertices)) if vertices.is_empty() => {
            Err(Error::invalid(format!("{name} has no vertex, but must have at least one")))
        }
        (Kind::Boolean, Argument::Boolean(_))
        | (Kind::Vertex, Argument::Vertex(_))
        | (Kind::Vertices, Argument::Vertices(_))
        | (Kind::EdgeProperty, Argument::Property(_)) => Ok(value),
        (kind, _) => Err(Error::invalid(format!("{name}: expected {}", wanted(kind)))),
    }
}

fn wanted(kind: Kind) -> &'static str {
    match kind {
        Kind::Boolean => "true or false",
        Kind::Whole(_) => "a whole number",
        Kind::Real(_) => "a number",
        Kind::Direction(_) => "a direction",
        Kind::Vertex => "a vertex",
        Kind::Vertices => "one vertex or more",
        Kind::EdgeProperty => "the name of an edge property",
    }
}

/// The error for a `name` that no parameter has, with the nearest of those that are `known`, or with all of them.
#[must_use]
pub fn unknown<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Error {
    let known: Vec<&str> = known.into_iter().collect();
    let hint = match (did_you_mean(name, known.iter().copied()), known.is_empty()) {
        (_, true) => ": there are none".to_owned(),
        (hint, _) if hint.is_empty() => format!(": {}", known.join(", ")),
        (hint, _) => hint,
    };
    Error::invalid(format!("no parameter is called {name}{hint}"))
}
