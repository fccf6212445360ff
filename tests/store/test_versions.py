"""Versions of torch in their order (PEP 440), as text."""

import pytest

from store.versions import bounds, key

IN_ORDER = ["what", "1.13.1", "2.6.0", "2.12.0", "2.12.1+cu126", "2.13.0.dev20260901+cpu", "2.13.0.dev20260915", "2.13.0a0+git12ab", "2.13.0b1", "2.13.0rc2", "2.13.0+cpu", "2.13.1", "3.0"]  # fmt: skip


def test_text_order_of_keys_is_version_order():
    keys = [key(version) for version in IN_ORDER]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)
    assert key("2.13.0+cpu") == key("2.13.0") == key("2.13")


@pytest.mark.parametrize(
    ("asked", "inside", "outside"),
    [
        ("2.13", ["2.13.0", "2.13.5+cu130", "2.13.0.dev20260901"], ["2.12.9", "2.14.0", "2.1", "2.130.0", ""]),
        ("2", ["2.0.0", "2.99.1"], ["1.13.1", "3.0.0", "20.0.0"]),
        ("2.13.0", ["2.13.0+cpu", "2.13.0rc1"], ["2.13.1"]),
        ("2.14.0.dev20261101", ["2.14.0.dev20261101+cpu"], ["2.14.0.dev20261102", "2.14.0"]),
    ],
)
def test_asked_version_covers_its_patch_releases(asked, inside, outside):
    low, high = bounds(asked)
    assert all(low <= key(version) < high for version in inside)
    assert not any(low <= key(version) < high for version in outside)


@pytest.mark.parametrize("text", ["", "new", "2.x", "v2", "2..1", "2.13.0+cpu"])
def test_text_that_is_no_version(text):
    assert bounds(text) is None
