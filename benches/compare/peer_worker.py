"""A child that runs another library's algorithms on request, so that its crash is no crash of ours.

    python peer_worker.py LIBRARY FOLDER

A request is a line of JSON on standard input: comparison, variant, threads, graph, vertices, source,
target, and a file for the answer or none. The reply is a line too: seconds, and what the whole call spent
(`wall` and `cpu`); or what went wrong. Graphs are read from FOLDER/NAME.npy once; the last one asked for is kept,
and made anew if the request has `anew`. `build` in the reply is how long that took, without reading the file.
"""

import importlib
import json
import os
import sys
import time
from pathlib import Path

import numpy


def serve(library, folder, requests, replies):
    """Answers requests until there are no more."""
    runs = importlib.import_module(f"{library}_runs")
    name, graph, build = None, None, None
    for line in requests:
        request = json.loads(line)
        try:
            runs.threads(request["threads"])
            if name != request["graph"] or request.get("anew"):
                name, graph = request["graph"], None
                columns = numpy.load(folder / f"{name}.npy")
                began = time.perf_counter()
                graph = runs.graph(name, request["vertices"], columns)
                build = time.perf_counter() - began
            run = runs.RUNS[request["comparison"]][request["variant"]]
            began, worked = time.perf_counter(), time.process_time()
            seconds, answer = run(graph, source=request["source"], target=request["target"])
            spent = {"wall": time.perf_counter() - began, "cpu": time.process_time() - worked}
            saved = request["answer"] is not None and answer is not None
            if saved:
                numpy.save(request["answer"], answer())
            reply = {"seconds": seconds, "answered": saved, "spent": spent, "build": build}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    # Libraries that print would break the replies: they get standard error instead.
    with os.fdopen(os.dup(1), "w") as replies:
        os.dup2(2, 1)
        sys.path.insert(0, str(Path(__file__).parent))
        serve(sys.argv[1], Path(sys.argv[2]), sys.stdin, replies)
