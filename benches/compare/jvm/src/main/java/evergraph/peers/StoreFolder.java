package evergraph.peers;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** Where an engine on disk keeps its files. */
record StoreFolder(Path path) {
    /** How many bytes the files below {@code part} have. */
    long bytes(String part) throws IOException {
        try (Stream<Path> files = Files.walk(path.resolve(part))) {
            return files.filter(Files::isRegularFile).mapToLong(file -> file.toFile().length()).sum();
        }
    }

    /** Deletes it with all that is in it, if it is there. */
    void delete() throws IOException {
        if (Files.exists(path)) {
            try (Stream<Path> files = Files.walk(path)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        }
    }
}
