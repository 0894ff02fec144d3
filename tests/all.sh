#!/usr/bin/env bash
# Builds the wheel and tests it in new environments: style, types and layers once, the tests on Python 3.11 and 3.13.
#
#   bash tests/all.sh            everything
#   bash tests/all.sh --quick    on 3.11 only, without real editors and without programs run under JAX
#
# Environments are made in a temporary folder and removed at the end. REMAT_LINT_KEEP=DIR keeps them in DIR.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

quick=""
case "${1:-}" in
  "") ;;
  --quick) quick=1 ;;
  *) echo "usage: bash tests/all.sh [--quick]" >&2; exit 2 ;;
esac

work="${REMAT_LINT_KEEP:-$(mktemp -d)}"
mkdir -p "$work"
[ -n "${REMAT_LINT_KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
unset PYTHONPATH VIRTUAL_ENV PYTHONHOME
# Without this, `python -m remat_lint` in this folder would run the sources beside it, not the wheel.
export PYTHONSAFEPATH=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# A version manager may put a `python3.13` on PATH that only says that it is not active: ask it to run.
find_python() {
  local version=$1 candidate
  for candidate in "python$version" "$(pyenv root 2>/dev/null || true)"/versions/"$version"*/bin/python; do
    if "$candidate" -c "import sys; raise SystemExit(sys.version_info[:2] != tuple(map(int, '$version'.split('.'))))" \
        >/dev/null 2>&1; then
      echo "$candidate"
      return
    fi
  done
}

make_environment() {
  local python=$1 folder=$2
  "$python" -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet "$(ls "$work"/dist/*.whl)[dev]"
}

run_tests() {
  local folder=$1 selection=()
  [ -z "$quick" ] || selection=(-m "not execution and not editor")
  PATH="$PWD/$folder/bin:$folder/bin:$PATH" "$folder/bin/pytest" -p no:cacheprovider \
    --numprocesses auto --maxprocesses 4 --dist loadgroup "${selection[@]}"
}

first=$(find_python 3.11)
[ -n "$first" ] || { echo "Python 3.11 is needed and was not found" >&2; exit 1; }
why="no python3.13 that runs was found on PATH or below \$(pyenv root)/versions"
second=""
if [ -n "$quick" ]; then why="--quick"; else second=$(find_python 3.13); fi

echo "== wheel"
"$first" -m venv "$work/build"
"$work/build/bin/python" -m pip install --quiet build
rm -rf "$work/dist"
"$work/build/bin/python" -m build --wheel --outdir "$work/dist" . >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }

echo "== $("$first" --version)"
make_environment "$first" "$work/py311"
export PATH
"$work/py311/bin/ruff" check .
"$work/py311/bin/ruff" format --check .
"$work/py311/bin/mypy" --python-executable "$work/py311/bin/python" --cache-dir "$work/mypy"
# The layers are read from the sources; `server` is no package, so its folder is named.
PYTHONSAFEPATH="" PYTHONPATH="$PWD:$PWD/server" "$work/py311/bin/lint-imports" --no-cache
run_tests "$work/py311"

if [ -n "$second" ]; then
  echo "== $("$second" --version)"
  make_environment "$second" "$work/py313"
  run_tests "$work/py313"
else
  echo "3.13 not tested: $why"
fi
