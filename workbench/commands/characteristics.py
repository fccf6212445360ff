"""``workbench characteristics``: the catalogue of what breaks compilers, and the mutators that do it to programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from store.records import JSON
from workbench.characteristics import CODES, Characteristic, bundled, catalogue, learned_folder, named, parse
from workbench.commands.llm import caller_of, llm_options
from workbench.commands.options import database, db_option, emit, json_option
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.llm.learn import Draft


LARGEST = 1 << 20
"""Bytes of a text to learn from."""


@click.group(name="characteristics", short_help="List or show bug characteristics.")
def command() -> None:
    """Ways in which programs break compilers: one catalogue for mutators, prompts, labels and statistics."""


@command.command(name="list")
@click.option("--code", multiple=True, type=click.Choice(tuple(CODES)), help="Only this trigger code.")
@json_option
def list_characteristics(*, code: tuple[str, ...], as_json: bool) -> int:
    """List characteristics by trigger code, with their mutators."""
    implemented = _mutators()
    found = [c for c in catalogue().values() if not code or c.code in code]
    if as_json:
        emit([{**c.to_json(), "mutators": implemented.get(c.id, [])} for c in found])
        return 0
    width = max(len(c.id) for c in found)
    for trigger in CODES:
        members = [c for c in found if c.code == trigger]
        if members:
            click.echo(f"{trigger}  {CODES[trigger]}")
        for c in members:
            click.echo(f"    {c.id:{width}}  {c.title}  [{', '.join(implemented.get(c.id, [])) or 'no mutator'}]")
    return 0


@command.command(name="show")
@click.argument("name")
@json_option
def show(*, name: str, as_json: bool) -> int:
    """Show one characteristic: what to do, why it breaks compilers, a program before and after."""
    characteristic = named(name)
    implemented = _mutators().get(name, [])
    if as_json:
        emit({**characteristic.to_json(), "mutators": implemented})
    else:
        click.echo("\n".join(_lines(characteristic, implemented)))
    return 0


@command.command(name="learn")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="ISSUE.md...")
@click.option("-o", "output", type=click.Path(path_type=Path), default=Path("learned"), show_default=True, help="Folder for the drafts.")
@click.option("--python", type=click.Path(), help="Interpreter with the torch to try drafts with (default: this one).")
@llm_options
@db_option
@json_option
def learn(files: tuple[Path, ...], *, output: Path, python: str | None, db: str | None, as_json: bool, **options: Any) -> int:
    """Draft a characteristic from each text of an issue or a commit, and a rule mutator where one can be made.

    A rule is tried on seeds (fits, changes the text, eager still runs, the same twice). Drafts are files to read; accept them with
    `workbench characteristics accept`, and fuzz uses them from then on without an LLM.
    """
    from store import open_store
    from workbench.llm.learn import Learner
    from workbench.seeds import bundled as seeds
    from workbench.servers import Pool

    texts = [(path, _text(path)) for path in files]
    documents: list[JSON] = []
    with open_store(database(db)) as store, Pool(python=python) as pool:
        learner = Learner(caller_of(store, options), pool, seeds())
        try:
            for path, text in texts:
                draft = learner.draft(text)
                written = _write(draft, output)
                documents.append({"file": str(path), **draft.to_json(), "files": [str(p) for p in written]})
                click.echo(_told(path, draft), err=True)
                if not as_json:
                    for wrote in written:
                        click.echo(str(wrote))
        finally:  # an endpoint that fails, or Ctrl-C, at the third text takes nothing away from the first two
            if as_json:
                emit(documents)
    return 0 if any(d["files"] for d in documents) else 2


@command.command(name="accept")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DRAFT.toml...")
def accept(files: tuple[Path, ...]) -> int:
    """Take drafts into the catalogue of this user; a rule beside a draft (DRAFT.rule.toml) goes with it. Read them first."""
    from workbench.fuzz.mutators.learned import SUFFIX, read

    taken = []
    for path in files:
        name = path.name.removesuffix(SUFFIX) if path.name.endswith(SUFFIX) else path.name.removesuffix(".toml")
        described, rule = path.with_name(f"{name}.toml"), path.with_name(f"{name}{SUFFIX}")
        if name in bundled():
            raise WorkbenchError(f"{path}: the catalogue has a characteristic {name!r} already", "give the file another name")
        texts = {described.name: _text(described)}
        parse(name, texts[described.name])
        if rule.exists():
            read(rule)
            texts[rule.name] = _text(rule)
        taken.append((name, texts))
    folder = learned_folder()
    for name, texts in taken:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for file, text in texts.items():
                (folder / file).write_text(text, encoding="utf-8")
        except OSError as error:
            raise WorkbenchError(
                f"{folder}: cannot be written ({error.strerror})", "is the data folder writable? workbench doctor"
            ) from error
        click.echo(f"{name}: {'with a rule mutator' if len(texts) > 1 else 'no rule mutator; for --llm and labels'}")
    return 0


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            raise WorkbenchError(f"{path}: too large for a text to learn from", "name the text of one issue or commit")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise WorkbenchError(f"{path}: {error.strerror}", "name a file") from error
    except UnicodeDecodeError as error:
        raise WorkbenchError(f"{path}: not UTF-8 text", "name a text file") from error
    if not text.strip():
        raise WorkbenchError(f"{path}: empty", "name the text of an issue or a commit")
    return text


def _write(draft: Draft, folder: Path) -> list[Path]:
    """The draft's files in a folder; none when there is no characteristic. Files of that name are replaced: they are drafts."""
    from workbench.fuzz.mutators.learned import SUFFIX
    from workbench.llm.learn import as_toml, rule_as_toml

    if draft.characteristic is None:
        return []
    files = {f"{draft.characteristic.id}.toml": as_toml(draft.characteristic)}
    if draft.rule is not None:
        files[f"{draft.characteristic.id}{SUFFIX}"] = rule_as_toml(draft.rule)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise WorkbenchError(f"{folder}: cannot be written ({error.strerror})", "name another folder with -o") from error
    return [folder / name for name in files]


def _told(path: Path, draft: Draft) -> str:
    if draft.characteristic is None:
        from workbench.llm import told

        return f"{path}: nothing usable ({draft.outcome}: {told.line(draft.problem, 400)})"
    t = draft.trial
    tried = f"fits {t.fitted} of {t.seeds} seeds, {t.ran} of {t.fitted} mutants run in eager" if t.seeds else "none could be made"
    return f"{path}: {draft.characteristic.id} ({draft.characteristic.code}); rule: {tried}{'' if draft.rule else ', not offered'}"


def _lines(c: Characteristic, implemented: list[str]) -> list[str]:
    issues = ", ".join(f"#{n}" for n in c.issues)
    lines = [
        f"{c.id}  ({c.code}: {CODES[c.code]})",
        c.title,
        "",
        f"do:        {c.do}",
        f"why:       {c.why}",
        f"stages:    {', '.join(c.stages)}",
        f"symptoms:  {', '.join(c.symptoms)}",
        f"mutators:  {', '.join(implemented) or 'none'}",
    ]
    lines += [f"issues:    pytorch/pytorch {issues}"] * bool(issues)
    lines += [f"hint:      {hint}" for hint in c.hints]
    return [*lines, "", "# before", c.before.rstrip(), "", "# after", c.after.rstrip()]


def _mutators() -> Mapping[str, list[str]]:
    from workbench.fuzz.mutators import mutators

    found: dict[str, list[str]] = {}
    for mutator in mutators().values():
        for name in mutator.characteristics:
            found.setdefault(name, []).append(mutator.name)
    return found
