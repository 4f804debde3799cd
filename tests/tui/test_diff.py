"""What the diff view says of a file beside its lines."""

import pytest

from agent_tui.tui.glyphs import ASCII
from agent_tui.tui.transcript import diff
from agent_tui.tui.transcript.lines import plain
from agent_tui.tui.transcript.look import Look

TEXT = """\
diff --git a/latest b/latest
index 1..2 120000
--- a/latest
+++ b/latest
@@ -1 +1 @@
-v1
\\ No newline at end of file
+v2
\\ No newline at end of file
diff --git a/logo.png b/logo.png
index 1..2 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/build b/build
old mode 100644
new mode 100755
index 1..2
--- a/build
+++ b/build
@@ -1 +1,2 @@
 one
+two
diff --git a/a.txt b/d/a.txt
similarity index 100%
rename from a.txt
rename to d/a.txt
diff --git a/b.txt b/d/b.txt
similarity index 90%
rename from b.txt
rename to d/b.txt
index 1..2
--- a/b.txt
+++ b/d/b.txt
@@ -1 +1 @@
-one
+One
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/empty b/empty
new file mode 100644
index 000..e69
M logo.png  binary, 14 KB → 15 KB
M latest  link v1 → v2
M build  mode 644 → 755
X run.sh  mode 644 → 755
M data.bin  not covered, size and time only
"""
HEADINGS = [
    " M build  +1 mode 644 → 755",
    " R a.txt → d/a.txt",
    " R b.txt → d/b.txt  +1 -1",
    " A empty  +0",
    " M logo.png  binary, 14 KB → 15 KB",
    " M latest  link v1 → v2",
    " X run.sh  mode 644 → 755",
    " M data.bin  not covered, size and time only",
]


def headings(text: str, look: Look) -> list[str]:
    return [plain(diff.heading(file, look)).rstrip() for file in diff.parse(text)]


def test_what_has_no_lines_is_one_line_and_a_renamed_file_has_both_names() -> None:
    assert headings(TEXT, Look(width=80)) == HEADINGS
    rows = [plain(row) for row in diff.unified(diff.parse(TEXT), Look(width=80))]
    assert not [row for row in rows if row.endswith(("v1", "- v2"))]


def test_the_arrows_are_ours() -> None:
    plain_text = Look(width=80, glyphs=ASCII)
    assert headings(TEXT, plain_text) == [heading.replace("→", "->") for heading in HEADINGS]


def test_a_file_that_became_a_link_is_one_line() -> None:
    text = """\
diff --git a/x b/x
deleted file mode 100644
index 1..0
--- a/x
+++ /dev/null
@@ -1 +0,0 @@
-text
diff --git a/x b/x
new file mode 120000
index 0..1
--- /dev/null
+++ b/x
@@ -0,0 +1 @@
+y
\\ No newline at end of file
M x  binary → link
"""
    assert headings(text, Look(width=80)) == [" M x  binary → link"]


@pytest.mark.parametrize("header", ["diff --git a/q.sql b/q.sql\n", ""])
def test_no_row_of_a_hunk_is_taken_for_a_header(header: str) -> None:
    rows = [" one", "--- a/comment", "+++ b/other", "+rm -rf build", "-diff --git a/x b/x", " two"]
    last = "--- a/z\n+++ b/z\n@@ -1 +1 @@\n-1\n+2\n"
    text = f"{header}--- a/q.sql\n+++ b/q.sql\n@@ -1,4 +1,4 @@\n" + "\n".join(rows) + "\n" + last
    first, second = diff.parse(text)
    assert [f"{row.kind}{row.text}" for row in first.rows] == ["@", *rows]
    assert (first.path, second.path, len(second.rows)) == ("q.sql", "z", 3)


@pytest.mark.parametrize(
    ("quoted", "name"), [("n\\033[31m", "n\x1b[31m"), ('say \\"hi\\"', 'say "hi"'), ("a\\\\t\\tb", "a\\t\tb")]
)
def test_a_name_that_git_quotes_is_shown_as_it_is(quoted: str, name: str) -> None:
    text = f'diff --git "a/{quoted}" "b/{quoted}"\n--- "a/{quoted}"\n+++ "b/{quoted}"\n@@ -1 +1 @@\n-1\n+2\n'
    (file,) = diff.parse(text)
    assert (file.path, file.kind) == (name, "M")
    (binary,) = diff.parse(text.partition("---")[0] + f'Binary files "a/{quoted}" and "b/{quoted}" differ\n')
    assert (binary.path, binary.note) == (name, "binary")
