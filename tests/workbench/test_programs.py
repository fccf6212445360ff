"""Program files and their workbench block (DESIGN §2)."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.records import MODES, Configuration
from workbench.errors import ProgramError, WorkbenchError
from workbench.programs import MAX_BYTES, parse_block, parse_program, parse_setting, program_files, read_program, write_block

CASES = sorted((Path(__file__).parent.parent / "cases").glob("*.py"))


def test_every_case_is_a_program_and_its_block_survives_rewriting():
    assert len(CASES) > 150
    for path in CASES:
        program = read_program(path)
        assert parse_block(write_block(program.source, program.configuration)) == program.configuration, path


def test_unknown_key_is_named_with_its_line_and_the_known_ones():
    with pytest.raises(ProgramError) as caught:
        parse_block('# /// workbench\n# backend = "eager"\n# dynamik = true\n# ///\n', "model.py")
    assert caught.value.message == 'model.py, line 2 of its workbench block: unknown key "dynamik"'
    assert 'Did you mean "dynamic"?' in caught.value.hint
    assert "fullgraph" in caught.value.hint


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("dynamic = 3", "true or false"),
        ("threads = 0", "at least 1"),
        ("seed = -1", "at least 0"),
        ('mode = "fast"', "max-autotune"),
        ("backend = 1", "name in quotes"),
        ("inductor = 3", "table"),
        ("a b", "line 1"),
    ],
)
def test_wrong_values_say_what_is_allowed(body: str, told: str):
    with pytest.raises(ProgramError) as caught:
        parse_block(f"# /// workbench\n# {body}\n# ///\n")
    assert told in caught.value.message


def test_unclosed_and_second_blocks_are_errors_with_a_line():
    with pytest.raises(ProgramError, match=r"line 1.*not closed"):
        parse_block("# /// workbench\n# seed = 1\nimport torch\n")
    block = "# /// workbench\n# seed = 1\n# ///\n"
    with pytest.raises(ProgramError, match=r"line 5.*second"):
        parse_block(block + "\n" + block)


def test_syntax_error_names_file_and_line():
    with pytest.raises(ProgramError, match=r"m\.py, line 2: syntax error"):
        parse_program("import torch\ndef f(:\n", "m.py")


def test_files_that_are_no_programs_are_one_clear_error(tmp_path: Path):
    binary = tmp_path / "x.py"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProgramError, match="not UTF-8"):
        read_program(binary)
    with pytest.raises(ProgramError, match="No such file"):
        read_program(tmp_path / "missing.py")
    binary.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(ProgramError, match="too large"):
        read_program(binary)


def test_dotted_keys_need_no_quotes():
    told = parse_block("# /// workbench\n# [inductor]\n# cpp.simdlen = 0\n# ///\n")
    assert told.inductor == {"cpp.simdlen": 0}


def test_a_folder_gives_its_python_files_in_order(tmp_path: Path):
    for name in ("b.py", "a.py", "notes.txt", ".hidden.py"):
        (tmp_path / name).write_text("")
    assert [p.name for p in program_files([tmp_path])] == ["a.py", "b.py"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(ProgramError, match="no Python file"):
        program_files([tmp_path / "empty"])


def test_settings_are_read_as_toml_or_text():
    assert parse_setting("inductor.cpp.simdlen=0") == ("inductor", "cpp.simdlen", 0)
    assert parse_setting("dynamo.suppress_errors=True") == ("dynamo", "suppress_errors", True)
    assert parse_setting("inductor.a=b") == ("inductor", "a", "b")
    with pytest.raises(ProgramError):
        parse_setting("simdlen=0")


_PATCHES = st.dictionaries(
    st.sampled_from(["cpp.simdlen", "max_fusion_size", "fallback_random"]),
    st.one_of(st.booleans(), st.integers(0, 99), st.text(max_size=8)),
    max_size=3,
)


@given(
    st.builds(
        Configuration,
        backend=st.sampled_from(["inductor", "eager", "aot_eager"]),
        mode=st.sampled_from(MODES),
        dynamic=st.sampled_from([None, True, False]),
        fullgraph=st.booleans(),
        grad=st.booleans(),
        seed=st.integers(0, 2**31),
        threads=st.integers(1, 64),
        inductor=_PATCHES,
        dynamo=_PATCHES,
    )
)
def test_any_configuration_survives_being_written_and_read(configuration: Configuration):
    source = write_block("import torch\n", configuration)
    assert parse_block(source) == configuration
    assert write_block(source, configuration) == source


@given(st.text())
def test_any_text_is_a_program_or_one_clear_error(text: str):
    with contextlib.suppress(WorkbenchError):
        assert parse_program(text, "x.py").source == text
