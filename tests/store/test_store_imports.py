"""The store costs neither torch nor a screen, and its records not even SQLite."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def imported(statement):
    """Top-level modules that a fresh process has after a statement."""
    text = f"import sys, json\nsys.path.insert(0, {str(ROOT)!r})\n{statement}\nprint(json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})))"
    return set(json.loads(subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout))


def test_using_the_store_imports_no_torch_no_textual_nor_the_other_packages(tmp_path):
    use = f"from store import open_store\nwith open_store({str(tmp_path / 's.db')!r}) as s: s.count('state:new')"
    assert not imported(use) & {"torch", "textual", "workbench", "reducers"}


def test_opening_a_store_that_is_up_to_date_does_not_import_sqlite_utils(tmp_path):
    use = f"from store import open_store\nopen_store({str(tmp_path / 's.db')!r}).close()"
    assert "sqlite_utils" in imported(use)
    assert not imported(use) & {"sqlite_utils", "click", "numpy"}


def test_records_alone_import_no_sqlite():
    assert not imported("import store.records") & {"sqlite3", "sqlite_utils", "torch", "textual"}
