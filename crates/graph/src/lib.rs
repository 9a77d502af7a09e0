//! The words of a property graph, and the contract of every reader and writer.
