/*
 * Neo4j with its HTTP server, for `make bench-server`: java -cp 'JARS/*' Neo4jServer.java FOLDER PORT.
 *
 * Without log-ins, on 127.0.0.1; it says "ready" when it listens, and runs until it is ended.
 */

import java.nio.file.Path;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.HttpConnector;
import org.neo4j.configuration.connectors.HttpsConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.harness.Neo4j;
import org.neo4j.harness.Neo4jBuilders;

public final class Neo4jServer {
    private Neo4jServer() {}

    public static void main(String[] arguments) throws InterruptedException {
        Path folder = Path.of(arguments[0]);
        int port = Integer.parseInt(arguments[1]);
        Neo4j server = Neo4jBuilders.newInProcessBuilder(folder)
                .withConfig(GraphDatabaseSettings.auth_enabled, false)
                .withConfig(HttpConnector.enabled, true)
                .withConfig(HttpConnector.listen_address, new SocketAddress("127.0.0.1", port))
                .withConfig(HttpsConnector.enabled, false)
                .build();
        System.out.println("ready " + server.httpURI());
        Thread.currentThread().join();
    }
}
