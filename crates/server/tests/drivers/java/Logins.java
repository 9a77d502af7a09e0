// Log-ins by TLS, with the right password and wrong ones, and roles.

import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.File;
import java.util.List;
import org.apache.tinkerpop.gremlin.driver.exception.NoHostAvailableException;
import org.apache.tinkerpop.gremlin.driver.exception.ResponseException;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;

final class Logins extends Support {
    static final List<Named<Site>> CHECKS = List.of(
        new Named<>("a writer writes and a reader reads", Logins::roles),
        new Named<>("transactions log in on connections of their own", Logins::transactions),
        new Named<>("a pool logs in each connection", Logins::pool),
        new Named<>("wrong log-ins are refused", Logins::wrongLogIns),
        new Named<>("a server of another root is not trusted", Logins::anotherRoot));

    static SslContext tls(Site site) throws Exception {
        return SslContextBuilder.forClient().trustManager(new File(site.root())).build();
    }

    static Context connect(Site site, String user, String password) throws Exception {
        SslContext tls = tls(site);
        return connect(site, options -> options.enableSsl(true).sslContext(tls).credentials(user, password));
    }

    static void roles(Site site) throws Exception {
        try (Context writer = connect(site, "writer", site.password());
                Context reader = connect(site, "reader", site.password())) {
            writer.g().addV("person").property("name", "ann").iterate();
            same(reader.g().V().values("name").toList(), List.of("ann"));
            ResponseException error = refused(403, () -> reader.g().addV("person").iterate());
            that(error.getMessage().contains("reader"), error);
            refused(403, () -> ask(reader.client(), "g.addV('person')"));
            // The connections can be used as before.
            same(reader.g().V().count().next(), 1L);
            same(ask(reader.client(), "g.V().count()"), 1L);
            clear(writer.g());
        }
    }

    static void transactions(Site site) throws Exception {
        try (Context writer = connect(site, "writer", site.password());
                Context reader = connect(site, "reader", site.password())) {
            for (int round = 0; round < 5; round++) {
                var tx = writer.g().tx();
                GraphTraversalSource within = tx.begin();
                within.addV("person").iterate();
                tx.commit();
            }
            same(writer.g().V().count().next(), 5L);
            var tx = reader.g().tx();
            GraphTraversalSource within = tx.begin();
            same(within.V().count().next(), 5L);
            refused(403, () -> within.addV("person").iterate());
            tx.rollback();
            clear(writer.g());
        }
    }

    // As in Main: no connection is replaced while it is used.
    static void pool(Site site) throws Exception {
        SslContext tls = tls(site);
        try (Context reader = connect(site, options -> options.enableSsl(true).sslContext(tls)
                .credentials("reader", site.password()).minConnectionPoolSize(4).maxConnectionPoolSize(4)
                .minInProcessPerConnection(0))) {
            Requests.manyAtOnce(reader);
        }
    }

    static void wrongLogIns(Site site) throws Exception {
        for (var login : List.of(List.of("writer", "wrong horse"), List.of("stranger", site.password()))) {
            try (Context wrong = connect(site, login.get(0), login.get(1))) {
                refused(401, () -> wrong.g().V().toList());
                refused(401, () -> ask(wrong.client(), "g.V().count()"));
                var tx = wrong.g().tx();
                GraphTraversalSource within = tx.begin();
                refused(401, () -> within.addV("person").iterate());
            }
        }
        try (Context nobody = connect(site, "nobody", site.password())) {
            ResponseException error = refused(403, () -> nobody.g().V().toList());
            that(error.getMessage().contains("no role"), error);
        }
    }

    static void anotherRoot(Site site) throws Exception {
        SslContext tls = SslContextBuilder.forClient().build();
        try (Context context = connect(site, options -> options.enableSsl(true).sslContext(tls)
                .credentials("writer", site.password()).maxWaitForConnection(2000))) {
            context.g().V().toList();
        } catch (Exception error) {
            for (Throwable cause = error; cause != null; cause = cause.getCause())
                if (cause instanceof NoHostAvailableException
                        || String.valueOf(cause.getMessage()).contains("certification path")) return;
            throw error;
        }
        throw new AssertionError("a certificate of an unknown root was accepted");
    }
}
