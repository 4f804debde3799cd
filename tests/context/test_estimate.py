import pytest

from context.builder import build_view
from context.estimate import Meter, text_tokens
from context.items import CallPart, ResponseItem, ResultItem
from tests.context.logs import ORIGIN, TOOLS, make_log

CODE = '''def slugify(text: str, limit: int = 80) -> str:
    """Return the slug of `text`; never empty."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if len(words) > limit:
        words = words[:limit].rpartition("-")[0] or words[:limit]
    return words or "untitled"
'''
LISTING = """-rw-r--r-- 1 root root   4096 Nov 29 19:34 CHANGELOG.md
drwxr-xr-x 2 root root  12288 Nov 29 18:02 agent_tui
-rwxr-xr-x 1 root root 118734 Jan  3  2025 run.sh
"""
PROSE = """Commands run in namespaces behind bubblewrap and a system call filter: the workspace is writable,
the rest of the system is read-only, and your home and the network are not there.
"""


def test_arguments_of_calls_count() -> None:
    def size(arguments: str) -> int:
        call = CallPart(call_id="c", provider_id="c", tool="t", arguments=arguments)
        log = [
            ResponseItem(id="r", step_id="s", parts=(call,), origin=ORIGIN),
            ResultItem(id="o", response_item_id="r", call_id="c", text="ok"),
        ]
        return Meter().tokens(build_view(log, system="", project="", tools=()))

    assert size("word and " * 50_000) - size("{}") > 80_000


@pytest.mark.parametrize(
    ("text", "counted"),  # by o200k, the vocabulary of OpenAI's models
    [
        (CODE * 20, 1_700),
        (LISTING * 20, 1_480),
        (PROSE * 20, 760),
        ("".join(f"w1 line {n} of some text\n" for n in range(1, 221)), 1_980),
        ("今天天气很好，我们去公园散步。日本語のテキストもここにあります。" * 20, 440),
    ],
    ids=["code", "listing", "prose", "output", "cjk"],
)
def test_the_estimate_is_near_the_true_count(text: str, counted: int) -> None:
    assert 0.9 < text_tokens(text) / counted < 1.2


def test_dense_text_costs_more_than_a_quarter_of_its_bytes() -> None:
    assert text_tokens("0f3a9bc2 " * 1000) > 3000


def test_after_a_real_count_only_what_was_added_is_estimated() -> None:
    maker = make_log(2, 10)
    meter = Meter()
    view = build_view(maker.items, system="s", project="", tools=TOOLS)
    meter.observe(view, 12_345)
    assert meter.tokens(view) == 12_345
    maker.exchange()
    assert meter.tokens(build_view(maker.items, system="s", project="", tools=TOOLS)) > 12_345


def test_a_reported_size_of_nothing_is_no_report() -> None:
    view = build_view(make_log(2, 10).items, system="s", project="", tools=TOOLS)
    meter = Meter()
    estimate = meter.tokens(view)
    meter.observe(view, 0)
    assert meter.tokens(view) == estimate > 0


def test_the_factor_stays_in_its_range() -> None:
    maker = make_log(2, 10)
    meter = Meter()
    view = build_view(maker.items, system="s", project="", tools=TOOLS)
    for _ in range(50):
        meter.observe(view, 10_000_000)
    assert 1.59 < meter.factor <= 1.6
    for _ in range(50):
        meter.observe(view, 1)
    assert 0.7 <= meter.factor < 0.71


def test_the_breakdown_adds_up_to_the_estimate() -> None:
    view = build_view(make_log(2, 30).items, system="s", project="p", tools=TOOLS)
    meter = Meter()
    assert abs(meter.breakdown(view).total - meter.tokens(view)) <= 7
    meter.observe(view, 12_345)
    assert abs(meter.breakdown(view).total - 12_345) <= 7
