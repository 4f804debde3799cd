"""What must be blocked. Each entry is shown to succeed without a sandbox before it counts.

A script runs in the workspace with `$MARK` (a random word), `$OUT` (a directory of the same user
beside the workspace, files in it hold the mark), `$PORT` (a server of the host on loopback that says
the mark), `$REALHOME`. It has succeeded when the mark shows in its output, or when `$OUT/pwned`
exists after `victim` ran outside, as the user would do later.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Attack:
    """One way out."""

    id: str
    script: str
    setup: str = ""  # outside, before
    victim: str = ""  # outside, after
    world: str = "repo"  # repo, plain (no .git), worktree
    lane: bool = False
    network: bool = False
    read_only: bool = False
    tty: bool = False
    root_only: bool = False  # needs root to succeed without a sandbox
    user_only: bool = False
    hosts: tuple[str, ...] = ()  # granted; `$PORT` as in scripts
    roots: tuple[str, ...] = ()  # writable too, below the directory that holds workspace, home and `$OUT`


STATUS = 'cd "$WS" && git status >/dev/null 2>&1; true'
COMMIT = 'cd "$WS" && git -c user.name=v -c user.email=v@v commit --allow-empty -qm v >/dev/null 2>&1; true'
EVIL = 'printf \'#!/bin/sh\\ntouch "%s/pwned"\\n\' "$OUT" > evil.sh; chmod +x evil.sh; '

GIT = [
    Attack("git-hook", EVIL + "cp evil.sh .git/hooks/pre-commit", victim=COMMIT),
    Attack("git-config-fsmonitor", EVIL + 'git config core.fsmonitor "$PWD/evil.sh"', victim=STATUS),
    Attack(
        "git-config-hookspath",
        EVIL + "mkdir h; cp evil.sh h/pre-commit; git config core.hooksPath h",
        victim=COMMIT,
    ),
    Attack(
        "git-config-rename",
        EVIL
        + 'cp .git/config c && printf "[core]\\nfsmonitor = %s/evil.sh\\n" "$PWD" >> c && mv -f c .git/config',
        victim=STATUS,
    ),
    Attack(
        "git-rename-parent",
        EVIL + "mv .git g && cp -r g .git && cp evil.sh .git/hooks/pre-commit",
        victim=COMMIT,
    ),
    Attack(
        "git-info-attributes",
        "mkdir -p .git/info && echo '*.txt filter=x' > .git/info/attributes && "
        'git config filter.x.clean "touch $OUT/pwned; cat" && echo y > a.txt',
        victim='cd "$WS" && touch a.txt && git add a.txt; true',
    ),
    Attack(
        "git-existing-hookspath",
        EVIL + "cp evil.sh .githooks2/pre-commit",
        setup='cd "$WS" && mkdir .githooks2 && git config core.hooksPath .githooks2',
        victim=COMMIT,
    ),
    Attack(
        "git-config-include",
        EVIL + 'printf "[core]\\nfsmonitor = %s/evil.sh\\n" "$PWD" > shared.gitconfig',
        setup='cd "$WS" && touch shared.gitconfig && git config include.path ../shared.gitconfig',
        victim=STATUS,
    ),
    Attack(
        "git-nested-hook",
        EVIL + "cp evil.sh sub/.git/hooks/pre-commit",
        setup='cd "$WS" && git init -q sub',
        victim='cd "$WS/sub" && git -c user.name=v -c user.email=v@v commit --allow-empty -qm v; true',
    ),
    Attack(
        "git-nested-deep-hook",
        EVIL + "cp evil.sh a/b/c/d/e/sub/.git/hooks/pre-commit",
        setup='cd "$WS" && mkdir -p a/b/c/d/e && git init -q a/b/c/d/e/sub',
        victim='cd "$WS/a/b/c/d/e/sub" && git -c user.name=v -c user.email=v@v commit --allow-empty -qm v; true',
    ),
    Attack(
        "git-nested-rename-parent",
        EVIL
        + "mv a z && mkdir -p a/sub && cp -r z/sub/.git a/sub/.git && cp evil.sh a/sub/.git/hooks/pre-commit",
        setup='cd "$WS" && mkdir a && git init -q a/sub',
        victim='cd "$WS/a/sub" && git -c user.name=v -c user.email=v@v commit --allow-empty -qm v; true',
    ),
    Attack(
        "git-missing-dotgit",
        EVIL + 'git init -q . && git config core.fsmonitor "$PWD/evil.sh"',
        victim=STATUS,
        world="plain",
    ),
    Attack(
        "git-bare-root",
        EVIL + "mkdir -p objects refs && echo 'ref: refs/heads/m' > HEAD && "
        'printf "[core]\\nrepositoryformatversion=0\\nbare=false\\nworktree=%s\\nfsmonitor=%s/evil.sh\\n" "$PWD" "$PWD" > config',
        victim=STATUS,
        world="plain",
    ),
    Attack(
        "git-file-replaced",
        EVIL + 'rm -f .git && git init -q . && git config core.fsmonitor "$PWD/evil.sh"',
        victim=STATUS,
        world="worktree",
    ),
    Attack(
        "git-worktree-main-hook",
        EVIL + 'cp evil.sh "$OUT/main/.git/hooks/pre-commit"',
        victim=COMMIT,
        world="worktree",
    ),
    Attack("git-lane-hook", EVIL + "cp evil.sh .git/hooks/pre-commit", victim=COMMIT, lane=True),
    Attack("git-lane-config", EVIL + 'git config core.fsmonitor "$PWD/evil.sh"', victim=STATUS, lane=True),
    Attack(
        "git-commondir",
        EVIL + "mkdir -p c/objects c/refs && cp .git/HEAD c/ && "
        'printf "[core]\\nrepositoryformatversion=0\\nfsmonitor=%s/evil.sh\\n" "$PWD" > c/config && echo ../c > .git/commondir',
        victim=STATUS,
        lane=True,
    ),
    Attack(
        "git-config-worktree",
        EVIL + 'printf "[core]\\nfsmonitor=%s/evil.sh\\n" "$PWD" > .git/config.worktree',
        setup='cd "$WS" && git config extensions.worktreeConfig true',
        victim=STATUS,
        lane=True,
    ),
    Attack(
        "git-lane-rename-parent",
        EVIL + "mv .git g && cp -r g .git && cp evil.sh .git/hooks/pre-commit",
        victim=COMMIT,
        lane=True,
    ),
    Attack(
        "git-submodule-gitlink",
        EVIL
        + "git init -q sub && (cd sub && git -c user.name=a -c user.email=a@a commit -q --allow-empty -m x) && "
        'git add sub && git -C sub config core.fsmonitor "$PWD/evil.sh"',
        victim=STATUS,
        lane=True,
    ),
    Attack(
        "git-worktree-commondir",
        EVIL + 'd=$(git rev-parse --git-dir) && mkdir -p c/objects c/refs && cp "$d/HEAD" c/ && '
        'printf "[core]\\nrepositoryformatversion=0\\nfsmonitor=%s/evil.sh\\n" "$PWD" > c/config && echo "$PWD/c" > "$d/commondir"',
        victim=STATUS,
        world="worktree",
        lane=True,
    ),
]

GIT += [
    Attack(
        "git-missing-hookspath",
        EVIL + "mkdir -p tools/hooks && cp evil.sh tools/hooks/pre-commit",
        setup='cd "$WS" && git config core.hooksPath tools/hooks',
        victim=COMMIT,
    ),
    Attack(
        "git-global-hookspath",
        EVIL + "mkdir -p .my-hooks && cp evil.sh .my-hooks/pre-commit",
        setup="git config --global core.hooksPath .my-hooks",
        victim=COMMIT,
    ),
    Attack(
        "git-missing-include",
        EVIL + 'printf "[core]\\nfsmonitor = %s/evil.sh\\n" "$PWD" > shared.gitconfig',
        setup='cd "$WS" && git config include.path ../shared.gitconfig',
        victim=STATUS,
    ),
    Attack(
        "git-missing-filter",
        EVIL + "mkdir -p tools && cp evil.sh tools/clean",
        setup='cd "$WS" && git config filter.x.clean ./tools/clean && echo "*.txt filter=x" > .gitattributes',
        victim='cd "$WS" && echo new > a.txt && git add a.txt; true',
    ),
    Attack(
        "git-linked-hooks-directory",
        EVIL + "cp evil.sh shared-hooks/pre-commit",
        setup='cd "$WS" && mkdir shared-hooks && rm -rf .git/hooks && ln -s ../shared-hooks .git/hooks',
        victim=COMMIT,
    ),
    Attack(
        "git-linked-hook",
        EVIL + "cp evil.sh scripts/check.sh",
        setup='cd "$WS" && mkdir scripts && printf "#!/bin/sh\\n" > scripts/check.sh && chmod +x scripts/check.sh'
        " && ln -s ../../scripts/check.sh .git/hooks/pre-commit",
        victim=COMMIT,
    ),
    Attack(
        "git-linked-hook-parent",
        EVIL + "mv scripts s && mkdir scripts && cp evil.sh scripts/check.sh",
        setup='cd "$WS" && mkdir scripts && printf "#!/bin/sh\\n" > scripts/check.sh && chmod +x scripts/check.sh'
        " && ln -s ../../scripts/check.sh .git/hooks/pre-commit",
        victim=COMMIT,
    ),
    Attack(
        "git-config-hard-link",
        EVIL + 'ln .git/config c && printf "[core]\\nfsmonitor = %s/evil.sh\\n" "$PWD" >> c',
        victim=STATUS,
    ),
    Attack(
        "git-config-by-descriptor",
        EVIL + 'exec 8<.git && cd /proc/self/fd/8 && git config core.fsmonitor "$WS/evil.sh"',
        victim=STATUS,
    ),
    Attack(
        "git-dir-variable",
        EVIL + 'GIT_DIR=.git GIT_WORK_TREE=. git config core.fsmonitor "$PWD/evil.sh"',
        victim=STATUS,
    ),
    Attack(
        "git-template-hooks",
        EVIL + "mkdir -p t/hooks && cp evil.sh t/hooks/pre-commit && git init -q --template=t .",
        setup='rm -rf "$WS/.git/hooks"',
        victim=COMMIT,
    ),
    Attack(
        "git-work-tree-elsewhere",
        EVIL
        + 'git config core.worktree "$OUT" && git checkout -q -- . && [ -e "$OUT/a.txt" ] && touch "$OUT/pwned"',
    ),
]

_LIB = 'git init -q "$OUT/lib" && git -C "$OUT/lib" commit -q --allow-empty -m l'
_LIB_COMMIT = COMMIT.replace("$WS", "$OUT/lib")
_LIB_STATUS = STATUS.replace("$WS", "$OUT/lib")
_BESIDE = ("out/lib",)

ROOTS = [
    Attack(
        "root-hook",
        EVIL + 'cp evil.sh "$OUT/lib/.git/hooks/pre-commit"',
        setup=_LIB,
        victim=_LIB_COMMIT,
        roots=_BESIDE,
    ),
    Attack(
        "root-missing-dotgit",
        EVIL + 'cd "$OUT/lib" && git init -q . && git config core.fsmonitor "$WS/evil.sh"',
        setup='mkdir "$OUT/lib"',
        victim=_LIB_STATUS,
        roots=_BESIDE,
    ),
    Attack(
        "root-nested-hook",
        EVIL + 'cp evil.sh "$OUT/lib/a/b/.git/hooks/pre-commit"',
        setup='mkdir -p "$OUT/lib/a" && git init -q "$OUT/lib/a/b"',
        victim=COMMIT.replace("$WS", "$OUT/lib/a/b"),
        roots=_BESIDE,
    ),
    Attack(
        "root-hook-in-lane",
        EVIL + 'cp evil.sh "$OUT/lib/.git/hooks/pre-commit"',
        setup=_LIB,
        victim=_LIB_COMMIT,
        roots=_BESIDE,
        lane=True,
    ),
    Attack(
        "root-settings",
        'cd "$OUT/lib" && mkdir -p .vscode && echo "$MARK" > .vscode/tasks.json; echo "$MARK" > .envrc',
        setup=_LIB,
        victim='grep -rqs "$MARK" "$OUT/lib/.vscode" "$OUT/lib/.envrc" && touch "$OUT/pwned"; true',
        roots=_BESIDE,
    ),
    Attack(
        "root-secrets",
        'cat "$OUT/lib/.env"',
        setup=_LIB + ' && echo "KEY=$MARK" > "$OUT/lib/.env"',
        roots=_BESIDE,
    ),
    Attack(
        "root-socket",
        'python3 tool.py unix "$OUT/lib/host.sock"',
        setup=_LIB + ' && ln "$OUT/host.sock" "$OUT/lib/host.sock"',
        roots=_BESIDE,
    ),
    Attack(
        "root-in-read-only-mode",
        'echo x > "$OUT/lib/x" && touch "$OUT/lib/y" && cat "$OUT/lib/x" && echo "$MARK"',
        setup=_LIB,
        roots=_BESIDE,
        read_only=True,
    ),
    Attack(
        "root-above-workspace",
        EVIL + 'cd .. && mv "$WS" moved && cp -r moved "$WS" && cp moved/evil.sh "$WS/.git/hooks/pre-commit"',
        victim=COMMIT,
        roots=("",),
    ),
    Attack(
        "root-above-workspace-settings",
        'cd .. && mv "$WS" moved && mkdir "$WS" && echo "$MARK" > "$WS/.envrc"',
        victim='grep -qs "$MARK" "$WS/.envrc" && touch "$OUT/pwned"; true',
        roots=("",),
        world="plain",
    ),
    Attack("root-above-secrets", 'cat "$REALHOME/.ssh/id_ed25519" "$STATE/sessions"', roots=("",)),
    Attack(
        "root-above-start-up",
        'echo "$MARK" >> "$REALHOME/.profile"',
        victim='grep -q "$MARK" "$HOME/.profile" && touch "$OUT/pwned"; true',
        roots=("",),
    ),
]

_PLANT = 'mkdir -p "$(dirname NAME)" && echo "$MARK" > NAME'
_PLANTED = 'grep -q "$MARK" "$WS/NAME" 2>/dev/null && touch "$OUT/pwned"; true'


def _plant(id: str, name: str, *, existing: bool = False, world: str = "repo") -> Attack:
    setup = f'cd "$WS" && mkdir -p "$(dirname {name})" && echo old > {name}' if existing else ""
    return Attack(
        id,
        _PLANT.replace("NAME", name),
        setup=setup,
        victim=_PLANTED.replace("NAME", name),
        world=world,
    )


CONFIG = [
    _plant("cfg-agent-missing", ".agent-tui/config.toml"),
    _plant("cfg-agent-existing", ".agent-tui/config.toml", existing=True),
    _plant("cfg-vscode-tasks", ".vscode/tasks.json"),
    _plant("cfg-vscode-existing", ".vscode/tasks.json", existing=True),
    _plant("cfg-idea", ".idea/workspace.xml"),
    _plant("cfg-mcp", ".mcp.json"),
    _plant("cfg-envrc", ".envrc", world="plain"),
    _plant("cfg-gitmodules", ".gitmodules"),
    _plant("cfg-husky", ".husky/pre-commit"),
    _plant("cfg-bashrc", ".bashrc"),
    _plant("cfg-profile", ".profile"),
    _plant("cfg-zshrc", ".zshrc"),
    _plant("cfg-ripgreprc", ".ripgreprc"),
    _plant("cfg-npmrc", ".npmrc"),
    _plant("cfg-yarnrc", ".yarnrc"),
    _plant("cfg-yarnrc-yml", ".yarnrc.yml"),
    _plant("cfg-workflows", ".github/workflows/ci.yml", existing=True),
    Attack(
        "cfg-rename-over",
        'echo "$MARK" > x && mv -f x .npmrc',
        victim=_PLANTED.replace("NAME", ".npmrc"),
    ),
    Attack(
        "cfg-parent-swap",
        'mv .github g2 && mkdir -p .github/workflows && echo "$MARK" > .github/workflows/ci.yml',
        setup='cd "$WS" && mkdir -p .github/workflows && echo a > .github/workflows/ci.yml',
        victim=_PLANTED.replace("NAME", ".github/workflows/ci.yml"),
    ),
    Attack(
        "cfg-symlink-dir",
        'rm -rf .vscode; mkdir v && ln -s v .vscode && echo "$MARK" > .vscode/tasks.json',
        victim=_PLANTED.replace("NAME", ".vscode/tasks.json"),
    ),
]

_WROTE = 'echo x > "$OUT/pwned"'

FILES = [
    Attack("fs-write-outside", _WROTE),
    Attack("fs-write-dotdot", 'echo x > "../$(basename "$OUT")/pwned"'),
    Attack(
        "fs-write-home",
        'echo "$MARK" >> "$REALHOME/.profile"',
        victim='grep -q "$MARK" "$HOME/.profile" && touch "$OUT/pwned"; true',
    ),
    Attack("fs-read-ssh", 'cat "$REALHOME/.ssh/id_ed25519"'),
    Attack("fs-read-aws", 'cat "$REALHOME/.aws/credentials"'),
    Attack("fs-read-gnupg", 'cat "$REALHOME/.gnupg/secring"'),
    Attack("fs-read-browser", 'cat "$REALHOME/.mozilla/firefox/p/logins.json"'),
    Attack("fs-read-netrc", 'cat "$REALHOME/.netrc"'),
    Attack("fs-read-history", 'cat "$REALHOME/.bash_history"'),
    Attack("fs-read-gitconfig-token", 'cat "$REALHOME/.gitconfig"'),
    Attack("fs-read-own-state", 'grep -rs "$MARK" "$STATE"'),
    Attack("fs-read-other-project", 'cat "$OUT/secret"'),
    Attack("fs-read-env-file", "cat .env", setup='echo "KEY=$MARK" > "$WS/.env"'),
    Attack(
        "fs-read-env-nested",
        "cat a/b/.env.production",
        setup='mkdir -p "$WS/a/b"; echo "KEY=$MARK" > "$WS/a/b/.env.production"',
    ),
    Attack("fs-symlink-write", 'ln -s "$OUT" link && echo x > link/pwned'),
    Attack("fs-symlink-read", 'ln -s "$OUT/secret" link && cat link'),
    Attack("two-step-symlink", 'mkdir d && echo a > d/f && rm -r d && ln -s "$OUT" d && echo x > d/pwned'),
    Attack(
        "fs-prefix-confusion",
        'cat "${WS}-other/secret"; echo x > "${WS}-other/pwned"; cat "${WS}-other/pwned" >/dev/null && touch "$OUT/pwned"',
    ),
    Attack("fs-hardlink-out", 'ln "$OUT/secret" stolen && cat stolen'),
    Attack("fs-shared-tmp", 'cat "$HOSTTMP/secret"'),
    Attack(
        "fs-shared-tmp-write",
        'echo x > "$HOSTTMP/new" && touch "$OUT/pwned"',
        victim='[ -e "$HOSTTMP/new" ] && touch "$OUT/pwned"; true',
    ),
    Attack("fs-read-only-mode", 'echo "$MARK" > in-workspace && cat in-workspace', read_only=True),
    Attack("fs-agent-root", 'cat "/proc/$AGENT/root$OUT/secret"'),
    Attack("fs-agent-cwd", 'cat "/proc/$AGENT/cwd/secret"'),
    Attack("fs-etc-shadow", 'head -c1 /etc/shadow | grep -q . && echo "$MARK"', root_only=True),
    Attack("fs-etc-write", 'f=/etc/agent-tui-test-$$; echo x > $f && rm $f && echo "$MARK"', root_only=True),
    Attack("fs-usr-write", 'f=/usr/agent-tui-test-$$; echo x > $f && rm $f && echo "$MARK"', root_only=True),
    Attack(
        "fs-dev-disk",
        'd=$(ls /dev/vda /dev/sda /dev/nvme0n1 2>/dev/null | head -1); head -c1 "$d" | wc -c | grep -q 1 && echo "$MARK"',
        root_only=True,
    ),
    Attack("fs-mknod", 'mknod m c 1 5 && head -c1 m | wc -c | grep -q 1 && echo "$MARK"', root_only=True),
    Attack("fs-remount-root", 'mount -o remount,rw,bind / && echo "$MARK"', root_only=True),
    Attack(
        "sys-umount-protect",
        'mkdir -p m; (mount -t tmpfs none m || umount .git) && { umount m 2>/dev/null; echo "$MARK"; }',
        root_only=True,
    ),
    Attack(
        "fs-suid-root",
        'cp /usr/bin/id s && chmod 4755 s && [ -u s ] && sh -c "cat /proc/self/status" | grep -q "NoNewPrivs:.0" && echo "$MARK"',
    ),
]

ENVIRONMENT = [
    Attack("env-secret-name", 'echo "$OPENAI_API_KEY$MY_TOKEN$DB_PASSWORD"'),
    Attack("env-database-url", 'echo "$DATABASE_URL"'),
    Attack("env-secret-value", 'echo "$CFLAGS"'),
    Attack("env-unlisted", 'echo "$PLAIN_VARIABLE"'),
    Attack(
        "env-proc1",
        "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done 2>/dev/null | grep -E '^(OPENAI|DB_)'",
    ),
    Attack("env-other-process", "tr '\\0' '\\n' < /proc/$SLEEPER/environ"),
    Attack("env-ssh-agent", '[ -n "$SSH_AUTH_SOCK" ] && echo "$MARK"'),
]

PROCESSES = [
    Attack("proc-see-outside", 'tr "\\0" " " < /proc/$AGENT/cmdline | grep -q . && echo "$MARK"'),
    Attack("proc-kill-outside", 'kill -0 $AGENT && echo "$MARK"'),
    Attack("proc-kill-sleeper", 'kill -9 $SLEEPER && echo "$MARK"'),
    Attack("proc-ptrace-outside", "python3 tool.py ptrace $SLEEPER"),
    Attack("proc-read-memory", "python3 tool.py readmem $SLEEPER"),
    Attack(
        "proc-sys-write",
        'f=/proc/sys/kernel/core_pattern; v=$(cat $f); printf %s "$v" > $f && echo "$MARK"',
        root_only=True,
    ),
    Attack(
        "proc-sys-vm",
        'f=/proc/sys/vm/overcommit_memory; v=$(cat $f); echo "$v" > $f && echo "$MARK"',
        root_only=True,
    ),
    Attack("proc-sysrq", 'echo h > /proc/sysrq-trigger && echo "$MARK"', root_only=True),
    Attack("proc-renice-outside", 'renice -n 5 -p $SLEEPER >/dev/null && echo "$MARK"'),
    Attack(
        "proc-cgroup-write",
        'd=$(ls -d /sys/fs/cgroup/pids /sys/fs/cgroup/unified /sys/fs/cgroup 2>/dev/null | head -1); mkdir $d/agent-tui-test-$$ && rmdir $d/agent-tui-test-$$ && echo "$MARK"',
        root_only=True,
    ),
    Attack(
        "proc-sys-tree-write",
        'f=/sys/kernel/mm/transparent_hugepage/enabled; v=$(sed "s/.*\\[\\(.*\\)\\].*/\\1/" $f); echo $v > $f && echo "$MARK"',
        root_only=True,
    ),
    Attack(
        "proc-agent-descriptors",
        "for f in /proc/$AGENT/fd/*; do case $(readlink $f) in *agent-secret*) cat $f;; esac; done",
    ),
    Attack("proc-signal-by-number", 'python3 tool.py pidfd $SLEEPER && echo "$MARK"'),
    Attack("proc-limits-outside", 'prlimit --pid $SLEEPER --nofile=100:100 && echo "$MARK"'),
    Attack("proc-scheduler-outside", 'taskset -p 1 $SLEEPER >/dev/null && echo "$MARK"'),
    Attack("proc-nsenter", 'nsenter -t $AGENT -m cat "$OUT/secret"', root_only=True),
    Attack(
        "proc-root-writable",  # what root's uid alone may write, without any capability
        "find /proc -maxdepth 4 -type f -perm /222 -writable -not -path '/proc/[0-9]*' -not -path '/proc/self/*' "
        "-not -path '/proc/thread-self/*' -not -name 'kpage*' 2>/dev/null | grep -q . && echo \"$MARK\"",
        root_only=True,
    ),
    Attack(
        "proc-kernel-memory",
        'for f in /proc/kpageflags /proc/kpagecount /proc/kcore; do head -c 8 $f; done 2>/dev/null | grep -aq . && echo "$MARK"',
        root_only=True,
    ),
    Attack(
        "proc-devices",
        'for d in kmsg mem port kvm fuse net/tun loop-control vhost-net vhost-vsock uinput; do [ -e /dev/$d ] && echo "$MARK"; done',
    ),
    Attack(
        "proc-debugfs",
        'ls /sys/kernel/ | grep -q . && ls /sys/class/net/lo/ | grep -q address && echo "$MARK"',
    ),
]

IPC = [
    Attack("ipc-sysv-shm", "python3 tool.py sysv $SHMID"),
    Attack("ipc-posix-shm", 'cat "/dev/shm/$SHMNAME"'),
    Attack("ipc-abstract", "python3 tool.py abstract $ABSTRACT"),
    Attack("ipc-abstract-with-network", "python3 tool.py abstract $ABSTRACT", network=True),
    Attack("unix-docker-dbus", 'python3 tool.py unix "$OUT/host.sock"'),
    Attack(
        "unix-ws-socket", 'python3 tool.py unix "$WS/host.sock"', setup='ln "$OUT/host.sock" "$WS/host.sock"'
    ),
    Attack(
        "unix-ws-socket-read-only",
        'python3 tool.py unix "$WS/host.sock"',
        setup='ln "$OUT/host.sock" "$WS/host.sock"',
        read_only=True,
    ),
    Attack("ipc-message-queue", "python3 tool.py mqueue $SHMNAME"),
    Attack("unix-run-dir", "python3 tool.py unixrun"),
]

NETWORK = [
    Attack("net-tcp-host-loopback", "python3 tool.py tcp 127.0.0.1 $PORT"),
    Attack(
        "net-proxy-loopback",
        "for h in 127.0.0.1 localhost 127.1 0 2130706433; do python3 tool.py tcp $h $PORT; done",
    ),
    Attack("net-curl", 'curl -s --max-time 3 "http://127.0.0.1:$PORT/"'),
    Attack("net-dev-tcp", "exec 9<>/dev/tcp/127.0.0.1/$PORT && cat <&9"),
    Attack("net-udp", "python3 tool.py udp 127.0.0.1 $UDPPORT"),
    Attack("net-own-address", 'a=$(python3 tool.py address) && [ -n "$a" ] && echo "$MARK"'),
    Attack(  # from the network namespace to the user namespace above it: NS_GET_USERNS
        "net-owner-namespace",
        'python3 -c "import fcntl,os; fcntl.ioctl(os.open(\'/proc/self/ns/net\', 0), 0xB701)" && echo "$MARK"',
    ),
    Attack(  # by the proxy where there is one; the name that was granted leads to the host's own loopback
        "net-granted-name-of-loopback",
        'curl -s --max-time 3 ${http_proxy:+-x "$http_proxy" --noproxy ""} "http://localhost:$PORT/"',
        hosts=("localhost:$PORT",),
    ),
    Attack(
        "net-granted-other-host",
        "for p in http socks5h; do for h in 127.0.0.1 localhost 127.1 2130706433 [::ffff:127.0.0.1]; do "
        'curl -s --max-time 3 ${http_proxy:+-x "$p://${http_proxy#*//}" --noproxy ""} "http://$h:$PORT/"; '
        "done; done",
        hosts=("pip.test:443",),
    ),
    Attack("net-granted-past-the-proxy", "python3 tool.py tcp 127.0.0.1 $PORT", hosts=("127.0.0.1:$PORT",)),
    Attack("net-raw-packet", "python3 tool.py family 17 3 || python3 tool.py rawicmp", root_only=True),
]

TERMINAL = [
    # on a terminal of its own: typing into it must be refused although the terminal is private
    Attack("tty-tiocsti", "python3 tool.py tiocsti 0x5412", tty=True),
    Attack("tty-tiocsti-64bit", "python3 tool.py tiocsti 0x100005412", tty=True),
    Attack("tty-tioclinux", "python3 tool.py ioctlreach 0x541c", tty=True),
    Attack("tty-tiocsetd", "python3 tool.py ioctlreach 0x5423", tty=True),
]

ALL = [*GIT, *ROOTS, *CONFIG, *FILES, *ENVIRONMENT, *PROCESSES, *IPC, *NETWORK, *TERMINAL]

# One process tries all of these: `tool.py syscalls`. It has succeeded where the kernel got as far as
# looking at the (harmless, wrong) arguments; a refusal is EPERM, ENOSYS or EAFNOSUPPORT.
SYSCALLS = """
sys-keyctl sys-add-key sys-request-key sys-bpf sys-perf-event-open sys-userfaultfd sys-io-uring sys-mount-tmpfs
sys-umount sys-pivot-root sys-chroot sys-setns sys-unshare-userns sys-clone-userns sys-clone3-userns sys-fsopen
sys-open-tree sys-move-mount sys-mount-setattr sys-statmount sys-listmount sys-open-by-handle sys-kcmp
sys-process-vm-writev sys-pidfd-getfd sys-modify-ldt sys-iopl sys-personality sys-personality-top-bit sys-quotactl
sys-swapon sys-acct sys-init-module sys-kexec-load sys-syslog sys-settimeofday sys-adjtimex sys-sethostname
sys-fanotify sys-vmsplice sys-move-pages sys-process-madvise sys-vsock sys-netlink-odd sys-alg-socket sys-packet-socket
sys-socket-garbage abi-x32 abi-i386
""".split()
