# Everything runs in .venv; only python3 (3.11 or newer) and make are needed beforehand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= demo-out
STAMP := $(VENV)/.ready

.PHONY: demo test lab bench check notebooks lock setup clean

demo: setup  ## set everything up, run the security-exception review, print where the results are
	$(BIN)/logoslab demo --out $(OUT)

test: setup  ## set everything up, run every check and test
	BIN=$(BIN) sh scripts/check.sh

lab: setup  ## open JupyterLab on the notebooks
	$(BIN)/jupyter lab --ServerApp.ip=127.0.0.1 --ServerApp.root_dir=notebooks

bench: setup  ## run the benchmarks, with the peers that they compare with
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements.lock -e '.[bench]'
	for b in benchmarks/[a-z]*.py; do echo "== $$b"; $(BIN)/python $$b || exit 1; done

setup: $(STAMP)

$(STAMP): pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "logoslab needs Python 3.11 or newer; try make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements.lock -e '.[local,test]'
	$(BIN)/logoslab models install
	touch $(STAMP)

lock: $(BIN)/uv  ## resolve again and rewrite requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate \
	  --all-extras pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) $(OUT)

notebooks: setup  ## rewrite every .ipynb from its .py twin, without outputs
	$(BIN)/python scripts/notebooks.py
