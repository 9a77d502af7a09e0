//! Route: a method and a path of administration, and what it needs before its handler runs.

use crate::http::admin::answer::AdminResult;
use crate::http::admin::call::AdminCall;
use crate::security::role::Role;
use axum::routing::MethodFilter;
use std::pin::Pin;

/// What answers a request.
pub type Handler = fn(AdminCall) -> Handling;

/// A handler at work.
pub type Handling = Pin<Box<dyn Future<Output = AdminResult> + Send>>;

/// A method and a path.
pub struct AdminRoute {
    /// The method.
    pub method: AdminMethod,
    /// The path, with the names of its parts in braces.
    pub path: &'static str,
    /// Who may send it.
    pub need: Need,
    /// What it reads of a body.
    pub input: Input,
    /// What it changes, for the audit log, such as "create a database"; `None` if nothing.
    pub change: Option<&'static str>,
    /// What answers it.
    pub handler: Handler,
}

/// A method of HTTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdminMethod {
    /// It only reads.
    Get,
    /// It makes or replaces what the path names.
    Put,
    /// It does something.
    Post,
    /// It removes what the path names.
    Delete,
}

impl AdminMethod {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Put => "PUT",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }

    /// What the router looks at.
    #[must_use]
    pub const fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Put => MethodFilter::PUT,
            Self::Post => MethodFilter::POST,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// Who may send a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// Everybody who has logged in: the handler shows and changes nothing but what the user's roles allow.
    LogIn,
    /// Whoever has this role, or a greater one, on the database that the path names.
    OnDatabase(Role),
    /// An administrator of every database.
    OnEveryDatabase,
}

/// What is read of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// Nothing.
    Nothing,
    /// One JSON object, or nothing if all its members are optional.
    Document,
    /// The handler reads it as it comes.
    Stream,
}

/// A GET, which changes nothing.
pub const fn get(path: &'static str, need: Need, handler: Handler) -> AdminRoute {
    AdminRoute { method: AdminMethod::Get, path, need, input: Input::Nothing, change: None, handler }
}

/// A POST with a document, which changes nothing of the server.
pub const fn ask(path: &'static str, need: Need, handler: Handler) -> AdminRoute {
    AdminRoute { method: AdminMethod::Post, path, need, input: Input::Document, change: None, handler }
}

/// A POST with a document, which does `change`.
pub const fn post(path: &'static str, need: Need, change: &'static str, handler: Handler) -> AdminRoute {
    let (method, input) = (AdminMethod::Post, Input::Document);
    AdminRoute { method, path, need, input, change: Some(change), handler }
}

/// A PUT with a document, which does `change`.
pub const fn put(path: &'static str, need: Need, change: &'static str, handler: Handler) -> AdminRoute {
    let (method, input) = (AdminMethod::Put, Input::Document);
    AdminRoute { method, path, need, input, change: Some(change), handler }
}

/// A DELETE, which does `change`.
pub const fn delete(path: &'static str, need: Need, change: &'static str, handler: Handler) -> AdminRoute {
    let (method, input) = (AdminMethod::Delete, Input::Nothing);
    AdminRoute { method, path, need, input, change: Some(change), handler }
}

impl AdminRoute {
    /// The same with a body that the handler reads as it comes.
    #[must_use]
    pub const fn streaming(self) -> Self {
        Self { input: Input::Stream, ..self }
    }
}
