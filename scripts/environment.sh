# Sourced by the other scripts: makes `.venv` in the checkout from a lock file, once.
#
# Needs only Python 3.11 or newer; uses uv where it is there. Everything is kept in the checkout; a
# second call costs a comparison of one stamp file.

root="$(dirname "$(dirname "$(readlink -f "$0")")")"
venv="$root/.venv"
python="$venv/bin/python"

fail() {
    echo "$(basename "$0"): $1" >&2
    exit "${2:-5}"
}

# The first Python that is new enough; prints its path.
find_python() {
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        path="$(command -v "$name")" || continue
        if "$path" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            echo "$path"
            return 0
        fi
    done
    return 1
}

make_venv() {
    base="$(find_python)" || fail "no Python 3.11 or newer on PATH; install it with \`apt-get install python3 python3-venv\`"
    if command -v uv >/dev/null 2>&1; then
        uv venv --quiet --allow-existing --python "$base" "$venv" || fail "\`uv venv\` could not make $venv"
        return
    fi
    if ! "$base" -c 'import ensurepip, venv' 2>/dev/null; then
        version="$("$base" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
        fail "Python $version has no ensurepip; install it with \`apt-get install python$version-venv\`, or install uv"
    fi
    "$base" -m venv "$venv" || fail "\`$base -m venv\` could not make $venv"
}

# install LOCK: exactly what the lock names, each file checked by its hash, byte code compiled.
install() {
    if command -v uv >/dev/null 2>&1; then
        uv pip install --quiet --python "$python" --require-hashes --compile-bytecode -r "$1"
    else
        "$python" -m pip install -qq --disable-pip-version-check --no-input --require-hashes -r "$1"
    fi || fail "installing from $(basename "$1") failed; the lines above say why"
}

# The checkout on the path of its own environment, last, so that nothing of it shadows a library.
link_checkout() {
    site="$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
    echo "$root" >"$site/agent_tui_checkout.pth"
    "$python" -m compileall -q "$root/agent_tui" "$root/tools" "$root/context" "$root/sandbox" "$root/checkpoints" || true
}

# ensure_environment STAMP LOCK…: does nothing when the stamp says that these locks are installed.
ensure_environment() {
    stamp="$venv/.$1"
    shift
    if [ -x "$python" ] && [ -f "$stamp" ] && cat "$@" | cmp -s - "$stamp"; then
        return
    fi
    [ -x "$python" ] && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || {
        echo "$(basename "$0"): making the environment in .venv, once" >&2
        make_venv
    }
    echo "$(basename "$0"): installing the locked packages" >&2
    for lock in "$@"; do
        install "$lock"
    done
    link_checkout
    cat "$@" >"$stamp"
}
