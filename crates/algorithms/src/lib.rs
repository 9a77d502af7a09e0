//! Graph algorithms on any live or static graph.
