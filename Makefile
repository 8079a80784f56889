# Rollcall's commands; `make` alone lists them. Set-up happens once, by itself, where a target needs it.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# The Python that makes .venv: the first of these on the PATH that is new enough. PYTHON=... names another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null && $$p -m jobs.preflight python >/dev/null 2>&1 && echo $$p && exit; done; echo python3)
BIN := .venv/bin
SOURCES := $(wildcard programs schemas coordinator_udfs clients tables table_client simulation request_log offsets_topic whatif views why pictures gateway page jobs benchmarks tests)
PEERS := $(wildcard tests/peers_*)
# Two workers, one of which has the one Spark session; tests/conftest.py says what a worker runs as a whole.
# What takes long, or needs more than Python and Java, is a target of its own.
RUNS_OF_THEIR_OWN := --ignore=tests/browser --ignore=tests/engines --ignore=tests/cluster --ignore=tests/notebooks \
	--ignore=tests/upgrade
SIDE_BY_SIDE := -n 2 --no-loadscope-reorder

##@ Start here

.PHONY: help
help: ## List what can be done (this list).
	@awk 'BEGIN { FS = ":.*## "; print "Usage: make TARGET [NAME=value ...]" } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: .venv/.set-up ## Make .venv with every package at its pinned version (Python 3.11 or newer, and a network).

LOCKS := locks/build.txt locks/run.txt locks/dev.txt
PIP_INSTALL := $(BIN)/python -m pip --require-virtualenv --disable-pip-version-check --no-input install --no-compile
LOCKED := --require-hashes --no-build-isolation

.venv/.set-up: pyproject.toml $(LOCKS)
	@command -v $(PYTHON) >/dev/null || { echo "rollcall: no $(PYTHON) on the PATH: install Python 3.11 or newer." >&2; exit 2; }
	@$(PYTHON) -m jobs.preflight python
	@{ test -f .venv/pyvenv.cfg && $(BIN)/python -m jobs.preflight python && $(BIN)/python -m pip --version; } >/dev/null 2>&1 \
	  || $(PYTHON) -m venv --clear .venv
	@echo "The packages take a minute or two and 1.6 GB."
	@$(PYTHON) -m jobs.preflight run "Setting up what builds packages" -- $(PIP_INSTALL) $(LOCKED) -r locks/build.txt
	@$(PYTHON) -m jobs.preflight run "Setting up .venv" -- $(PIP_INSTALL) $(LOCKED) -r locks/dev.txt
	@$(PYTHON) -m jobs.preflight run "Setting up the command" -- $(PIP_INSTALL) --no-build-isolation --no-deps -e .
	@touch $@

.PHONY: jars
jars: setup ## Check Java (17 or newer) and resolve the Delta JARs once into .jars (a network).
	@$(BIN)/python -m jobs.spark.jars
	@$(BIN)/python -m jobs.spark.archive

# A target's variables reach the command by the environment, so that quotes, blanks and dollars in them stay as they are.
ROLLCALL := $(BIN)/python -m jobs.rollcall
PLACES = $${CONF:+--conf "$$CONF"} $${LISTEN:+--listen "$$LISTEN"} $${TOPICS:+--topics "$$TOPICS"} \
  $${UPSTREAM:+--upstream "$$UPSTREAM"} $${METRICS:+--metrics "$$METRICS"}
MOMENT = $${AT:+--at "$$AT"}
FORM = $${FORMAT:+--format "$$FORMAT"}
LOGGED = $${SET:+--set "$$SET"} $${ZONE:+--zone "$$ZONE"}
NEEDS_LOG = test -n "$$LOG" || { echo "rollcall: LOG= names no log: make $@ LOG=$(1)" >&2; exit 2; }

.PHONY: run
run: jars ## Run coordinator, gateway, page and demo fleet until Ctrl-C (LISTEN=, PAGE=host:port or 0, TOPICS=t1:4, CONF=, DEMO=0, DEMO_SECONDS=, ROLLCALL_HOME=).
	@exec $(ROLLCALL) run $(PLACES) $${PAGE:+--page "$$PAGE"} $(if $(filter 0,$(DEMO)),--no-demo) $${DEMO_SECONDS:+--demo-seconds "$$DEMO_SECONDS"}

.PHONY: page
page: setup ## Show a home in a browser: PAGE=127.0.0.1:8080, CONF=, ROLLCALL_HOME=.
	@exec $(ROLLCALL) page $${CONF:+--conf "$$CONF"} $${PAGE:+--listen "$$PAGE"}

.PHONY: replay
replay: jars ## Replay a broker's request log, a dump of __consumer_offsets, or LOG="log dump" together: LOG=file or folder, SET="group.max.size=3", ZONE=, FRESH=1, ROLLCALL_HOME=.
	@$(call NEEDS_LOG,kafka-request.log)
	@exec $(ROLLCALL) replay $(LOGGED) $(if $(filter 1,$(FRESH)),--fresh) -- "$$LOG"

.PHONY: whatif
whatif: jars ## What if a log's groups had had other settings: LOG=, SET="session.timeout.ms=6000..60000/8 static=true", WAS=, ZONE=, FORMAT=, OUT=.
	@$(call NEEDS_LOG,kafka-request.log SET=\"static=true\")
	@exec $(ROLLCALL) whatif $(LOGGED) $${WAS:+--was "$$WAS"} $(FORM) $${OUT:+--out "$$OUT"} -- "$$LOG"

.PHONY: shadow
shadow: jars ## Follow a cluster's groups, until Ctrl-C: FROM=kafka://host:port, CONF=, OFFSETS=0, a broker's request log: LOG=file, SET=, ZONE=, or both; ROLLCALL_HOME=.
	@test -n "$$LOG$$FROM" || { echo "rollcall: FROM= names no cluster and LOG= no log: make shadow FROM=kafka://host:port" >&2; exit 2; }
	@exec $(ROLLCALL) shadow $(LOGGED) $${CONF:+--conf "$$CONF"} $(if $(filter 0,$(OFFSETS)),--no-offsets) -- $${LOG:+"$$LOG"} $${FROM:+"$$FROM"}

.PHONY: sql
sql: setup ## Ask a home in SQL: Q="select * from groups", AT="2026-03-01 03:12" for how it was, FORMAT=table, json or csv, ENGINE=, ROLLCALL_HOME=.
	@exec $(ROLLCALL) sql $(FORM) $(MOMENT) $${ENGINE:+--engine "$$ENGINE"} -- "$$Q"

.PHONY: why
why: setup ## Explain a rebalance: GROUP=g, GENERATION=n or AT="2026-03-01 03:12" (else the latest), FORMAT=text or json, ROLLCALL_HOME=.
	@exec $(ROLLCALL) why $${GENERATION:+--generation "$$GENERATION"} $(MOMENT) $(FORM) -- "$$GROUP"

.PHONY: pictures
pictures: jars ## Draw a group (GROUP=g, AT=, MINUTES=30), a rebalance (GENERATION=n) or a sweep (WHATIF=build/whatif.jsonl); OUT=build/pictures.
	@exec $(ROLLCALL) pictures $${GENERATION:+--generation "$$GENERATION"} $(MOMENT) $${MINUTES:+--minutes "$$MINUTES"} \
	  $${WHATIF:+--whatif "$$WHATIF"} $${OUT:+--out "$$OUT"} -- "$$GROUP"

.PHONY: notebook
notebook: jars ## Open the notebooks: live groups, an incident from its raw log to its culprit, a what-if.
	@exec $(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks

.PHONY: gateway
gateway: setup ## Let Kafka's clients in, beside a coordinator (LISTEN=host:port, TOPICS=t1:4,t2:4, UPSTREAM=, METRICS=, CONF=, ROLLCALL_HOME=).
	@exec $(ROLLCALL) gateway $(PLACES)

##@ Look after the code

.PHONY: test
test: setup jars ## Run the tests that need nothing but Python and Java, in ten minutes (ARGS="-k name", ARGS="-n 0" in one process).
	@$(BIN)/python -m pytest tests --ignore-glob='tests/peers_*' $(RUNS_OF_THEIR_OWN) $(SIDE_BY_SIDE) $(ARGS)

.PHONY: test-peers
test-peers: setup jars ## Run the tests against real Kafka clients and brokers (tests/peers_*).
ifeq ($(PEERS),)
	@echo "test-peers: there is no tests/peers_* folder, so nothing was tested."
else
	@$(BIN)/python -m pytest $(PEERS) $(SIDE_BY_SIDE) $(ARGS)
endif

.PHONY: test-engines
test-engines: setup jars ## Ask DuckDB and Spark the same, of every view and construct: equal, or DuckDB is not asked (tests/engines).
	@$(BIN)/python -m pytest tests/engines $(SIDE_BY_SIDE) $(ARGS)

.PHONY: test-upgrade
test-upgrade: setup jars ## Open the homes that earlier versions left, and go on with them (tests/upgrade).
	@$(BIN)/python -m pytest tests/upgrade $(ARGS)

.PHONY: test-notebooks
test-notebooks: setup jars ## Run the notebooks from their first cell to their last (tests/notebooks).
	@$(BIN)/python -m pytest tests/notebooks $(ARGS)

.PHONY: test-cluster
test-cluster: setup jars ## Run the packed job as the README tells it to run on a cluster (tests/cluster).
	@$(BIN)/python -m pytest tests/cluster $(ARGS)

.PHONY: test-attack
test-attack: setup ## Attack what takes input from others with hostile input: MINUTES=5, SEED=, ARGS="--input frames".
	@$(BIN)/python -m tests.attack --minutes $(or $(MINUTES),5) $(if $(SEED),--seed $(SEED)) $(ARGS)
	@$(BIN)/python -m tests.attack.cost

.PHONY: costs
costs: setup ## Search for the dearest request of every API and page, and write what it costs into SECURITY.md: SECONDS=10 each.
	@$(BIN)/python -m tests.attack.cost --seconds $(or $(SECONDS),10) --write

.PHONY: test-kills
test-kills: setup ## Kill what writes a home's tables, so often: KILLS=50, SEED= for the same kills again.
	@KILLS=$(or $(KILLS),50) SEED=$(SEED) $(BIN)/python -m pytest -q tests/tables/test_killed_writers.py $(ARGS)

.PHONY: test-kills-live
test-kills-live: setup jars ## Kill job, gateway, maintenance, page and a shadow under real consumers of both protocols: KILLS=50, SEED=, CONSUMERS=60.
	@$(BIN)/python -m tests.kills --kills $(or $(KILLS),50) $(if $(SEED),--seed $(SEED)) --consumers $(or $(CONSUMERS),60)

.PHONY: test-kills-shadows
test-kills-shadows: setup jars ## Kill shadows of a real cluster's topic, alone and beside a log, so often: KILLS=20, SEED=.
	@$(BIN)/python -m tests.kills.cluster_followers --kills $(or $(KILLS),20) $(if $(SEED),--seed $(SEED))

.PHONY: test-browser
test-browser: setup jars ## Run the tests of the page in a real Chromium (CHROMIUM=path), which is installed where it is missing and can be.
	@$(BIN)/python -m tests.browser.chromium
	@$(BIN)/python -m pytest tests/browser $(ARGS)

.PHONY: screenshots
screenshots: setup ## Draw the page's pictures in the README anew: docs/pictures/page-*.png.
	@$(BIN)/python -m tests.browser.chromium
	@$(BIN)/python -m tests.browser.screenshots

.PHONY: parity
parity: setup ## Play a real broker's scenarios over the wire (BOOTSTRAP=host:port with PROFILE= and SCALE=10, KAFKA=1 beside a real one, TIMES=1).
	@$(BIN)/python -m tests.gateway.parity $(if $(BOOTSTRAP),--bootstrap "$(BOOTSTRAP)") \
	  $(if $(PROFILE),--profile "$(PROFILE)") $(if $(SCALE),--scale "$(SCALE)") $(if $(filter 1,$(TIMES)),--times) \
	  $(if $(filter 1,$(KAFKA)),--kafka) $(ARGS)

.PHONY: lint
lint: setup ## Find what ruff holds against the code and its format.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

.PHONY: types
types: setup ## Check the types with mypy.
	@$(BIN)/mypy $(SOURCES)

.PHONY: check
check: lint types ## Everything that needs no test run: lint and types.

.PHONY: bench
bench: setup jars ## Measure, one layer with ARGS=core; FORMAT=json: one object a line (name, value, unit, goal, holds); FORMAT=markdown with KEEP=docs/performance.jsonl: docs/performance.md.
	@$(BIN)/python -m benchmarks $(if $(FORMAT),--format $(FORMAT)) $(if $(KEEP),--keep "$(KEEP)") $(ARGS)

.PHONY: soak
soak: setup jars ## Work for HOURS=2 with a thousand groups, and see what grows: build/soak has a picture (ARGS="--groups 100").
	@$(BIN)/python -m benchmarks.soak --hours $(or $(HOURS),2) $(ARGS)

##@ Upkeep

.PHONY: maintain
maintain: jars ## Put small files together and remove what is old, for a stopped home or a cluster's (ROLLCALL_HOME=, CONF=).
	@exec $(ROLLCALL) maintain $${CONF:+--conf "$$CONF"}

.PHONY: repartition
repartition: jars ## Move a cluster's home, whose job is stopped, to PARTITIONS=n shuffle partitions (ROLLCALL_HOME=).
	@test -n "$$PARTITIONS" || { echo "rollcall: PARTITIONS= names no number: make repartition PARTITIONS=48" >&2; exit 2; }
	@exec $(ROLLCALL) repartition --partitions "$$PARTITIONS"

.PHONY: package
package: setup ## Pack the project for spark-submit's --py-files: dist/rollcall.zip.
	@$(ROLLCALL) package

# Every package at one version for all platforms and Pythons, each file by its SHA-256; versions that fit stay as they are.
LOCK = $(BIN)/uv pip compile --quiet --system-certs --universal --python-version 3.11 --generate-hashes --no-annotate \
  --custom-compile-command "make lock" $(if $(filter 1,$(UPGRADE)),--upgrade)

.PHONY: lock
lock: setup ## Resolve locks/ anew from the pins of pyproject.toml: UPGRADE=1 takes the newest of what is not pinned there.
	@grep -o '"setuptools==[^"]*"' pyproject.toml | tr -d '"' | $(LOCK) - --output-file locks/build.txt
	@$(LOCK) --all-extras pyproject.toml --output-file locks/dev.txt
	@$(LOCK) --constraints locks/dev.txt pyproject.toml --output-file locks/run.txt

.PHONY: licences
licences: setup ## Write docs/licences.md anew from what is installed.
	@$(BIN)/python -m tests.supply.licences

.PHONY: sbom
sbom: setup ## Write dist/rollcall.cdx.json: a CycloneDX bill of what is installed.
	@mkdir -p dist
	@$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-file dist/rollcall.cdx.json .venv
	@echo "rollcall: the bill of materials is dist/rollcall.cdx.json."

.PHONY: audit
audit: setup ## Ask for known vulnerabilities of locks/dev.txt (an index that answers such questions).
	@$(BIN)/pip-audit --strict --require-hashes --disable-pip --progress-spinner off -r locks/dev.txt || { \
	  echo "rollcall: the audit found what stands above, or its index could not answer for every package." >&2; exit 1; }

.PHONY: clean
clean: ## Remove what was built and cached; .venv, .jars and tables stay.
	@rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	@find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +
