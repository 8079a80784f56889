# Rollcall's commands; `make` alone lists them. The first target that needs set-up runs it.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# The Python that makes .venv: the first of these on the PATH that is new enough. PYTHON=... names another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null && $$p -m rollcall.programs.preflight python >/dev/null 2>&1 && echo $$p && exit; done; echo python3)
BIN := .venv/bin
SOURCES := rollcall benchmarks tests
PEERS := $(wildcard tests/peers_*)
# Three workers for two cores, since tests wait; one has the one Spark session. tests/conftest.py says what a worker runs
# as a whole.
# What takes long, or needs more than Python and Java, is a target of its own.
RUNS_OF_THEIR_OWN := --ignore=tests/browser --ignore=tests/engines --ignore=tests/cluster --ignore=tests/notebooks \
	--ignore=tests/upgrade --ignore=tests/monitoring --ignore=tests/image --ignore=tests/chart
WORKERS := 3
SIDE_BY_SIDE = -n $(WORKERS) --no-loadscope-reorder

# A target's variables reach the command by the environment, so that quotes, blanks and dollars in them stay as they are.
ROLLCALL := $(BIN)/python -m rollcall
PLACES = $${CONF:+--conf "$$CONF"} $${LISTEN:+--listen "$$LISTEN"} $${TOPICS:+--topics "$$TOPICS"} \
  $${UPSTREAM:+--upstream "$$UPSTREAM"} $${METRICS:+--metrics "$$METRICS"}
MOMENT = $${AT:+--at "$$AT"}
FORM = $${FORMAT:+--format "$$FORMAT"}
LOGGED = $${SET:+--set "$$SET"} $${ZONE:+--zone "$$ZONE"}
NEEDS_LOG = test -n "$$LOG" || { echo "rollcall: missing LOG=; for example: make $@ LOG=$(1)" >&2; exit 2; }

##@ Start here

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN { FS = ":.*## "; print "Usage: make TARGET [NAME=value ...]; messages call NAME= by its option, --name" } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { line = sprintf("  %-18s", $$1); words = split($$2, word, " "); \
	    for (i = 1; i <= words; i++) { \
	      if (length(line) + length(word[i]) > 98) { print line; line = sprintf("%20s", "") } \
	      line = line " " word[i] } \
	    print line }' Makefile

.PHONY: explain
explain: setup ## Explain rebalances from what brokers and clients log: LOG="server.log app.log" or a folder, GROUP=, SINCE=, UNTIL=, ZONE=, EVIDENCE=1, FORMATS=folder, UNKNOWN=1, FORMAT=text or json.
	@$(call NEEDS_LOG,server.log)
	@exec $(ROLLCALL) explain $${GROUP:+--group "$$GROUP"} $${SINCE:+--since "$$SINCE"} $${UNTIL:+--until "$$UNTIL"} \
	  $${ZONE:+--zone "$$ZONE"} $(if $(filter 1,$(EVIDENCE)),--evidence) \
	  $(if $(filter 1,$(UNKNOWN)),--unknown) $${FORMATS:+--formats "$$FORMATS"} $(FORM) -- $$LOG

.PHONY: demo
demo: setup ## Show a recorded incident in a browser, without Java: LISTEN=host:port, BROWSER=0 prints only the address.
	@exec $(ROLLCALL) demo $${LISTEN:+--listen "$$LISTEN"} $(if $(filter 0,$(BROWSER)),--no-browser)

.PHONY: run
run: jars ## Run coordinator, gateway, page and demo fleet until Ctrl-C (LISTEN=, PAGE=host:port or 0, TOPICS=t1:4, CONF=, DEMO=0, DEMO_SECONDS=, ROLLCALL_HOME=).
	@exec $(ROLLCALL) run $(PLACES) $${PAGE:+--page "$$PAGE"} $(if $(filter 0,$(DEMO)),--no-demo) $${DEMO_SECONDS:+--demo-seconds "$$DEMO_SECONDS"}

.PHONY: page
page: setup ## Show a home in a browser: PAGE=127.0.0.1:8080, CONF=, ROLLCALL_HOME=.
	@exec $(ROLLCALL) page $${CONF:+--conf "$$CONF"} $${PAGE:+--listen "$$PAGE"}

##@ Record a history

.PHONY: replay
replay: setup ## Replay a broker's request log, its server.log, a dump of __consumer_offsets, or LOG="log dump" together: LOG=file or folder, SET="group.max.size=3", ZONE=, FRESH=1, PROCESSES=, ENGINE=spark, ROLLCALL_HOME=.
	@$(call NEEDS_LOG,kafka-request.log)
	@exec $(ROLLCALL) replay $(LOGGED) $(if $(filter 1,$(FRESH)),--fresh) $${ENGINE:+--engine "$$ENGINE"} \
	  $${PROCESSES:+--processes "$$PROCESSES"} -- "$$LOG"

.PHONY: shadow
shadow: setup ## Follow a cluster's groups, until Ctrl-C: FROM=kafka://host:port, CONF=, OFFSETS=0, a broker's log (server.log or kafka-request.log): LOG=file, SET=, ZONE=, or both; ROLLCALL_HOME=.
	@test -n "$$LOG$$FROM" || { echo "rollcall: missing FROM= or LOG=; for example: make shadow FROM=kafka://host:port" >&2; exit 2; }
	@exec $(ROLLCALL) shadow $(LOGGED) $${CONF:+--conf "$$CONF"} $(if $(filter 0,$(OFFSETS)),--no-offsets) -- $${LOG:+"$$LOG"} $${FROM:+"$$FROM"}

.PHONY: gateway
gateway: setup ## Serve Kafka clients for a running coordinator (LISTEN=host:port, TOPICS=t1:4,t2:4, UPSTREAM=, METRICS=, CONF=, ROLLCALL_HOME=).
	@exec $(ROLLCALL) gateway $(PLACES)

##@ Ask a history

.PHONY: why
why: setup ## Explain a rebalance: GROUP=g, GENERATION=n or AT="2026-03-01 03:12" (default: the latest), EVIDENCE=1, FORMAT=text or json, ROLLCALL_HOME=.
	@exec $(ROLLCALL) why $${GENERATION:+--generation "$$GENERATION"} $(if $(filter 1,$(EVIDENCE)),--evidence) $(MOMENT) $(FORM) -- "$$GROUP"

.PHONY: lag
lag: setup ## Show how far behind groups are: GROUP=g (default: all), WATCH=1, AT="2026-03-01 03:12", FORMAT=text or json, ROLLCALL_HOME=.
	@exec $(ROLLCALL) lag $${WATCH:+--watch} $(MOMENT) $(FORM) -- "$$GROUP"

.PHONY: sql
sql: setup ## Ask a home in SQL: Q="select * from groups", AT="2026-03-01 03:12" for how it was, FORMAT=table, json, csv or csv-raw, ENGINE=, ROLLCALL_HOME=.
	@exec $(ROLLCALL) sql $(FORM) $(MOMENT) $${ENGINE:+--engine "$$ENGINE"} -- "$$Q"

.PHONY: pictures
pictures: setup ## Draw a group (GROUP=g, AT=, MINUTES=30), a rebalance (GENERATION=n) or a sweep (WHATIF=build/whatif.jsonl); OUT=build/pictures.
	@exec $(ROLLCALL) pictures $${GENERATION:+--generation "$$GENERATION"} $(MOMENT) $${MINUTES:+--minutes "$$MINUTES"} \
	  $${WHATIF:+--whatif "$$WHATIF"} $${OUT:+--out "$$OUT"} -- "$$GROUP"

.PHONY: whatif
whatif: setup ## Play a log's groups again with other settings: LOG=, SET="session.timeout.ms=6000..60000/8 static=true", WAS=, ZONE=, FORMAT=, OUT=.
	@$(call NEEDS_LOG,kafka-request.log SET=\"static=true\")
	@exec $(ROLLCALL) whatif $(LOGGED) $${WAS:+--was "$$WAS"} $(FORM) $${OUT:+--out "$$OUT"} -- "$$LOG"

.PHONY: notebook
notebook: notebook-tools archive ## Open the notebooks: live groups, an incident from its raw log to its culprit, a what-if.
	@exec $(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks

##@ Watch it

.PHONY: status
status: setup ## Show who works in each home of this folder, and which groups are in trouble: FORMAT=json.
	@exec $(ROLLCALL) status $(FORM)

.PHONY: alerts
alerts: setup ## Send alarms about a home's troubles to the receivers of rollcall.alerts.* in CONF=, WHAT=test or history; ROLLCALL_HOME=.
	@exec $(ROLLCALL) alerts $${CONF:+--conf "$$CONF"} $$WHAT

.PHONY: export
export: setup ## Serve a home's groups to Prometheus: LISTEN=host:port (127.0.0.1:9308), CONF=, ROLLCALL_HOME=.
	@exec $(ROLLCALL) export $${CONF:+--conf "$$CONF"} $${LISTEN:+--listen "$$LISTEN"}

##@ Set-up, run automatically by other targets

.PHONY: setup
setup: .venv/.set-up ## Create .venv from pinned packages (needs Python 3.11 or newer and a network).

PIP_INSTALL := $(BIN)/python -m pip --require-virtualenv --disable-pip-version-check --no-input install --no-compile
# uv asks the index that pip asks. A lock names all there is, so it asks for no package's dependencies: that reads pyspark's
# 450 MB once more. Of what it fetched and built nothing stays, else each .venv leaves twice its size elsewhere.
FETCHED := .venv/fetched
UV_INSTALL = UV_CACHE_DIR="$${UV_CACHE_DIR:-$(FETCHED)}" \
  UV_DEFAULT_INDEX="$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-$$($(BIN)/python -m pip config get global.index-url 2>/dev/null)}}" \
  $(BIN)/uv pip install --quiet --system-certs --python $(BIN)/python $(if $(PIP_FIND_LINKS),--find-links "$(PIP_FIND_LINKS)")
LOCKED := --require-hashes --no-deps --no-build-isolation
# What runs needs no uv, which goes when it has installed that; tools bring it again.
GET_UV := $(PIP_INSTALL) --require-hashes -r locks/build.txt

.venv/.set-up: pyproject.toml locks/build.txt locks/run.txt
	@command -v $(PYTHON) >/dev/null || { echo "rollcall: no $(PYTHON) on the PATH: install Python 3.11 or newer." >&2; exit 2; }
	@$(PYTHON) -m rollcall.programs.preflight python
	@{ test -f .venv/pyvenv.cfg && $(BIN)/python -m rollcall.programs.preflight python && $(BIN)/python -m pip --version; } >/dev/null 2>&1 \
	  || $(PYTHON) -m venv --clear .venv
	@echo "The packages take half a minute from a near mirror, and 1.0 GB."
	@$(PYTHON) -m rollcall.programs.preflight run "Setting up what installs packages" -- $(GET_UV)
	@$(PYTHON) -m rollcall.programs.preflight run "Setting up .venv" -- env $(UV_INSTALL) $(LOCKED) -r locks/run.txt
	@$(PYTHON) -m rollcall.programs.preflight run "Setting up the command" -- $(PIP_INSTALL) --no-build-isolation --no-deps -e .
	@$(BIN)/python -m pip --disable-pip-version-check uninstall --quiet --yes uv
	@rm -rf $(FETCHED) && touch $@

.PHONY: tools
tools: .venv/.tools ## Add the packages of tests and benchmarks to .venv.

.venv/.tools: .venv/.set-up locks/dev.txt
	@test -x $(BIN)/uv || $(PYTHON) -m rollcall.programs.preflight run "Setting up what installs packages" -- $(GET_UV)
	@$(PYTHON) -m rollcall.programs.preflight run "Adding what tests and benches need" -- env $(UV_INSTALL) $(LOCKED) -r locks/dev.txt
	@rm -rf $(FETCHED) && touch $@

.PHONY: notebook-tools
notebook-tools: .venv/.notebook ## Add the packages of notebooks to .venv.

.venv/.notebook: .venv/.tools locks/notebook.txt
	@$(PYTHON) -m rollcall.programs.preflight run "Adding what notebooks need" -- env $(UV_INSTALL) $(LOCKED) -r locks/notebook.txt
	@rm -rf $(FETCHED) && touch $@

.PHONY: jars
jars: setup ## Check Java (17 or newer) and fetch the Delta JARs into .jars, once (needs a network).
	@$(BIN)/python -m rollcall.jobs.spark.jars

.PHONY: archive
archive: jars ## Cache Spark's classes in .jars for a faster start: 40 s, 200 MB; `make run` does so in the background.
	@$(BIN)/python -m rollcall.jobs.spark.archive

##@ Upkeep

.PHONY: formats
formats: setup ## Check that each format of printed logs reads its own samples: FORMATS=folder of your own.
	@exec $(ROLLCALL) formats check $${FORMATS:+--formats "$$FORMATS"}

.PHONY: doctor
doctor: setup ## Check this machine, and whether CLUSTER=kafka://host:port can be followed (CONF=, ROLLCALL_HOME=).
	@exec $(ROLLCALL) doctor $${CONF:+--conf "$$CONF"} -- $${CLUSTER:+"$$CLUSTER"}

# Every package at one version for all platforms and Pythons, each file by its SHA-256; versions that fit stay as they are.
LOCK = $(BIN)/uv pip compile --quiet --system-certs --universal --python-version 3.11 --generate-hashes --no-annotate \
  --custom-compile-command "make lock" $(if $(filter 1,$(UPGRADE)),--upgrade)

.PHONY: check-rows
check-rows: setup ## Check the consistency of a home's rows: ROLLCALL_HOME=, ENGINE=duckdb or spark, FORMAT=json.
	@exec $(ROLLCALL) check $${ENGINE:+--engine "$$ENGINE"} $(FORM)

.PHONY: maintain
maintain: jars ## Compact small files and remove expired rows, for a stopped home or a cluster's (ROLLCALL_HOME=, CONF=).
	@exec $(ROLLCALL) maintain $${CONF:+--conf "$$CONF"}

.PHONY: repartition
repartition: jars ## Move a cluster's home, whose job is stopped, to PARTITIONS=n shuffle partitions (ROLLCALL_HOME=).
	@test -n "$$PARTITIONS" || { echo "rollcall: missing PARTITIONS=; for example: make repartition PARTITIONS=48" >&2; exit 2; }
	@exec $(ROLLCALL) repartition --partitions "$$PARTITIONS"

.PHONY: package
package: setup ## Pack the project for spark-submit's --py-files: dist/rollcall.zip.
	@$(ROLLCALL) package

.PHONY: wheel
wheel: setup ## Build dist/rollcall-*.whl for pipx or `uv tool install`: runs without a checkout, in three sizes.
	@rm -rf build/lib build/bdist.* dist/rollcall-*.whl
	@$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .
	@rm -rf build/lib build/bdist.*
	@ls dist/rollcall-*.whl

.PHONY: lock
lock: tools ## Resolve locks/ again from the pins of pyproject.toml; UPGRADE=1 upgrades what is not pinned.
	@grep -oE '"(setuptools|uv)==[^"]*"' pyproject.toml | tr -d '"' | $(LOCK) - --output-file locks/build.txt
	@$(LOCK) --extra dev pyproject.toml --output-file locks/dev.txt
	@$(LOCK) --constraints locks/dev.txt --extra spark --extra notebook pyproject.toml --output-file locks/notebook.txt
	@$(LOCK) --constraints locks/dev.txt --extra spark pyproject.toml --output-file locks/run.txt

.PHONY: sbom
sbom: tools ## Write dist/rollcall.cdx.json, a CycloneDX bill of materials.
	@mkdir -p dist
	@$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-file dist/rollcall.cdx.json .venv
	@echo "rollcall: the bill of materials is dist/rollcall.cdx.json."

.PHONY: audit
audit: tools ## Check the locked packages for known vulnerabilities (needs an index that serves them).
	@$(BIN)/pip-audit --strict --require-hashes --disable-pip --progress-spinner off -r locks/dev.txt -r locks/notebook.txt || { \
	  echo "rollcall: the audit found what stands above, or its index could not answer for every package." >&2; exit 1; }

.PHONY: clean
clean: ## Remove build products and caches; .venv, .jars and tables stay.
	@rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	@find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

##@ Look after the code

.PHONY: test
test: tools archive ## Run the tests that need only Python and Java: six minutes on two cores (ARGS="-k name", ARGS="-n 0" in one process).
	@$(BIN)/python -m pytest tests --ignore-glob='tests/peers_*' $(RUNS_OF_THEIR_OWN) $(SIDE_BY_SIDE) $(ARGS)

.PHONY: test-peers
# Real clients have deadlines of their own: no more workers than cores.
test-peers: WORKERS := 2
test-peers: tools archive ## Run the tests against real Kafka clients and brokers (tests/peers_*).
ifeq ($(PEERS),)
	@echo "test-peers: there is no tests/peers_* folder, so nothing was tested."
else
	@$(BIN)/python -m pytest $(PEERS) $(SIDE_BY_SIDE) $(ARGS)
endif

.PHONY: test-engines
test-engines: tools ## Compare DuckDB's answers with Spark's, for every view and function (tests/engines).
	@$(BIN)/python -m pytest tests/engines --ignore=tests/engines/test_spark_itself.py $(SIDE_BY_SIDE) $(ARGS)

.PHONY: test-sample
test-sample: notebook-tools archive ## Run a sample of the larger suites (tests/sample.txt): two minutes; without Chromium it skips browser tests.
	@$(BIN)/python -m tests.browser.chromium || echo "test-sample: the tests of the page in a browser are left out."
	@NIGHTLY=all $(BIN)/python -m pytest @tests/sample.txt -n 2 --no-loadscope-reorder $(ARGS)

.PHONY: golden
golden: tools ## Compare the output of explain, replay and shadow for every recording with the kept one (CASES="d-kill killed", WRITE=1 keeps the new one): four minutes.
	@$(BIN)/python -m tests.golden $(if $(filter 1,$(WRITE)),--write) $(CASES)

# Each suite's output stands in a file of its own, and a suite that fails does not keep the next from running.
ALL := check test test-peers test-engines test-upgrade test-notebooks test-cluster test-browser test-monitoring test-attack

.PHONY: test-all
test-all: ## Run every suite in turn, with other random examples each time, and list failures at the end: two hours (SUITES="test test-peers").
	@mkdir -p build/test-all; failed=; for suite in $(or $(SUITES),$(ALL)); do \
	  began=$$SECONDS; log=build/test-all/$$suite.log; \
	  if NIGHTLY=all HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-wide} $(MAKE) $$suite > $$log 2>&1; then how=passed; else how=FAILED; failed="$$failed $$suite"; fi; \
	  echo "$$suite $$how in $$((SECONDS - began)) s: $$(grep -aE '[0-9]+ (passed|failed).* in ' $$log | tail -n 1 | tr -d =)"; \
	done; \
	for suite in $$failed; do echo "--- $$suite, from build/test-all/$$suite.log"; \
	  grep -aE '^(FAILED|ERROR) |\*\*\* ' build/test-all/$$suite.log | cut -c1-300; done; \
	test -z "$$failed"

.PHONY: test-nightly
test-nightly: ## Run what takes hours: test-all, Spark itself, kills under real consumers and of shadows, image and chart.
	@$(MAKE) test-all SUITES="$(ALL) test-engines-spark test-kills-live test-kills-shadows test-image test-chart"

.PHONY: test-engines-spark
test-engines-spark: tools archive ## Check Spark's kept answers against Spark, and compare both engines on random histories: ten minutes.
	@$(BIN)/python -m pytest tests/engines/test_spark_itself.py -n 0 $(ARGS)

.PHONY: spark-answers
spark-answers: tools archive ## Run all queries of tests/engines on Spark and keep its answers: ten minutes (ONLY=new: only new queries).
	@$(BIN)/python -m tests.engines.ask_spark $(if $(filter new,$(ONLY)),,--all)

.PHONY: test-upgrade
test-upgrade: tools archive ## Open and continue homes of earlier versions (tests/upgrade).
	@$(BIN)/python -m pytest tests/upgrade $(ARGS)

.PHONY: test-notebooks
test-notebooks: notebook-tools archive ## Run all cells of the notebooks (tests/notebooks).
	@$(BIN)/python -m pytest tests/notebooks $(ARGS)

.PHONY: test-monitoring
test-monitoring: tools ## Test metrics, rules, dashboard and alarms with real Prometheus and Alertmanager, fetched if missing (tests/monitoring).
	@$(BIN)/python -m tests.monitoring.debian
	@$(BIN)/python -m pytest tests/monitoring $(ARGS)

.PHONY: test-cluster
test-cluster: WORKERS := 2
test-cluster: tools archive ## Run the packed job as on a cluster (tests/cluster).
	@$(BIN)/python -m pytest tests/cluster $(SIDE_BY_SIDE) $(ARGS)

.PHONY: test-image
test-image: tools ## Build the image with buildah and run its programs in a network namespace; installs Debian packages (root).
	@( for tool in buildah debootstrap unshare nsenter ip; do command -v $$tool >/dev/null || exit 1; done ) || { apt-get update -qq && \
	  apt-get install -qq --yes --no-install-recommends buildah debootstrap iproute2 util-linux; }
	@$(BIN)/python -m pytest tests/image -n 0 $(ARGS)

# Its tools are Go modules: helm, kubeconform, and the CRD of the Prometheus Operator's ServiceMonitor.
CHART_TOOLS := build/chart
GO_INSTALL = GOBIN=$(CURDIR)/$(CHART_TOOLS)/bin GOFLAGS=-mod=mod go install
$(CHART_TOOLS)/operator: locks/kubernetes.txt | tools
	@command -v go >/dev/null || { echo "rollcall: no go on the PATH: install Go 1.25 or newer." >&2; exit 2; }
	@mkdir -p $(CHART_TOOLS)
	@$(PYTHON) -m rollcall.programs.preflight run "Building helm" -- env $(GO_INSTALL) helm.sh/helm/v3/cmd/helm@v3.22.0
	@$(PYTHON) -m rollcall.programs.preflight run "Building kubeconform" -- env $(GO_INSTALL) github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
	@$(PYTHON) -m rollcall.programs.preflight run "Fetching Kubernetes' schemas" -- env $(UV_INSTALL) --require-hashes --no-deps \
	  --target $(CHART_TOOLS)/packages -r locks/kubernetes.txt
	@rm -rf $(FETCHED)
	@cd $(CHART_TOOLS) && go mod download -json github.com/prometheus-operator/prometheus-operator@v0.85.0 \
	  | $(CURDIR)/$(BIN)/python -c "import json, sys; print(json.load(sys.stdin)['Dir'])" > operator

.PHONY: test-chart
test-chart: tools $(CHART_TOOLS)/operator ## Lint and render the Helm chart, and validate it against Kubernetes' schemas (needs Go).
	@$(BIN)/python -m pytest tests/chart -n 0 $(ARGS)

.PHONY: test-attack
test-attack: tools ## Fuzz everything that takes input from others: MINUTES=5 or COUNT=300 cases per input, SECONDS=2 per request for its cost, SEED=, ARGS="--input frames".
	@$(BIN)/python -m tests.attack $(if $(COUNT),--count $(COUNT),--minutes $(or $(MINUTES),5)) $(if $(SEED),--seed $(SEED)) $(ARGS)
	@$(BIN)/python -m tests.attack.cost --seconds $(or $(SECONDS),2)

.PHONY: costs
costs: tools ## Find the most expensive request of every API and page, and write its cost into SECURITY.md: SECONDS=10 each.
	@$(BIN)/python -m tests.attack.cost --seconds $(or $(SECONDS),10) --write

.PHONY: test-kills
test-kills: tools ## Kill writers of a home's tables: KILLS=50 times, SEED= repeats a run.
	@NIGHTLY=all KILLS=$(or $(KILLS),50) SEED=$(or $(SEED),$$$$) $(BIN)/python -m pytest -q tests/tables/test_killed_writers.py $(ARGS)

.PHONY: test-kills-live
test-kills-live: tools archive ## Kill job, gateway, maintenance, page and a shadow under real consumers of both protocols: KILLS=50, SEED=, CONSUMERS=60.
	@$(BIN)/python -m tests.kills --kills $(or $(KILLS),50) $(if $(SEED),--seed $(SEED)) --consumers $(or $(CONSUMERS),60)

.PHONY: test-kills-shadows
test-kills-shadows: tools archive ## Kill shadows of a real cluster's topic, with and without a log: KILLS=20 times, SEED=.
	@$(BIN)/python -m tests.kills.cluster_followers --kills $(or $(KILLS),20) $(if $(SEED),--seed $(SEED))

.PHONY: test-browser
test-browser: tools archive ## Run the tests of the page in Chromium (CHROMIUM=path), which is installed if it is missing.
	@$(BIN)/python -m tests.browser.chromium
	@$(BIN)/python -m pytest tests/browser $(ARGS)

.PHONY: screenshots
screenshots: tools ## Redraw the README's pictures of the page: docs/pictures/page-*.png.
	@$(BIN)/python -m tests.browser.chromium
	@$(BIN)/python -m tests.browser.screenshots

.PHONY: parity
parity: tools ## Play a real broker's scenarios over the wire (BOOTSTRAP=host:port with PROFILE= and SCALE=10, KAFKA=1 beside a real one, TIMES=1).
	@$(BIN)/python -m tests.gateway.parity $(if $(BOOTSTRAP),--bootstrap "$(BOOTSTRAP)") \
	  $(if $(PROFILE),--profile "$(PROFILE)") $(if $(SCALE),--scale "$(SCALE)") $(if $(filter 1,$(TIMES)),--times) \
	  $(if $(filter 1,$(KAFKA)),--kafka) $(ARGS)

.PHONY: lint
lint: tools ## Lint with ruff and check the format.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

.PHONY: types
types: tools ## Check types with mypy, also in notebooks.
	@$(BIN)/python -m tests.notebooks.code_cells
	@$(BIN)/mypy $(SOURCES) build/notebooks

.PHONY: derived
derived: notebook-tools ## Regenerate views, figures, licences, shares of what is proven, and the folder monitoring.
	@$(BIN)/python -m tests.derived

.PHONY: check
check: lint types ## Run lint, types and checks of generated pages; warn about style.
	@$(BIN)/python -m tests.derived --check
	@$(BIN)/python -m tests.house

.PHONY: bench
bench: tools archive ## Measure, one layer with ARGS=core; FORMAT=json: one object a line (name, value, unit, goal, holds); KEEP=docs/performance.jsonl: what make derived makes docs/performance.md of.
	@$(BIN)/python -m benchmarks $(if $(FORMAT),--format $(FORMAT)) $(if $(KEEP),--keep "$(KEEP)") $(ARGS)

.PHONY: monitoring
monitoring: setup ## Regenerate the folder monitoring: Prometheus' rules, Grafana's dashboard, a ServiceMonitor.
	@$(BIN)/python -m rollcall.serve.exporter.monitoring
