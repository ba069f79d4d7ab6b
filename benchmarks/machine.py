"""The machine of a benchmark: processors, memory, versions, the commit, and the load before the run."""

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_tile")
PACKAGES = ("evalmark", "aiohttp", "numpy", "onnxruntime", "openvino", "pydantic")


def noted(folder: Path) -> dict:
    """Everything that a figure should be read with; `folder` is the checkout."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(folder),
        "cores": os.cpu_count(),
        "processor": processor(),
        "memory_gb": memory(),
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := version(name))},
        "load": [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None,
    }


def in_words(found: dict) -> str:
    """One line above the tables."""
    packages = ", ".join(f"{name} {said}" for name, said in found["packages"].items())
    memory = f", {found['memory_gb']:.0f} GB" if found["memory_gb"] else ""
    load = f"; load before: {found['load'][0]}" if found["load"] else ""
    what = f"{found['cores']} cores ({found['processor']}){memory}, Python {found['python']}, {packages}"
    return f"{found['date']}, commit {found['commit'] or 'unknown'}; {what}{load}."


def version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def commit(folder: Path) -> str | None:
    """The commit, with a plus sign where files differ from it; None outside of a checkout."""
    said = ["git", "-C", str(folder), "describe", "--always", "--exclude=*", "--dirty=+"]
    try:
        done = subprocess.run(said, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None


def processor() -> str:
    """Its name, and those of its instructions that matrices are multiplied by."""
    path = Path("/proc/cpuinfo")
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    name = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    flags = set(text.partition("flags")[2].partition("\n")[0].split())
    parts = [name[1].strip() if name else platform.processor() or platform.machine()]
    return ", ".join(parts + [one for one in INSTRUCTIONS if one in flags])


def memory() -> float | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    except (AttributeError, ValueError, OSError):
        return None
