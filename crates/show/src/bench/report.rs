//! Report: all that a benchmark measured, told to people part by part and to programs at its end.

use crate::bench::section::Section;
use evergraph_measure::machine::Machine;
use evergraph_terminal::console::Console;
use evergraph_terminal::failure::Failure;
use serde::Serialize;
use std::fmt;

/// Everything that was measured by a plan `P`.
#[derive(Debug, Serialize)]
pub struct BenchReport<P> {
    /// On what.
    pub machine: Machine,
    /// What would make every figure lie.
    pub warnings: Vec<String>,
    /// How much.
    pub plan: P,
    /// The figures.
    pub sections: Vec<Section>,
}

impl<P> BenchReport<P> {
    /// Begins one, and tells the machine and what is wrong with it.
    ///
    /// # Errors
    /// What the terminal refuses.
    pub fn begin(plan: P, console: &Console) -> Result<Self, Failure> {
        let machine = Machine::now();
        let warnings = machine.warnings();
        if !console.is_json() {
            console.result(&machine)?;
        }
        warnings.iter().for_each(|warning| console.note(format_args!("warning: {warning}\n")));
        Ok(Self { machine, warnings, plan, sections: Vec::new() })
    }

    /// Keeps `section`, which people read as `told`.
    ///
    /// # Errors
    /// What the terminal refuses.
    pub fn add(
        &mut self,
        section: Section,
        told: &(impl Serialize + fmt::Display),
        console: &Console,
    ) -> Result<(), Failure> {
        if !console.is_json() {
            console.result(told)?;
        }
        self.sections.push(section);
        Ok(())
    }
}

impl<P> fmt::Display for BenchReport<P> {
    /// Nothing: for people, sections were told when they were done.
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}
