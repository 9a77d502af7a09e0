//! Values: what traversers carry, how it is compared, and what functions do with it.

pub mod item;
pub mod map;
pub mod number;
pub mod relation;
pub mod tree;
