"""The title a finding has until a person gives it a better one."""

from __future__ import annotations

from collections.abc import Sequence

from store.records import Stage, Symptom

LONGEST = 120
_SHOWN_OPS = 4
_WORDS = {
    Symptom.VALUE: "wrong value",
    Symptom.NAN: "wrong NaN or infinity",
    Symptom.DTYPE: "wrong dtype",
    Symptom.SHAPE: "wrong shape",
    Symptom.STRIDE: "another stride",
    Symptom.DEVICE: "wrong device",
    Symptom.REQUIRES_GRAD: "wrong requires_grad",
    Symptom.ALIAS: "wrong aliasing",
    Symptom.MUTATION: "wrong mutation",
    Symptom.GRADIENT: "wrong gradient",
    Symptom.RNG: "wrong random stream",
    Symptom.STRUCTURE: "wrong structure",
    Symptom.PYVALUE: "wrong Python value",
    Symptom.MODES: "modes left on",
    Symptom.MISSING_ERROR: "missing error",
    Symptom.EXCEPTION: "another exception",
}


def title_of(symptoms: Sequence[Symptom], ops: Sequence[str], stage: Stage | None, guilty: str | None) -> str:
    """``wrong value: flip, add (inductor, post_grad_passes)``, at most ``LONGEST`` characters."""
    what = ", ".join(_WORDS[s] for s in symptoms) or "compiled fails"
    shown = ", ".join(ops[:_SHOWN_OPS]) + (", …" if len(ops) > _SHOWN_OPS else "")
    where = ", ".join(part for part in (stage.value if stage else "", guilty or "") if part)
    title = what + (f": {shown}" if shown else "") + (f" ({where})" if where else "")
    return title if len(title) <= LONGEST else title[: LONGEST - 1] + "…"
