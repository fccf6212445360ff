"""One chat completion over HTTP, whatever the endpoint does: an answer that has been looked at, or one LLMError. The only user of ``openai``.

Retries are made here and not by ``openai``: it retries a spent quota, and a read timeout, which then costs (retries + 1) times the timeout.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies

from store.records import JSON
from workbench.llm import patience, secret, told, transport
from workbench.llm.endpoint import Endpoint
from workbench.llm.errors import LLMError

if TYPE_CHECKING:
    import openai

RETRIES = 2
LOADING_SECONDS = 120.0
"""How long a server that says it is still loading its model is waited for."""
LOADING_PAUSE = 0.25
"""Seconds between two looks at such a server at least, whatever it asks for."""
MODELS_SECONDS = 15.0
"""How long the list of models may take: a campaign waits for it before its first test."""
LONGEST_WAIT = 60.0
"""A server that wants us to wait longer than this has said no."""
LARGEST = 200_000
"""Characters; no program is longer."""
NOT_TAKEN = re.compile(
    r"not (?:supported|permitted|allowed|recogni[sz]ed|accepted)|unsupported|un(?:known|expected|recogni[sz]ed)|extra|does not support|no such",
    re.IGNORECASE,
)
"""How servers without OpenAI's error codes say that they do not know a parameter."""
OPTIONAL = ("seed", "stop", "temperature", "max_tokens")
"""Parameters without which an answer is still one."""
Message = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the endpoint said. ``finish``: its finish_reason, empty when it gave none; tokens are 0 where it does not count them."""

    text: str
    finish: str
    model: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    milliseconds: int
    tries: int


@dataclass(slots=True)
class Client:
    """Asks one endpoint; safe from several threads.

    stop: ends waiting, between tries and for an answer
    say:  hears that a server is still loading its model
    """

    endpoint: Endpoint
    stop: threading.Event = field(default_factory=threading.Event)
    backoff: float = 0.5
    say: Callable[[str], None] = lambda text: None
    _made: Any = None
    _refused: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def models(self) -> list[str]:
        """The names of what the endpoint offers; LLMError when it does not say."""
        page = self._guarded(lambda: self._openai().models.list(), min(MODELS_SECONDS, self.endpoint.timeout))[0]
        data = getattr(page, "data", None)
        if not isinstance(data, list):
            raise self._malformed("its list of models", page)
        return [told.line(getattr(m, "id", "")) for m in data]

    def complete(self, messages: Sequence[Message], model: str, parameters: Mapping[str, JSON]) -> Answer:
        """One answer. ``parameters``: ``temperature max_tokens seed stop``; those that the endpoint refuses are left out from then on."""
        started = time.monotonic()
        tries = 0
        payload: Any = [dict(m) for m in messages]
        try:
            while True:
                sent: Any = self._accepted(parameters)
                try:
                    answer, n = self._guarded(
                        lambda sent=sent: self._openai().chat.completions.create(messages=payload, model=model, stream=False, **sent),  # type: ignore[misc]
                        self.endpoint.timeout,
                    )
                    tries += n
                    return self._read(answer, tries, started)
                except LLMError as error:
                    tries += error.tries
                    if error.kind != "parameter" or not self._adapt(error, sent):
                        raise
        except LLMError as error:
            error.tries, error.milliseconds = max(tries, error.tries), _since(started)
            error.parameters = self._accepted(parameters)
            raise

    # ---- what is sent --------------------------------------------------------------------------------------------------------------

    def _openai(self) -> openai.OpenAI:
        with self._lock:
            if self._made is None:
                import openai

                http = transport.http_client(self.endpoint)
                self._made = openai.OpenAI(
                    api_key=secret.key() or "none", base_url=self.endpoint.url, timeout=http.timeout, max_retries=0, http_client=http
                )
            client: openai.OpenAI = self._made
            return client

    def _accepted(self, parameters: Mapping[str, JSON]) -> dict[str, JSON]:
        """The parameters under the names this endpoint takes them by."""
        return {self._refused.get(k, k): v for k, v in parameters.items() if self._refused.get(k, k)}

    def _adapt(self, error: LLMError, sent: Mapping[str, JSON]) -> bool:
        """Leave out, or name otherwise, the parameter that was refused; False when it was none of ours."""
        named = error.hint
        if named == "max_tokens" and named in sent:
            self._refused[named] = "max_completion_tokens"
        elif named in sent and named != "max_completion_tokens":
            self._refused[named] = ""
        else:
            error.kind, error.hint = "request", "it may be no chat model; name another with --model"
            return False
        return True

    # ---- what comes back -----------------------------------------------------------------------------------------------------------

    def _guarded(self, call: Callable[[], Any], seconds: float) -> tuple[Any, int]:
        """The call's result and how many requests it took; every way in which it can fail becomes one LLMError. ``seconds``: for a request."""
        started = time.monotonic()
        tries = failed = 0
        while True:
            tries += 1
            try:
                return patience.within(call, seconds, self.stop), tries
            except Exception as raised:
                error, asked = self._error(raised, seconds), _retry_after(raised)
            error.tries = tries
            loading = error.kind == "loading" and time.monotonic() - started < LOADING_SECONDS
            if loading and failed == 0 and tries == 1:
                self.say(f"{error.message}; waiting for it")
            failed += not loading
            wait = asked if asked is not None else 1.0 if loading else self.backoff * 2.0 ** (failed - 1)
            wait = max(LOADING_PAUSE, wait) if loading else wait
            if error.kind not in ("rate", "server", "broken", "loading") or failed > RETRIES or wait > LONGEST_WAIT:
                error.kind = "server" if error.kind == "loading" else error.kind
                raise error
            if self.stop.wait(wait):
                raise error

    def _error(self, raised: Exception, seconds: float) -> LLMError:
        error = self._translated(raised, seconds)
        error.message, error.hint = told.line(error.message, 400), told.line(error.hint)
        error.args = (error.message,)
        return error  # without a cause: its text may hold the key

    def _translated(self, raised: Exception, seconds: float) -> LLMError:
        import openai

        at = f"LLM endpoint {self.endpoint.host}"
        cause = raised.__cause__
        if isinstance(raised, LLMError):
            return raised
        if isinstance(cause, LLMError):
            return cause
        if isinstance(raised, patience.LeftError):
            return LLMError("abandoned", f"{at} had not answered when the command ended", "what was finished is kept")
        if isinstance(raised, openai.APITimeoutError | TimeoutError):
            if "Connect" in type(cause).__name__:
                return LLMError("unreachable", f"{at} cannot be reached (no connection in time)", "does it run? is OPENAI_BASE_URL right?")
            return LLMError(
                "timeout", f"{at} took longer than {seconds:g} s", "give it more with WORKBENCH_LLM_TIMEOUT, or use a smaller model"
            )
        if isinstance(raised, openai.APIStatusError):
            return self._status(at, raised)
        if isinstance(raised, openai.APIConnectionError):
            why = told.line(cause or "", 120)
            if type(cause).__name__ == "ProxyError":
                hint = "look at HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY"
                return LLMError("unreachable", f"{at} cannot be reached through the proxy ({why})", hint)
            if type(cause).__name__ in ("ConnectError", "UnsupportedProtocol", "InvalidURL"):
                proxied = not self.endpoint.local and any(getproxies().get(scheme) for scheme in ("http", "https", "all"))
                hint = "does it run? is OPENAI_BASE_URL right?" + (" is the proxy, which is set in the environment?" if proxied else "")
                return LLMError("unreachable", f"{at} cannot be reached ({why})", hint)
            return LLMError("broken", f"{at} broke the connection off ({why or type(cause).__name__})", "look at its log")
        return self._malformed("an answer", f"{type(raised).__name__}: {raised}")

    def _status(self, at: str, raised: openai.APIStatusError) -> LLMError:
        code, said = raised.status_code, told.line(_said(raised.body) or raised.message)
        named = str(raised.code or "")
        lower = said.lower()
        asked = raised.request.url.path
        if 300 <= code < 400:
            return _redirected(at, code, str(raised.request.url), raised.response.headers.get("location", ""))
        if named == "insufficient_quota" or code == 402:
            return LLMError("quota", f"{at}: the quota is spent ({said})", "look at the account's limits and billing")
        if code in (401, 403):
            return LLMError("auth", f"{at} refuses the key ({code}: {said})", "is OPENAI_API_KEY right, and made for this endpoint?")
        if code in (404, 405) or named == "model_not_found":
            if named == "model_not_found" or ("model" in lower and not asked.endswith("/models")):
                return LLMError("model", f"{at} has no such model ({said})", "name another with --model or OPENAI_MODEL")
            what = "list of models" if asked.endswith("/models") else "chat completions"
            hint = "OPENAI_BASE_URL usually ends in /v1" + ("; or name the model with --model" if asked.endswith("/models") else "")
            return LLMError("address", f"{at} has no {what} at that address ({code})", hint)
        if code == 429:
            return LLMError("rate", f"{at} is asked too often ({said})", "ask for less at once: --llm-jobs 1")
        if code == 503 and "loading" in lower:
            return LLMError("loading", f"{at} is still loading its model", "try again in a minute")
        if code >= 500 or code in (408, 409):
            return LLMError("server", f"{at} fails ({code}: {said})", "look at its log")
        parameter = _refused(named, str(getattr(raised, "param", "") or ""), said)
        if code in (400, 422) and parameter:
            return LLMError("parameter", f"{at} does not take {parameter} ({said})", parameter)
        return LLMError(
            "request", f"{at} refuses the request ({code}: {said})", "it may be too long for the model; name another with --model"
        )

    def _malformed(self, what: str, got: object) -> LLMError:
        return LLMError(
            "malformed",
            f"LLM endpoint {self.endpoint.host} sent something else than {what}: {told.line(got, 120) or 'nothing'}",
            "is it OpenAI-compatible? OPENAI_BASE_URL usually ends in /v1",
        )

    def _read(self, got: Any, tries: int, started: float) -> Answer:
        """The answer in what came, taken apart with care: the client hands through whatever JSON, or text, was sent."""
        failed = getattr(got, "error", None)
        if failed:
            said = told.line(_said({"error": failed}))
            kind = "quota" if isinstance(failed, Mapping) and failed.get("code") == "insufficient_quota" else "server"
            raise LLMError(kind, f"LLM endpoint {self.endpoint.host} fails inside a 200 ({said})", "look at its log")
        choices = getattr(got, "choices", None)
        if not isinstance(choices, list) or not choices:
            raise self._malformed("a chat completion", got)
        choice = choices[0]
        message = getattr(choice, "message", None)
        content = getattr(message, "content", None)
        if content is None and message is not None:
            content = str(getattr(message, "refusal", None) or "")
        if not isinstance(content, str) or len(content) > LARGEST:
            raise self._malformed("an answer of text", got if len(str(content)) <= LARGEST else f"{len(str(content))} characters")
        usage = getattr(got, "usage", None)
        details = getattr(usage, "prompt_tokens_details", None)
        prompt = _count(getattr(usage, "prompt_tokens", 0))
        return Answer(
            secret.redact(content.encode("utf-8", "replace").decode()),  # lone surrogates of broken escapes
            told.line(getattr(choice, "finish_reason", None) or "", 40),
            told.line(getattr(got, "model", None) or "", 120),
            prompt,
            min(prompt, _count(getattr(details, "cached_tokens", 0))),
            _count(getattr(usage, "completion_tokens", 0)),
            _since(started),
            tries,
        )


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 10**9 else 0


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _said(body: object) -> str:
    """The message in an error's body, in any of the shapes that servers use."""
    for _ in range(3):
        if isinstance(body, Mapping):
            body = body.get("error") or body.get("message") or body.get("detail") or ""
    return body if isinstance(body, str) else str(body) if body else ""


def _refused(code: str, named: str, said: str) -> str:
    """The parameter that a server does not take, by OpenAI's error codes or by its words; empty: it is about something else."""
    if code in ("unsupported_parameter", "unsupported_value"):
        return named
    optional = [name for name in OPTIONAL if re.search(rf"\b{name}\b", said)]
    return optional[0] if len(optional) == 1 and NOT_TAKEN.search(said) else ""


def _redirected(at: str, code: int, asked: str, to: str) -> LLMError:
    """A redirect is not followed; where it leads is told, without what may be a secret in it."""
    parts = urlsplit(urljoin(asked, to))
    host, path = parts.netloc.rpartition("@")[2], parts.path
    base = path.removesuffix("/").removesuffix("/chat/completions").removesuffix("/models")
    there = f"{parts.scheme}://{host}{base}"
    hint = (
        f"if that is the endpoint: OPENAI_BASE_URL={there}" if host and not asked.startswith(f"{there}/") else "is OPENAI_BASE_URL right?"
    )
    return LLMError("address", f"{at} wants to be asked elsewhere ({code} to {host or 'nowhere'})", hint)


def _retry_after(raised: BaseException) -> float | None:
    """Seconds that the server asks us to wait, or None when it does not say."""
    headers = getattr(getattr(raised, "response", None), "headers", {})
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) * scale)
        except (KeyError, ValueError):
            continue
    return None
