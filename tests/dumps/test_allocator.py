import os
import subprocess
import sys

import pytest

from hangview.dumps.allocator import give_back


@pytest.mark.parametrize("before", [{}, {"_RJEM_MALLOC_CONF": "narenas:1"}])
def test_the_allocator_is_told_and_the_environment_is_as_it_was(before):
    code = (
        "import os, sys; from hangview.dumps.allocator import import_polars; import_polars();"
        "print(os.environ.get('_RJEM_MALLOC_CONF'), 'polars' in sys.modules)"
    )
    env = {name: value for name, value in os.environ.items() if name != "_RJEM_MALLOC_CONF"}  # polars sets it, too
    done = subprocess.run([sys.executable, "-c", code], env=env | before, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [before.get("_RJEM_MALLOC_CONF", "None"), str(not before)]


def test_giving_memory_back_never_fails():
    give_back()
