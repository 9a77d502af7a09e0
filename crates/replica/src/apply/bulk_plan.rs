//! `BulkPlan`: a plan, and in which order its tables become a load. It outlives the loads that it is for.

use crate::copy::missing_ends::MissingEnds;
use crate::copy::passes::CopyPass;
use crate::mapping::plan::Plan;
use std::sync::Arc;

/// A plan, and in which order its tables become a load.
#[derive(Debug)]
pub struct BulkPlan {
    pub(super) plan: Arc<Plan>,
    pub(super) pass: CopyPass,
}

impl BulkPlan {
    /// Loads of the rows of `plan`.
    #[must_use]
    pub fn new(plan: Arc<Plan>) -> Self {
        let pass = CopyPass::of_all(&plan, MissingEnds::Kept);
        Self { plan, pass }
    }
}
