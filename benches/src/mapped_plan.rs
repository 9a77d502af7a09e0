//! Plan of the parts `mapped` and `mapped-engine`: which degrees, how large logs and databases are, and on which memory.

use clap::{Args, ValueEnum};

/// What is measured of the mapped engine.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum EnginePart {
    /// Edges a second by transactions of one and of a thousand edges.
    Transactions,
    /// Algorithms on a snapshot while some edges wait for their merge.
    Kernels,
    /// From the end of a process that was killed to the first answer.
    Openings,
    /// Other processes that read while one writes.
    Readers,
}

/// What is measured of stores of raw edges in mapped files.
#[derive(Clone, PartialEq, Debug)]
pub struct MappedPlan {
    /// Average degrees at which inserts are measured and what they write is counted.
    pub degrees: Vec<u32>,
    /// The degree of the graph that kernels read and that the logs' sizes are tried on.
    pub degree: u32,
    /// Threads that insert.
    pub writers: Vec<usize>,
    /// Sizes of section logs, in bytes.
    pub log_bytes: Vec<u32>,
    /// How many items of a body one record is for when a merge is due: 8 is an eighth of the body.
    pub items_a_record: Vec<usize>,
    /// Sizes of databases whose checkpoints are counted: how many times the plan's graph is loaded.
    pub checkpoint_loads: Vec<u32>,
    /// Sizes of databases that are opened after a kill: how many times the plan's graph is loaded.
    pub opening_loads: Vec<u32>,
    /// The same without the memory engine, for graphs that it has no memory for.
    pub opening_alone_loads: Vec<u32>,
    /// What of the engine.
    pub engine_parts: Vec<EnginePart>,
    /// Whether a file system will do that is not one of persistent memory.
    pub is_emulated: bool,
}

impl MappedPlan {
    /// The whole: many minutes at scale 18.
    #[must_use]
    pub fn full() -> Self {
        Self {
            degrees: vec![6, 16, 64],
            degree: 16,
            writers: vec![1, 2],
            log_bytes: vec![64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384],
            items_a_record: vec![64, 32, 16, 8, 4, 2],
            checkpoint_loads: vec![1, 16],
            opening_loads: vec![1, 16],
            opening_alone_loads: Vec::new(),
            engine_parts: EnginePart::value_variants().to_vec(),
            is_emulated: false,
        }
    }

    /// A second: whether it works, not how fast.
    #[must_use]
    pub fn smoke() -> Self {
        Self {
            degrees: vec![6, 16],
            log_bytes: vec![64, 2_048],
            items_a_record: vec![8, 2],
            checkpoint_loads: vec![1, 2],
            opening_loads: vec![1],
            opening_alone_loads: vec![2],
            is_emulated: true,
            ..Self::full()
        }
    }
}

/// What of the plan may be chosen.
#[derive(Args, Debug)]
#[command(next_help_heading = "The parts mapped and mapped-engine")]
pub struct MappedArguments {
    /// Takes a file system that is not one of persistent memory: every figure is then one of DRAM.
    #[arg(long)]
    emulate_dax: bool,
    /// Average degrees at which inserts are measured: 6,16,64.
    #[arg(long, value_delimiter = ',', value_name = "DEGREE")]
    mapped_degrees: Option<Vec<u32>>,
    /// How many threads insert at a time: 1,2. What an edge writes back is counted with one.
    #[arg(long, value_delimiter = ',', value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    mapped_writers: Option<Vec<u32>>,
    /// Sizes of section logs that are tried, in bytes, 32 to 16384: 64,128,256,512,1024,2048,4096,8192,16384.
    #[arg(long, value_delimiter = ',', value_name = "BYTES", value_parser = clap::value_parser!(u32).range(32..=16_384))]
    mapped_log_bytes: Option<Vec<u32>>,
    /// How many times the graph is loaded before the database is opened after a kill: 1,16. 25 are some 1 GB.
    #[arg(long, value_delimiter = ',', value_name = "LOADS")]
    mapped_opening_loads: Option<Vec<u32>>,
    /// The same without the memory engine, for graphs that it has no memory for: 500 are some 20 GB.
    #[arg(long, value_delimiter = ',', value_name = "LOADS")]
    mapped_opening_alone_loads: Option<Vec<u32>>,
    /// What is measured of the engine; all of it by default.
    #[arg(long, value_delimiter = ',', value_name = "PART")]
    mapped_engine_parts: Option<Vec<EnginePart>>,
}

impl MappedArguments {
    /// Changes what was chosen.
    pub fn apply_to(&self, plan: &mut MappedPlan) {
        plan.is_emulated |= self.emulate_dax;
        if let Some(degrees) = &self.mapped_degrees {
            plan.degrees.clone_from(degrees);
        }
        if let Some(writers) = &self.mapped_writers {
            plan.writers = writers.iter().map(|count| *count as usize).collect();
        }
        if let Some(sizes) = &self.mapped_log_bytes {
            plan.log_bytes.clone_from(sizes);
        }
        if let Some(loads) = &self.mapped_opening_loads {
            plan.opening_loads.clone_from(loads);
        }
        if let Some(loads) = &self.mapped_opening_alone_loads {
            plan.opening_alone_loads.clone_from(loads);
        }
        if let Some(parts) = &self.mapped_engine_parts {
            plan.engine_parts.clone_from(parts);
        }
    }
}
