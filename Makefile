# make run [TASK="..."] [SANDBOX=danger-full-access] [ACCEPT_DOWNLOAD=1]
#                         set up .venv and start oi-tui (with a TASK, or without a terminal: headless)
# make test               set up .venv and run the whole check
# make check-servers      install foreign servers and a browser, and run what needs them
# make check-all          the check with what it leaves out: more sizes, places, servers, and examples of fuzz tests
# make check-bare         root only: make run and make test in Debian's smallest roots, as root and as a user (needs debootstrap)
# make soak               two hundred turns with faults, of which the check runs twenty; two hundred kills of starting kernels;
#                         fifty lines lost while code runs
# make coverage           which lines of the engine the tests go through
# make redteam [SEED=n] [SECONDS=240] [KIND="..." ATTEMPT=n]   attack, with a seed; writes a section of RESULTS.md
# make bench              measure; writes tests/benchmarks/RESULTS.md
# make pictures           redraw screenshots/
# make gallery [THEME=... IMAGES=kitty|sixel|half|none]   every kind of block, to look at
# make house              the house in figures: lines, rooms, arrows, names
# make clean              remove .venv and what tools left

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python .ci/install.py
# On all cores, without what nobody imports. Code in the sandbox cannot write down what it had to compile.
UNUSED := tests|litellm/proxy|mypyc?|setuptools|pkg_resources|botocore|boto3|s3transfer|fontTools|huggingface_hub|_vendored
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '/($(UNUSED))/' $(VENV)/lib || true
export TASK
export OI_TUI_SANDBOX := $(or $(SANDBOX),$(OI_TUI_SANDBOX))
export OI_TUI_ACCEPT_DOWNLOAD := $(or $(ACCEPT_DOWNLOAD),$(OI_TUI_ACCEPT_DOWNLOAD))
# Its Python may be gone, or have been broken off: then what is stamped as installed is not.
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
			echo "  Once more with less, in .scratch, where there is nothing of anybody's:" >&2; \
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

# The tests start the program some two hundred times, and are themselves read by each of the test processes: compiled once.
check: export PYTHONDONTWRITEBYTECODE :=
check:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@# Else each of the test processes compiles all of this. What is wrong with it, pytest says below.
	$(BIN)/python -m compileall -qq app widgets themes plugins tests >/dev/null 2>&1 & \
		PATH="$$(cd $(BIN) && pwd):$$PATH" $(BIN)/lint-imports; code=$$?; wait; exit $$code
	@# Tests wait for terminals and kernels: mypy takes that time. What fails on a busy machine is tried again alone, and
	@# if it passes then, it is named as flaky below: it is to be mended, not to be lived with. Only then is what an assert
	@# compares written out: pytest rewrites each test for that, 15 s of CPU time. Till then there are local variables.
	$(BIN)/mypy & mypy=$$!; \
		$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder --ignore tests/servers --assert plain --showlocals \
			-m "$(CHECKED)"; tests=$$?; \
		if [ $$tests -eq 1 ]; then \
			echo "FAILED AT THE FIRST TRY, tried again alone:" >&2; \
			$(BIN)/pytest --last-failed --last-failed-no-failures none -v -m "$(CHECKED)" && tests=0 && \
				echo "FLAKY: what passed only at the second try stands above, to be mended." >&2; \
		fi; \
		wait $$mypy || { echo "mypy found what stands above." >&2; exit 1; }; \
		exit $$tests

# Kernels are tested on real servers by the same tests as here, all marked `thorough`. .ci/run leaves them out, and with
# them most of the servers: SELECT="servers and not thorough" needs no more than requirements.txt.
# What a server has to compile, it compiles once and not at each start. It keeps no list of failures: the tests beside do.
SELECT ?= servers
WORKERS ?= 6
FEW := $(findstring not thorough,$(SELECT))
SERVED := tests/servers $(if $(FEW),,tests/kernels tests/security/test_kernel_faults.py)
check-servers: export PYTHONDONTWRITEBYTECODE :=
check-servers: $(VENV)/.dev $(VENV)/.servers $(if $(FEW),,$(VENV)/.more-servers)
	OI_TUI_SERVERS="$$(cd $(VENV) && pwd)/servers" $(BIN)/pytest -n $(WORKERS) --dist loadfile --durations 5 \
		-p no:cacheprovider -m "$(SELECT)" $(SERVED)

# Root is to do without what it could install; the user has what any user has.
check-bare: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python tests/bare/bare.py --suite bookworm --user root --alone --tests
	PYTHONPATH=tests $(BIN)/python tests/bare/bare.py --suite trixie --user ann --tests

soak: $(VENV)/.dev
	OI_TUI_SOAK_TURNS=200 OI_TUI_SOAK_KILLS=200 OI_TUI_SOAK_HANG_UPS=50 $(BIN)/pytest -m "not servers" tests/security/test_soak.py \
		tests/security/test_sandbox_kills.py tests/e2e/test_detach_rows.py -s

redteam: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m redteam --seed "$(SEED)" --seconds "$(or $(SECONDS),240)" --kind "$(KIND)" $(if $(ATTEMPT),--attempt $(ATTEMPT))

# The kernels' own side is not in it: kernels are started without what coverage needs.
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

# First of all: what is missing of the machine is not said only after a minute.
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

# Where something cannot be had, the tests that need it say so, and next time it is tried again.
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
