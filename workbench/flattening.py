"""What a runner tells of programs without judging them: their graphs below Dynamo as straight-line programs, and which of them run in eager."""

from __future__ import annotations

from collections.abc import Sequence

from store.records import Configuration, Program
from workbench.oracle.runs import Runner, Setting
from workbench.runner.protocol import Request


def flat_texts(pool: Runner, program: Program, setting: Setting, *, windows: bool = False) -> Sequence[str]:
    """Texts to try in the place of a program, best first; none when it cannot be captured. ``windows``: its last operations instead."""
    request = Request(
        action="capture",
        source=program.source,
        filename=program.name,
        profile=setting.profile,
        folder=setting.folder,
        argv=list(setting.argv),
        configuration=program.configuration.to_json(),
        limits=setting.limits,
        options={"windows": windows, **({"test": setting.test} if setting.test else {})},
    )
    run = pool.run(request)
    if run.document is None:
        return ()
    return [str(text) for text in run.document.get("texts", ())]


def outcomes(
    pool: Runner, configuration: Configuration, sources: Sequence[str], setting: Setting, *, backend: str | None = None
) -> list[tuple[str, str]] | None:
    """How each of these ends in eager (``returned``, ``raised``, ``invalid``) and what it raises; ``agrees`` where it does exactly the same
    under a backend that is asked for too. None when the runner gave no answer.
    """
    request = Request(
        action="screen",
        source="",
        profile=setting.profile,
        folder=setting.folder,
        argv=list(setting.argv),
        configuration=configuration.to_json(),
        limits=setting.limits,
        options={"sources": list(sources), "backend": backend},
    )
    run = pool.run(request)
    told = run.document.get("outcomes", []) if run.document is not None else []
    if run.document is None or len(told) != len(sources):
        return None
    return [(str(outcome), str(reason)) for outcome, reason in zip(told, run.document["reasons"], strict=True)]
