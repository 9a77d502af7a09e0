//! Algorithms: one a name, from parameters to an answer in columns.
//!
//! | answer | columns |
//! |---|---|
//! | scores, counts, distances | vertex, and a number |
//! | groups | vertex, and the number of its group: 0 for the largest, then 1 and so on |
//! | a neighbourhood, an order | vertex and its distance or place, in that order |
//! | rings of flows | the number of the ring, position, vertex, and the amount and time of the edge that leaves it |
//! | a path; cycles | vertex and its position, from 0; for cycles the number of the cycle before it |

mod answer;

use crate::algorithms::answer::{Answer, each, members};
use crate::arrow_out::TableBuilder;
use crate::error::{exception, invalid};
use crate::names::{ScopeNames, WeightName, direction, vertex, weight};
use crate::tables::{label_owners, numbers, vertex_column};
use crate::work::Watch;
use arrow_array::types::{Float64Type, UInt32Type};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt32Array, UInt64Array};
use evergraph::algorithms::betweenness::{BetweennessParameters, betweenness};
use evergraph::algorithms::bfs::{BfsParameters, bfs};
use evergraph::algorithms::cdlp::{CdlpParameters, cdlp};
use evergraph::algorithms::closeness::{ClosenessParameters, closeness};
use evergraph::algorithms::control::{Control, Progress};
use evergraph::algorithms::cycles::{CyclesParameters, cycles, through};
use evergraph::algorithms::eigenvector::{EigenvectorParameters, eigenvector};
use evergraph::algorithms::flow_rings::{FlowRingParameters, flow_rings};
use evergraph::algorithms::k_hop::{KHopParameters, k_hop};
use evergraph::algorithms::kcore::kcore;
use evergraph::algorithms::lcc::{LccParameters, lcc};
use evergraph::algorithms::louvain::{LouvainParameters, louvain};
use evergraph::algorithms::pagerank::{PageRankParameters, pagerank};
use evergraph::algorithms::scc::scc;
use evergraph::algorithms::scope::Scope;
use evergraph::algorithms::shortest_path::{ShortestPathParameters, shortest_path};
use evergraph::algorithms::sources::Sources;
use evergraph::algorithms::sssp::{SsspParameters, sssp};
use evergraph::algorithms::topological_order::{
    TopologicalOrder, TopologicalOrderParameters, topological_order,
};
use evergraph::algorithms::triangles::triangles;
use evergraph::algorithms::wcc::{WccParameters, wcc};
use evergraph::graph::topology::{Topology, Weight};
use evergraph::{Direction, Error, Freeze, GraphView, Result, Snapshot, VertexId};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// More vertices of a cycle than this are not worth reading.
const CYCLE_SHOWN: usize = 20;

/// An algorithm and what was chosen about it.
#[derive(Debug)]
pub enum Algorithm {
    /// Rank.
    PageRank(PageRankParameters),
    /// Shortest paths through each vertex.
    Betweenness(BetweennessParameters),
    /// Distances to all others.
    Closeness(ClosenessParameters),
    /// Importance of those that point here.
    Eigenvector(EigenvectorParameters, Option<WeightName>),
    /// Edges from a source.
    Bfs(VertexId, Direction),
    /// Weights from a source.
    Sssp(VertexId, SsspParameters, WeightName),
    /// One path.
    ShortestPath(VertexId, VertexId, Direction, f64, Option<WeightName>),
    /// A neighbourhood.
    KHop(Vec<VertexId>, KHopParameters),
    /// Weakly connected components.
    Wcc,
    /// Strongly connected components.
    Scc,
    /// Simple cycles.
    Cycles(CyclesParameters, Option<VertexId>),
    /// Rings of payments, with the properties that are amount and time.
    FlowRings(FlowRingParameters, WeightName, WeightName),
    /// An order along the edges.
    TopologicalOrder(Direction),
    /// Label propagation.
    Cdlp(CdlpParameters),
    /// Communities by modularity.
    Louvain(LouvainParameters, Option<WeightName>),
    /// Cores.
    KCore,
    /// Triangles.
    Triangles,
    /// Clustering coefficients.
    Lcc(LccParameters),
}

/// Parameters by name.
struct Given<'a, 'py>(&'a Bound<'py, PyDict>);

impl<'py> Given<'_, 'py> {
    fn take<T: FromPyObjectOwned<'py>>(&self, name: &str) -> PyResult<T> {
        let py = self.0.py();
        let Some(value) = self.0.get_item(name)? else {
            return Err(invalid(py, format!("the parameter {name} is missing")));
        };
        value.extract::<T>().map_err(Into::into).map_err(|error: PyErr| {
            if error.is_instance_of::<pyo3::exceptions::PyTypeError>(py)
                || error.is_instance_of::<pyo3::exceptions::PyOverflowError>(py)
            {
                return invalid(py, format!("{name}: {}", error.value(py)));
            }
            error
        })
    }

    fn direction(&self) -> PyResult<Direction> {
        direction(self.0.py(), &self.take::<String>("direction")?)
    }

    fn vertex(&self, name: &str) -> PyResult<VertexId> {
        vertex(self.0.py(), self.take(name)?)
    }

    fn sources(&self) -> PyResult<Sources> {
        let count: Option<u32> = self.take("sample")?;
        let seed = self.take("seed")?;
        Ok(count.map_or(Sources::All, |count| Sources::Sample { count, seed }))
    }
}

impl Algorithm {
    /// The algorithm `name` with `parameters`.
    ///
    /// # Errors
    /// `InvalidError` for a parameter of another type than it should be.
    pub fn chosen(py: Python<'_>, name: &str, parameters: &Bound<'_, PyDict>) -> PyResult<Self> {
        let given = Given(parameters);
        Ok(match name {
            "pagerank" => Self::PageRank(PageRankParameters {
                damping: given.take("damping")?,
                iterations: given.take("iterations")?,
                tolerance: given.take("tolerance")?,
                direction: given.direction()?,
                start: None,
            }),
            "betweenness" => Self::Betweenness(BetweennessParameters {
                sources: given.sources()?,
                direction: given.direction()?,
                normalized: given.take("normalized")?,
            }),
            "closeness" => Self::Closeness(ClosenessParameters {
                pivots: given.sources()?,
                direction: given.direction()?,
            }),
            "eigenvector" => {
                let parameters = EigenvectorParameters {
                    iterations: given.take("iterations")?,
                    tolerance: given.take("tolerance")?,
                    direction: given.direction()?,
                };
                Self::Eigenvector(parameters, given.take("weight")?)
            }
            "bfs" => Self::Bfs(given.vertex("source")?, given.direction()?),
            "sssp" => {
                let parameters =
                    SsspParameters { direction: given.direction()?, delta: given.take("delta")? };
                Self::Sssp(given.vertex("source")?, parameters, given.take("weight")?)
            }
            "shortest_path" => Self::ShortestPath(
                given.vertex("source")?,
                given.vertex("target")?,
                given.direction()?,
                given.take("length_max")?,
                given.take("weight")?,
            ),
            "k_hop" => {
                let sources: Vec<u64> = given.take("sources")?;
                let parameters = KHopParameters {
                    direction: given.direction()?,
                    depth: given.take("depth")?,
                    limit: given.take::<Option<usize>>("limit")?.unwrap_or(usize::MAX),
                };
                let sources =
                    sources.into_iter().map(|source| vertex(py, source)).collect::<PyResult<_>>()?;
                Self::KHop(sources, parameters)
            }
            "wcc" => Self::Wcc,
            "scc" => Self::Scc,
            "cycles" => {
                let parameters = CyclesParameters {
                    length_min: given.take("length_min")?,
                    length_max: given.take("length_max")?,
                    limit: given.take("limit")?,
                };
                let through: Option<u64> = given.take("through")?;
                Self::Cycles(parameters, through.map(|number| vertex(py, number)).transpose()?)
            }
            "flow_rings" => {
                let parameters = FlowRingParameters {
                    length_min: given.take("length_min")?,
                    length_max: given.take("length_max")?,
                    pause_max: given.take("pause_max")?,
                    kept_min: given.take("kept_min")?,
                    since: given.take("since")?,
                };
                let property = |name| Ok::<_, PyErr>(WeightName(given.take(name)?, None));
                Self::FlowRings(parameters, property("amount")?, property("time")?)
            }
            "topological_order" => Self::TopologicalOrder(given.direction()?),
            "cdlp" => Self::Cdlp(CdlpParameters { iterations: given.take("iterations")?, labels: None }),
            "louvain" => {
                let (resolution, tolerance) = (given.take("resolution")?, given.take("tolerance")?);
                Self::Louvain(LouvainParameters { resolution, tolerance }, given.take("weight")?)
            }
            "kcore" => Self::KCore,
            "triangles" => Self::Triangles,
            "lcc" => Self::Lcc(LccParameters { directed: given.take("directed")? }),
            _ => return Err(exception(py, "NotFoundError", &format!("no algorithm is called {name}"))),
        })
    }
}

/// What an algorithm is given.
struct Setting<'a> {
    snapshot: &'a Snapshot,
    scope: Scope,
    control: Control<'a>,
    watch: &'a Watch,
    freezing: Cell<Duration>,
    running: Cell<Duration>,
}

type Frozen = <Snapshot as Freeze>::Topology;

impl Setting<'_> {
    fn freeze(&self, direction: Direction, weight: Option<Weight>) -> Result<Frozen> {
        self.watch.tell("freeze", None, String::new);
        measured(&self.freezing, || self.scope.freeze(self.snapshot, direction, weight, &self.control))
    }

    /// Runs a kernel.
    fn timed<T>(&self, kernel: impl FnOnce() -> Result<T>) -> Result<T> {
        measured(&self.running, kernel)
    }

    fn weight(&self, named: Option<&WeightName>) -> Result<Option<Weight>> {
        weight(&self.snapshot.catalogue(), named)
    }
}

/// Does `work` and adds what it took to `spent`.
fn measured<T>(spent: &Cell<Duration>, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = work();
    spent.set(spent.get() + began.elapsed());
    done
}

/// Runs `algorithm` on the part of `snapshot` that `scope` names. `keys` is a property of vertices to put
/// beside them.
///
/// # Errors
/// `not_found` for names that there aren't; those of the algorithm.
pub fn run(
    snapshot: &Snapshot,
    algorithm: &Algorithm,
    scope: &ScopeNames,
    keys: &[String],
    watch: &Watch,
) -> Result<RecordBatch> {
    let catalogue = snapshot.catalogue();
    let progress = |now: Progress| watch.tell(now.phase, Some(now.fraction), String::new);
    let control = Control::new(snapshot.budget()).with_cancel(&watch.cancel).with_progress(&progress);
    let keys = keys
        .iter()
        .map(|name| Ok((name, crate::names::key(&catalogue, name)?)))
        .collect::<Result<Vec<_>>>()?;
    let setting = Setting {
        snapshot,
        scope: scope.scope(&catalogue)?,
        control,
        watch,
        freezing: Cell::default(),
        running: Cell::default(),
    };
    let Answer { before, vertices, after, notes } = answer(&setting, algorithm)?;
    let mut table = TableBuilder::default();
    before.into_iter().for_each(|(name, column)| table.push(name, column));
    table.push("vertex", numbers(&vertices));
    after.into_iter().for_each(|(name, column)| table.push(name, column));
    let owners = label_owners(&catalogue, &scope.labels)?;
    for (name, key) in keys {
        watch.tell("keys", None, || name.clone());
        table.push_column(name, &vertex_column(snapshot, &owners, &vertices, key, watch)?)?;
    }
    notes.into_iter().for_each(|(name, what)| table.note(name, what));
    for (name, spent) in [("freeze_seconds", &setting.freezing), ("kernel_seconds", &setting.running)] {
        table.note(name, spent.get().as_secs_f64());
    }
    table.finish()
}

fn answer(setting: &Setting<'_>, algorithm: &Algorithm) -> Result<Answer> {
    let control = &setting.control;
    let both = || setting.freeze(Direction::Both, None);
    Ok(match algorithm {
        Algorithm::PageRank(parameters) => {
            let topology = both()?;
            let found = setting.timed(|| pagerank(&topology, parameters, control))?;
            let answer = Answer::scores(topology.vertices(), "score", &found.scores);
            answer.note("iterations", found.iterations).note("converged", found.converged)
        }
        Algorithm::Betweenness(parameters) => {
            let topology = both()?;
            let found = setting.timed(|| betweenness(&topology, parameters, control))?;
            Answer::scores(topology.vertices(), "score", &found.scores).note("sources", found.sources)
        }
        Algorithm::Closeness(parameters) => {
            // Searches go from the others, against the way that is measured.
            let topology = setting.freeze(parameters.direction.reversed(), None)?;
            let found = setting.timed(|| closeness(&topology, parameters, control))?;
            Answer::scores(topology.vertices(), "score", &found.scores).note("sources", found.pivots)
        }
        Algorithm::Eigenvector(parameters, weight) => {
            // Importance is pulled: along the lists of those that it comes from.
            let topology =
                setting.freeze(parameters.direction.reversed(), setting.weight(weight.as_ref())?)?;
            let found = setting.timed(|| eigenvector(&topology, parameters, control))?;
            let answer = Answer::scores(topology.vertices(), "score", &found.scores);
            answer.note("iterations", found.iterations).note("converged", found.converged)
        }
        Algorithm::Bfs(source, direction) => {
            let topology = both()?;
            let parameters = BfsParameters { direction: *direction, ..BfsParameters::default() };
            let found = setting.timed(|| bfs(&topology, *source, &parameters, control))?;
            let answer =
                Answer::where_known::<UInt32Type>(topology.vertices(), "level", |vertex| found.level(vertex));
            answer.note("reached", found.reached())
        }
        Algorithm::Sssp(source, parameters, weight) => {
            let topology = setting.freeze(parameters.direction, setting.weight(Some(weight))?)?;
            let found = setting.timed(|| sssp(&topology, *source, parameters, control))?;
            let answer = Answer::where_known::<Float64Type>(topology.vertices(), "distance", |vertex| {
                found.distance(vertex)
            });
            answer.note("delta", found.delta)
        }
        Algorithm::ShortestPath(source, target, direction, length_max, weight) => {
            let weight = setting.weight(weight.as_ref())?;
            let parameters =
                ShortestPathParameters { direction: *direction, weight, length_max: *length_max };
            let (view, scope) = (setting.snapshot, &setting.scope);
            let found =
                setting.timed(|| shortest_path(view, scope, *source, *target, &parameters, control))?;
            let (vertices, lengths) = found.map(|path| (path.vertices, path.lengths)).unwrap_or_default();
            Answer::of(vertices, "length", Float64Array::from(lengths))
        }
        Algorithm::KHop(sources, parameters) => {
            let found =
                setting.timed(|| k_hop(setting.snapshot, &setting.scope, sources, parameters, control))?;
            let (vertices, distances): (Vec<_>, Vec<_>) = found.iter().unzip();
            Answer::of(vertices, "distance", UInt32Array::from(distances)).note("complete", found.complete)
        }
        Algorithm::Wcc => {
            let topology = both()?;
            let found = setting.timed(|| wcc(&topology, &WccParameters::default(), control))?;
            let labels = found.labels.as_slice();
            let answer = Answer::groups(topology.vertices(), "component", |vertex| labels[vertex as usize]);
            answer.note("components", found.components)
        }
        Algorithm::Scc => {
            let topology = both()?;
            let found = setting.timed(|| scc(&topology, control))?;
            let labels = found.labels.as_slice();
            let answer = Answer::groups(topology.vertices(), "component", |vertex| labels[vertex as usize]);
            answer.note("components", found.components)
        }
        Algorithm::Cycles(parameters, root) => {
            let found = match root {
                Some(root) => {
                    setting.timed(|| through(setting.snapshot, &setting.scope, *root, parameters, control))?
                }
                None => {
                    let topology = both()?;
                    setting.timed(|| cycles(&topology, parameters, control))?
                }
            };
            let (mut which, mut positions, mut vertices) = (Vec::new(), Vec::new(), Vec::new());
            for (number, cycle) in found.iter().enumerate() {
                for (position, vertex) in (0_u32..).zip(cycle) {
                    which.push(number as u64);
                    positions.push(position);
                    vertices.push(VertexId(*vertex));
                }
            }
            let before: Vec<(&'static str, ArrayRef)> = vec![
                ("cycle", Arc::new(UInt64Array::from(which))),
                ("position", Arc::new(UInt32Array::from(positions))),
            ];
            Answer { before, vertices, ..Answer::default() }.note("complete", found.is_complete())
        }
        Algorithm::FlowRings(parameters, amount, time) => {
            let frozen = |name| setting.freeze(Direction::Out, setting.weight(Some(name))?);
            let (amount, time) = (frozen(amount)?, frozen(time)?);
            let found = setting.timed(|| flow_rings(&amount, &time, parameters, control))?;
            let (mut which, mut positions, mut vertices) = (Vec::new(), Vec::new(), Vec::new());
            let (mut amounts, mut times) = (Vec::new(), Vec::new());
            for (number, ring) in (0_u64..).zip(found) {
                let length = ring.vertices.len() as u32;
                which.extend((0..length).map(|_| number));
                positions.extend(0..length);
                vertices.extend(ring.vertices.into_iter().map(VertexId));
                amounts.extend(ring.amounts);
                times.extend(ring.times);
            }
            let before: Vec<(&'static str, ArrayRef)> = vec![
                ("ring", Arc::new(UInt64Array::from(which))),
                ("position", Arc::new(UInt32Array::from(positions))),
            ];
            let after: Vec<(&'static str, ArrayRef)> = vec![
                ("amount", Arc::new(Float64Array::from(amounts))),
                ("time", Arc::new(Float64Array::from(times))),
            ];
            Answer { before, vertices, after, ..Answer::default() }
        }
        Algorithm::TopologicalOrder(direction) => {
            let topology = setting.freeze(*direction, None)?;
            let parameters = TopologicalOrderParameters { direction: *direction };
            match setting.timed(|| topological_order(&topology, &parameters, control))? {
                TopologicalOrder::Order(order) => {
                    let places: Vec<u64> = (0..order.len() as u64).collect();
                    Answer::of(order.into_iter().map(VertexId).collect(), "place", UInt64Array::from(places))
                }
                TopologicalOrder::Cycle(cycle) => return Err(no_order(&cycle)),
            }
        }
        Algorithm::Cdlp(parameters) => {
            let topology = both()?;
            let found = setting.timed(|| cdlp(&topology, parameters, control))?;
            // Labels begin as numbers of vertices, so each is one.
            let group = |vertex| found.labels()[vertex as usize] as u32;
            let answer = Answer::groups(topology.vertices(), "community", group);
            answer.note("communities", found.communities()).note("iterations", found.iterations())
        }
        Algorithm::Louvain(parameters, weight) => {
            let topology = setting.freeze(Direction::Both, setting.weight(weight.as_ref())?)?;
            let found = setting.timed(|| louvain(&topology, parameters, control))?;
            let labels = found.labels.as_slice();
            let answer = Answer::groups(topology.vertices(), "community", |vertex| labels[vertex as usize]);
            answer.note("communities", found.communities).note("modularity", found.modularity)
        }
        Algorithm::KCore => {
            let topology = both()?;
            let found = setting.timed(|| kcore(&topology, control))?;
            let members = members(topology.vertices());
            let cores = each(&members, |vertex| found.cores()[vertex as usize]);
            let answer = Answer::of(members, "core", UInt32Array::from(cores));
            answer.note("degeneracy", found.degeneracy())
        }
        Algorithm::Triangles => {
            let topology = both()?;
            let found = setting.timed(|| triangles(&topology, control))?;
            let members = members(topology.vertices());
            let counts = each(&members, |vertex| found.counts()[vertex as usize]);
            let answer = Answer::of(members, "triangles", UInt64Array::from(counts));
            answer.note("triangles", found.total())
        }
        Algorithm::Lcc(parameters) => {
            let topology = both()?;
            let found = setting.timed(|| lcc(&topology, parameters, control))?;
            let answer = Answer::scores(topology.vertices(), "coefficient", &found.coefficients);
            answer.note("mean", found.mean)
        }
    })
}

/// Why there is no order.
fn no_order(cycle: &[u32]) -> Error {
    let mut steps: Vec<String> = cycle.iter().take(CYCLE_SHOWN).map(u32::to_string).collect();
    if cycle.len() > CYCLE_SHOWN {
        steps.push(format!("{} more", cycle.len() - CYCLE_SHOWN));
    }
    steps.push(cycle.first().map(u32::to_string).unwrap_or_default());
    Error::invalid(format!("there is no order: the edges form a cycle of vertices, {}", steps.join(" -> ")))
}
