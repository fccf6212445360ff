"""The part of a store object that campaigns write: their counters, calls to LLMs, the oracle's memory. It only opens transactions."""

from __future__ import annotations

from collections.abc import Mapping

from store import campaigns, llm_calls, memo
from store.handle import Handle
from store.llm_calls import Asked
from store.records import JSON
from store.rows import Campaign, LlmCall


class WithCampaigns(Handle):
    """Campaigns, LLM calls and remembered verdicts of a store."""

    def start_campaign(self, settings: Mapping[str, JSON]) -> int:
        """Begin a campaign; returns its id."""
        with self._connection.write() as c:
            return campaigns.start(c, settings)

    def update_campaign(self, campaign_id: int, counters: Mapping[str, JSON]) -> None:
        """Replace the counters of a running campaign."""
        with self._connection.write() as c:
            campaigns.update(c, campaign_id, counters)

    def finish_campaign(self, campaign_id: int, counters: Mapping[str, JSON] | None = None, *, state: str = "finished") -> None:
        """End a campaign; ``state``: ``finished`` or ``interrupted``."""
        with self._connection.write() as c:
            campaigns.finish(c, campaign_id, counters, state)

    def stop_campaign(self, campaign_id: int) -> bool:
        """Ask a running campaign to end soon and keep what is finished; False when it has ended already."""
        with self._connection.write() as c:
            return campaigns.stop(c, campaign_id)

    def campaign(self, campaign_id: int) -> Campaign:
        """One campaign; NotFoundError if there is none."""
        with self._connection.read() as c:
            return campaigns.get(c, campaign_id)

    def campaigns(self, limit: int | None = None) -> list[Campaign]:
        """Campaigns, newest first."""
        with self._connection.read() as c:
            return campaigns.listed(c, limit)

    def add_llm_call(self, asked: Asked) -> int:
        """Keep a call to an LLM endpoint; returns its id."""
        with self._connection.write() as c:
            return llm_calls.add(c, asked)

    def settle_llm_call(self, call_id: int, outcome: str, detail: str = "", characteristic: str = "") -> None:
        """Say what became of an answer that was kept before it was looked at."""
        with self._connection.write() as c:
            llm_calls.settled(c, call_id, outcome, detail, characteristic)

    def judge_llm_call(self, call_id: int, verdict: str, finding: int | None = None) -> None:
        """Note what the oracle said of the program that a call brought, and the finding it was kept as."""
        with self._connection.write() as c:
            llm_calls.judged(c, call_id, verdict, finding)

    def answered_llm_call(self, key: str, nth: int = 0) -> LlmCall | None:
        """The ``nth`` real call of that key that brought an answer, oldest first, or None."""
        with self._connection.read() as c:
            return llm_calls.answered(c, key, nth)

    def llm_answer(self, call_id: int) -> str:
        """The raw answer of a call, empty when it brought none."""
        with self._connection.read() as c:
            return llm_calls.answer(c, call_id)

    def llm_calls(self, campaign: int | None = None, limit: int | None = None) -> list[LlmCall]:
        """Calls to LLM endpoints, newest first."""
        with self._connection.read() as c:
            return llm_calls.listed(c, campaign, limit)

    def llm_tally(self, by: str, campaign: int | None = None) -> list[dict[str, JSON]]:
        """Calls, tokens, time and cost per value of ``by`` (one of ``llm_calls.GROUPS``)."""
        with self._connection.read() as c:
            return llm_calls.tally(c, by, campaign)

    def memo_get(self, key: str) -> dict[str, JSON] | None:
        """What ``memo_put`` kept under ``key``, or None."""
        with self._connection.read() as c:
            return memo.get(c, key)

    def memo_put(self, key: str, verdict: Mapping[str, JSON]) -> None:
        """Remember a verdict's JSON; the oldest are forgotten beyond ``memo.LIMIT``."""
        with self._connection.write() as c:
            memo.put(c, key, verdict)
