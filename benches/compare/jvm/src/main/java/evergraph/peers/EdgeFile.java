package evergraph.peers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.file.Files;
import java.nio.file.Path;

/** A list of edges: pairs of four-byte numbers, little-endian, source and target. */
final class EdgeFile {
    private final IntBuffer ends;

    EdgeFile(Path path) throws IOException {
        this.ends = numbers(path);
    }

    int count() {
        return ends.limit() / 2;
    }

    int source(int edge) {
        return ends.get(2 * edge);
    }

    int target(int edge) {
        return ends.get(2 * edge + 1);
    }

    /** All numbers of a file of four-byte ones. */
    static IntBuffer numbers(Path path) throws IOException {
        return ByteBuffer.wrap(Files.readAllBytes(path)).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
    }

    /** Writes {@code numbers} as such a file. */
    static void write(Path path, int[] numbers) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(4 * numbers.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asIntBuffer().put(numbers);
        Files.write(path, bytes.array());
    }

    /** Writes {@code numbers} as a file of eight-byte floating-point ones. */
    static void write(Path path, double[] numbers) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(8 * numbers.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asDoubleBuffer().put(numbers);
        Files.write(path, bytes.array());
    }
}
