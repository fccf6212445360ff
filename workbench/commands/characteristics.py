"""``workbench characteristics``: the catalogue of what breaks compilers, and the mutators that do it to programs."""

from __future__ import annotations

from collections.abc import Mapping

import click

from workbench.characteristics import CODES, Characteristic, catalogue, named
from workbench.commands.options import emit, json_option


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
