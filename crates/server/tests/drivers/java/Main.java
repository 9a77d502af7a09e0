// Checks a server with gremlin-driver, as its users query it: `java Main URL [PASSWORD ROOT]`.
//
// Each entry of a list `CHECKS` is one check, run in both formats; the last line says how many passed. With a
// password the checks of log-ins are run: the server has the users reader, writer and nobody, all with this password,
// and its certificate is signed by ROOT, a file in PEM. The program that runs this restarts the server at the line
// "restart", waits until nothing runs there at the line "idle", adds a vertex with a date and a period at the line
// "sample", and writes a line when that is done.

import java.net.URI;
import java.util.List;

public final class Main extends Support {
    static <C> int run(List<Named<C>> checks, C context, Format format) {
        for (var named : checks) {
            long began = System.nanoTime();
            try {
                named.check().run(context);
            } catch (Throwable error) {
                System.err.println(named.name() + " failed in " + format);
                error.printStackTrace();
                System.exit(1);
            }
            System.out.println(named.name() + ": " + (System.nanoTime() - began) / 1_000_000 + " ms");
        }
        return checks.size();
    }

    public static void main(String[] arguments) throws Exception {
        boolean isSecured = arguments.length > 1;
        int passed = 0;
        for (Format format : Format.values()) {
            String password = isSecured ? arguments[1] : null;
            Site site = new Site(new URI(arguments[0]), format, password, isSecured ? arguments[2] : null);
            if (isSecured) {
                passed += run(Logins.CHECKS, site, format);
                continue;
            }
            // By default the driver replaces a connection on which all requests are in process, and sometimes closes it while another
            // of its threads takes it: of a thousand requests at once one fails then, on a machine that is busy.
            try (Context context = connect(site, options -> options.minInProcessPerConnection(0))) {
                for (var checks : List.of(Values.CHECKS, Elements.CHECKS, Requests.CHECKS, Rows.CHECKS, Connections.CHECKS))
                    passed += run(checks, context, format);
            }
        }
        System.out.println(passed + " passed");
        System.exit(0);
    }
}
