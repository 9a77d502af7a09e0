//! The one program: `evergraph`.

fn main() {}
