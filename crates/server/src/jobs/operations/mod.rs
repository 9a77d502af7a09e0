//! Operations: what each kind of job does, by those of `evergraph`.

pub mod copying;
pub mod importing;
pub mod upkeep;
