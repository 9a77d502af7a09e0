//! Support for the behaviour tests: data sets, models, builders.
