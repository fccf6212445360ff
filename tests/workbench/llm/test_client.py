"""What an endpoint can do wrong, over real HTTP: one LLMError with its kind, the right number of requests, one line for people; never the key."""

import gzip
import json
import threading
import time
import traceback

import pytest
from serving import Reply, completion, dead_port, error, serving

from workbench.llm.client import RETRIES, Client
from workbench.llm.endpoint import Endpoint, Prices, endpoint
from workbench.llm.errors import LLMError

ASK = ([{"role": "user", "content": "hello"}], "tiny", {"temperature": 0.8, "max_tokens": 64, "seed": 3})
HTML = {"content-type": "text/html"}
PACKED = {"content-type": "application/json", "content-encoding": "gzip"}


def client(server, timeout=30.0):
    return Client(Endpoint(server.url, "tiny", timeout), backoff=0.01)


def test_answer_with_what_it_cost(key):
    with serving([completion("hi")]) as server:
        answer = client(server).complete(*ASK)
    assert (answer.text, answer.finish, answer.model, answer.tries) == ("hi", "stop", "tiny", 1)
    assert (answer.prompt_tokens, answer.cached_tokens, answer.completion_tokens) == (300, 250, 60)
    assert server.asked[0] == {"messages": ASK[0], "model": "tiny", "stream": False, **ASK[2]}
    assert server.headers[0]["authorization"] == f"Bearer {key}"


TOO_LONG = "maximum context length is 2048 tokens, 9000 requested"
FAULTS = {
    "wrong key": (error(401, "Incorrect API key provided: {key}"), "auth", 1, "refuses the key"),
    "forbidden": (error(403, "no access to this project"), "auth", 1, "no access to this project"),
    "wrong model": (error(404, "The model `x` does not exist", code="model_not_found"), "model", 1, "no such model"),
    "wrong model, ollama": (error(404, "model 'x' not found, try pulling it first"), "model", 1, "no such model"),
    "wrong address": (
        Reply(404, "404 page not found", {"content-type": "text/plain"}),
        "address",
        1,
        "no chat completions at that address",
    ),
    "quota": (error(429, "You exceeded your current quota", code="insufficient_quota"), "quota", 1, "quota is spent"),
    "payment required": (error(402, "insufficient balance"), "quota", 1, "quota is spent"),
    "too many requests": (error(429, "slow down", headers={"retry-after-ms": "5"}), "rate", 1 + RETRIES, "asked too often"),
    "too many requests for an hour": (error(429, "slow down", headers={"retry-after": "3600"}), "rate", 1, "asked too often"),
    "server error": (error(500, "cuda out of memory"), "server", 1 + RETRIES, "500: cuda out of memory"),
    "bad gateway": (Reply(502, "<html><body>502 Bad Gateway</body></html>", HTML), "server", 1 + RETRIES, "fails (502"),
    "context too long": (error(400, TOO_LONG, code="context_length_exceeded"), "request", 1, TOO_LONG),
    "html instead of an answer": (Reply(200, "<html>Welcome, please sign in</html>", HTML), "malformed", 1, "please sign in"),
    "broken json": (Reply(200, '{"choices": [{"mess'), "malformed", 1, "JSONDecodeError"),
    "error inside a 200": (error(200, "the worker died"), "server", 1, "the worker died"),
    "quota inside a 200": (error(200, "spent", code="insufficient_quota"), "quota", 1, "spent"),
    "no choices": (completion("x", choices=[]), "malformed", 1, "something else than a chat completion"),
    "choices are no list": (completion("x", choices="none"), "malformed", 1, "something else"),
    "choices of nothing": (completion("x", choices=[None]), "malformed", 1, "something else"),
    "json that is no object": (Reply(200, "[1, 2]"), "malformed", 1, "something else"),
    "content is a list": (completion([{"type": "text"}]), "malformed", 1, "something else"),
    "endless content": (completion("x" * 300_000), "malformed", 1, "300000 characters"),
    "cut body": (completion("hello " * 100), "broken", 1 + RETRIES, "broke the connection off"),
    "hang-up": (Reply(hang_up=True), "broken", 1 + RETRIES, "broke the connection off"),
    "unknown encoding": (Reply(200, b"\xff\xfe\x00rubbish", {"content-type": "application/json"}), "malformed", 1, "something else"),
    "broken gzip": (Reply(200, b"no gzip", PACKED), "broken", 1 + RETRIES, "incorrect header check"),
    "gzip that grows for ever": (Reply(200, gzip.compress(b"x" * (1 << 28)), PACKED), "malformed", 1, "more than 128 KB"),
    "endless body": (Reply(200, "x" * (5 << 20)), "malformed", 1, "more than 4096 KB"),
    "no content": (Reply(204, "", {}), "malformed", 1, "something else than a chat completion: nothing"),
    "redirect": (
        Reply(307, "", {"location": "http://u:{key}@other.example/v1/chat/completions"}),
        "address",
        1,
        "elsewhere (307 to other.example)",
    ),
    "redirect to itself": (Reply(302, "", {"location": "/v1/chat/completions"}), "address", 1, "elsewhere"),
    "no such method": (error(405, "Method Not Allowed"), "address", 1, "no chat completions at that address"),
    "overloaded is not loading": (error(503, "overloaded"), "server", 1 + RETRIES, "503: overloaded"),
    "key where the message is cut": (error(401, "x" * 190 + "{key}"), "auth", 1, "xx["),
    "key where the page is cut": (Reply(200, "y" * 112 + "{key}", HTML), "malformed", 1, "yy["),
    "control characters": (error(401, "\x1b[31mred\x07 \u202egnirts"), "auth", 1, "401: [31mred gnirts"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_one_error_of_its_kind_after_the_right_number_of_requests(fault, key):
    reply, kind, requests, told = FAULTS[fault]
    if fault == "cut body":
        reply = Reply(200, reply.body, reply.headers, cut=80)
    reply = Reply(
        reply.status,
        reply.body.replace("{key}", key) if isinstance(reply.body, str) else reply.body,
        {name: value.replace("{key}", key) for name, value in reply.headers.items()},
        reply.cut,
        hang_up=reply.hang_up,
    )
    with serving([reply]) as server, pytest.raises(LLMError) as caught:
        client(server).complete(*ASK)
    raised = caught.value
    assert (raised.kind, len(server.asked), raised.tries) == (kind, requests, requests)
    assert told in raised.message
    assert "\n" not in raised.message + raised.hint
    assert len(raised.message) < 400
    assert raised.hint
    assert key[:6] not in raised.message + raised.hint  # half a key is a key told
    assert raised.message.isprintable()
    assert server._server.server_address[0] in raised.message


def test_read_timeout_costs_one_timeout_not_three(key):
    with serving([Reply(wait=60)]) as server, pytest.raises(LLMError) as caught:
        client(server, timeout=0.5).complete(*ASK)
    assert (caught.value.kind, len(server.asked), caught.value.tries) == ("timeout", 1, 1)
    assert "longer than 0.5 s" in caught.value.message


def test_answer_that_trickles_in_is_given_up_when_its_time_is_over(key):
    dripping = completion("hello " * 100)
    dripping.drip = 0.05
    started = time.monotonic()
    with serving([dripping]) as server, pytest.raises(LLMError) as caught:
        client(server, timeout=0.6).complete(*ASK)
    assert (caught.value.kind, len(server.asked)) == ("timeout", 1)
    assert time.monotonic() - started < 5  # all of it would take 30 s and more


def test_redirect_sends_nothing_to_another_host(key):
    with serving([completion("hi")]) as other, serving([Reply(307, "", {"location": f"{other.url}/chat/completions"})]) as server:
        with pytest.raises(LLMError) as caught:
            client(server).complete(*ASK)
        assert other.asked == []
    assert other.url in caught.value.hint


def test_nobody_listens():
    with pytest.raises(LLMError) as caught:
        Client(Endpoint(dead_port(), "tiny")).complete(*ASK)
    assert (caught.value.kind, caught.value.ends) == ("unreachable", True)


def test_unknown_host():
    with pytest.raises(LLMError) as caught:
        Client(Endpoint("http://no-such-host.invalid/v1", "tiny"), backoff=0.01).complete(*ASK)
    assert caught.value.kind == "unreachable"


@pytest.mark.parametrize(
    "first", [error(429, "slow", headers={"retry-after-ms": "20"}), error(500, "x"), error(503, "busy"), Reply(hang_up=True)]
)
def test_passing_fault_is_retried(first):
    with serving([first, completion("hi")]) as server:
        answer = client(server).complete(*ASK)
    assert (answer.text, answer.tries) == ("hi", 2)


def test_server_that_loads_its_model_is_waited_for_longer_than_a_broken_one():
    replies = [error(503, "Loading model", headers={"retry-after-ms": "5"})] * (RETRIES + 3)
    with serving([*replies, completion("hi")]) as server:
        assert client(server).complete(*ASK).tries == RETRIES + 4


def test_server_that_loads_is_not_hammered_and_it_is_said_once():
    said = []
    with serving([error(503, "Loading model", headers={"retry-after": "0"})] * 3 + [completion("hi")]) as server:
        asking = Client(Endpoint(server.url, "tiny"), say=said.append)
        started = time.monotonic()
        asking.complete(*ASK)
    assert time.monotonic() - started > 3 * 0.2
    assert len(said) == 1
    assert "still loading its model; waiting" in said[0]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}),  # Mistral
        (400, {"error": {"code": 400, "message": 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'}}),  # Gemini
        (400, {"error": "Argument not supported on this model: seed"}),  # xAI
    ],
)
def test_parameter_refused_in_other_words_is_left_out_too(status, body):
    refusal = Reply(status, json.dumps(body))
    with serving(lambda request: refusal if "seed" in request else completion("hi")) as server:
        assert client(server).complete(*ASK).tries == 2
    assert {"temperature", "max_tokens"} <= set(server.asked[-1])


def test_parameters_that_a_model_refuses_are_renamed_or_left_out_from_then_on():
    def newer(request):
        for name in ("max_tokens", "temperature"):
            if name in request:
                return error(400, f"Unsupported parameter: '{name}'", code="unsupported_parameter", param=name)
        return completion("hi")

    with serving(newer) as server:
        asking = client(server)
        assert asking.complete(*ASK).tries == 3
        assert asking.complete(*ASK).tries == 1
    assert {"max_completion_tokens", "seed"} <= set(server.asked[-1])


def test_parameter_that_is_none_of_ours_is_a_refusal_not_a_loop():
    with serving([error(400, "no", code="unsupported_parameter", param="messages")]) as server, pytest.raises(LLMError) as caught:
        client(server).complete(*ASK)
    assert (caught.value.kind, len(server.asked)) == ("request", 1)


def test_stopping_ends_the_waiting():
    stop = threading.Event()
    stop.set()
    with serving([error(500, "x", headers={"retry-after": "50"})]) as server, pytest.raises(LLMError):
        Client(Endpoint(server.url, "tiny"), stop).complete(*ASK)
    assert len(server.asked) == 1


def test_answer_on_its_way_when_the_command_ends_is_given_up(key):
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    with serving([Reply(wait=60)]) as server, pytest.raises(LLMError) as caught:
        Client(Endpoint(server.url, "tiny"), stop).complete(*ASK)
    assert (caught.value.kind, caught.value.parameters) == ("abandoned", ASK[2])
    with serving([Reply(200, completion("hi").body, wait=0.4)]) as server:  # what comes soon is paid for and taken
        assert Client(Endpoint(server.url, "tiny"), stop).complete(*ASK).text == "hi"


def test_no_field_of_an_answer_holds_the_key(key):
    with serving([completion(key, finish=f"stop {key}", model=key)], models=(key, "b\x1b[0m")) as server:
        asking = client(server)
        assert key not in repr(asking.complete(*ASK))
        assert asking.models() == ["[key]", "b [0m"]


@pytest.mark.parametrize(
    ("variable", "value", "kind", "told"),
    [
        ("HTTP_PROXY", "foo://me:secret@proxy", "address", "Unknown scheme for proxy"),
        ("HTTP_PROXY", "http://me:secret@127.0.0.1:1", "unreachable", "Connection refused"),
        ("SSL_CERT_FILE", "/nowhere", "address", "No such file"),
    ],
)
def test_what_the_environment_says_about_proxies_and_certificates_is_told_without_passwords(monkeypatch, variable, value, kind, told):
    monkeypatch.setenv(variable, value)
    with pytest.raises(LLMError) as caught:
        Client(Endpoint("http://example.invalid/v1", "tiny"), backoff=0.01).complete(*ASK)
    assert (caught.value.kind, "secret" in caught.value.message) == (kind, False)
    assert told in caught.value.message
    assert "proxy" in caught.value.hint.lower()


def test_proxy_stands_between_other_machines_only(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", dead_port())
    monkeypatch.setenv("ALL_PROXY", dead_port())
    with serving([completion("hi")]) as server:
        assert client(server).complete(*ASK).text == "hi"


def test_odd_but_usable_answers_are_taken_as_they_are(key):
    odd = completion("a \ud83d b " + key, usage={"prompt_tokens": "many", "completion_tokens": -3}, model=None)
    with serving([odd]) as server:
        answer = client(server).complete(*ASK)
    assert (answer.prompt_tokens, answer.completion_tokens, answer.model) == (0, 0, "")
    assert answer.text == "a ? b [key]"
    for content, finish in ((None, "content_filter"), ("", "stop"), ("hi", None)):
        with serving([completion(content, finish=finish)]) as server:
            answer = client(server).complete(*ASK)
        assert (answer.text, answer.finish) == (content or "", finish or "")


def test_no_traceback_of_ours_tells_the_key(key):
    with serving([error(401, f"bad key {key}")]) as server:
        try:
            client(server).complete(*ASK)
        except LLMError as raised:
            told = "".join(traceback.format_exception(raised))
    assert key not in told
    assert key not in repr(Client(Endpoint(server.url)))


def test_models_that_are_offered():
    with serving([completion("x")], models=("a", "b")) as server:
        assert client(server).models() == ["a", "b"]


def test_list_of_models_that_does_not_come_keeps_no_campaign_waiting(monkeypatch):
    from workbench.llm import client as module

    monkeypatch.setattr(module, "MODELS_SECONDS", 0.4)
    with serving([]) as server:
        server.models = MoreThanPatience()
        with pytest.raises(LLMError) as caught:
            client(server, timeout=60).models()
    assert (caught.value.kind, "longer than 0.4 s" in caught.value.message) == ("timeout", True)


class MoreThanPatience:
    """Names that take their time."""

    def __iter__(self):
        time.sleep(3)
        return iter(())


@pytest.mark.parametrize("said", ["Cannot GET /models", '{"detail": "Not Found"}'])
def test_address_without_a_list_of_models_is_no_wrong_model(said):
    import http.server

    class Without(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(404)
            self.end_headers()
            self.wfile.write(said.encode())

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Without) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with pytest.raises(LLMError) as caught:
            Client(Endpoint(f"http://127.0.0.1:{server.server_port}")).models()
        server.shutdown()
    assert caught.value.kind == "address"
    assert "no list of models at that address" in caught.value.message
    assert "/v1" in caught.value.hint


def test_endpoint_from_the_environment(key):
    told = endpoint(
        None, {"OPENAI_BASE_URL": "http://user:pass@127.0.0.1:8080/v1", "OPENAI_MODEL": "m", "WORKBENCH_LLM_PRICES": "1, 0.5, 2"}
    )
    assert (told.host, told.local, told.model, told.prices) == ("127.0.0.1:8080", True, "m", Prices(1, 0.5, 2))
    assert endpoint("other", {"OPENAI_MODEL": "m"}).model == "other"
    assert endpoint(None, {}).host == "api.openai.com"
    assert told.prices.cost(1_000_000, 500_000, 1_000_000) == 0.5 + 0.25 + 2


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "OPENAI_API_KEY is not set"),
        ({"OPENAI_BASE_URL": "localhost:8080"}, "is no address"),
        ({"OPENAI_BASE_URL": "http://[::1/v1"}, "is no address"),
        ({"OPENAI_BASE_URL": "https://api.openai.com/v1/"}, "OPENAI_API_KEY is not set"),
        ({"OPENAI_BASE_URL": "http://exa mple/v1"}, "is no address"),
        ({"OPENAI_BASE_URL": "ftp://me:secret@x/v1"}, r"ftp://\[password\]@x/v1' is no address"),
        ({"OPENAI_BASE_URL": "http://x/v1?key=secret"}, "behind which no path can be put"),
        ({"OPENAI_BASE_URL": "http://x/v1", "WORKBENCH_LLM_PRICES": "0,15;1;2"}, "is not three prices"),
        ({"OPENAI_BASE_URL": "http://x/v1", "WORKBENCH_LLM_PRICES": "-1,nan,2"}, "is not three prices"),
        ({"OPENAI_BASE_URL": "http://x/v1", "WORKBENCH_LLM_TIMEOUT": "soon"}, "no number of seconds"),
        ({"OPENAI_BASE_URL": "http://x/v1", "WORKBENCH_LLM_PRICES": "1,2"}, "is not three prices"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_sent(given, told):
    with pytest.raises(LLMError, match=told) as caught:
        endpoint(None, given)
    assert caught.value.hint
    assert "secret" not in caught.value.message


def test_key_that_cannot_be_sent_is_not_shown(monkeypatch):
    from workbench.llm import secret

    monkeypatch.setattr(secret, "_taken", ["sk-näh\nsecret"])
    with pytest.raises(LLMError) as caught:
        endpoint(None, {})
    assert "secret" not in caught.value.message
    assert json.dumps(caught.value.hint)
