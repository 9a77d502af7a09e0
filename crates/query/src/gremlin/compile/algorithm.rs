//! `pageRank`, `peerPressure`, `connectedComponent`, `shortestPath`, and their options from `with()`.

use crate::error::{Span, TextError, quoted};
use crate::gremlin::call::{Argument, ArgumentKind, Call};
use crate::gremlin::compile::argument::{direction_of, item, name, whole};
use crate::gremlin::compile::compiler::{
    Calls, Compiled, Compiler, NamedMethod, any, as_traversal, one, wrong,
};
use crate::gremlin::token::Token;
use crate::plan::algorithm::{
    Analysis, COMPONENT_PROPERTY, PAGE_RANK_PROPERTY, PEER_PRESSURE_PROPERTY, Program, Selection,
    ShortestPaths,
};
use crate::plan::operator::{By, Expand, ExpandTo, Name, Operator, Scan, Traversal};
use evergraph_graph::id::Direction;
use evergraph_graph::nearest::did_you_mean;
use evergraph_graph::value::Value;

/// Rounds of `pageRank()`, and its damping.
const PAGE_RANK_TIMES: u32 = 20;
const DAMPING: f64 = 0.85;
/// Rounds of `peerPressure()`.
const PEER_PRESSURE_TIMES: u32 = 30;

/// What `with()` says of a step.
struct Setting<'c> {
    /// The option: `edges`.
    name: &'c str,
    /// What it is to be; true if nothing is said.
    value: Option<&'c Argument>,
    span: Span,
}

pub(super) const METHODS: &[NamedMethod] = &[
    any("pageRank", |compiler, call, calls, operators| {
        let program = Program::PageRank { damping: damping(call)?, times: PAGE_RANK_TIMES };
        let analysis = analysis(program, Direction::Out, PAGE_RANK_PROPERTY, operators);
        operators.push(compiler.analysis(analysis, call, calls)?);
        Ok(())
    }),
    any("peerPressure", |compiler, call, calls, operators| {
        let program = Program::PeerPressure { times: PEER_PRESSURE_TIMES };
        let analysis = analysis(program, Direction::Out, PEER_PRESSURE_PROPERTY, operators);
        operators.push(compiler.analysis(analysis, call, calls)?);
        Ok(())
    }),
    any("connectedComponent", |compiler, call, calls, operators| {
        let analysis = analysis(Program::ConnectedComponent, Direction::Both, COMPONENT_PROPERTY, operators);
        operators.push(compiler.analysis(analysis, call, calls)?);
        Ok(())
    }),
    one("shortestPath", |compiler, call, calls| {
        compiler.is_outermost(call)?;
        Ok(Operator::ShortestPaths(Box::new(compiler.shortest_paths(call, calls)?)))
    }),
];

/// `program` over all edges in this direction, unless `with()` says otherwise, behind `operators`.
fn analysis(program: Program, direction: Direction, property: &str, operators: &[Operator]) -> Analysis {
    Analysis {
        program,
        selection: all_over(direction),
        property: Name::from(property),
        from_traversers: !is_all(operators),
    }
}

impl Compiler {
    /// `analysis` as `with()` says.
    fn analysis(&mut self, mut analysis: Analysis, call: &Call, calls: &mut Calls<'_>) -> Compiled<Operator> {
        self.is_outermost(call)?;
        for setting in settings(call, calls)? {
            match (setting.name, &mut analysis.program) {
                ("edges", _) => analysis.selection.edges = self.edges_of(&setting)?,
                ("propertyName", _) => analysis.property = name(setting.value()?)?,
                ("times", Program::PageRank { times, .. } | Program::PeerPressure { times }) => {
                    let value = setting.value()?;
                    *times = u32::try_from(whole(value)?)
                        .map_err(|_| wrong(value.span, "times must be from 0 to 4,294,967,295"))?;
                }
                (_, Program::ConnectedComponent) => {
                    return Err(setting.unknown(call, &["edges", "propertyName"]));
                }
                _ => return Err(setting.unknown(call, &["edges", "propertyName", "times"])),
            }
        }
        Ok(Operator::Analysis(Box::new(analysis)))
    }

    fn shortest_paths(&mut self, call: &Call, calls: &mut Calls<'_>) -> Compiled<ShortestPaths> {
        let mut paths = ShortestPaths {
            selection: all_over(Direction::Both),
            target: Traversal::default(),
            distance: None,
            distance_max: None,
            includes_edges: false,
        };
        for setting in settings(call, calls)? {
            match setting.name {
                "edges" => match setting.value.map(|value| &value.kind) {
                    Some(ArgumentKind::Token(Token::Direction(direction))) => {
                        paths.selection = all_over(direction_of(*direction));
                    }
                    _ => paths.selection.edges = self.edges_of(&setting)?,
                },
                "target" => paths.target = self.saying(&setting, "which vertices paths may end at")?,
                "distance" => {
                    paths.distance = Some(match self.projection(setting.value()?)? {
                        By::Itself => return Err(wrong(setting.span, "distance is a key or a traversal")),
                        by => by,
                    });
                }
                "maxDistance" => {
                    let value = setting.value()?;
                    let max = item(value)?.as_value().and_then(Value::as_f64);
                    paths.distance_max =
                        Some(max.ok_or_else(|| wrong(value.span, "maxDistance must be a number"))?);
                }
                "includeEdges" => {
                    let includes =
                        setting.value.map_or(Ok(Some(true)), |value| Ok(item(value)?.as_bool()))?;
                    paths.includes_edges =
                        includes.ok_or_else(|| wrong(setting.span, "includeEdges is true or false"))?;
                }
                _ => {
                    let known = ["target", "edges", "distance", "maxDistance", "includeEdges"];
                    return Err(setting.unknown(call, &known));
                }
            }
        }
        Ok(paths)
    }

    /// The traversal that says over which edges a step goes.
    fn edges_of(&mut self, setting: &Setting<'_>) -> Compiled<Traversal> {
        self.saying(setting, "which edges to go over, such as outE('knows')")
    }

    fn saying(&mut self, setting: &Setting<'_>, says: &str) -> Compiled<Traversal> {
        let value = setting.value()?;
        let calls = as_traversal(value)
            .filter(|calls| !calls.is_empty())
            .ok_or_else(|| wrong(value.span, format!("{} is a traversal that says {says}", setting.name)))?;
        self.traversal(calls)
    }

    /// What an algorithm computes is for the whole query: it can't stand in a traversal within.
    fn is_outermost(&self, call: &Call) -> Compiled<()> {
        if self.depth == 1 {
            return Ok(());
        }
        Err(wrong(call.span, format!("{}() can't stand in a traversal within another", call.name)))
    }
}

/// The options that follow `call`.
fn settings<'c>(call: &Call, calls: &mut Calls<'c>) -> Compiled<Vec<Setting<'c>>> {
    let mut all = Vec::new();
    while let Some(with) = calls.next_if("with") {
        let [key, value @ ..] = with.arguments.as_slice() else {
            return Err(wrong(with.span, "with() needs an option"));
        };
        let name = match &key.kind {
            ArgumentKind::Token(
                token @ (Token::PageRank(_)
                | Token::PeerPressure(_)
                | Token::ConnectedComponent(_)
                | Token::ShortestPath(_)),
            ) => token.word(),
            // Drivers send the options by the names that they have in TinkerPop.
            kind => {
                let text =
                    kind.as_str().ok_or_else(|| wrong(key.span, "an option of the step is needed here"))?;
                let known = text.strip_prefix("~tinkerpop.").and_then(|text| text.split_once('.'));
                known.filter(|(step, _)| **step == *call.name).map_or(text, |(_, name)| name)
            }
        };
        all.push(Setting { name, value: value.first(), span: key.span });
    }
    Ok(all)
}

impl<'c> Setting<'c> {
    fn value(&self) -> Compiled<&'c Argument> {
        self.value.ok_or_else(|| wrong(self.span, format!("the option {} needs a value", self.name)))
    }

    fn unknown(&self, call: &Call, known: &[&str]) -> TextError {
        let hint = did_you_mean(self.name, known.iter().copied());
        let (step, name) = (&call.name, quoted(self.name));
        wrong(self.span, format!("{step}() has no option {name}{hint}; it has {}", known.join(", ")))
    }
}

fn damping(call: &Call) -> Compiled<f64> {
    let Some(argument) = call.arguments.first() else { return Ok(DAMPING) };
    let damping = item(argument)?.as_value().and_then(Value::as_f64);
    damping
        .filter(|damping| (0.0..=1.0).contains(damping))
        .ok_or_else(|| wrong(argument.span, "pageRank() takes a damping from 0 to 1"))
}

/// All vertices, with all their edges that way.
fn all_over(direction: Direction) -> Selection {
    let edges = Operator::Expand(Expand::new(direction, None, ExpandTo::Edges(None)));
    Selection {
        vertices: Traversal { operators: vec![Operator::Vertices(Scan::default())] },
        edges: Traversal { operators: vec![edges] },
    }
}

/// Whether one traverser is at each vertex of the graph behind `operators`: then none of them is special.
fn is_all(operators: &[Operator]) -> bool {
    let [Operator::Vertices(scan), rest @ ..] = operators else { return false };
    *scan == Scan::default() && rest.iter().all(|operator| matches!(operator, Operator::Analysis(_)))
}
