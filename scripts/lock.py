"""Write requirements/*.txt: every version pinned, every file's hash, no registry address.

``python scripts/lock.py`` keeps the pins there are and adds or drops what pyproject.toml asks for;
``--upgrade`` takes the newest versions. Both then check that each supported platform and Python
finds a wheel for everything, so that nobody needs a compiler.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_REQUIREMENTS = Path("requirements")
_FILES = {"dev": "dev", "runtime": "build"}  # file -> dependency group added to the package's own
_PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
_PLATFORMS = {
    "x86_64-manylinux_2_28": _PYTHONS,
    "aarch64-manylinux_2_28": _PYTHONS,
    "aarch64-apple-darwin": _PYTHONS,
    "x86_64-apple-darwin": _PYTHONS[:-1],  # no onnxruntime for Intel Macs and Python 3.14
    "x86_64-pc-windows-msvc": _PYTHONS,
}
_ADDRESS = re.compile(r"[a-z+]+://", re.IGNORECASE)


def main() -> int:
    """Lock, then check; 1 when a platform cannot be served."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions")
    upgrade = parser.parse_args().upgrade
    os.chdir(_ROOT)
    with tempfile.TemporaryDirectory() as folder:
        uv = _install_uv(Path(folder))
        for name, group in _FILES.items():
            _compile(uv, name, group, upgrade)
        failures = [
            problem
            for platform, pythons in _PLATFORMS.items()
            for python in pythons
            if (problem := _missing_wheel(uv, platform, python, Path(folder) / "target"))
        ]
    for problem in failures:
        print(problem, file=sys.stderr)
    return 1 if failures else 0


def _install_uv(folder: Path) -> list[str]:
    """The command that runs a uv of its own, without touching the environment of the caller."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
    return [str(python), "-m", "uv", "--no-config", "--quiet"]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    # uv's own settings may name another registry: the lock must not depend on who writes it.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("UV_")}
    environment["MACOSX_DEPLOYMENT_TARGET"] = "14.0"  # onnxruntime needs it on Apple silicon
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )


def _compile(uv: list[str], name: str, group: str, upgrade: bool) -> None:
    """Write requirements/<name>.txt; runtime is pinned to the versions of dev."""
    target = _REQUIREMENTS / f"{name}.txt"
    command = [*uv, "pip", "compile", "pyproject.toml", "--group", group]
    command += ["--constraints", str(_REQUIREMENTS / "constraints.in")]
    if name != "dev":
        command += ["--constraints", str(_REQUIREMENTS / "dev.txt")]
    command += ["--universal", "--python-version", _PYTHONS[0], "--generate-hashes"]
    command += ["--no-emit-index-url", "--no-annotate", "--custom-compile-command", "make lock"]
    command += ["--output-file", str(target), *(["--upgrade"] if upgrade else [])]
    done = _run(command)
    if done.returncode:
        sys.exit(done.stderr)
    if _ADDRESS.search(target.read_text(encoding="utf-8")):
        sys.exit(f"{target} holds an address; a package is not taken from the registry")


def _missing_wheel(uv: list[str], platform: str, python: str, target: Path) -> str | None:
    """Why dev.txt cannot be installed there from wheels alone; None when it can."""
    command = [*uv, "pip", "install", "--dry-run", "--python", sys.executable]
    command += ["--target", str(target), "--python-platform", platform, "--python-version", python]
    command += ["--require-hashes", "--only-binary", ":all:"]
    done = _run([*command, "--requirement", str(_REQUIREMENTS / "dev.txt")])
    return f"{platform}, Python {python}: {done.stderr.strip()}" if done.returncode else None


if __name__ == "__main__":
    sys.exit(main())
