"""Overlap of memory and the write probe, on tensors of this process."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
from workbench.runner.aliases import overlapping  # noqa: E402
from workbench.runner.observe import Recorder, raw_bytes  # noqa: E402
from workbench.runner.probe import probe  # noqa: E402

pytestmark = pytest.mark.torch


def pairs(*tensors: torch.Tensor) -> tuple[list[list[str]], list[list[str]]]:
    recorder = Recorder()
    recorder.section("return", list(tensors))
    before = [raw_bytes(t) for t in tensors if t.layout is torch.strided and not t.is_meta]
    found = overlapping(recorder.leaves), probe(recorder.leaves)
    assert [raw_bytes(t) for t in tensors if t.layout is torch.strided and not t.is_meta] == before, "the probe restores what it wrote"
    return found


BOTH = [["return[0]", "return[1]"]]


def test_views_of_the_same_elements_overlap() -> None:
    x = torch.arange(6.0)
    assert pairs(x, x.view(2, 3)) == (BOTH, BOTH)


def test_chunks_share_a_storage_without_overlapping() -> None:
    first, second = torch.arange(6.0).chunk(2)
    assert pairs(first, second) == ([], [])


def test_interleaved_columns_do_not_overlap_though_their_ranges_do() -> None:
    x = torch.arange(6.0).view(3, 2)
    assert pairs(x[:, 0], x[:, 1]) == ([], [])


def test_one_shared_element_is_an_overlap() -> None:
    x = torch.arange(6.0)
    assert pairs(x[:4], x[3:]) == (BOTH, BOTH)


def test_half_of_a_wider_element_is_an_overlap() -> None:
    x = torch.zeros(4, dtype=torch.int32)
    assert pairs(x[:1], x.view(torch.int16)[1:2]) == (BOTH, BOTH)


def test_expanded_outputs_can_be_probed() -> None:  # add_ refuses internal overlap, fill_ does not
    x = torch.zeros(1)
    assert pairs(x.expand(5), x) == (BOTH, BOTH)


def test_copies_do_not_overlap() -> None:
    x = torch.arange(6.0)
    assert pairs(x, x.clone()) == ([], [])


@pytest.mark.parametrize("dtype", [torch.bool, torch.bfloat16, torch.float64, torch.complex64, torch.complex128, torch.uint8])
def test_every_width_is_probed(dtype: torch.dtype) -> None:
    x = torch.zeros(3, dtype=dtype)
    assert pairs(x, x[1:]) == (BOTH, BOTH)


def test_elements_that_hold_a_pattern_already_still_show_a_write() -> None:
    x = torch.full((4,), 0xA5, dtype=torch.uint8)
    assert pairs(x, x[2:])[1] == BOTH


def test_empty_meta_and_sparse_tensors_have_no_memory_to_share() -> None:
    x = torch.zeros(0)
    assert pairs(x, x, torch.zeros(2, device="meta"), torch.zeros(2).to_sparse()) == ([], [])


def test_leaves_that_require_grad_are_probed() -> None:
    x = torch.ones(3, requires_grad=True)
    assert pairs(x, x.detach()) == (BOTH, BOTH)


def test_memory_that_may_only_be_read_is_left_alone(tmp_path) -> None:  # a write there would end the process
    numpy = pytest.importorskip("numpy")
    file = tmp_path / "data.bin"
    file.write_bytes(bytes(8192))
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = torch.from_numpy(numpy.memmap(file, dtype=numpy.float32, mode="r"))
    assert pairs(x, x[:4]) == (BOTH, [])


def test_conj_and_subclasses_are_read_through() -> None:
    class Sub(torch.Tensor):
        pass

    x = torch.ones(2, dtype=torch.complex64)
    assert pairs(x.conj(), x.as_subclass(Sub)) == (BOTH, BOTH)
