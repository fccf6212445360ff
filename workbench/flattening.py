"""Programs below Dynamo: captures a program's graphs in a runner and words them as straight-line programs (DESIGN §5, graph route)."""

from __future__ import annotations

from collections.abc import Sequence

from store.records import Program
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
        options={"windows": windows},
    )
    run = pool.run(request)
    if run.document is None:
        return ()
    return [str(text) for text in run.document.get("texts", ())]
