//! Administration by HTTP: databases and what belongs to them, for users with a role that allows it.
//!
//! ```text
//! router ──> dispatch ──> login ──> role ──> body ──> handler ──> answer
//!               │          └──────────┘                  │
//!            routes: the table           audit record, of a change
//! ```
//!
//! [`routes`](routes::ROUTES) says of each route which role it needs and whether it changes anything, and
//! [`dispatch`](dispatch::answer) does what that means for all of them: a handler neither can forget the role, nor the
//! audit record.

pub mod algorithms;
pub mod answer;
pub mod call;
pub mod databases;
pub mod dispatch;
pub mod document;
pub mod jobs;
pub mod plans;
pub mod queries;
pub mod route;
pub mod routes;
pub mod schema;
pub mod transactions;
pub mod uploads;
pub mod users;
