# Needs python3 (3.11 or newer, with venv), make and a C compiler. Everything else goes into .venv.
PYTHON ?= python3
ARGS ?=
# What make run installs besides: admin (the status page, metrics), access.
EXTRAS ?=
# Two keep the cores busy, the others wait for brokers most of the time; 0 runs all in one process.
WORKERS ?= 4
MINUTES ?= 10
SPARKS ?= 4.0.0 4.3.0

VENV := .venv
PY := $(VENV)/bin/python
CATALOGUES := $(wildcard rocketns/languages/locale/*/LC_MESSAGES/*.po)
FAST := $(wildcard rocketns/_fast/*/*.pyx rocketns/_fast/*/*.pxd)
COMMA := ,
# Python translates what is imported itself, and pip would do so with all of it, one file after the other.
INSTALL := $(PY) -m pip install -q --no-compile
# Lists of pyproject.toml as lines that pip reads, so that no version is written down twice.
REQUIREMENTS := $(PY) -c 'import functools, operator, sys, tomllib; \
	p = tomllib.load(open("pyproject.toml", "rb")); \
	[print(*functools.reduce(operator.getitem, a.split("."), p), sep="\n") for a in sys.argv[1:]]'
# `rocketns audit run` ends with 1 where it found something: no failure of make's.
FOUND = $(if $(filter-out run,$(firstword $(ARGS))),,|| [ $$? = 1 ])
MISSING_JAVA := $(PY) -c 'from interop.harness.rocketmq.maven import missing_tools; print(*missing_tools())'
PYTEST = exec $(PY) -m pytest -n $(WORKERS)

export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Without byte code on disk each of the thousands of processes of `make test` would translate all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run audit test test-all check interop parity record docker installed pipeline sparks sanitize soak mutants simulate demo bench docs wheels locks sbom helm build clean
.DELETE_ON_ERROR:

help: ## say what there is to make (this list)
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

run: $(VENV)/served $(patsubst %,$(VENV)/extra-%,$(subst $(COMMA), ,$(EXTRAS))) ## start the name server on port 9876: ARGS="-c FILE"; EXTRAS=admin adds the status page
	@exec $(PY) -m rocketns $(ARGS)

audit: $(VENV)/served $(VENV)/extra-spark ## rocketns audit: ARGS="run --journal FOLDER"; without ARGS it watches 127.0.0.1:9876 for a minute. The first time gets Spark
	@$(PY) -m rocketns audit $(or $(ARGS),run --name-servers 127.0.0.1:9876 --for 1m --out first-look/audit) $(FOUND)

test: $(VENV)/extra-dev $(VENV)/built ## what a contributor runs, in six minutes: with a real broker where java, javac and mvn are found
	@$(PYTEST) -m "not slow" $(ARGS)

test-all: $(VENV)/extra-dev $(VENV)/built $(VENV)/extra-docs ## every test, in twenty minutes, as CI does
	@$(PYTEST) $(ARGS)

check: $(VENV)/extra-dev $(VENV)/built ## ruff, mypy, the layers and the generated pages, in seconds
	@exec $(PY) -m pytest tests/check -m "not slow" $(ARGS)

interop: $(VENV)/extra-dev $(VENV)/built ## only the tests with real brokers, producers and consumers
	@$(PYTEST) interop $(ARGS)

parity: $(VENV)/extra-dev $(VENV)/built ## the same frames to the Java NameServer and to rocketns, the answers side by side
	@$(PYTEST) interop/parity $(ARGS)

record: $(VENV)/extra-dev $(VENV)/built $(VENV)/java ## record the Java NameServer's answers again, which make test replays
	@exec $(PY) -m interop.capture $(ARGS)

docker: $(VENV)/extra-dev $(VENV)/built ## only the tests with containers; COMPILES=1 has the image compile rocketns, too
	@ROCKETNS_DOCKER_COMPILES=$(COMPILES) $(PY) -m pytest interop/docker $(ARGS)

installed: $(VENV)/extra-dev $(VENV)/built ## after make wheels, in fresh Debians (12, 13, the next): wheel, Debian package, README, the audit's demo; most of an hour
	@ROCKETNS_DIST=dist $(PY) -m pytest interop/docker/test_installing.py $(ARGS)

pipeline: $(VENV)/extra-dev $(VENV)/built ## only the tests of the journal pipeline
	@exec $(PY) -m pytest tests/pipeline $(ARGS)

sparks: $(VENV)/extra-dev ## the audit's demo and its stream by each version of Spark in SPARKS, compared; downloads 450 MB for each
	@exec $(PY) -m tests.installing.sparks $(SPARKS) $(ARGS)

sanitize: $(VENV)/extra-dev $(VENV)/built ## the compiled parts under ASan with UBSan, and under TSan: tests, 10 million frames, a soak
	@exec $(PY) -m tests.sanitize $(ARGS)

soak: $(VENV)/extra-dev $(VENV)/built ## a real server for MINUTES (10) among strangers, killed and restarted, every answer checked
	@exec $(PY) -m tests.hostile.stranger --minutes $(MINUTES) $(ARGS)

mutants: $(VENV)/extra-dev $(VENV)/built ## plant the faults of tests/mutants one at a time: which of them does no test notice?
	@exec $(PY) -m tests.mutants $(ARGS)

simulate: $(VENV)/extra-dev $(VENV)/built ## whole name servers, brokers and faults on virtual time: ARGS="--seeds 2000", ARGS="--seed 7"
	@exec $(PY) -m tests.simulation $(ARGS)

demo: $(VENV)/extra-dev $(VENV)/served $(VENV)/java ## from nothing to an audit, said step by step: rocketns, a real broker, a producer, a consumer, doctor, audit. Needs a JDK and Maven
	@exec $(PY) -m interop.demo $(ARGS)

bench: $(VENV)/extra-dev $(VENV)/built ## rocketns beside Java, Rust and C on a quiet machine: tables, plots, docs/costs.md
	@exec $(PY) -m benchmarks $(ARGS)

docs: $(VENV)/extra-docs ## the documentation site, in English and Chinese, into build/site; other versions that are there stay
	@exec $(PY) packaging/documentation.py $(ARGS)

wheels: $(VENV)/extra-dev $(VENV)/extra-wheels ## the sdist and the manylinux wheels into dist/; downloads a C compiler (zig), 3 minutes of CPU time
	@exec $(PY) packaging/wheels.py $(ARGS)

locks: $(VENV)/extra-dev ## the versions and hashes of what the image installs, again, after a change of pyproject.toml; ARGS=--upgrade takes the newest
	@exec $(PY) -m tests.check.locks $(ARGS)

sbom: $(VENV)/extra-dev $(VENV)/built ## dist/sbom.cdx.json: what the image would install on this Python and processor (CycloneDX)
	@mkdir -p build dist
	@$(PY) -m pip install -q --dry-run --ignore-installed --require-hashes --report build/dependencies.json -r packaging/docker/requirements.txt
	@$(PY) -m pip install -q --dry-run --ignore-installed --no-deps --no-build-isolation --report build/rocketns.json .
	@$(PY) packaging/docker/sbom.py build/dependencies.json build/rocketns.json > dist/sbom.cdx.json

helm: $(VENV)/made ## helm itself into .venv, compiled by go; without it the tests of the chart use a library. Minutes of CPU time
	GOBIN=$(abspath $(VENV))/bin go install -trimpath helm.sh/helm/v3/cmd/helm@v3.22.0

build: $(VENV)/built ## compile what changed in rocketns/_fast, and the module that only tests call

clean: ## remove .venv and everything that was built
	rm -rf $(VENV) build dist *.egg-info rocketns/_fast/*/*.so tests/compiled/*.so rocketns/tools/completions rocketns/languages/locale/*/*/*.mo .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find rocketns tests interop benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "rocketns needs Python 3.11 or newer, \
	and $(PYTHON) is not one: install it, or name yours with 'make PYTHON=python3.12'." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments: \
	install its venv module (Debian, Ubuntu: apt-get install python3-venv)." >&2; exit 1; }
	@echo "making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# The compiler's side first: what the server imports is installed while it compiles.
$(VENV)/tools: pyproject.toml | $(VENV)/made
	@echo "installing Cython into $(VENV)"
	@$(REQUIREMENTS) build-system.requires | grep -iE '^(setuptools|cython)\b' > $@.txt
	@$(INSTALL) -r $@.txt
	@touch $@

$(VENV)/installed: pyproject.toml | $(VENV)/tools
	@echo "installing what rocketns needs into $(VENV)"
	@$(REQUIREMENTS) build-system.requires project.dependencies > $@.txt
	@$(INSTALL) -r $@.txt
	@touch $@

# extra-dev: what the tests need; extra-spark: what the audit needs; and so on, as in pyproject.toml.
$(VENV)/extra-%: pyproject.toml | $(VENV)/installed
	@echo "installing the extra $* into $(VENV)$(if $(filter spark,$*), (450 MB))"
	@$(REQUIREMENTS) project.optional-dependencies.$* > $@.txt
	@$(INSTALL) -r $@.txt
	@touch $@

# What make run needs: no test's module. A wheel in dist/ of the same sources has it compiled.
$(VENV)/compiled: pyproject.toml setup.py $(FAST) | $(VENV)/tools
	@$(PY) packaging/unpacked.py dist || { echo "compiling rocketns/_fast, once: half a minute on two idle cores" && \
	$(PY) setup.py -q build_ext --inplace; }
	@touch $@

# An editable installation, so that rocketns starts from any folder. It finds the modules compiled.
$(VENV)/served: pyproject.toml $(CATALOGUES) $(FAST) | $(VENV)/made
	@$(MAKE) -s -j2 $(VENV)/installed $(VENV)/compiled
	@$(if $(filter pyproject.toml,$?),ROCKETNS_COMPILED=1 $(INSTALL) --no-deps --no-build-isolation -e .)
	@$(PY) packaging/catalogues.py rocketns/languages/locale
	@touch $@

# The same with the modules that only tests call.
$(VENV)/built: $(wildcard tests/compiled/*.pyx) $(VENV)/served
	@echo "compiling rocketns/_fast and tests/compiled"
	@ROCKETNS_TESTS=1 $(PY) setup.py -q build_ext --inplace
	@touch $@

# Never made, so that the programs are looked for each time.
$(VENV)/java: $(VENV)/installed
	@missing="$$($(MISSING_JAVA))"; [ -z "$$missing" ] || { echo "Real brokers need a Java development kit and Maven; \
	not found on the PATH: $$missing (Debian, Ubuntu: apt-get install default-jdk-headless maven)." >&2; exit 1; }
