"""The app's other views: buckets, work, tabs, completion. Moves messages between them and thread workers; draws nothing itself."""

from __future__ import annotations

from pathlib import Path

from workbench.commands.changes import actor
from workbench.errors import WorkbenchError
from workbench.triage import messages, overview, tabs
from workbench.triage.ask_dialog import AskDialog
from workbench.triage.bucket_screen import BucketScreen
from workbench.triage.dialogs import ConfirmDialog
from workbench.triage.export_screen import ExportScreen
from workbench.triage.query_bar import QueryBar
from workbench.triage.status import StatusLine
from workbench.triage.tab_bar import TabBar
from workbench.triage.threads import Threads, while_up
from workbench.triage.work_screen import WorkScreen


class Views(Threads):
    """What the app does besides its list of findings."""

    def __init__(self, path: Path, *, query: str, tabs_path: Path | None) -> None:
        super().__init__(path)
        self.bar = QueryBar(query, id="bar")
        self.status = StatusLine(str(path), id="status")
        self.tabs_path = tabs_path or tabs.tabs_file()
        chosen, self.tabs_trouble = tabs.load(self.tabs_path)
        self.tab_bar = TabBar(chosen, id="tab-bar")
        self.tab_bar.query_text = query

    def said(self, text: str) -> None:
        """On the status line, and on a screen that hides it."""
        self.status.say(text)
        if isinstance(self.screen, BucketScreen | WorkScreen | ExportScreen):
            self.screen.say(text)
        elif len(self.screen_stack) > 1:
            self.notify(text, markup=False)

    def refresh_views(self) -> None:
        """Somebody committed: counts of the tabs, and the view that is open."""
        self._ask("tabs", lambda: messages.TabsCounted(self.source.ask(lambda s: overview.tab_counts(s, self.tab_bar.tabs))))
        if isinstance(self.screen, BucketScreen):
            self._load_buckets(self.screen.shown_for)

    # buckets

    def action_buckets(self) -> None:
        """The bucket view of what the filter shows."""

        def closed(query: str | None) -> None:
            if query is not None:
                self.bar.set_text(query)

        self.push_screen(BucketScreen(self.bar.text), closed)
        self._load_buckets(self.bar.text)

    def _load_buckets(self, query: str) -> None:
        self._ask("buckets", lambda: self.source.ask(lambda s: overview.buckets(s, query)))

    @while_up
    def on_buckets_loaded(self, event: messages.BucketsLoaded) -> None:
        """Buckets for the view that is open."""
        if isinstance(self.screen, BucketScreen):
            self.screen.show_buckets(event)

    def on_bucket_screen_detail_wanted(self, event: BucketScreen.DetailWanted) -> None:
        """One bucket."""

        def load() -> messages.BucketLoaded | None:
            detail = self.source.ask(lambda s: overview.bucket(s, event.bucket))
            return messages.BucketLoaded(detail) if detail else None

        self._ask("bucket", load)

    @while_up
    def on_bucket_loaded(self, event: messages.BucketLoaded) -> None:
        """One bucket for the view that is open."""
        if isinstance(self.screen, BucketScreen):
            self.screen.show_detail(event.detail)

    def on_change(self, event: messages.Change) -> None:
        """A change that was confirmed in a view."""
        first, *rest = event.ids
        match event.kind:
            case "merge":
                self._write(lambda: self.writer.merge(first, rest))
            case "split":
                self._write(lambda: self.writer.split(event.ids))
            case "duplicates":
                self._write(lambda: self.writer.duplicates(first, rest))
            case "fold":
                self._write(lambda: self.writer.fold(event.ids))
            case "stop":
                self._write(lambda: self.writer.stop(first))

    # work

    def action_work(self) -> None:
        """The work view."""
        self.push_screen(WorkScreen())

    def on_work_screen_look_wanted(self) -> None:
        """What is done now."""
        self._ask("work", lambda: messages.WorkLoaded(self.source.ask(lambda s: overview.work(s, self.path))))

    @while_up
    def on_work_loaded(self, event: messages.WorkLoaded) -> None:
        """What is done now, for the view that is open."""
        if isinstance(self.screen, WorkScreen):
            self.screen.show(event.detail)

    def on_work_screen_start_wanted(self, event: WorkScreen.StartWanted) -> None:
        """Start a process that outlives the screen."""
        words = event.words
        self._write(lambda: self.writer.start_worker() if words is None else self.writer.start_campaign(words))

    # tabs

    def on_tabs_counted(self, event: messages.TabsCounted) -> None:
        """How many findings each tab shows."""
        self.tab_bar.show(counts=event.counts)

    def on_tab_bar_chosen(self, event: TabBar.Chosen) -> None:
        """A click on a tab."""
        self.action_saved(event.index)

    def action_saved(self, index: int) -> None:
        """The filter of a tab."""
        queries = list(self.tab_bar.tabs.values())
        if index < len(queries):
            self.bar.set_text(queries[index])

    def action_save_tab(self) -> None:
        """Keep the filter as a tab."""
        query = self.bar.text

        def check(name: str) -> object:
            return tabs.added(self.tab_bar.tabs, name, query)

        def answered(name: str | None) -> None:
            if name is not None:
                self._keep(tabs.added(self.tab_bar.tabs, name, query), f"tab {' '.join(name.split())} kept")

        question = f"Keep the filter {query!r} as a tab" if query else "Keep the list of all findings as a tab"
        self.push_screen(AskDialog(question, "", "its name; the name of a tab that is there replaces its filter", check=check), answered)

    def action_drop_tab(self) -> None:
        """Take the tab that is shown away."""
        name = self.tab_bar.active
        if name is None:
            self.said("✗ the filter is no tab: nothing to take away")
            return

        def answered(yes: bool | None) -> None:  # noqa: FBT001 - Textual calls it
            if yes:
                self._keep({k: v for k, v in self.tab_bar.tabs.items() if k != name}, f"tab {name} taken away")

        self.push_screen(ConfirmDialog(f"Take the tab {name!r} away? Its findings stay."), answered)

    def _keep(self, chosen: dict[str, str], text: str) -> None:
        self.tab_bar.show(tabs=chosen)
        try:
            tabs.save(self.tabs_path, chosen)
        except WorkbenchError as error:
            self.said(f"✗ {error.message} — {error.hint}")
        else:
            self.said(f"✓ {text}")
        self.refresh_views()

    # completion

    def on_query_bar_words_wanted(self) -> None:
        """Words in use."""
        self._ask("words", lambda: messages.WordsLoaded({"who": [actor()], **self.source.ask(overview.words)}))

    def on_words_loaded(self, event: messages.WordsLoaded) -> None:
        """Words for completion."""
        self.bar.completion.words = event.words
