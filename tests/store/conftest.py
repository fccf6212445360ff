"""A store in a new folder, and findings to put into it."""

import pytest

from store import open_store
from store.records import Configuration, Difference, Outcome, Program, Signature, Stage, Symptom, Verdict


@pytest.fixture
def path(tmp_path):
    return tmp_path / "workbench.db"


@pytest.fixture
def store(path):
    with open_store(path) as opened:
        yield opened


def found(
    body="return x.flip(0)",
    *,
    symptoms=(Symptom.VALUE,),
    stage=Stage.INDUCTOR,
    skeleton=("flip~",),
    dtype="float32",
    torch="2.13.0+cpu",
    final=False,
    guilty=None,
    origin="fuzz",
    configuration=None,
    **more,
):
    """The arguments of ``Store.add_finding`` for a program with this body."""
    configuration = configuration or Configuration()
    source = f"import torch\n\n\ndef fn(x):\n    {body}\n\n\ndef get_inputs():\n    return [torch.arange(4.0)]\n"
    differences = (Difference("return", symptoms[0] if symptoms else Symptom.VALUE, dtype, (4,), 2, max_abs=float("inf")),)
    verdict = Verdict(
        Outcome.MISMATCH, "2 of 4 elements differ", symptoms, stage=stage, differences=differences, torch=torch, configuration=configuration
    )
    return {
        "program": Program(source, configuration),
        "verdict": verdict,
        "signature": Signature(stage, guilty, symptoms, skeleton, final),
        "origin": origin,
        **more,
    }


@pytest.fixture
def add(store):
    """``add(body, ...)`` keeps a finding and returns its row."""

    def adder(*args, **changes):
        return store.add_finding(**found(*args, **changes))

    return adder


@pytest.fixture
def make():
    """``make(body, ...)`` gives the arguments of ``add_finding``."""
    return found
