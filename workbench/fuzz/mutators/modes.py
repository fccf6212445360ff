"""Modes that a program switches: grad, autocast, inference, default dtype; left by exceptions, nested, used as decorators."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators import pools
from workbench.fuzz.mutators.constructs import plant
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject

MODES = pools.items("modes")


@mutator("modes_inside", "modes", compiles=False)
def modes_inside(subject: Subject, draw: Draw) -> str | None:
    """Modes entered, left, nested and read inside the program."""
    return plant(subject, draw, MODES)


OUTSIDE = (
    ("autocast", "    with torch.autocast('cpu', dtype=torch.bfloat16):\n        result = fn(*inputs)\n"),
    ("no_grad", "    with torch.no_grad():\n        result = fn(*inputs)\n"),
    ("inference", "    with torch.inference_mode():\n        result = fn(*inputs)\n"),
    (
        "double",
        "    torch.set_default_dtype(torch.float64)\n    try:\n        result = fn(*inputs)\n    finally:\n        torch.set_default_dtype(torch.float32)\n",
    ),
    ("anomaly", "    with torch.autograd.set_detect_anomaly(True):\n        result = fn(*inputs)\n"),
    (
        "deterministic",
        "    torch.use_deterministic_algorithms(True, warn_only=True)\n    result = fn(*inputs)\n    torch.use_deterministic_algorithms(False)\n",
    ),
    (
        "grad_off_on",
        "    with torch.no_grad():\n        first = fn(*[t.clone() if isinstance(t, torch.Tensor) else t for t in inputs])\n    result = first, fn(*inputs)\n",
    ),
)


@mutator("modes_outside", "modes")
def modes_outside(subject: Subject, draw: Draw) -> str | None:
    """The whole call under a mode."""
    word, body = draw.choice(OUTSIDE)
    code = f"def drive(fn, inputs):\n{body}    return result, torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_autocast_enabled('cpu')\n"
    return word if subject.set_drive(code) else None


@mutator("mode_left_by_error", "modes", compiles=False)
def mode_left_by_error(subject: Subject, draw: Draw) -> str | None:
    """An exception leaves the program from inside a mode; the caller catches it and looks at the modes, then computes."""
    if subject.drive is not None:
        return None
    found = subject.pick(draw, lambda v: v.numeric and v.rank >= 1)
    if found is None:
        return None
    site, v = found
    mode = draw.choice(
        [
            "torch.autocast('cpu', dtype=torch.bfloat16)",
            "torch.no_grad()",
            "torch.enable_grad()",
            "torch.inference_mode()",
            "torch.set_grad_enabled(False)",
            "torch.autocast('cpu', enabled=False)",
        ]
    )
    fault = draw.choice(
        [
            f"{v.name}.index_select(0, torch.tensor([{v.shape[0] + 5}]))",
            f"{v.name}.view(-1, 97)",
            "raise ValueError('wrong')",
            f"torch.ones({v.shape[0]}) + torch.ones({v.shape[0] + 1})",
            "{}['missing']",
        ]
    )
    subject.insert(site, f"with {mode}:\n    {fault}")
    subject.set_drive(
        "def drive(fn, inputs):\n    try:\n        result = fn(*inputs)\n    except Exception as error:\n        result = type(error).__name__\n"
        "    seen = (torch.is_grad_enabled(), torch.is_autocast_enabled('cpu'), torch.is_inference_mode_enabled(), (torch.ones(2, 2) @ torch.ones(2, 2)).dtype)\n    torch.set_autocast_enabled('cpu', False)\n    return result, seen\n"
    )
    if draw.chance(0.4):
        subject.configure(fullgraph=True)
    return mode.split("(")[0].removeprefix("torch.")
