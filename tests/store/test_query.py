"""The filter language: every text is read or refused with its place, and what is read finds what it says."""

import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from store import open_store, versions
from store.errors import WorkbenchError
from store.query import KEYS, VALUES, QueryError, parse
from store.records import SIDE_EXITS, Configuration, Stage, State, Symptom


@given(st.text(alphabet=st.one_of(st.sampled_from(' :-",.<>=*state op label torch age size'), st.characters()), max_size=40))
@settings(max_examples=600)
@example('"')
@example("-")
@example("op:*")
@example("op:")
@example("age:<99999w")
@example("size:999999999999999999999")
@example("torch:..")
@example("seen:2026-99-99")
@example("label:\x00")
def test_any_text_is_read_or_refused_with_its_place_and_what_is_read_is_valid_sql(shared, text):
    store, _ = shared
    try:
        terms, refused = parse(text), None
    except QueryError as error:
        terms, refused = (), error
    if refused is None:
        assert all(text[t.start : t.end].strip() for t in terms)
        assert store.count(text) == len(store.ids(text))
    else:
        assert 0 <= refused.start < refused.end <= len(text)
        assert refused.message.startswith(f"filter, column {refused.start + 1}: ")
        with pytest.raises(QueryError):
            store.ids(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stat:new", 'filter, column 1: unknown key "stat"'),
        ("op:add colour:red", 'filter, column 8: unknown key "colour"'),
        ("state:newish", 'filter, column 7: state is never "newish"'),
        ("state:new,newish", 'filter, column 11: state is never "newish"'),
        ("code:XX", 'filter, column 6: code is never "XX"'),
        ("size:ten", "filter, column 6: size: 'ten' is no value"),
        ("size:<1..4", "filter, column 6: size: either < or .., not both"),
        ("age:7", "filter, column 5: age: '7' is no value"),
        ("age:2026-11-01", "filter, column 5: age: '2026-11-01' is no value"),
        ("seen:2026-11-01..3d", "filter, column 6: seen: '2026-11-01..3d' mixes dates and durations"),
        ("torch:new", "filter, column 7: torch: 'new' is no value"),
        ("label:", "filter, column 1: label: needs a value"),
        ('softmax "no end', "filter, column 9: a quote is not closed"),
        ('label:"no end', "filter, column 7: a quote is not closed"),
        ("a \ud800", "filter, column 3: a character that no text has"),
        ("***", "filter, column 1: nothing to search for in '***'"),
    ],
)
def test_mistake_is_named_with_its_place(text, message):
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert caught.value.message == message
    assert caught.value.hint


def test_unknown_key_names_the_known_ones_and_the_likely_one():
    with pytest.raises(QueryError) as caught:
        parse("stat:new")
    assert caught.value.hint == f'known keys: {", ".join(KEYS)}. Did you mean "state"?'


def test_words_to_complete_are_those_that_exist():
    assert set(VALUES["state"]) == {s.value for s in State} | {"open", "closed"}
    assert set(VALUES["symptom"]) == {s.value for s in Symptom}
    for key, words in VALUES.items():
        for word in words:
            parse(f"{key}:{word}")


SKELETONS = (("in:float", "flip~", "add!"), ("index_put!", "cumsum"), ("index_add",), ("softmax", "+call:2"), ("in:half", "t~", "argmin"))
LABELS = ("flaky-looking", "topic: fuzzer", "Ann's")
TORCHES = ("2.9.1", "2.12.0", "2.12.1+cu126", "2.13.0+cpu", "2.14.0.dev20261101", "")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A store with forty findings that differ in everything a filter asks for, read-only, and its rows."""
    with open_store(tmp_path_factory.mktemp("query") / "store.db") as store:
        from store.records import Difference, Outcome, Program, Signature, Verdict

        for n in range(40):
            symptoms = (list(Symptom)[n % 16],) if n % 3 else (Symptom.VALUE, Symptom.NAN)
            stage = [*Stage, None][n % 5]
            difference = Difference("return", symptoms[0], ["float32", "float16", "bfloat16", "int64", ""][n % 5], (4,), 1)
            verdict = Verdict(Outcome.MISMATCH, "", symptoms, stage=stage, differences=(difference,), torch=TORCHES[n % 6])
            configuration = Configuration(backend="aot_eager" if n % 4 == 1 else "inductor")
            source = "def fn(x):\n" + "    x = x + 1\n" * (n % 7) + f"    return x * {n}\n"
            code = ["AM", "NT", None, ""][n % 4]
            skeleton = SKELETONS[n % 5]
            row = store.add_finding(
                Program(source, configuration),
                verdict,
                signature=Signature(stage, None, symptoms, skeleton),
                origin="fuzz",
                characteristic="LC-x" if n % 8 == 2 else None,
                code=code,
            )
            store.label([row.id], add=[LABELS[i] for i in range(3) if n % (i + 2) == 0], actor="ann")
            store.assign([row.id], ["", "ann", "bob"][n % 3], actor="ann")
            state = list(State)[n % 11]
            if state is State.REGRESSED:
                store.set_state([row.id], State.FIXED, actor="ann")
            store.set_state([row.id], state, actor="ann", duplicate_of=1 if state is State.DUPLICATE else None)
        store.delete([13], actor="ann")
        yield store, store.find()


def version_bounds(version):
    return versions.bounds(version)


def number_range(draw, low, high):
    """Text of a range over whole numbers and the same as a function."""
    a, b = draw(st.integers(low, high)), draw(st.integers(low, high))
    return draw(
        st.sampled_from(
            [
                (f"{a}", lambda x: x == a),
                (f"={a}", lambda x: x == a),
                (f"<{a}", lambda x: x < a),
                (f"<={a}", lambda x: x <= a),
                (f">{a}", lambda x: x > a),
                (f">={a}", lambda x: x >= a),
                (f"{a}..{b}", lambda x: a <= x <= b),
                (f"{a}..", lambda x: x >= a),
                (f"..{b}", lambda x: x <= b),
            ]
        )
    )


def release(version):
    """(2, 13, 0) of ``2.13.0+cpu``; None of an unknown version."""
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in version.split("+")[0].split(".")[:3]) if version else None


@st.composite
def terms(draw):
    """The text of one term and the same as a function of a row, written without SQL."""
    kind = draw(
        st.sampled_from(
            ["state", "stage", "symptom", "code", "op", "op*", "dtype", "backend", "label", "bucket", "torch", "size", "who", "age"]
        )
    )
    if kind == "state":
        chosen = draw(st.lists(st.sampled_from(State), min_size=1, max_size=3))
        special = draw(st.sampled_from([None, None, "open", "closed"]))
        closed = SIDE_EXITS | {State.FIXED}
        if special:
            return f"state:{special}", lambda r: (r.state in closed) == (special == "closed")
        return f"state:{','.join(chosen)}", lambda r: r.state in chosen
    if kind == "stage":
        stage = draw(st.sampled_from([*Stage, None]))
        return f"stage:{stage or 'none'}", lambda r: r.stage == stage
    if kind == "symptom":
        symptom = draw(st.sampled_from(Symptom))
        return f"symptom:{symptom}", lambda r: symptom in r.symptoms
    if kind == "code":
        code = draw(st.sampled_from(["AM", "am", "NT", "LC", "none"]))
        return f"code:{code}", lambda r: r.code == ("" if code == "none" else code.upper())
    if kind == "op":
        op = draw(st.sampled_from(["flip", "add", "add_", "index_put", "index_put_", "softmax", "put", "t"]))
        return f"op:{op}", lambda r: op.rstrip("_") in r.ops
    if kind == "op*":
        start = draw(st.sampled_from(["index", "a", "soft", "zz"]))
        return f"op:{start}*", lambda r: any(op.startswith(start) for op in r.ops)
    if kind == "dtype":
        short, full = draw(
            st.sampled_from([("f32", "float32"), ("half", "float16"), ("bf16", "bfloat16"), ("torch.int64", "int64"), ("none", "")])
        )
        return f"dtype:{short}", lambda r: r.dtype == full
    if kind == "backend":
        backend = draw(st.sampled_from(["inductor", "aot_eager", "eager"]))
        return f"backend:{backend}", lambda r: r.backend == backend
    if kind == "label":
        label = draw(st.sampled_from([*LABELS, "none", "other"]))
        return f'label:"{label}"', lambda r: not r.labels if label == "none" else label in r.labels
    if kind == "who":
        who = draw(st.sampled_from(["ann", "bob", "none"]))
        return f"who:{who}", lambda r: r.assignee == ("" if who == "none" else who)
    if kind == "bucket":
        text, fits = number_range(draw, 1, 30)
        return f"bucket:{text}", lambda r: fits(r.bucket)
    if kind == "size":
        text, fits = number_range(draw, 0, 9)
        return f"size:{text}", lambda r: fits(r.statements)
    if kind == "age":
        return draw(
            st.sampled_from(
                [("age:<1h", lambda r: True), ("age:>1h", lambda r: False), ("seen:7d", lambda r: True), ("seen:<2020", lambda r: False)]
            )
        )
    minor = draw(st.integers(9, 15))
    text, fits = draw(
        st.sampled_from(
            [
                (f"2.{minor}", lambda v: v[:2] == (2, minor)),
                (f">=2.{minor}", lambda v: v[:2] >= (2, minor)),
                (f">2.{minor}", lambda v: v[:2] > (2, minor)),
                (f"<2.{minor}", lambda v: v[:2] < (2, minor)),
                (f"2.10..2.{minor}", lambda v: (2, 10) <= v[:2] <= (2, minor)),
                ("2.12.1", lambda v: v == (2, 12, 1)),
            ]
        )
    )
    return f"torch:{text}", lambda r: release(r.torch) is not None and fits(release(r.torch))


@given(st.lists(st.tuples(st.booleans(), terms()), max_size=4), st.sampled_from([" ", "  ", "\t"]))
@settings(max_examples=500, deadline=None)
def test_filter_finds_what_a_plain_python_filter_finds(shared, chosen, space):
    store, rows = shared
    text = space.join(("-" if negated else "") + term for negated, (term, _) in chosen)
    expected = [r.id for r in rows if all(fits(r) != negated for negated, (_, fits) in chosen)]
    assert store.ids(text) == expected
    assert store.count(text) == len(expected)
    assert sum(store.tally("state", text).values()) == len(expected)


WORDS = st.sampled_from(["wrong", "value", "flip", "FLIP", "ind", "index_put", "inductor", "NaN", "cum", "zzz", "aot"])


@given(st.lists(st.tuples(st.booleans(), WORDS, st.booleans()), min_size=1, max_size=3))
@settings(max_examples=200, deadline=None)
def test_free_text_finds_words_and_their_beginnings_in_title_and_ops(shared, chosen):
    store, rows = shared

    def fits(row, word, exact):
        parts = word.lower().split("_")
        for text in (row.title, " ".join(row.ops)):
            found = "".join(c if c in string.ascii_letters + string.digits else " " for c in text).lower().split()
            for at in range(len(found) - len(parts) + 1):
                window = found[at : at + len(parts)]
                if window[:-1] == parts[:-1] and (window[-1] == parts[-1] if exact else window[-1].startswith(parts[-1])):
                    return True
        return False

    text = " ".join(f"{'-' if negated else ''}{quoted(word, exact)}" for negated, word, exact in chosen)
    assert store.ids(text) == [r.id for r in rows if all(fits(r, word, exact) != negated for negated, word, exact in chosen)]


def quoted(word, exact):
    return f'"{word}"' if exact else word


def test_words_of_the_reduced_program_are_found_not_those_of_the_original(store, add, make):
    row = add("telltale = x\n    return x")
    assert store.ids("telltale") == []
    small = make("return torch.logcumsumexp(x, 0)")
    store.save_reduction(row.id, small["program"], small["verdict"], small["signature"], {}, final=True)
    assert store.ids("logcumsumexp") == store.ids("logcum") == [row.id]
    assert store.ids('"logcum"') == []


def test_age_and_seen_ask_for_different_times(store, make, monkeypatch):
    from datetime import UTC, datetime, timedelta

    from store import times

    then = times.as_text(datetime.now(UTC) - timedelta(days=10))
    with monkeypatch.context() as patched:
        patched.setattr(times, "now", lambda plus=0.0: then)
        old = store.add_finding(**make())
        other = store.add_finding(**make("return x * 2"))
    store.add_finding(**make())
    assert store.ids("age:>9d") == [other.id, old.id]
    assert store.ids("age:9d..11d") == [other.id, old.id]
    assert store.ids("age:<9d") == []
    assert store.ids("seen:<1h") == [old.id]
    assert store.ids(f"seen:{then[:10]}") == [other.id]
    assert store.ids(f"seen:>{then[:10]}") == [old.id]


def test_tally_counts_each_value(store, add):
    add(symptoms=(Symptom.VALUE, Symptom.NAN)), add("return x * 2", dtype="int64")
    assert store.tally("symptom") == {"value": 2, "nan": 1}
    assert store.tally("dtype", "symptom:nan") == {"float32": 1}
    assert store.tally("symptom", "dtype:i64") == {"value": 1}
    assert store.tally("who") == {"none": 2}
    with pytest.raises(WorkbenchError, match="not counted by 'colour'"):
        store.tally("colour")
