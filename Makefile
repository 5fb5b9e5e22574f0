# make run [TASK="..."] [SANDBOX=danger-full-access] [ACCEPT_DOWNLOAD=1]
#                         set up .venv and start oi-tui (with a TASK, or without a terminal: headless)
# make test               set up .venv and run the whole check
# make check-servers      install foreign servers and a browser, and run the tests that need them
# make check-all          the check and the tests that it leaves out: more sizes, places, servers, and examples of fuzz tests
# make check-bare         root only: make run and make test in minimal Debian roots, as root and as a user (needs debootstrap)
# make soak               two hundred turns with faults, of which the check runs thirteen; two hundred kills of starting kernels;
#                         fifty lines lost while code runs
# make coverage           which lines of the engine the tests run
# make redteam [SEED=n] [SECONDS=240] [KIND="..." ATTEMPT=n]   attack, with a seed; writes a section of RESULTS.md
# make bench              measure; writes tests/benchmarks/RESULTS.md
# make pictures           redraw screenshots/
# make gallery [THEME=... IMAGES=kitty|sixel|half|none]   show every kind of block
# make house              figures of the source: lines, packages, imports, names
# make clean              remove .venv, builds and caches of tools

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python .ci/install.py
# Compile on all cores, without modules that nobody imports. Code in the sandbox cannot save what it compiles.
UNUSED := tests|litellm/proxy|mypyc?|setuptools|pkg_resources|botocore|boto3|s3transfer|fontTools|huggingface_hub|_vendored
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '/($(UNUSED))/' $(VENV)/lib || true
export TASK
export OI_TUI_SANDBOX := $(or $(SANDBOX),$(OI_TUI_SANDBOX))
export OI_TUI_ACCEPT_DOWNLOAD := $(or $(ACCEPT_DOWNLOAD),$(OI_TUI_ACCEPT_DOWNLOAD))
# The environment's Python may be gone, or its installation was interrupted: then ignore the stamps of what is installed.
BROKEN := $(shell "$(BIN)/python" -c "import pip" 2>/dev/null || echo again)

.PHONY: run test check check-servers check-all check-bare soak redteam coverage bench pictures gallery house clean machine again

run: $(VENV)/.run
	@if [ -z "$$TASK" ] && [ -t 0 ] && [ -t 1 ] && [ "$$TERM" != dumb ]; then \
		exec $(BIN)/oi-tui; \
	elif [ -z "$$TASK" ] && [ -t 0 ] && [ -t 2 ]; then \
		echo 'This is no terminal for the app. Use: make run TASK="..."' >&2; exit 2; \
	elif [ -t 0 ] && [ -t 2 ]; then \
		$(BIN)/oi-tui run "$$TASK"; code=$$?; \
	else \
		task="$${TASK:-Compute the first ten square numbers and print them.}"; \
		$(BIN)/oi-tui run --yes --accept-download "$$task" </dev/null; code=$$?; \
		if [ $$code -eq 4 ] && [ -z "$$TASK$$OI_TUI_SANDBOX$$OI_TUI_SANDBOX_RUNG" ]; then \
			echo "  Trying again without a full sandbox, in the empty folder .scratch:" >&2; \
			mkdir -p .scratch; bin=$$(cd $(BIN) && pwd); \
			(cd .scratch && OI_TUI_SANDBOX_RUNG=lock exec "$$bin/oi-tui" run --yes --accept-download "$$task" </dev/null); code=$$?; \
		fi; \
	fi; \
	[ $$code -ne 4 ] || echo "  Without a sandbox, with make: SANDBOX=danger-full-access make run" >&2; \
	[ $$code -ne 6 ] || echo "  With make: ACCEPT_DOWNLOAD=1 make run" >&2; \
	exit $$code

test: $(VENV)/.dev
	$(MAKE) --no-print-directory check

CHECKED ?= not servers and not thorough
check-all:
	HYPOTHESIS_PROFILE=thorough $(MAKE) --no-print-directory test CHECKED="not servers"
	$(MAKE) --no-print-directory check-servers SELECT="servers"

# The tests start the program some two hundred times, and each test process reads them: compile everything once.
check: export PYTHONDONTWRITEBYTECODE :=
check:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@# Otherwise each test process compiles all of this. pytest reports errors below.
	$(BIN)/python -m compileall -qq app widgets themes plugins tests >/dev/null 2>&1 & \
		PATH="$$(cd $(BIN) && pwd):$$PATH" $(BIN)/lint-imports; code=$$?; wait; exit $$code
	@# Tests wait for terminals and kernels: mypy uses that time. A test that fails on a busy machine is tried again alone; if
	@# it passes then, it is listed as flaky, and needs a fix. Only the second try writes out what an assert
	@# compares: pytest rewrites each test for that, which takes 15 s of CPU time. The first try shows local variables.
	$(BIN)/mypy & mypy=$$!; \
		$(BIN)/pytest -n 5 --dist loadfile --no-loadscope-reorder --ignore tests/servers --assert plain --showlocals \
			-m "$(CHECKED)"; tests=$$?; \
		if [ $$tests -eq 1 ]; then \
			echo "FAILED AT THE FIRST TRY, tried again alone:" >&2; \
			$(BIN)/pytest --last-failed --last-failed-no-failures none -v -m "$(CHECKED)" && tests=0 && \
				echo "FLAKY: the tests above passed only at the second try. Fix them." >&2; \
		fi; \
		wait $$mypy || { echo "mypy found the errors above." >&2; exit 1; }; \
		exit $$tests

# Kernels are tested on real servers by the same tests as here, all marked `thorough`. .ci/run leaves them out, and with
# them most of the servers: SELECT="servers and not thorough" needs no more than requirements.txt.
# Servers compile their modules once and not at each start. Failures are not kept: the check that runs at the same time keeps its own.
SELECT ?= servers
WORKERS ?= 6
FEW := $(findstring not thorough,$(SELECT))
SERVED := tests/servers $(if $(FEW),,tests/kernels tests/security/test_kernel_faults.py)
check-servers: export PYTHONDONTWRITEBYTECODE :=
check-servers: $(VENV)/.dev $(VENV)/.servers $(if $(FEW),,$(VENV)/.more-servers)
	OI_TUI_SERVERS="$$(cd $(VENV) && pwd)/servers" $(BIN)/pytest -n $(WORKERS) --dist loadfile --durations 5 \
		-p no:cacheprovider -m "$(SELECT)" $(SERVED)

# Root runs without the packages that it could install; the user has what any user has.
check-bare: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python tests/bare/bare.py --suite bookworm --user root --alone --tests
	PYTHONPATH=tests $(BIN)/python tests/bare/bare.py --suite trixie --user ann --tests

soak: $(VENV)/.dev
	OI_TUI_SOAK_TURNS=200 OI_TUI_SOAK_KILLS=200 OI_TUI_SOAK_HANG_UPS=50 $(BIN)/pytest -m "not servers" tests/security/test_soak.py \
		tests/security/test_sandbox_kills.py tests/e2e/test_detach_rows.py -s

redteam: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m redteam --seed "$(SEED)" --seconds "$(or $(SECONDS),240)" --kind "$(KIND)" $(if $(ATTEMPT),--attempt $(ATTEMPT))

# Without the code that runs inside kernels: they are started without coverage.
coverage: $(VENV)/.dev
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 4 --dist loadfile
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

bench: $(VENV)/.dev
	$(BIN)/python tests/benchmarks/run.py

pictures: $(VENV)/.dev
	$(BIN)/python screenshots/take.py

gallery: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python screenshots/gallery.py --theme $(or $(THEME),harbour) --images $(or $(IMAGES),half)

house:
	@PYTHONPATH=tests $(PYTHON) -m support.house

# First of all, so that the message about missing libraries does not come after a minute.
machine:
	@$(if $(filter test,$(MAKECMDGOALS)),PYTHON="$(PYTHON)" sh .ci/machine.sh test)

$(VENV)/.run: pyproject.toml $(BROKEN) | machine
	@sh .ci/venv.sh "$(PYTHON)" "$(VENV)"
	@echo "Setting up $(VENV) (up to a minute or two, once) ..."
	$(INSTALL) -e '.[local,data,mcp]'
	@$(COMPILE)
	@sh .ci/openmp.sh "$(VENV)"
	@command -v bwrap >/dev/null || echo "bubblewrap is not here and not needed: code runs in a sandbox of our own, with the same promises. Installed \
	(Debian and Ubuntu: apt install bubblewrap), it puts the sandbox together for whoever is not root: a program that more people have looked at." >&2
	@touch $@

$(VENV)/.dev: pyproject.toml $(BROKEN) | machine
	@sh .ci/venv.sh "$(PYTHON)" "$(VENV)"
	@echo "Setting up $(VENV) for development (up to a minute or two, once) ..."
	$(INSTALL) -e '.[local,data,dev]'
	@$(COMPILE)
	@sh .ci/openmp.sh "$(VENV)"
	@touch $@ $(VENV)/.run

# If a server cannot be installed, the tests that need it say so, and the next run tries again.
$(VENV)/.servers: tests/servers/requirements.txt | $(VENV)/.dev
	@PYTHON="$(PYTHON)" sh .ci/machine.sh servers
	@echo "Setting up $(VENV)/servers (some seconds, once) ..."
	@$(BIN)/python -m venv --clear --without-pip "$(VENV)/servers" && \
		$(INSTALL) --into $(VENV)/servers/bin/python -r tests/servers/requirements.txt && touch $@ || \
		echo "The foreign servers could not be installed: tests that need them are skipped." >&2

$(VENV)/.more-servers: tests/servers/more.txt tests/servers/gateway.txt tests/servers/mcp2.txt tests/servers/package.json \
		$(VENV)/.servers
	@echo "Setting up more servers (half a minute, once) ..."
	@$(INSTALL) --into $(VENV)/servers/bin/python -r tests/servers/requirements.txt -r tests/servers/more.txt && \
		for place in gateway mcp2; do \
			$(BIN)/python -m venv --clear --without-pip "$(VENV)/$$place" && \
			$(INSTALL) --into $(VENV)/$$place/bin/python -r tests/servers/$$place.txt || exit 1; \
		done && \
		mkdir -p $(VENV)/servers/node && cp tests/servers/package.json $(VENV)/servers/node && \
		{ npm install --no-fund --no-audit --loglevel=error --prefix $(VENV)/servers/node >/dev/null || \
			echo "JupyterHub's proxy and MCP servers could not be installed (npm): tests that need them are skipped." >&2; } && touch $@ || \
		echo "More foreign servers could not be installed: tests that need them are skipped." >&2

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
