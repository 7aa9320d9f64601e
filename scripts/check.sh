#!/bin/sh
# Every check of the project, in the order in which they fail fastest.
set -eu
BIN=${BIN:-.venv/bin}
"$BIN/ruff" format --check src tests benchmarks data
"$BIN/ruff" check src tests benchmarks data
"$BIN/mypy"
"$BIN/lint-imports"
"$BIN/python" -m pytest "$@"
