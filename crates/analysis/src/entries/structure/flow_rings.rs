//! Flow rings: their entry.

use crate::algorithm::{Algorithm, Cost, Group, Order, Reads, Stops};
use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::{Column, ColumnDescription, ColumnKind, ColumnValues, POSITION, VERTEX};
use crate::input::Input;
use crate::parameter::{DefaultValue, Parameter};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::flow_rings::{FlowRingParameters, flow_rings};
use evergraph_algorithms::range::RealRange;
use evergraph_graph::count::counted;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};

pub static FLOW_RINGS: Algorithm = Algorithm {
    name: "flow_rings",
    group: Group::ComponentsAndOrder,
    summary: "Cycles of payments that pass on about the same amount within a short time.",
    details: "\
Each ring begins at the source of its earliest edge. `amount` and `time` of a row are those of the
edge that leaves its vertex.",
    example: "bank.eg flow-rings --amount amount_cents --time time_ms --pause-max 10800000",
    parameters: &[
        Parameter::edge_property("amount", DefaultValue::Required)
            .means("The edge property that is the amount: a number."),
        Parameter::edge_property("time", DefaultValue::Required)
            .means("The edge property that is the time: a number."),
        Parameter {
            default: DefaultValue::Required,
            ..Parameter::real("pause_max", "T", RealRange::FromZero, 0.0)
        }
        .means("The longest time from one edge to the next, in the unit of the time."),
        Parameter::whole("length_min", "L", 2, DefaultValue::Whole(3)).most(16).means("The fewest edges."),
        Parameter::whole("length_max", "L", 2, DefaultValue::Whole(6)).most(16).means("The most edges."),
        Parameter::real("kept_min", "SHARE", RealRange::AboveZeroUpToOne, 0.96)
            .means("The least share of an amount that is passed on."),
        Parameter::real("since", "T", RealRange::Any, f64::NEG_INFINITY)
            .means("Only edges at or after this time."),
    ],
    reads: Reads::SourceToTarget,
    columns: &[
        ColumnDescription::new("ring", ColumnKind::U64),
        POSITION,
        VERTEX,
        ColumnDescription::new("amount", ColumnKind::F64),
        ColumnDescription::new("time", ColumnKind::F64),
    ],
    order: Order::Cycles,
    figures: &["rings"],
    cost: Cost {
        time: "*E*, if few payments follow each other closely",
        memory: "24 B · *E* + 4 B · *V*",
        memory_bytes: Some(|of| 24 * of.edges + 4 * of.vertices),
    },
    stops: Stops::Soon,
    kernel: run,
};

pub fn parameters(arguments: &Arguments) -> FlowRingParameters {
    FlowRingParameters {
        length_min: arguments.whole("length_min"),
        length_max: arguments.whole("length_max"),
        pause_max: arguments.real("pause_max"),
        kept_min: arguments.real("kept_min"),
        since: arguments.real("since"),
    }
}

fn run(input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
    let frozen = |name| {
        let weight = input.weight(arguments.property(name), None)?;
        input.lists(Direction::Out, weight, control)
    };
    let (amount, time) = (frozen("amount")?, frozen("time")?);
    let found = input.timed(|| flow_rings(&amount, &time, &parameters(arguments), control))?;
    let rings = found.len();
    let (mut numbers, mut positions, mut vertices) = (Vec::new(), Vec::new(), Vec::new());
    let (mut amounts, mut times) = (Vec::new(), Vec::new());
    for (number, ring) in (0_u64..).zip(found) {
        numbers.extend(ring.vertices.iter().map(|_| number));
        positions.extend(0..ring.vertices.len() as u32);
        vertices.extend(ring.vertices.into_iter().map(VertexId));
        amounts.extend(ring.amounts);
        times.extend(ring.times);
    }
    let columns = [
        ColumnValues::U64(numbers),
        ColumnValues::U32(positions),
        ColumnValues::F64(amounts),
        ColumnValues::F64(times),
    ];
    Ok(Answer::listed(vertices, columns.map(Column::new).into()).figure("rings", rings).summary(counted(
        rings as u64,
        "ring",
        "rings",
    )))
}
