.POSIX:
PYTHON = python3
VENV = .venv
PY = $(VENV)/bin/python
PIP = $(PY) -m pip install --quiet --disable-pip-version-check
# For developers: pip takes minutes to unpack and compile all that is needed; what is imported is compiled then.
UV = $(VENV)/bin/uv pip install --quiet --python $(PY)

# What the product needs; then what its developers need as well.
$(VENV)/run: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11, 5) and "Python 3.11.5 or later is needed: make PYTHON=…")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/ok: $(VENV)/run
	$(PIP) uv
	$(UV) -e '.[dev,plots]'
	touch $@

# Clients whose own needs would disturb dpsql's, in an environment of their own.
DRIVERS = $(VENV)/drivers
$(DRIVERS)/ok: $(VENV)/ok tests/clients/requirements.txt
	test -x $(DRIVERS)/bin/python || $(PYTHON) -m venv $(DRIVERS)
	$(VENV)/bin/uv pip install --quiet --compile-bytecode --only-binary :all: \
	  --python $(DRIVERS)/bin/python -r tests/clients/requirements.txt
	$(UV) --upgrade --target $(DRIVERS)/compiled sqlglotc
	touch $@

# PostgreSQL of each version that is admitted, as owners have it: npm has servers that need no account of their own.
SERVERS = $(VENV)/servers
$(SERVERS)/ok: tests/support/servers.json
	@command -v npm >/dev/null || { [ "$$(id -u)" = 0 ] && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	  --no-install-recommends nodejs npm >/dev/null; } || { echo 'npm is needed: apt-get install npm' >&2; exit 1; }
	mkdir -p $(SERVERS) && cp tests/support/servers.json $(SERVERS)/package.json && cd $(SERVERS) && npm install --silent --no-audit --no-fund
	touch $@

# What makes a site of the pages, in an environment of its own.
SITE = $(VENV)/site
$(SITE)/ok: $(VENV)/ok docs/requirements.txt
	test -x $(SITE)/bin/python || $(PYTHON) -m venv --without-pip $(SITE)
	$(VENV)/bin/uv pip install --quiet --python $(SITE)/bin/python -r docs/requirements.txt
	touch $@

docs: $(SITE)/ok
	$(SITE)/bin/python -m docs.site site
	@echo 'The site is in site/, and begins with site/index.html: python3 -m http.server -d site'

# With trips that arrive by the day, a day a minute: make demo GROWING=1
demo: $(VENV)/run
	$(VENV)/bin/dpsql demo $(if $(GROWING),--growing)

check: $(VENV)/ok
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(PY) -m tests.docs.prose

# A file's tests stay together: many share a server that the first of them starts; tests/suites.py says which come first,
# and which are long. What is imported is kept compiled, because dpsql is started a hundred times.
PYTEST = PYTHONDONTWRITEBYTECODE= $(PY) -m pytest
PARALLEL = --workers auto
ORDINARY = not slow and not browser and not clients and not superset and not tools

# What whoever has changed a line waits for.
test: $(VENV)/ok $(DRIVERS)/ok
	@echo 'This takes two to four minutes on two quiet cores.'
	DRIVERS=$(DRIVERS) $(PYTEST) $(PARALLEL)

# Attacks, sensitivity and transcripts once more, where statements find the tables in a schema, and decoys are in `public`.
IN_A_SCHEMA = TABLES_IN=clinical $(PYTEST) $(PARALLEL) tests/attack tests/properties/test_sensitivity.py tests/audit/test_transcripts.py \
  $(patsubst %,--ignore=tests/attack/test_%.py,schemas frozen hidden_statements unreadable_answers told_of_others)
test-in-a-schema: $(VENV)/ok
	$(IN_A_SCHEMA) -m '$(ORDINARY)'

# The rest of what CI runs: statements by the hundred, servers that are killed, every driver that pip installs.
test-long: $(VENV)/ok $(DRIVERS)/ok $(SERVERS)/ok $(SITE)/ok
	@echo 'This takes about fifteen minutes on two quiet cores.'
	DRIVERS=$(DRIVERS) SERVERS=$(SERVERS) SITE=$(SITE) $(PYTEST) $(PARALLEL) -m 'long and $(ORDINARY)'
	$(IN_A_SCHEMA)

# One room's tests: make quick ROOM=rewrite
quick: $(VENV)/ok
	@test -d 'tests/$(ROOM)' && test -n '$(ROOM)' || { echo 'a room is needed, such as: make quick ROOM=rewrite' >&2; exit 1; }
	$(PYTEST) $(PARALLEL) tests/$(ROOM)

ci: check test test-long test-clients

# What an attacker would try, a line each.
attack: $(VENV)/ok
	$(PYTEST) -v --no-header --tb=short -m '$(ORDINARY)' tests/attack tests/shadow/test_binder.py tests/shadow/test_creation.py tests/shadow/test_functions.py \
	  tests/shadow/test_hidden.py tests/shadow/test_left_behind.py tests/shadow/test_role.py tests/shadow/test_sandbox.py tests/shadow/test_warden.py \
	  tests/engines/test_pg_session.py tests/engines/test_spill.py tests/faults/test_outages.py tests/gateway/test_inner_answers.py

test-all: $(VENV)/ok $(DRIVERS)/ok $(SERVERS)/ok $(SITE)/ok
	DRIVERS=$(DRIVERS) SERVERS=$(SERVERS) SITE=$(SITE) HYPOTHESIS_PROFILE=thorough $(PYTEST) $(PARALLEL) -m 'not browser and not clients and not superset and not tools'
	HYPOTHESIS_PROFILE=thorough $(IN_A_SCHEMA) -m 'not browser'

# Mistakes put into the code, each in a process of its own, and the test that catches each: about an hour on two quiet cores.
# Some of them: make mutants ONLY='noise|ledger'
mutants: $(VENV)/ok
	$(PY) -m tests.mutants --only '$(ONLY)'

# The pages in Debian's Chromium, which only root can install; others need one that is there. axe-core judges if all can use them.
BROWSER = $(VENV)/browser
test-browser: $(VENV)/ok
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } || \
	  { echo 'chromium is needed: apt-get install chromium' >&2; exit 1; }
	@command -v npm >/dev/null || { [ "$$(id -u)" = 0 ] && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	  --no-install-recommends nodejs npm; } || { echo 'npm is needed: apt-get install npm' >&2; exit 1; }
	mkdir -p $(BROWSER) && cd $(BROWSER) && npm install --silent --no-audit --no-fund axe-core@4
	$(UV) -e '.[dev,plots,png,browser]'
	AXE=$(BROWSER)/node_modules/axe-core/axe.min.js $(PYTEST) -m browser tests/browser

# The libraries of the page Ask, from their lock file: the same bytes each time, which are committed. Nothing else needs Node.
web:
	@command -v npm >/dev/null || { echo 'npm is needed: apt-get install nodejs npm' >&2; exit 1; }
	cd web && npm ci --silent --no-audit --no-fund && npm run --silent build

# Clients that pip can't install: those of npm and Debian. What is missing is installed, which only root can.
CLIENTS = $(VENV)/clients
DEBIAN = default-jdk-headless libpostgresql-jdbc-java odbc-postgresql libodbc2 php-cli php-pgsql ruby ruby-pg libdbd-pg-perl \
  golang-go golang-github-lib-pq-dev golang-github-jackc-pgx-v4-dev g++ libpqxx-dev tcl libpgtcl tcl8.6-tdbc-postgres \
  r-cran-rpostgresql pgbouncer pgpool2 slapd mariadb-server
# pgAdmin's needs are its own, too.
PGADMIN = $(VENV)/pgadmin
test-clients: $(VENV)/ok $(DRIVERS)/ok
	@{ command -v npm >/dev/null && dpkg -s $(DEBIAN) >/dev/null 2>&1; } || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	  --no-install-recommends $(DEBIAN) $$(command -v npm >/dev/null || echo nodejs npm) >/dev/null; } || \
	  { echo 'needed: apt-get install $(DEBIAN) nodejs npm' >&2; exit 1; }
	mkdir -p $(CLIENTS) && cp tests/clients/drivers/node/package.json $(CLIENTS) && cd $(CLIENTS) && npm install --silent --no-audit --no-fund
	$(UV) -e '.[dev,plots,clients]'
	test -x $(PGADMIN)/bin/python || $(PYTHON) -m venv $(PGADMIN)
	$(VENV)/bin/uv pip install --quiet --python $(PGADMIN)/bin/python 'pgadmin4>=9'
	CLIENTS=$(CLIENTS) DRIVERS=$(DRIVERS) PGADMIN=$(PGADMIN) $(PYTEST) $(PARALLEL) -m clients tests/clients/installed

# What people look at data with, and the compilers of semantic layers, each where it disturbs nothing: several minutes.
TOOLS = $(VENV)/tools
OF_R = r-base-core r-cran-dbplyr r-cran-rpostgresql r-cran-jsonlite
test-tools: $(VENV)/ok
	@{ command -v npm >/dev/null && dpkg -s $(OF_R) >/dev/null 2>&1; } || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	  --no-install-recommends $(OF_R) $$(command -v npm >/dev/null || echo nodejs npm) >/dev/null; } || \
	  { echo 'needed: apt-get install $(OF_R) nodejs npm' >&2; exit 1; }
	mkdir -p $(TOOLS)/node && cp tests/clients/drivers/tools/package.json $(TOOLS)/node && cd $(TOOLS)/node && npm install --silent --no-audit --no-fund
	mkdir -p $(TOOLS)/evidence && cp tests/clients/drivers/tools/evidence.json $(TOOLS)/evidence/package.json && \
	  cd $(TOOLS)/evidence && npm install --silent --no-audit --no-fund
	mkdir -p $(TOOLS)/prisma && cp tests/clients/drivers/tools/prisma.json $(TOOLS)/prisma/package.json && \
	  cd $(TOOLS)/prisma && npm install --silent --no-audit --no-fund --ignore-scripts
	mkdir -p $(TOOLS)/cube && cp tests/clients/drivers/tools/cube.json $(TOOLS)/cube/package.json && \
	  cd $(TOOLS)/cube && npm install --silent --no-audit --no-fund --ignore-scripts
	for needs in tests/clients/drivers/tools/needs/*.txt; do \
	  place=$(TOOLS)/$$(basename $$needs .txt); \
	  test -x $$place/bin/python || $(PYTHON) -m venv --without-pip $$place || exit 1; \
	  $(VENV)/bin/uv pip install --quiet --python $$place/bin/python -r $$needs || exit 1; \
	done
	TOOLS=$(TOOLS) $(PYTEST) $(PARALLEL) -m tools tests/clients/tools tests/lists

# Apache Superset and a browser to look at it with, each where it disturbs nothing; for Python 3.11.
SUPERSET = $(VENV)/superset
test-superset: $(VENV)/ok
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } || \
	  { echo 'chromium is needed: apt-get install chromium' >&2; exit 1; }
	$(UV) -e '.[dev,plots,browser]'
	test -x $(SUPERSET)/bin/python || $(PYTHON) -m venv $(SUPERSET)
	$(VENV)/bin/uv pip install --quiet --python $(SUPERSET)/bin/python -r tests/superset/requirements.txt
	SUPERSET=$(SUPERSET) $(PYTEST) -m superset tests/superset

# Apache Spark, which needs Java 17 or later: a master, two workers and a Connect server. Delta's tables are Sail's alone to show:
# their Java is in no package of PyPI.
SPARK = $(VENV)/spark
test-spark: $(VENV)/ok
	@command -v java >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get \
	  install -y -qq --no-install-recommends default-jre-headless; } || \
	  { echo 'java is needed: apt-get install default-jre-headless' >&2; exit 1; }
	test -x $(SPARK)/bin/python || $(PYTHON) -m venv $(SPARK)
	$(VENV)/bin/uv pip install --quiet --python $(SPARK)/bin/python 'pyspark>=4.1,<5'
	SPARK_HOME=$$($(SPARK)/bin/python -c 'import pyspark; print(pyspark.__path__[0])') $(PYTEST) -m 'slow or not slow' \
	  -k 'not versions_stay and not versions_of_iceberg' tests/engines/test_spark.py tests/engines/test_spark_stops.py tests/queries/test_spark.py

# The first tables of docs/speed.md, in some eight minutes; bench-sessions has two, bench-growth an hour
SPEED = $(PY) -m benchmarks.speed --to docs/speed.md --kept benchmarks/speed/kept.json
bench: $(VENV)/ok
	$(SPEED) --part default --part questions --rows 5000000 --engine duckdb --rounds 3
	$(SPEED) --part default --part questions --rows 1000000 --engine postgres --rounds 3 --part added --part starting

bench-sessions: $(VENV)/ok
	$(SPEED) --part sessions

bench-growth: $(VENV)/ok
	for rows in 1000000 5000000; do $(SPEED) --part units --part groups --rows $$rows --engine duckdb || exit 1; done
	$(PY) -m benchmarks.trials

# SmartNoise SQL, Qrlew, OpenDP, diffprivlib, PipelineDP and, where it can be installed, Tumult, which needs Java, each in an
# environment of its own: Qrlew's numpy has no wheels for Python 3.13. About two hours.
PEERS = $(VENV)/peers
$(PEERS)/ok: $(VENV)/ok $(wildcard benchmarks/peers/requirements/*.txt)
	@for peer in smartnoise qrlew opendp diffprivlib pipelinedp; do \
	  test -x $(PEERS)/$$peer/bin/python || \
	    $(VENV)/bin/uv venv --quiet --no-python-downloads --python '>=3.11,<3.13' $(PEERS)/$$peer || \
	    { echo "Python 3.11 or 3.12 is needed for $$peer" >&2; exit 1; }; \
	  $(VENV)/bin/uv pip install --quiet --no-deps --python $(PEERS)/$$peer/bin/python \
	    -r benchmarks/peers/requirements/$$peer.txt || \
	    { echo "$$peer can't be installed, and without it nothing is compared" >&2; exit 1; }; \
	done
	@test -x $(PEERS)/tumult/bin/python || $(VENV)/bin/uv venv --quiet --no-python-downloads --python '>=3.11,<3.13' $(PEERS)/tumult
	@$(VENV)/bin/uv pip install --quiet --no-deps --python $(PEERS)/tumult/bin/python -r benchmarks/peers/requirements/tumult.txt || \
	  { echo "Tumult can't be installed, and is left out" >&2; rm -rf $(PEERS)/tumult; }
	touch $@

bench-peers: $(PEERS)/ok
	$(PY) -m benchmarks.peers --peers $(PEERS)
	$(PY) -m benchmarks.peers.aggregates
	$(PY) -m benchmarks.peers.everyone
	$(PY) -m benchmarks.peers.chosen

# What an installation takes, by version and hash; after a change of the dependencies, and from time to time.
LOCK = $(VENV)/bin/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 pyproject.toml
lock: $(VENV)/ok
	$(LOCK) --upgrade -o requirements.lock
	$(LOCK) --upgrade --extra mcp --extra metrics --extra plots -o requirements-all.lock

.PHONY: demo docs check ci lock web attack quick test test-in-a-schema test-long test-all test-browser test-clients test-tools test-superset test-spark mutants bench bench-sessions bench-growth bench-peers
