"""Programs that only read, with the options under which that is so.

Two kinds. `HARMLESS` programs have no option at all that writes, runs a program or changes the system,
so their words need no look. `CHECKED` ones do, so only the options named here pass: long ones exact,
because several of these programs accept abbreviations of long options.
"""

from agent_tui.frozen import frozen


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


@frozen
class Options:
    """Options that keep a program reading. A `long` name ending in `=` takes its value in the same
    word, one ending in `:` also in the next; names may stand in it in several ways."""

    flags: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    numbers: bool = False  # `-5`
    max_operands: int | None = None
    text_operands: int = 0  # first operands that are no paths: a pattern
    paths: bool = True  # other operands name files
    words: frozenset[str] = frozenset()  # whole option words that pass as they are


BUILTINS = _names("""
            echo printf test [ [[ true false : pwd cd set exit type command wait
        """)

HARMLESS = _names("""
    ls cat head wc stat du df nl cut tr rev tac fold expand unexpand paste join comm cmp diff seq
    basename dirname realpath readlink md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum
    sum od hexdump strings tsort id whoami groups uname arch nproc uptime free ps pgrep grep egrep fgrep
    echo true false : pwd type sleep jq
""")

# Operands of these are text, not paths.
TEXT = _names("""
            echo seq tr basename dirname sleep true false : type ps pgrep id groups uname
        """)

# The first operand is a pattern, unless it was given by an option.
PATTERN_FIRST = _names("grep egrep fgrep jq")

VERSION_ONLY = _names("""
    python python3 node gcc g++ cc clang make cmake perl ruby php java bash git
""")
VERSION_WORDS = _names("--version -V -version")

CHECKED: dict[str, Options] = {
    "tail": Options(
        flags="qvz",
        valued="nc",
        long=_names("lines: bytes: quiet silent verbose zero-terminated"),
        numbers=True,
    ),
    "sort": Options(
        flags="bdfghiMnRrVcCmsuz",
        valued="kt",
        long=_names("""
            ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort
            ignore-nonprinting month-sort numeric-sort reverse version-sort check merge stable unique
            zero-terminated key: field-separator:
        """),
    ),
    "uniq": Options(
        flags="cdDiuz",
        valued="fsw",
        long=_names("""
            count repeated unique ignore-case zero-terminated skip-fields: skip-chars: check-chars:
        """),
        max_operands=1,  # the second one is written
    ),
    "file": Options(
        flags="bihLkNrsv0", valued="F", long=_names("brief mime mime-type mime-encoding dereference version")
    ),
    "tree": Options(
        flags="adfilpsughDFrtxqNQCnJX",
        valued="LIP",
        long=_names("""
            dirsfirst filesfirst noreport gitignore du prune si inodes device
        """),
    ),
    "rg": Options(
        flags="abcFHhIiLlNnoPpqSsUuvVwx0",
        valued="ABCMTdegmrtjE",
        long=_names("""
            after-context: before-context: context: count count-matches files files-with-matches
            files-without-match fixed-strings follow glob: iglob: heading no-heading hidden ignore-case
            case-sensitive smart-case invert-match line-number no-line-number line-regexp max-columns:
            max-count: max-depth: multiline multiline-dotall no-ignore no-ignore-vcs no-messages null
            only-matching passthru pcre2 pretty quiet regexp: replace: sort= sortr: stats text trim
            type: type-not: type-list unrestricted version vimgrep with-filename no-filename word-regexp
            json no-config column color= colors: encoding: engine: crlf max-filesize: one-file-system
            binary
        """),
        text_operands=1,
    ),
    "printenv": Options(paths=False),
    "which": Options(flags="as", paths=False),
    "exit": Options(max_operands=1, paths=False),
    "wait": Options(paths=False),
    "hostname": Options(flags="fsid", max_operands=0),
    "date": Options(
        flags="uR",
        valued="dI",
        long=_names("utc universal rfc-email iso-8601 iso-8601= rfc-3339= date:"),
        max_operands=1,
        paths=False,
    ),
}

_DIFF = """
    stat stat= shortstat numstat dirstat name-only name-status patch no-patch raw summary cached staged
    color color= no-color color-words word-diff word-diff= unified= minimal patience histogram
    diff-algorithm= ignore-space-change ignore-all-space ignore-space-at-eol ignore-blank-lines
    function-context text binary full-index abbrev abbrev= find-renames find-renames= find-copies
    no-renames diff-filter= relative exit-code quiet check no-ext-diff no-textconv no-prefix src-prefix=
    dst-prefix= merge-base compact-summary submodule= ignore-submodules ignore-submodules= no-index
    pickaxe-regex pickaxe-all inter-hunk-context=
"""
_LOG = """
    oneline graph decorate decorate= no-decorate all branches branches= tags tags= remotes max-count:
    skip: since: after: until: before: author: committer: grep: all-match invert-grep regexp-ignore-case
    extended-regexp fixed-strings format= pretty pretty= date= reverse merges no-merges first-parent
    follow topo-order date-order author-date-order abbrev-commit no-abbrev-commit left-right cherry-mark
    cherry-pick full-history simplify-merges no-walk source boundary ancestry-path children parents
"""
_DIFF_SHORT = Options(flags="puwbMCRzsa", valued="USGn", long=_names(_DIFF), numbers=True)
_LOG_SHORT = Options(flags="puwbMCRzsaiEFcm", valued="USGnL", long=_names(f"{_DIFF} {_LOG}"), numbers=True)
_LIST_REFS = """
    list all remotes verbose contains: no-contains: merged merged: no-merged no-merged: points-at: sort=
    format= column no-column color= no-color abbrev= show-current ignore-case
"""

GIT_READS: dict[str, Options] = {
    "status": Options(
        flags="sbvuz",
        words=_names("-uno -unormal -uall"),
        long=_names("""
            short branch porcelain porcelain= long verbose untracked-files untracked-files= ignored
            ignored= ignore-submodules ignore-submodules= no-renames renames column no-column show-stash
            ahead-behind no-ahead-behind
        """),
    ),
    "diff": _DIFF_SHORT,
    "log": _LOG_SHORT,
    "show": _LOG_SHORT,
    "whatchanged": _LOG_SHORT,
    "diff-tree": Options(flags="rtpmcsz", long=_names(_DIFF + " root no-commit-id"), numbers=True),
    "rev-list": Options(
        valued="n", long=_names(_LOG + " count objects left-only right-only not"), numbers=True
    ),
    "rev-parse": Options(
        flags="q",
        long=_names("""
            verify quiet short short= abbrev-ref abbrev-ref= symbolic symbolic-full-name show-toplevel
            git-dir absolute-git-dir git-common-dir show-prefix show-cdup is-inside-work-tree
            is-inside-git-dir is-bare-repository all branches tags remotes git-path
            show-superproject-working-tree
        """),
        paths=False,
    ),
    "ls-files": Options(
        flags="cdmoiskutvfz",
        valued="x",
        long=_names("""
            cached deleted modified others ignored stage killed unmerged exclude-standard exclude:
            full-name error-unmatch abbrev abbrev= directory no-empty-directory deduplicate eol
        """),
    ),
    "ls-tree": Options(flags="drtlz", long=_names("long name-only name-status full-name full-tree abbrev=")),
    "blame": Options(
        flags="bltfnsewpcM",
        valued="LSC",
        long=_names("""
            porcelain line-porcelain incremental root show-stats show-name show-number show-email date=
            since: abbrev= color-lines first-parent
        """),
    ),
    "branch": Options(flags="arvil", long=_names(_LIST_REFS), max_operands=0),
    "tag": Options(flags="lni", long=_names(_LIST_REFS), max_operands=0, numbers=True),
    "remote": Options(flags="v", long=_names("verbose"), max_operands=0),
    "describe": Options(
        long=_names("""
            all tags contains always dirty dirty= broken abbrev= match: exclude: long exact-match
            first-parent candidates:
        """),
    ),
    "shortlog": Options(flags="nsec", long=_names(f"numbered summary email group= {_LOG}"), numbers=True),
    "cat-file": Options(flags="ptse", long=_names("batch-check")),
    "grep": Options(
        flags="nilLwvcEFGPHhIaqz",
        valued="eABCm",
        long=_names("""
            line-number ignore-case files-with-matches name-only files-without-match word-regexp
            invert-match count extended-regexp fixed-strings perl-regexp basic-regexp cached untracked
            no-index heading break column color color= no-color show-function function-context
            max-depth: all-match and or not quiet full-name after-context: before-context: context:
            only-matching recursive
        """),
        numbers=True,
        text_operands=1,
    ),
    "reflog": Options(long=_names(_LOG), numbers=True, max_operands=0),
    "merge-base": Options(flags="a", long=_names("all is-ancestor fork-point octopus independent")),
    "name-rev": Options(long=_names("tags all name-only always refs= no-undefined")),
    "for-each-ref": Options(
        long=_names("""
            count: sort= format= contains: no-contains: merged: no-merged: points-at: ignore-case
        """),
        paths=False,
    ),
    "show-ref": Options(
        flags="sdq",
        long=_names("""
            head heads branches tags verify hash hash= abbrev abbrev= quiet
        """),
    ),
    "count-objects": Options(flags="vH", long=_names("verbose human-readable"), max_operands=0),
    "check-ignore": Options(flags="qvnz", long=_names("quiet verbose non-matching no-index")),
    "check-attr": Options(flags="az", long=_names("all cached")),
    "version": Options(long=_names("build-options"), max_operands=0),
}

# The second word makes these reads; nothing but the options named may follow.
GIT_READ_VERBS: dict[tuple[str, str], Options] = {
    ("stash", "list"): Options(long=_names(_LOG), numbers=True, max_operands=0),
    ("stash", "show"): Options(flags="pu", long=_names(_DIFF), max_operands=1, paths=False),
    ("worktree", "list"): Options(flags="vz", long=_names("verbose porcelain"), max_operands=0),
    ("remote", "get-url"): Options(long=_names("push all"), max_operands=1, paths=False),
    ("config", "--get"): Options(max_operands=1, paths=False),
    ("config", "--get-all"): Options(max_operands=1, paths=False),
    ("config", "--list"): Options(long=_names("show-origin show-scope local"), max_operands=0),
    ("config", "-l"): Options(max_operands=0),
    ("reflog", "show"): Options(long=_names(_LOG), numbers=True, max_operands=1, paths=False),
}

# The git lane: what writes `.git` without a question in workspace-write mode.
GIT_LANE = _names("""
            add commit branch checkout switch stash tag merge rebase worktree
        """)

# What needs `.git` writable too, but asks: it publishes, destroys or fetches.
GIT_ASKS = _names("""
    reset restore rm mv fetch pull push cherry-pick revert am notes update-index update-ref symbolic-ref
    reflog gc prune repack sparse-checkout bisect submodule remote filter-branch replace rerere
    maintenance lfs pack-refs read-tree write-tree commit-tree hash-object fast-import
""")

# Programs that may stand beside git writes in a line of the lane.
LANE_WRITERS = _names("touch mkdir")

# What sends something out that cannot be taken back.
PUBLISHES: dict[str, frozenset[str]] = {
    "npm": _names("publish unpublish deprecate"),
    "pnpm": _names("publish"),
    "yarn": _names("publish"),
    "cargo": _names("publish yank"),
    "twine": _names("upload"),
    "poetry": _names("publish"),
    "uv": _names("publish"),
    "flit": _names("publish"),
    "hatch": _names("publish"),
    "gem": _names("push yank"),
    "docker": _names("push"),
    "podman": _names("push"),
    "helm": _names("push upgrade install uninstall"),
    "kubectl": _names("apply create delete replace patch scale rollout drain"),
    "terraform": _names("apply destroy import"),
    "gh": _names("release pr issue repo workflow secret api"),
    "glab": _names("release mr issue repo"),
}
SENDERS = _names("mail mailx sendmail mutt swaks")
