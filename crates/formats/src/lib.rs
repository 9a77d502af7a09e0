//! Formats: files that hold vertices and edges in one stream, read and written element by element.
