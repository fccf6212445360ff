"""Prompts: fixed front first, versions that change with their texts, nothing of what is put in read again."""

import hashlib

import pytest

from workbench.characteristics import named
from workbench.llm import prompts
from workbench.seeds import bundled

TEXTS = {
    # file: (version, first characters of the text's sha256). Changed a text? Raise its version and put both here: answers are kept by it.
    "characteristic": (1, "f06e0621e7fc"),
    "contract": (1, "3dd94e24e851"),
    "example": (1, "3d6668e38f6a"),
    "learn": (1, "7564a0b1aa84"),
    "learn-repair": (1, "5b3c42bd7693"),
    "learn-rule": (1, "01271c2eb7b3"),
    "repair": (1, "f8e540051453"),
    "seed": (1, "00809d86154a"),
    "title": (1, "bd14853cd434"),
}


@pytest.mark.parametrize("name", prompts.names())
def test_changed_text_has_another_version(name):
    version, text = prompts.template(name)
    assert TEXTS[name] == (version, hashlib.sha256(text.encode()).hexdigest()[:12])


def test_what_varies_comes_last():
    first = prompts.mutation(named("view-then-write"), bundled()[0].program.source)
    second = prompts.mutation(named("view-then-write"), bundled()[1].program.source, ["add_ t"])
    other = prompts.mutation(named("cast-chain"), bundled()[0].program.source)
    assert first.messages[:3] == second.messages[:3]
    assert first.messages[0] == other.messages[0]
    assert [m["role"] for m in first.messages] == ["system", "user", "assistant", "user"]
    assert "add_ t" in second.messages[3]["content"]
    assert "Already tried" not in first.messages[3]["content"]


def test_what_is_put_in_is_not_read_again():
    prompt = prompts.mutation(named("view-then-write"), "x = '{{tried}} {{nothing}} \\1'")
    assert "{{tried}} {{nothing}} \\1" in prompt.messages[3]["content"]


def test_code_is_asked_for_in_a_fence_never_in_json():
    for name in prompts.names():
        assert "json" not in prompts.template(name)[1].lower()
    assert "```python" in prompts.template("contract")[1]


def test_long_issues_and_histories_are_cut():
    assert len(prompts.learning("word " * 50_000).text) < prompts.LONGEST_ISSUE + 3000
    tried = [f"idea{n}" for n in range(100)]
    told = prompts.mutation(named("cast-chain"), "x", tried).messages[3]["content"]
    assert "idea99" in told
    assert "idea91" not in told


def test_digest_depends_on_everything_that_decides_the_answer():
    prompt = prompts.title("x", "inductor", "value")
    base = prompts.digest_of(prompt, "m", {"seed": 1})
    assert base == prompts.digest_of(prompts.title("x", "inductor", "value"), "m", {"seed": 1})
    assert (
        len(
            {
                base,
                prompts.digest_of(prompt, "n", {"seed": 1}),
                prompts.digest_of(prompt, "m", {"seed": 2}),
                prompts.digest_of(prompt.then("a", "learn-rule"), "m", {"seed": 1}),
            }
        )
        == 4
    )
