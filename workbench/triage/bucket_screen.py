"""The bucket view: buckets, the signature of one with its reasons, its members; merge, split and duplicates with a preview, all undoable."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from store.rows import BucketRow, FindingRow
from workbench.export.sentences import MARKS, titled
from workbench.triage.bucket_text import duplicates, duplicates_preview, fold_preview, merge_preview, signature_content, split_preview
from workbench.triage.dialogs import ConfirmDialog
from workbench.triage.messages import BucketDetail, BucketsLoaded, Change
from workbench.triage.pick_list import Head, Line, PickList

ORDERS = ("newest", "most findings", "found most often")

BUCKETS = (
    Head("id", 5, right=True),
    Head("size", 5, right=True),
    Head("found", 6, right=True),
    Head("stage", 13, needs=60),
    Head("title", 0),
)
MEMBERS = (Head("id", 6, right=True), Head("state", 11), Head("stmts", 5, right=True), Head("why here", 8, needs=70), Head("title", 0))


class BucketScreen(ModalScreen[str | None]):
    """Buckets of the findings that the filter shows. Closes with a filter to show, or None."""

    HELP = """
    ## Buckets

    Findings of equal signature share a bucket. `space` marks, `tab` goes between buckets and members.
    `m` merges the marked buckets into the one under the cursor, `p` splits the marked members off, `d` makes members duplicates of the
    leader (of all marked buckets; `*` marks all); each is shown before it is done, and `u` takes it back.
    `enter` shows a bucket's findings in the list. `S` sorts.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,b", "leave", "Back"),
        Binding("m", "merge", "Merge"),
        Binding("p", "split", "Split"),
        Binding("d", "duplicates", "Duplicates"),
        Binding("u,z", "app.undo", "Undo"),
        Binding("Z", "app.redo", "Redo", show=False),
        Binding("S", "sort", "Sort", show=False),
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]

    class DetailWanted(Message):
        """Load a bucket."""

        def __init__(self, bucket: int) -> None:
            super().__init__()
            self.bucket = bucket

    def __init__(self, query: str) -> None:
        super().__init__()
        self.shown_for = query
        self.detail: BucketDetail | None = None
        self._buckets: dict[int, BucketRow] = {}
        self._counts: dict[int, int] = {}
        self._order = 0
        self._said = ""

    def compose(self) -> ComposeResult:
        """Buckets, signature, members."""
        yield Static(id="bucket-title", markup=False)
        with Container(id="bucket-main"):
            yield PickList(BUCKETS, id="buckets", empty="No bucket: no finding matches the filter.")
            with Vertical(id="bucket-side"):
                with VerticalScroll(id="bucket-scroll", can_focus=False):
                    yield Static(id="bucket-text", markup=False)
                yield PickList(MEMBERS, id="members")
        yield Footer()

    def on_mount(self) -> None:
        """Begin in the buckets."""
        self.list.focus()
        self.say("")

    @property
    def list(self) -> PickList:
        """The buckets."""
        return self.query_one("#buckets", PickList)

    @property
    def members(self) -> PickList:
        """The members of the bucket under the cursor."""
        return self.query_one("#members", PickList)

    def say(self, text: str) -> None:
        """What just happened."""
        self._said = text
        many = f"{len(self._buckets)} buckets" + (f" of {self.shown_for}" if self.shown_for else "")
        marked = f" · {len(self.list.targets())} marked" if self.list.targets() else ""
        self.query_one("#bucket-title", Static).update(f"{many}{marked}, {ORDERS[self._order]} first" + (f"  │  {text}" if text else ""))

    # what the app brings

    def show_buckets(self, event: BucketsLoaded) -> None:
        """The buckets, and how many findings of each match the filter."""
        self._buckets, self._counts = {b.id: b for b in event.buckets}, dict(event.counts)
        self._fill()
        if self.list.current is not None:
            self.post_message(self.DetailWanted(self.list.current))

    def show_detail(self, detail: BucketDetail) -> None:
        """One bucket."""
        if detail.bucket.id != self.list.current:
            return
        if self.detail is None or detail.bucket.id != self.detail.bucket.id:
            self.members.marked.clear()
        self.detail = detail
        self.query_one("#bucket-text", Static).update(signature_content(detail))
        self.members.empty = "No member is left."
        self.members.show([self._member(row, detail) for row in detail.members])

    def _fill(self) -> None:
        keys = (lambda b: -b.id, lambda b: (-b.members, -b.id), lambda b: (-b.count, -b.id))
        ordered = sorted(self._buckets.values(), key=keys[self._order])
        self.list.show([self._line(b) for b in ordered])
        self.say(self._said)

    def _line(self, b: BucketRow) -> Line:
        matching = self._counts.get(b.id, b.members)
        size = str(b.members) if matching == b.members else f"{matching}/{b.members}"
        return Line(b.id, (str(b.id), size, f"{b.count}×", b.stage.value if b.stage else "–", b.title))

    @staticmethod
    def _member(row: FindingRow, detail: BucketDetail) -> Line:
        why = "leader" if row.id == detail.bucket.leader else "by hand" if row.id in detail.moved else "same"
        same = f" (of {row.duplicate_of})" if row.duplicate_of else ""
        return Line(row.id, (str(row.id), f"{MARKS[row.state]} {row.state}", str(row.statements), why, titled(row) + same))

    def on_pick_list_highlighted(self, event: PickList.Highlighted) -> None:
        """The side follows the cursor."""
        event.stop()
        if event.source is self.list and event.key is not None:
            self.post_message(self.DetailWanted(event.key))

    def on_pick_list_marks_changed(self) -> None:
        """Say how many."""
        self.say(self._said)

    def on_pick_list_opened(self, event: PickList.Opened) -> None:
        """To the findings of the bucket."""
        event.stop()
        bucket = self.list.current
        if bucket is not None:
            self.dismiss(f"bucket:{bucket}")

    # actions

    def action_leave(self) -> None:
        """Back to the list."""
        self.dismiss(None)

    def action_sort(self) -> None:
        """Newest, largest, found most often."""
        self._order = (self._order + 1) % len(ORDERS)
        self._fill()

    def action_merge(self) -> None:
        """Merge the marked buckets into the one under the cursor."""
        into = self.list.current
        others = [b for b in self.list.targets() if b != into]
        if into is None or not others:
            self.say("✗ mark the buckets to merge with space, then m on the one to merge them into")
            return
        question = merge_preview(self._buckets[into], [self._buckets[b] for b in others])
        self._ask(question, Change("merge", (into, *others)))

    def action_split(self) -> None:
        """Split the marked members off."""
        chosen = [row for row in self.detail.members if row.id in self.members.marked] if self.detail else []
        if not chosen or self.detail is None:
            self.say("✗ go to the members with tab, mark some with space, then p")
            return
        if len(chosen) == self.detail.bucket.members:
            self.say("✗ all members are marked: nothing would be left to split from")
            return
        self._ask(split_preview(self.detail.bucket, chosen), Change("split", tuple(row.id for row in chosen)))

    def action_duplicates(self) -> None:
        """Make members duplicates of the leader; of every marked bucket, if some are marked."""
        if self.list.targets():
            marked = [self._buckets[b] for b in self.list.targets()]
            self._ask(fold_preview(marked), Change("fold", tuple(b.id for b in marked)))
            return
        if self.detail is None or self.detail.leader is None:
            return
        chosen, left = duplicates(self.detail.members, self.detail.bucket.leader, self.members.targets())
        if not chosen:
            self.say("✗ no open member besides the leader")
            return
        leader = self.detail.leader
        self._ask(duplicates_preview(leader, chosen, left), Change("duplicates", (leader.id, *(row.id for row in chosen))))

    def _ask(self, question: str, change: Change) -> None:
        def answered(yes: bool | None) -> None:  # noqa: FBT001 - Textual calls it
            if yes:
                self.list.marked.clear()
                self.members.marked.clear()
                self.post_message(change)

        self.app.push_screen(ConfirmDialog(question), answered)
