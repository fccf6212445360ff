"""Options that commands with an LLM share, and what they make of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from store import Store
    from workbench.llm.caller import Caller

NAMES = ("model", "llm_calls", "llm_tokens", "llm_cost", "llm_minutes", "llm_replay")


def llm_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--model``, the budget, ``--llm-replay``; they arrive under ``NAMES``."""
    from workbench.llm.budget import CALLS

    for option in reversed(
        (
            click.option("--model", metavar="NAME", help="Model to ask (default: OPENAI_MODEL, else the endpoint's only one)."),
            click.option("--llm-calls", type=click.IntRange(0), default=CALLS, show_default=True, help="LLM calls at most."),
            click.option("--llm-tokens", type=click.IntRange(1), metavar="N", help="LLM tokens at most, prompts included."),
            click.option("--llm-cost", type=click.FloatRange(0), metavar="MONEY", help="Cost at most; needs WORKBENCH_LLM_PRICES."),
            click.option("--llm-minutes", type=click.FloatRange(0), metavar="M", help="Minutes at most, from the first LLM call."),
            click.option("--llm-replay", is_flag=True, help="Answers from the store alone, no network."),
        )
    ):
        function = option(function)
    return function


def caller_of(store: Store, options: dict[str, Any]) -> Caller:
    """The caller that the options and the environment ask for, its model known; LLMError when there can be none."""
    from workbench.errors import WorkbenchError
    from workbench.llm.budget import Budget, Purse
    from workbench.llm.caller import Caller
    from workbench.llm.client import Client
    from workbench.llm.endpoint import PRICES, Endpoint, endpoint

    offline = bool(options["llm_replay"])
    where = Endpoint("", options["model"] or "") if offline else endpoint(options["model"])
    if options["llm_cost"] is not None and where.prices is None and not offline:
        raise WorkbenchError(
            "--llm-cost without prices", f"for example {PRICES}=0.15,0.075,0.60: prompt, cached, completion, a million tokens"
        )
    budget = Budget(options["llm_calls"], options["llm_tokens"], options["llm_cost"], options["llm_minutes"])
    stop = threading.Event()
    client = None if offline else Client(where, stop, say=lambda text: click.echo(f"LLM: {text}", err=True))
    caller = Caller(store, where, Purse(budget), offline=offline, stop=stop, client=client)
    caller.ready()
    return caller
