//! Tests of files: answers against a naive model, and damage.
