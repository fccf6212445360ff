"""``workbench fuzz``: mutate seeds, judge the mutants, keep real mismatches, reduce the first of each bucket."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from store.records import JSON
from workbench.commands.llm import llm_options
from workbench.commands.options import database, db_option, emit, jobs_option, json_option
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from store import Store
    from workbench.fuzz.campaign import Campaign, Settings
    from workbench.fuzz.source import Source
    from workbench.servers import Pool

CODES = ("NT", "PO", "AM", "BV", "OS", "SR", "MD", "LC", "EN")


@click.command(name="fuzz", short_help="Mutate seeds and judge the mutants; real mismatches go into the store.")
@click.option(
    "--seeds",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Program file or folder; opinfo[:N]: torch's operator samples (default: bundled).",
)
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="Stop after so long (default: run until Ctrl-C).")
@click.option("--tests", type=click.IntRange(min=1), help="Stop after so many tests; the same seed gives the same tests.")
@jobs_option
@click.option("--focus", multiple=True, type=click.Choice(CODES), help="Only mutators of this trigger code.")
@click.option("--only", multiple=True, metavar="MUTATOR", help="Only this mutator.")
@click.option(
    "--strategy",
    type=click.Choice(("rules", "llm", "unmutated", "random")),
    default="rules",
    show_default=True,
    help="rules: mutators by what they earn; random: mutators in turn; unmutated: every seed once, as it is; llm: the LLM alone.",
)
@click.option("--llm", is_flag=True, help="An LLM writes mutants too; its share of the tests is what they earn.")
@click.option("--llm-jobs", type=click.IntRange(1, 64), help="LLM calls at once (default: 1 on this machine, else 4).")
@llm_options
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Number that decides every choice.")
@click.option("--reduce/--no-reduce", default=True, help="Reduce the first finding of each bucket (default: yes).")
@click.option("--python", type=click.Path(), help="Interpreter with the torch to judge (default: this one).")
@db_option
@json_option
def command(*, paths: tuple[Path, ...], db: str | None, as_json: bool, **options: Any) -> int:
    """Mutate seeds and judge the mutants; real mismatches go into the store.

    Ctrl-C keeps everything finished, and --json tells of it. Reductions that are not done when it ends stay queued for `workbench work`.
    """
    if options["minutes"] and options["tests"]:
        raise WorkbenchError("--minutes and --tests exclude each other", "give one of them")
    from store import open_store

    with open_store(database(db)) as store:
        document = _fuzz(store, paths, options, quiet=as_json)
    if as_json:
        emit(document)
    return 2 if options["strategy"] == "llm" and not document["tests"] else 0


def _fuzz(store: Store, paths: tuple[Path, ...], options: dict[str, Any], *, quiet: bool) -> dict[str, JSON]:
    from workbench import characteristics
    from workbench.fuzz.campaign import Campaign, Settings
    from workbench.fuzz.session import fuzz
    from workbench.seeds import seeds_of
    from workbench.servers import Pool

    settings = Settings(
        seed=options["seed"],
        tests=options["tests"],
        seconds=options["minutes"] * 60 if options["minutes"] else None,
        jobs=options["jobs"],
        strategy=options["strategy"],
        reduce=options["reduce"],
        focus=options["focus"],
        only=options["only"],
    )
    with Pool(python=options["python"], jobs=settings.jobs) as pool:
        codes = characteristics.codes()
        seeds = seeds_of(paths, seed=settings.seed, python=options["python"])
        campaign = Campaign(store, pool, settings, _mutators(settings, codes), seeds, codes)
        if options["llm"] or settings.strategy == "llm":
            campaign.source = _source(campaign, pool, options)
        try:
            fuzz(campaign, python=options["python"], quiet=quiet)
        except KeyboardInterrupt:
            if quiet:
                emit(report(campaign))
            raise
        return report(campaign)


def _source(campaign: Campaign, pool: Pool, options: dict[str, Any]) -> Source | None:
    """The LLM, over the characteristics that --focus and --only leave; None, said once, when there can be none and the rules go on."""
    from workbench.characteristics import catalogue
    from workbench.commands.llm import caller_of
    from workbench.llm.errors import LLMError
    from workbench.llm.source import Questions

    settings: Settings = campaign.settings
    named = {c for m in campaign.mutators for c in m.characteristics}  # without --only: those too that no rule implements
    wanted = {
        c.id: c for c in catalogue().values() if (c.id in named or not settings.only) and (not settings.focus or c.code in settings.focus)
    }
    try:
        caller = caller_of(campaign.store, options)
    except LLMError as error:
        if settings.strategy == "llm":
            raise
        click.echo(f"LLM: {error.message} ({error.hint}); the rules go on alone", err=True)
        return None
    jobs = options["llm_jobs"] or (1 if caller.endpoint.local or caller.offline else 4)
    return Questions(caller, pool, wanted, campaign.seeds, settings.seed, jobs)


def _mutators(settings: Any, codes: dict[str, str]) -> list[Any]:
    from workbench.fuzz.mutators import mutators
    from workbench.fuzz.scheduler import chosen

    every = mutators()
    unknown = [name for name in settings.only if name not in every]
    if unknown:
        raise WorkbenchError(f"no mutator {unknown[0]!r}", f"mutators: {', '.join(every)}")
    found = chosen(every, codes, settings.focus, settings.only)
    if not found:
        raise WorkbenchError("no mutator is left by --only and --focus", "workbench characteristics list shows the codes")
    return found


def report(campaign: Campaign) -> dict[str, JSON]:
    """The document of ``fuzz --json``."""
    store = campaign.store
    buckets = []
    for bucket, first_seen in campaign.buckets.items():
        row = store.bucket(bucket)
        if row.leader is None:
            continue
        leader = store.finding(row.leader)
        program = store.reduced(row.leader) or store.program(row.leader)
        buckets.append(
            {
                "id": row.id,
                "signature": row.signature,
                "stage": row.stage.value if row.stage else None,
                "symptoms": [s.value for s in row.symptoms],
                "codes": [leader.code] if leader.code else [],
                "first_seen": round(first_seen, 1),
                "count": row.count,
                "source": program.source,
                "reduction": leader.reduction.value,
                "finding": row.leader,
            }
        )
    asked = {row["value"]: row for row in store.llm_tally("model", campaign.id)}
    told = {"llm": asked} if asked else {}
    return {**campaign.tallies.to_json(campaign.codes), **told, "campaign": campaign.id, "buckets": buckets}
