"""The runner: plain files, standard library and torch only, run by path under any interpreter that has torch (DESIGN §4).

Inside a runner process this folder is the package ``_workbench_runner`` and its modules import each other relatively, so that a user's own
``store.py``, ``program.py`` or ``server.py`` still imports. The host imports ``protocol`` and ``wire`` of it and nothing else.
"""
