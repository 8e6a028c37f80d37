# make demo: train on the built-in sample, parse, score against baselines, show a tree
# make test: ruff, mypy and all tests
# make docs: the documentation as a site, in site/
# make dist: source and wheel in dist/, looked at by twine
# make bench: every benchmark, in at most 20 minutes, and a table of all machines
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
RARE := /(_inductor|jieba|mypy|mypyc|onnx|pip|setuptools|testing|tests?)/
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
COMPILED := -qq -x '$(RARE)'

.PHONY: demo test docs dist bench clean

demo: $(READY)
	rm -rf demo && mkdir demo
	$(BIN)/synparse train -o demo/model
	$(BIN)/python -m treebank.corpora.sample test > demo/test.txt
	$(BIN)/synparse parse -m demo/model demo/test.txt > demo/trees.txt
	$(BIN)/synparse eval --gold sample -m demo/model \
		--baseline right --baseline left --baseline balanced --baseline random --baseline oracle
	@echo; echo "A tree of the model, for a sentence it has never seen:"; echo
	@echo "The old teacher of the village gave the boy a red book after the meeting ." \
		| $(BIN)/synparse parse -m demo/model --format drawing

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	# mypy beside the tests; these with one process for each core, of one thread; what is compiled is kept, whatever the
	# shell's settings: the same modules are loaded in many processes
	$(BIN)/mypy & types=$$!; \
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 \
	$(BIN)/python -m pytest -n $$(getconf _NPROCESSORS_ONLN) --dist worksteal; tests=$$?; \
	wait $$types && exit $$tests

docs: $(READY)
	PYTHONPATH=. $(BIN)/python -m mkdocs build --strict

dist: $(READY)
	rm -rf dist
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*

bench: $(READY)
	$(BIN)/python -m bench.speed

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	# pip uses one core and would compile everything: here torch is compiled while it installs the rest. Packages that
	# are rarely loaded compile when they are; files for other versions of Python never do
	$(PIP) --no-deps torch
	$(BIN)/python -m compileall $(COMPILED) .venv/lib/python*/site-packages/torch & \
	$(PIP) -e '.[dev,docs]'; installed=$$?; \
	wait; exit $$installed
	$(BIN)/python -m compileall $(COMPILED) -j 0 .venv || true
	touch $@

clean:
	rm -rf .venv demo build dist site *.egg-info
