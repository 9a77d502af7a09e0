//! Routes: the table of all requests to administer, as docs/guide/server.md lists them.

use crate::http::admin::route::Need::{LogIn, OnDatabase, OnEveryDatabase};
use crate::http::admin::route::{AdminRoute, ask, delete, get, post, put};
use crate::http::admin::{algorithms, databases, jobs, plans, queries, schema, transactions, uploads, users};
use crate::security::role::Role::{Admin, Reader, Writer};

/// All of them. The parts of a path in braces are handed to the handler; `{database}` is the one whose role counts.
pub const ROUTES: &[AdminRoute] = &[
    // Databases.
    get("/databases", LogIn, |call| Box::pin(databases::list(call))),
    get("/databases/{database}", OnDatabase(Reader), |call| Box::pin(databases::describe(call))),
    put("/databases/{database}", OnEveryDatabase, "create a database", |call| {
        Box::pin(databases::create(call))
    }),
    delete("/databases/{database}", OnEveryDatabase, "drop a database", |call| {
        Box::pin(databases::drop_database(call))
    }),
    post("/databases/{database}/open", OnDatabase(Admin), "open a database", |call| {
        Box::pin(databases::open(call))
    }),
    post("/databases/{database}/close", OnDatabase(Admin), "close a database", |call| {
        Box::pin(databases::close(call))
    }),
    // What is in one.
    get("/databases/{database}/statistics", OnDatabase(Reader), |call| Box::pin(databases::statistics(call))),
    get("/databases/{database}/replica", OnDatabase(Admin), |call| Box::pin(databases::replica(call))),
    get("/databases/{database}/cluster", OnDatabase(Admin), |call| Box::pin(databases::cluster(call))),
    get("/databases/{database}/schema", OnDatabase(Reader), |call| Box::pin(schema::describe(call))),
    get("/databases/{database}/indexes", OnDatabase(Reader), |call| Box::pin(schema::list_indexes(call))),
    post("/databases/{database}/indexes", OnDatabase(Admin), "create an index", |call| {
        Box::pin(schema::create_index(call))
    }),
    delete(
        "/databases/{database}/indexes/{of}/{owner}/{key}/{kind}",
        OnDatabase(Admin),
        "drop an index",
        |call| Box::pin(schema::drop_index(call)),
    ),
    post("/databases/{database}/settle", OnDatabase(Writer), "settle a transaction", |call| {
        Box::pin(transactions::settle(call))
    }),
    // Queries.
    ask("/databases/{database}/explain", OnDatabase(Reader), |call| Box::pin(plans::explain(call))),
    ask("/databases/{database}/profile", OnDatabase(Reader), |call| Box::pin(plans::profile(call))),
    get("/queries", LogIn, |call| Box::pin(queries::list(call))),
    delete("/queries/{query}", LogIn, "cancel a query", |call| Box::pin(queries::cancel(call))),
    // Users.
    get("/users", OnEveryDatabase, |call| Box::pin(users::list(call))),
    put("/users/{user}", OnEveryDatabase, "add a user or change a password", |call| {
        Box::pin(users::put(call))
    }),
    delete("/users/{user}", OnEveryDatabase, "remove a user", |call| Box::pin(users::remove(call))),
    put("/users/{user}/roles/{on}", OnEveryDatabase, "grant a role", |call| Box::pin(users::grant(call))),
    delete("/users/{user}/roles/{on}", OnEveryDatabase, "revoke a role", |call| {
        Box::pin(users::revoke(call))
    }),
    put("/password", LogIn, "change one's own password", |call| Box::pin(users::put_own_password(call))),
    // Algorithms.
    get("/algorithms", LogIn, |call| Box::pin(algorithms::list(call))),
    ask("/databases/{database}/algorithms/{algorithm}", OnDatabase(Reader), |call| {
        Box::pin(algorithms::run(call))
    }),
    // Jobs.
    post("/databases/{database}/jobs", OnDatabase(Admin), "start a job", |call| Box::pin(jobs::start(call))),
    get("/jobs", LogIn, |call| Box::pin(jobs::list(call))),
    get("/jobs/{job}", LogIn, |call| Box::pin(jobs::describe(call))),
    delete("/jobs/{job}", LogIn, "cancel a job", |call| Box::pin(jobs::cancel(call))),
    get("/jobs/{job}/files", LogIn, |call| Box::pin(jobs::list_files(call))),
    delete("/jobs/{job}/files", LogIn, "remove the files of a job", |call| {
        Box::pin(jobs::delete_files(call))
    }),
    get("/jobs/{job}/files/{*file}", LogIn, |call| Box::pin(jobs::get_file(call))),
    // Uploads.
    post("/databases/{database}/uploads", OnDatabase(Admin), "begin an upload", |call| {
        Box::pin(uploads::create(call))
    }),
    put("/uploads/{upload}/{file}", LogIn, "upload a file", |call| Box::pin(uploads::put_file(call)))
        .streaming(),
    delete("/uploads/{upload}", LogIn, "remove an upload", |call| Box::pin(uploads::delete(call))),
];
