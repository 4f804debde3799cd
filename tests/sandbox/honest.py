"""What must work in the sandbox: ordinary work of developers, offline."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Job:
    """A script that must end with 0; `says` must show, `after` must hold outside afterwards."""

    id: str
    script: str
    says: str = ""
    setup: str = ""
    after: str = ""
    world: str = "repo"
    lane: bool = False
    read_only: bool = False
    tty: bool = False
    clean: bool = False  # the workspace must be exactly as before
    needs: tuple[str, ...] = ()


def _python(code: str) -> str:
    return f"python3 - <<'END'\n{code}\nEND"


SERVER_THEN_CLIENT = "ok-server-then-client"  # two commands of one session, the first still running
SERVER = """import socket
server = socket.socket(); server.bind(("127.0.0.1", 8741)); server.listen()
while True: server.accept()[0].sendall(b"served")"""
CLIENT = """import socket, time
for _ in range(1000):
    try: print(socket.create_connection(("127.0.0.1", 8741), 5).recv(100).decode()); break
    except ConnectionRefusedError: time.sleep(0.05)"""

_COMMIT = "echo x > n && git add n && git commit -qm m && git log --oneline | head -1"

ALL = [
    Job(
        "ok-home-cache",
        'mkdir -p "$HOME/.cache/tool" && echo x > "$HOME/.cache/tool/f" && mktemp && echo ok',
        "ok",
    ),
    Job("ok-tool-directories", 'for d in .npm .config .m2 .gradle; do echo x > "$HOME/$d/f" || exit 1; done'),
    Job("ok-mktemp", 'd=$(mktemp -d) && echo a > "$d/f" && cat "$d/f" && echo b > /var/tmp/f', "a"),
    Job("ok-residue", "true", clean=True),
    Job("ok-residue-plain", "true", world="plain", clean=True),
    Job("ok-read-only", "cat a.txt && ! touch b.txt 2>/dev/null", "a", read_only=True, clean=True),
    Job(
        "ok-write-workspace",
        "mkdir -p d/e && echo x > d/e/f && mv d g && chmod 755 g/e/f && ln -s g h && rm -r g",
    ),
    Job("ok-git-status-clean", 'test -z "$(git status --porcelain -- . ":!tool.py")"'),
    Job(
        "ok-git-log-diff", "echo b >> a.txt && git log --oneline && git diff | grep -q '+b' && git stash list"
    ),
    Job("ok-git-commit", _COMMIT, "m", lane=True, after='git -C "$WS" log --oneline | grep -q m'),
    Job(
        "ok-git-add-all",
        'git add -A && git commit -qm all && test "$(git ls-files | sort | tr "\\n" " ")" = "a.txt tool.py "',
        lane=True,
    ),
    Job(
        "ok-git-branch-checkout-merge",
        "git checkout -qb f && echo y > y && git add y && git commit -qm y && git checkout -q main && git merge -q f && git branch -d f && git tag t",
        lane=True,
    ),
    Job(
        "ok-git-stash-rebase",
        "echo z >> a.txt && git stash -q && git stash pop -q && git commit -qam z && git rebase -q HEAD~1",
        lane=True,
    ),
    Job("ok-git-gc", "git gc -q", lane=True),
    Job(
        "ok-git-worktree",
        _COMMIT,
        "m",
        world="worktree",
        lane=True,
        after='git -C "$OUT/main" log --oneline side | grep -q m && test -z "$(git -C "$OUT/main" status --porcelain)"',
    ),
    Job("ok-git-worktree-status", "git status && git log --oneline", "first", world="worktree"),
    Job("ok-git-submodule", _COMMIT, "m", world="submodule", lane=True),
    Job(
        "ok-git-init-fresh",
        "git init -q fresh && cd fresh && echo a > a && git add a && git commit -qm a && git log --oneline",
        "a",
    ),
    Job("ok-git-identity", "git config user.email", "tester@example.com"),
    Job(
        "ok-loopback-server",
        _python(
            "import socket as s\na=s.socket(); a.bind(('127.0.0.1',0)); a.listen()\n"
            "s.create_connection(a.getsockname(),2); x,y=s.socketpair(); b=s.socket(s.AF_UNIX); b.bind('u.sock'); print('ok')"
        ),
        "ok",
    ),
    Job(
        "ok-ipv6-loopback",
        _python(
            "import socket as s\na=s.socket(s.AF_INET6); a.bind(('::1',0)); a.listen(); s.create_connection(a.getsockname()[:2],2)"
        ),
    ),
    Job(
        "ok-http-server",
        "python3 -m http.server 8731 --bind 127.0.0.1 >/dev/null 2>&1 & for i in $(seq 100); do curl -s http://127.0.0.1:8731/a.txt && exit 0; sleep 0.05; done; exit 1",
        "a",
        needs=("curl",),
    ),
    Job(
        "ok-outside-fails-fast",
        _python(
            "import socket,time\nt=time.time()\n"
            "for address in (('192.0.2.1',80),('host.invalid',80)):\n"
            "  try: socket.create_connection(address,3)\n  except OSError: pass\n  else: raise SystemExit(1)\n"
            "raise SystemExit(time.time()-t>5)"
        ),
    ),
    Job(
        "ok-asyncio-subprocess",
        _python(
            "import asyncio\nasync def m():\n p=await asyncio.create_subprocess_exec('echo','hi',stdout=-1)\n print((await p.communicate())[0].decode())\nasyncio.run(m())"
        ),
        "hi",
    ),
    Job(
        "ok-multiprocessing-manager",
        "cat > m.py <<'END'\nimport multiprocessing as m\nif __name__=='__main__':\n  with m.Manager() as g:\n    d=g.dict(); p=m.Process(target=d.update,args=({'a':1},)); p.start(); p.join(); print(dict(d))\n  with m.Pool(2) as p: print(p.map(abs,[-3]))\nEND\npython3 m.py",
        "[3]",
    ),
    Job(
        "ok-shared-memory",
        _python(
            "from multiprocessing import shared_memory as s\na=s.SharedMemory(create=True,size=1000); a.close(); a.unlink(); print('ok')"
        ),
        "ok",
    ),
    Job(
        "ok-threads",
        _python(
            "import threading\nt=[threading.Thread(target=sum,args=(range(9),)) for _ in range(50)]\n[x.start() for x in t];[x.join() for x in t];print('ok')"
        ),
        "ok",
    ),
    Job(
        "ok-compile-make",
        "printf 'int main(){return 0;}' > m.c && printf 'm: m.c\\n\\tcc -O1 -g -o m m.c\\n' > Makefile && make -j2 && ./m",
        needs=("cc", "make"),
    ),
    Job(
        "ok-cmake",
        "printf 'int main(){return 0;}' > m.c && printf 'cmake_minimum_required(VERSION 3.10)\\nproject(p C)\\nadd_executable(m m.c)\\n' > CMakeLists.txt && cmake -B b >/dev/null && make -C b >/dev/null && b/m",
        needs=("cmake", "cc"),
    ),
    Job(
        "ok-sanitizer",
        "printf '#include <stdlib.h>\\nint main(){free(malloc(9));return 0;}' > m.c && cc -fsanitize=address -o m m.c && ./m",
        needs=("cc",),
    ),
    Job(
        "ok-gdb",
        "printf 'int main(){return 7;}' > m.c && cc -g -o m m.c && gdb -q -batch -ex 'break main' -ex run -ex 'next' ./m 2>&1 | tail -3",
        "main",
        needs=("gdb", "cc"),
    ),
    Job("ok-strace", "strace -f -o s.txt true && grep -q exit_group s.txt", needs=("strace",)),
    Job("ok-setarch", "setarch -R true", needs=("setarch",)),
    Job(
        "ok-node",
        'node -e \'const {Worker}=require("worker_threads"); console.log(1+1); require("http").createServer((q,s)=>s.end("hi")).listen(0,function(){require("http").get({port:this.address().port},r=>r.on("data",d=>{console.log(String(d));process.exit(0)}))})\'',
        "hi",
        needs=("node",),
    ),
    Job(
        "ok-npm-script",
        'printf \'{"name":"x","version":"1.0.0","scripts":{"test":"node -e 1"}}\' > package.json && npm test --silent && npm pack --silent >/dev/null && ls x-1.0.0.tgz',
        needs=("npm",),
    ),
    Job(
        "ok-npm-install",
        'mkdir d && printf \'{"name":"d","version":"1.0.0"}\' > d/package.json && printf \'{"name":"x","version":"1.0.0","dependencies":{"d":"file:./d"}}\' > package.json && npm install --offline --no-audit --no-fund --silent && test -e node_modules/d && npm ci --offline --silent --no-audit',
        needs=("npm",),
    ),
    Job(
        "ok-venv-pip",
        "python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix)'",
        "/v",
    ),
    Job(
        "ok-pip-install",
        "py=$(ls -d $PYENV_ROOT/versions/3.1[1-9]*/bin/python3 | head -1) && $py -m venv v && v/bin/pip --version && "
        + _python(
            "import zipfile\n"
            "with zipfile.ZipFile('p-1-py3-none-any.whl', 'w') as wheel:\n"
            "    wheel.writestr('p_mod.py', 'X = 42')\n"
            "    wheel.writestr('p-1.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: p\\nVersion: 1\\n')\n"
            "    wheel.writestr('p-1.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n"
            "    wheel.writestr('p-1.dist-info/RECORD', '')"
        )
        + "\nv/bin/pip install -q --no-index ./p-1-py3-none-any.whl && v/bin/python -c 'import p_mod; print(p_mod.X)'",
        "42",
        needs=("$PYENV_ROOT/versions",),
    ),
    Job(
        "ok-cargo-test",
        "export PATH=$(ls -d $RUSTUP_HOME/toolchains/*/bin | head -1):$PATH && cargo new -q --vcs none c && cd c && "
        "printf '#[test] fn t() { assert_eq!(1, 1); }\\nfn main() {}' > src/main.rs && cargo test -q --offline",
        "1 passed",
        needs=("$RUSTUP_HOME/toolchains",),
    ),
    Job(
        "ok-unittest",
        "printf 'import unittest\\nclass T(unittest.TestCase):\\n  def test(self): import tempfile; tempfile.mkdtemp()\\n' > test_x.py && python3 -m unittest -q && ls __pycache__",
    ),
    Job(
        "ok-tar-xargs-find",
        "tar czf a.tgz a.txt && mkdir x && tar xzf a.tgz -C x && find . -name a.txt | xargs -n1 cat | wc -l",
    ),
    Job(
        "ok-sqlite",
        _python(
            "import sqlite3\nc=sqlite3.connect('d.db'); c.execute('pragma journal_mode=wal'); c.execute('create table t(a)'); c.execute('insert into t values(1)'); c.commit(); print(c.execute('select * from t').fetchall())"
        ),
        "[(1,)]",
    ),
    Job("ok-perl", "perl -e 'print 6*7'", "42", needs=("perl",)),
    Job(
        "ok-java",
        "printf 'class A{public static void main(String[] a){System.out.println(6*7);}}' > A.java && java A.java",
        "42",
        needs=("java",),
    ),
    Job(
        "ok-inotify-file-lock",
        _python(
            "import fcntl\nf=open('l','w'); fcntl.flock(f,fcntl.LOCK_EX); fcntl.lockf(f,fcntl.LOCK_EX); print('ok')"
        ),
        "ok",
    ),
    Job("ok-locale-time-users", "date && LC_ALL=C.UTF-8 printf 'ü' && id && getent hosts localhost && nproc"),
    Job("ok-large-output", "head -c 3000000 /dev/zero | tr '\\0' x | tail -c 3", "xxx"),
    Job("ok-background-children", "sleep 0.2 & sleep 0.1 & wait && echo done", "done"),
    Job("ok-tty-size", "stty size", "24 80", tty=True),
    Job(
        "ok-job-control",
        "bash -i -c 'sleep 5 & jobs; kill %1; wait; fg 2>/dev/null; echo fine' 2>&1",
        "fine",
        tty=True,
    ),
    Job("ok-controlling-terminal", "echo hello > /dev/tty", "hello", tty=True),
    Job(
        "ok-script-pty",
        _python(
            "import pty,os\npid,fd=pty.fork()\nif pid==0: os.execvp('echo',['echo','inner'])\nprint(os.read(fd,99))"
        ),
        "inner",
    ),
    Job(
        "ok-proc-self",
        "cat /proc/self/status | grep -q NoNewPrivs && cat /proc/cpuinfo | head -1 && ls /proc/self/fd && cat /proc/sys/kernel/osrelease",
    ),
    Job(
        "ok-dev",
        "head -c 4 /dev/urandom | wc -c && echo x > /dev/null && ls /dev/shm && echo y > /dev/shm/y && cat <(echo sub)",
        "sub",
    ),
]
