# Everything that is needed is set up on the way: an environment in .venv, the engine, the package itself.
# A second run starts at once. CMAKE_ARGS=-DGGML_CUDA=on (or Vulkan, Metal, HIP) builds the engine for a GPU.

BIN := .venv/bin
PATHS := shim modelfiles runtime mirrors demo bench scripts tests setup.py

.PHONY: help setup run test check fix bench clean
.DEFAULT_GOAL := help

help:  ## say what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-6s %s\n", $$1, $$2}' Makefile

setup:  ## compile the engine and install everything into .venv
	@bash scripts/setup.sh

run: setup  ## make a small mixture-of-experts model and serve it
	@bash scripts/run.sh

test: setup  ## run all tests; ARGS="tests/live -x" narrows them
	@$(BIN)/python -m pytest $(ARGS)

check: setup  ## lint, types, and the rules of the code's layout
	$(BIN)/ruff check $(PATHS)
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layout.py tests/test_docs.py

fix: setup  ## let the linter correct what it can
	$(BIN)/ruff check --fix $(PATHS)

bench: setup  ## measure engine and server side by side; ARGS="--model FILE.gguf"
	@$(BIN)/python -m bench.run $(ARGS)

clean:  ## remove what was built here (not the engine's wheel, which is in the user's cache)
	rm -rf .venv .cache build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f runtime/native/_*.c runtime/native/*.so runtime/native/*.o
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
