# Sourced by ./demo, ./test and .ci/run: makes an environment of its own from nothing but Python 3.11.

unset PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

say() { printf '%s\n' "$*" >&2; }

# prints the path of a Python 3.11; $PYTHON goes first
find_python() {
    for candidate in ${PYTHON:-} python3.11 python3 python; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return 0
        fi
    done
    say "treadle needs Python 3.11, and none was found: install it, or name it: PYTHON=/path/to/python3.11 $0"
    return 1
}

# prints the extra that brings a C++ compiler, if this machine has none
compiler_extra() {
    for candidate in ${TREADLE_CXX:-} g++ clang++ c++; do
        if command -v "$candidate" >/dev/null 2>&1; then
            return 0
        fi
    done
    say "No C++ compiler found; installing one from the extra treadle[cc] (ziglang, a 101 MB download)."
    printf 'cc'
}

# make_environment FOLDER EXTRAS: the environment with this project in it, editable; kept while
# pyproject.toml and the pins stay as they are
make_environment() {
    folder=$1
    extras=$2
    wanted="$extras $(cat pyproject.toml tools/constraints.txt | cksum)"
    if [ "$(cat "$folder/ready" 2>/dev/null)" = "$wanted" ]; then
        return 0
    fi
    base=$(find_python) || return 1
    say "Making an environment in $folder (once) ..."
    rm -rf "$folder"
    if ! "$base" -m venv "$folder"; then
        say "$base cannot make environments; on Debian and Ubuntu: apt install python3.11-venv"
        return 1
    fi
    target=.
    if [ -n "$extras" ]; then
        target=".[$extras]"
    fi
    "$folder/bin/python" -m pip install --quiet -c tools/constraints.txt -e "$target" || return 1
    printf '%s' "$wanted" >"$folder/ready"
}
