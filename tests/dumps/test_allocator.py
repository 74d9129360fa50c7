import os
import subprocess
import sys

import pytest

from hangview.dumps.allocator import give_back

NAMES = {"import_polars": "_RJEM_MALLOC_CONF", "import_numpy": "OPENBLAS_NUM_THREADS"}


@pytest.mark.parametrize("how", NAMES)
@pytest.mark.parametrize("before", ["", "2"])
def test_what_is_imported_is_told_and_the_environment_is_as_it_was(how, before):
    name = NAMES[how]
    code = (
        "import os, sys; from hangview.dumps import allocator; told = []; sys.meta_path.insert(0, type('Finder', (), {"
        f"'find_spec': lambda name, *_: told.append((name, os.environ.get({name!r}, 'none')))}})); allocator.{how}();"
        f"print(dict(told)[{how.removeprefix('import_')!r}], os.environ.get({name!r}, 'none'))"
    )
    env = {key: value for key, value in os.environ.items() if key not in NAMES.values()}
    env |= {name: before} if before else {}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    told = {"import_polars": "dirty_decay_ms:0,muzzy_decay_ms:0", "import_numpy": "1"}[how]
    first, after = done.stdout.split()
    assert first == (before or told)
    assert before or after == "none"


def test_giving_memory_back_never_fails():
    give_back()
