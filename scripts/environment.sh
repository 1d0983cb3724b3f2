# Sourced by the scripts beside it: an environment of this checkout's own in .venv, made from requirements.lock.
# It is made again when the lock or the folder changed, and the project is installed again when pyproject.toml did.

unset PYTHONPATH PYTHONHOME
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0

stop() {
    echo "$0: $*" >&2
    exit 1
}

find_python() {
    for python in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && return
    done
    stop "needs Python 3.10 or later, found $(python3 --version 2>/dev/null || echo no python3): install the package python3"
}

# The interpreter and the folder stand in every script of an environment: with others it is of no use.
made_from() {
    echo "$("$python" -c 'import sys; print(sys.version, sys.base_prefix)') in $PWD"
    cat requirements.lock
}

make_environment() {
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        stop "$python has no venv: install the package python3-venv (Debian and its kin), or a Python that has it"
    echo "making the environment in .venv, once" >&2
    # Called from within the environment, python3 is the one that is about to be removed.
    python=$("$python" -c 'import sys; print(sys._base_executable)')
    rm -rf .venv
    "$python" -m venv .venv >/dev/null || stop "$python -m venv .venv failed: is python3-venv installed, and this folder writable?"
    .venv/bin/pip install -q --require-hashes -r requirements.lock ||
        stop "the packages of requirements.lock could not be installed (above): is PyPI, or a mirror that pip knows, reachable?"
    made_from >.venv/made-from
}

install_project() {
    .venv/bin/pip install -q --no-deps --no-build-isolation -e . || stop "the project itself could not be installed (above)"
    cp pyproject.toml .venv/pyproject.toml
}

# The tests of pages look at them with a headless Chromium, and are skipped by name where there is none. Root on Debian
# or its kin is given it; whoever sets FINGERPRINT_BROWSER, to a program or to nothing, is not.
browser() {
    [ -z "${FINGERPRINT_BROWSER+set}" ] || return 0
    for program in chromium-headless-shell chromium chromium-browser google-chrome headless_shell; do
        command -v "$program" >/dev/null && return 0
    done
    { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; } || return 0
    installed chromium-headless-shell fonts-dejavu-core ||
        echo "it cannot be had here: tests marked browser are skipped" >&2
}

# The tests of the service boot a systemd of their own (tests/systemd/boot), and are skipped by name where there is none.
# Root on Debian or its kin is given it; a container has none by default.
service_manager() {
    [ -x /lib/systemd/systemd ] && command -v dbus-daemon >/dev/null && return 0
    { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; } || return 0
    installed systemd dbus || echo "it cannot be had here: tests that boot a systemd are skipped" >&2
}

# Packages of Debian, or of its kin.
installed() {
    echo "installing $*, once" >&2
    apt="timeout 300 apt-get -qq -o DPkg::Lock::Timeout=60"
    { $apt update && DEBIAN_FRONTEND=noninteractive $apt install -y --no-install-recommends "$@"; } >/dev/null 2>&1
}

environment() {
    find_python
    made_from | cmp -s - .venv/made-from || make_environment
    cmp -s pyproject.toml .venv/pyproject.toml || install_project
}
