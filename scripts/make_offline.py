"""Pack hangview with everything it needs for a machine without internet: unpack, run ``hangview``; no pip, no rights needed.

    python scripts/make_offline.py                              for this Python and this kind of machine
    python scripts/make_offline.py --python 3.12                for another Python
    python scripts/make_offline.py --machine aarch64            for another kind of machine
    python scripts/make_offline.py --compat                     also for CPUs without AVX2 (polars[rtcompat])
    python scripts/make_offline.py --wheels DIR                 the wheels alone, for pip install --no-index

The archive holds ``hangview-VERSION/hangview``, a shell script that finds the right python3 and runs the program from the
``lib`` beside it, wherever the folder lies.
"""

from __future__ import annotations

import argparse
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

LAUNCHER = """\
#!/bin/sh
# Runs hangview from the lib beside this file, with a Python {python} from PATH (or the one that PYTHON names).
here=$(CDPATH= cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd) || exit 3
for python in "$PYTHON" python{python} python3 python; do
  [ -n "$python" ] || continue
  if "$python" -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != "{python}")' 2>/dev/null; then
    PYTHONPATH="$here/lib${{PYTHONPATH:+:$PYTHONPATH}}" exec "$python" -m hangview "$@"
  fi
done
echo "hangview: no Python {python} in PATH; PYTHON=/path/to/python{python} names one" >&2
exit 2
"""


def pip(*arguments: str) -> None:
    """Run pip of this interpreter; its own words on stderr, and the end when it fails."""
    done = subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *arguments], check=False)
    if done.returncode:
        sys.exit(f"pip {arguments[0]} failed: what it said is above")


def version() -> str:
    """The version as the package has it."""
    found = re.search(r'^__version__ = "(.+)"', (ROOT / "src/hangview/_version.py").read_text("utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]


def get_wheels(folder: Path, python: str, machine: str, compat: bool) -> None:
    """Wheels of hangview and of all that it needs, for that Python and machine."""
    pip("wheel", "--no-deps", "-w", str(folder), str(ROOT))
    wanted = [str(next(folder.glob("hangview-*.whl"))), *(["polars[rtcompat]"] if compat else [])]
    platforms = [part for tag in tags(machine) for part in ("--platform", tag)]
    target = ["--python-version", python, *platforms, "--implementation", "cp", "--only-binary", ":all:"]
    here = python == this_python() and machine == platform.machine()
    pip("download", "--find-links", str(folder), "-d", str(folder), *([] if here else target), *wanted)


def pack(wheels: Path, archive: Path, python: str, machine: str) -> None:
    """The archive from the wheels. A wheel is a zip of what goes into lib; scripts and headers are not needed there."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name) / f"hangview-{version()}"
        (top / "lib").mkdir(parents=True)
        pip(
            *("install", "--no-index", "--no-deps", "--no-compile", "--target", str(top / "lib"), "--only-binary", ":all:"),
            *("--python-version", python, *(part for tag in tags(machine) for part in ("--platform", tag))),
            *map(str, sorted(wheels.glob("*.whl"))),
        )
        launcher = top / "hangview"
        launcher.write_text(LAUNCHER.format(python=python), "utf-8")
        launcher.chmod(0o755)
        if python == this_python():  # others compile for themselves, where they may write
            subprocess.run([sys.executable, "-m", "compileall", "-q", "-j", "0", str(top / "lib")], check=False)
        (top / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())
        with tarfile.open(archive, "w:gz", compresslevel=6) as tar:
            tar.add(top, top.name, filter=_nobody)


def _nobody(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """For everybody to read, and of nobody here, whatever the rights and names are on this machine."""
    info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def tags(machine: str) -> list[str]:
    """The kinds of wheels that run on a Linux with glibc 2.28 (2018) or newer."""
    return [*(f"manylinux_2_{minor}_{machine}" for minor in range(28, 16, -1)), f"manylinux2014_{machine}"]


def this_python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def main() -> int:
    """Build what was asked for and say where it is; the exit status of the script."""
    parser = argparse.ArgumentParser(description="Pack hangview for a machine without internet.")
    parser.add_argument("--python", default=this_python(), metavar="X.Y", help="the Python there")
    parser.add_argument("--machine", default=platform.machine(), metavar="NAME", help="what uname -m says there")
    parser.add_argument("--compat", action="store_true", help="with the polars for CPUs without AVX2")
    parser.add_argument("--wheels", type=Path, metavar="DIR", help="get the wheels into DIR and pack nothing")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", default=Path.cwd(), help="where the archive goes")
    told = parser.parse_args()
    if told.wheels is not None:
        told.wheels.mkdir(parents=True, exist_ok=True)
        get_wheels(told.wheels, told.python, told.machine, told.compat)
        print(f"{told.wheels}: {len(list(told.wheels.glob('*.whl')))} wheels")
        return 0
    told.output.mkdir(parents=True, exist_ok=True)
    archive = told.output / f"hangview-{version()}-py{told.python}-{told.machine}{'-compat' if told.compat else ''}.tar.gz"
    with tempfile.TemporaryDirectory() as name:
        get_wheels(Path(name), told.python, told.machine, told.compat)
        pack(Path(name), archive, told.python, told.machine)
    print(f"{archive}: {archive.stat().st_size / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
