//! Driver examples: how Gremlin drivers connect to a server, language by language, as tests run it.

use crate::command::service::serving::LogInUse;
use evergraph_server::databases::name::DEFAULT_ALIAS;
use std::fmt;

/// Lines that connect to a server and count its vertices, in each language that has a driver.
#[derive(Clone, Copy, Debug)]
pub struct DriverExamples<'a> {
    /// Where the server listens.
    pub url: &'a str,
    /// What drivers call the database.
    pub source: &'a str,
    /// Whether they log in.
    pub log_in: LogInUse,
}

impl fmt::Display for DriverExamples<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, source, log_in } = *self;
        let (scheme, rest) = url.split_once("://").unwrap_or(("ws", url));
        let authority = rest.trim_end_matches("/gremlin");
        let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "8182"));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let has_users = log_in == LogInUse::Needed;
        let pick = |text: &'static str| if has_users { text } else { "" };
        let python = pick(", username='USER', password='PASSWORD'");
        let java = pick(".credentials(\"USER\", \"PASSWORD\")");
        let mut javascript = Vec::new();
        let mut go = Vec::new();
        if source != DEFAULT_ALIAS {
            javascript.push(format!("traversalSource: '{source}'"));
            go.push(format!("settings.TraversalSource = \"{source}\""));
        }
        if has_users {
            javascript.push(
                "authenticator: new gremlin.driver.auth.PlainTextSaslAuthenticator('USER', 'PASSWORD')"
                    .to_owned(),
            );
            go.push("settings.AuthInfo = gremlingo.BasicAuthInfo(\"USER\", \"PASSWORD\")".to_owned());
        }
        let javascript = match javascript.is_empty() {
            true => String::new(),
            false => format!(", {{{}}}", javascript.join(", ")),
        };
        let go = match go.is_empty() {
            true => String::new(),
            false => format!(
                ", func(settings *gremlingo.DriverRemoteConnectionSettings) {{\n                {} }}",
                go.join("; ")
            ),
        };
        let java_tls = if scheme == "wss" { ".enableSsl(true)" } else { "" };
        writeln!(
            f,
            "
Python      pip install gremlinpython
            from gremlin_python.process.anonymous_traversal import traversal
            from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
            connection = DriverRemoteConnection('{url}', '{source}'{python})
            g = traversal().with_(connection)
            print(g.V().count().next())
            connection.close()

JavaScript  npm install gremlin
            const gremlin = require('gremlin')
            const connection = new gremlin.driver.DriverRemoteConnection('{url}'{javascript})
            const g = gremlin.process.AnonymousTraversalSource.traversal().with_(connection)
            g.V().count().next()
                .then(result => console.log(result.value))
                .finally(() => connection.close())

Java        org.apache.tinkerpop:gremlin-driver
            import static org.apache.tinkerpop.gremlin.process.traversal.AnonymousTraversalSource.traversal;
            import org.apache.tinkerpop.gremlin.driver.Cluster;
            import org.apache.tinkerpop.gremlin.driver.remote.DriverRemoteConnection;
            var cluster = Cluster.build(\"{host}\").port({port}){java}{java_tls}.create();
            var g = traversal().with(DriverRemoteConnection.using(cluster, \"{source}\"));
            System.out.println(g.V().count().next());
            cluster.close();

Go          go get github.com/apache/tinkerpop/gremlin-go/v3/driver
            import \"fmt\"
            import gremlingo \"github.com/apache/tinkerpop/gremlin-go/v3/driver\"
            connection, err := gremlingo.NewDriverRemoteConnection(\"{url}\"{go})
            if err != nil {{ panic(err) }}
            defer connection.Close()
            result, err := gremlingo.Traversal_().With(connection).V().Count().Next()
            if err != nil {{ panic(err) }}
            fmt.Println(result.GetInterface())"
        )
    }
}
