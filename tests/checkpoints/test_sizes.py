import pytest

from checkpoints.sizes import size_text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1 KB"),
        (14_336, "14 KB"),
        (999_499, "999 KB"),
        (999_500, "1.0 MB"),
        (3_200_000, "3.2 MB"),
        (9_960_000, "10 MB"),
        (14_050_918, "14 MB"),
        (999_700_000, "1.0 GB"),
        (2_500_000_000, "2.5 GB"),
    ],
)
def test_a_size_is_told_in_one_way(size: int, text: str) -> None:
    assert size_text(size) == text
