"""Asking with a memory: budget first, then what the store has been answered before, then the endpoint; every call is kept with what became of it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Protocol

from store.llm_calls import Asked
from store.records import JSON
from store.store import Store
from workbench.llm import secret, told
from workbench.llm.budget import Purse
from workbench.llm.client import Answer, Client
from workbench.llm.endpoint import Endpoint
from workbench.llm.errors import LLMError
from workbench.llm.prompts import Prompt, digest_of

TEMPERATURE = 0.8
MAX_TOKENS = 1024
"""Completion tokens of an answer; one that is cut off is asked for once more with twice as many."""


UNREAD = "unread"
"""Outcome of an answer that nobody has looked at: the command was killed between the answer and its gates."""
CHARACTERS = 4
"""That a token is counted as, where the server does not count."""
CLOSED = "\n```\n"
"""Where the answer to a request for one block ends; small models talk on for ever behind it."""


class Asker(Protocol):
    """What answers: a ``Client``."""

    def complete(self, messages: tuple[Mapping[str, str], ...], model: str, parameters: Mapping[str, JSON]) -> Answer: ...

    def models(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer and how it was come by, before anybody has looked at what it says."""

    prompt: Prompt
    purpose: str
    parameters: Mapping[str, JSON]
    key: str
    answer: Answer
    cost: float | None
    replayed: bool


@dataclass(slots=True)
class Caller:
    """Asks on behalf of one command. Safe from several threads.

    offline:  answers come from the store alone; what is not there is an LLMError of kind ``unrecorded``
    campaign: that calls belong to
    answers:  that have come, from the endpoint or the store
    """

    store: Store
    endpoint: Endpoint
    purse: Purse = field(default_factory=Purse)
    offline: bool = False
    campaign: int | None = None
    max_tokens: int = MAX_TOKENS
    stop: threading.Event = field(default_factory=threading.Event)
    client: Asker | None = None
    model: str = ""
    answers: int = 0

    def __post_init__(self) -> None:
        if self.client is None and not self.offline:
            self.client = Client(self.endpoint, self.stop)
        self.model = self.model or self.endpoint.model

    def ready(self) -> None:
        """Find out the model when none was named; LLMError when that cannot be done, or the endpoint is not there."""
        if self.model:
            return
        if self.client is None:
            recent = self.store.llm_calls(limit=1)
            if not recent:
                raise LLMError("unrecorded", "no LLM call is in the store, so there is nothing to replay", "name another store with --db")
            self.model = recent[0].model
            return
        names = self.client.models()
        if len(names) != 1:
            shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
            raise LLMError(
                "model", f"LLM endpoint {self.endpoint.host} offers {shown or 'no model'}", "name one with --model or OPENAI_MODEL"
            )
        self.model = names[0]

    def ask(
        self, prompt: Prompt, purpose: str, *, sample: int, temperature: float = TEMPERATURE, more: int = 1, block: bool = False
    ) -> Reply:
        """One answer, from the store when the same was asked before. ``sample`` tells answers to one prompt apart; ``more`` multiplies the length;
        ``block``: nothing is wanted behind the first block.

        LLMError when there is none; ``failed`` keeps it.
        """
        parameters: dict[str, JSON] = {"temperature": temperature, "max_tokens": self.max_tokens * more, "seed": sample}
        if block:
            parameters["stop"] = [CLOSED]
        key = digest_of(prompt, self.model, parameters)
        kept = self.store.answered_llm_call(key)
        if kept is not None:
            answer = Answer(
                self.store.llm_answer(kept.id),
                kept.finish,
                kept.answered_by,
                kept.prompt_tokens,
                kept.cached_tokens,
                kept.completion_tokens,
                kept.milliseconds,
                0,
            )
            return Reply(prompt, purpose, parameters, key, answer, None, replayed=True)
        if self.client is None:
            raise LLMError("unrecorded", "this prompt has no answer in the store", "run once without --llm-replay")
        self.purse.take()
        answer = self.client.complete(prompt.messages, self.model, parameters)
        cost = self._pay(prompt, answer)
        return Reply(prompt, purpose, parameters, key, answer, cost, replayed=False)

    def _pay(self, prompt: Prompt, answer: Answer) -> float | None:
        """Count an answer against the budget; what it cost, None where that is not known.

        Of a server that does not count, tokens are estimated, so that a budget ends; the store is told no figure that nobody gave.
        """
        prices, counted = self.endpoint.prices, answer.prompt_tokens + answer.completion_tokens
        if counted:
            cost = prices.cost(answer.prompt_tokens, answer.cached_tokens, answer.completion_tokens) if prices else None
            self.purse.pay(counted, cost)
            return cost
        sent, came = len(prompt.text) // CHARACTERS, len(answer.text) // CHARACTERS
        self.purse.pay(sent + came, prices.cost(sent, 0, came) if prices else None)
        return None

    def keep(
        self, reply: Reply, outcome: str = UNREAD, detail: str = "", *, seed: str = "", characteristic: str = "", parent: int | None = None
    ) -> int:
        """Keep an answer and what became of it; returns the call's id. Without an outcome yet: ``settle`` says it later."""
        a = reply.answer
        self.answers += 1
        return self._add(
            Asked(
                purpose=reply.purpose,
                prompt=reply.prompt.version,
                messages=reply.prompt.text,
                model=self.model,
                host=self.endpoint.host,
                key=reply.key,
                outcome=outcome,
                parameters=reply.parameters,
                detail=told.line(detail, 500),
                answered_by=a.model,
                answer=a.text,
                finish=a.finish,
                seed=seed,
                characteristic=characteristic,
                prompt_tokens=a.prompt_tokens,
                cached_tokens=a.cached_tokens,
                completion_tokens=a.completion_tokens,
                milliseconds=a.milliseconds,
                tries=a.tries,
                cost=reply.cost,
                replayed=reply.replayed,
                parent=parent,
                campaign=self.campaign,
            )
        )

    def failed(
        self, prompt: Prompt, purpose: str, error: LLMError, *, seed: str = "", characteristic: str = "", parent: int | None = None
    ) -> None:
        """Keep a call that brought no answer; what was never sent is no call."""
        if error.kind in ("budget", "unrecorded"):
            return
        self._add(
            Asked(
                purpose=purpose,
                prompt=prompt.version,
                messages=prompt.text,
                model=self.model,
                host=self.endpoint.host,
                key="",
                outcome=error.kind,
                parameters=error.parameters,
                detail=told.line(error.message, 500),
                seed=seed,
                characteristic=characteristic,
                milliseconds=error.milliseconds,
                tries=error.tries,
                parent=parent,
                campaign=self.campaign,
            )
        )

    def settle(self, call: int, outcome: str, detail: str = "", *, characteristic: str = "") -> None:
        """What became of an answer that was kept before anybody looked at it."""
        self.store.settle_llm_call(call, outcome, told.line(detail, 500), characteristic)

    def _add(self, asked: Asked) -> int:
        """The only way into the store: no text of a call holds the key, whoever put it there."""
        texts = {f.name: secret.redact(v) for f in fields(asked) if isinstance(v := getattr(asked, f.name), str)}
        return self.store.add_llm_call(replace(asked, **texts))  # type: ignore[arg-type]
