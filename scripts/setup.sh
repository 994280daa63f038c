#!/bin/sh
# Installs rag_agent and what it needs, as pinned in requirements/, into .venv of this checkout.
#
#   scripts/setup.sh runtime     what `make demo` needs
#   scripts/setup.sh dev         that, and what tests and checks need
#
# Needs a Python of at least 3.10 and its package registry, nothing else. $PYTHON chooses one.
set -eu

cd "$(dirname "$0")/.."
set_name=$1
venv=.venv

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

is_recent() { # is_recent PYTHON: runs, and is new enough
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_recent "$PYTHON" || fail "PYTHON=$PYTHON is not a Python of at least 3.10"
        printf '%s\n' "$PYTHON"
        return
    fi
    for candidate in python3 python3.14 python3.13 python3.12 python3.11 python3.10 python; do
        if is_recent "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    fail "no Python of at least 3.10 found (python3 is $(python3 --version 2>&1 || true))." \
        "Install one, or name it: make ${MAKECMDGOALS:-demo} PYTHON=/path/to/python3"
}

venv_python() { # where the environment's interpreter lies; Windows has another layout
    if [ -e "$venv/Scripts/python.exe" ]; then
        printf '%s\n' "$venv/Scripts/python.exe"
    else
        printf '%s\n' "$venv/bin/python"
    fi
}

create_venv() { # create_venv PYTHON
    version=$("$1" --version 2>&1)
    printf 'Creating %s with %s\n' "$venv" "$version"
    reason=$("$1" -m venv --clear "$venv" 2>&1) && return
    # Debian and Ubuntu keep ensurepip in a package of its own; another pip or uv will do as well.
    if "$1" -m venv --clear --without-pip "$venv" >/dev/null 2>&1; then
        if "$1" -m pip --python "$venv/bin/python" install --quiet pip 2>/dev/null; then return; fi
        if uv pip install --quiet --python "$venv/bin/python" pip 2>/dev/null; then return; fi
    fi
    rm -rf "$venv"
    printf '%s\n' "$reason" >&2
    fail "$version cannot create a virtual environment with pip in it." \
        "On Debian and Ubuntu, 'apt install python3-venv' as root mends that;" \
        "then give the same command again."
}

python=$(venv_python)
if ! is_recent "$python" || ! "$python" -m pip --version >/dev/null 2>&1; then
    chosen=$(find_python)
    create_venv "$chosen"
    python=$(venv_python)
fi

pip() {
    "$python" -m pip --disable-pip-version-check --no-input "$@"
}

printf 'Installing what requirements/%s.txt pins (about 90 MB, the first time only)\n' "$set_name"
pip install --quiet --require-hashes --requirement "requirements/$set_name.txt"
pip install --quiet --no-deps --no-build-isolation --editable .
