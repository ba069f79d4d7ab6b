"""What evalmark depends on and what it ships: as written down, and nothing else."""

import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from evalmark.cli.commands.doctor import PARTS

from .conftest import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
PAGE = "\n".join(
    path.read_text(encoding="utf-8")
    for path in (ROOT / "docs" / "explanation" / "dependencies.md", ROOT / "CONTRIBUTING.md")
)
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8")
IMPORTED_AS = {
    "genai-prices": "genai_prices",
    "markdown-it-py": "markdown_it",
    "python-dotenv": "dotenv",
    "python-jsonpath": "jsonpath",
    "pyyaml": "yaml",
}
BUILT_BY = "hatchling"
MACHINES = [
    {"sys_platform": name, "platform_system": system, "os_name": os_name, "platform_machine": machine}
    for name, system, os_name, machine in (
        ("linux", "Linux", "posix", "x86_64"),
        ("linux", "Linux", "posix", "aarch64"),
        ("darwin", "Darwin", "posix", "arm64"),
        ("win32", "Windows", "nt", "AMD64"),
    )
]


def direct(requirements: list[str]) -> set[str]:
    """Names without those of the project's own extras."""
    return {name for r in requirements if (name := canonicalize_name(Requirement(r).name)) != PROJECT["name"]}


def tables() -> list[dict[str, str]]:
    """The rows of the three tables: package, and its size as written."""
    rows = re.findall(r"^\| ([\w-]+) \|.*\| ([\d.]+|n/a) \|$", PAGE, re.MULTILINE)
    return [{"package": canonicalize_name(name), "size": size} for name, size in rows]


def pins() -> dict[str, str]:
    return {
        canonicalize_name(name): version for name, version in re.findall(r"^(\S+)==(\S+)$", CONSTRAINTS, re.MULTILINE)
    }


def closure(requirements: list[str], *, everywhere: bool) -> set[str]:
    """All that pip would install for them: here, or on any of our platforms; what is not installed ends the walk."""
    machines = MACHINES if everywhere else [{}]
    versions = ("3.11", "3.12", "3.13", "3.14") if everywhere else (".".join(platform.python_version_tuple()[:2]),)
    found: set[tuple[str, tuple[str, ...]]] = set()
    for machine in machines:
        for version in versions:
            world = {**machine, "python_version": version, "python_full_version": f"{version}.0"}
            _walk(requirements, ("",), world, found_here := set())
            found |= found_here
    return {name for name, _ in found}


def _walk(requirements: list[str], extras: tuple[str, ...], world: dict[str, str], found: set) -> None:
    for requirement in map(Requirement, requirements):
        marker = requirement.marker
        if marker is not None and not any(marker.evaluate({**world, "extra": extra}) for extra in extras):
            continue
        name, wanted = canonicalize_name(requirement.name), tuple(sorted(requirement.extras))
        if name == PROJECT["name"]:
            for extra in wanted:
                _walk(PROJECT["optional-dependencies"][extra], ("",), world, found)
        elif (name, wanted) not in found:
            found.add((name, wanted))
            _walk(_requires(name), ("", *wanted), world, found)


def _requires(name: str) -> list[str]:
    try:
        return importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return []


def sources(folder: str) -> Iterator[Path]:
    return (ROOT / folder).rglob("*.py")


DEV = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]


def test_the_page_lists_exactly_the_direct_dependencies():
    extras = [r for rows in PROJECT["optional-dependencies"].values() for r in rows]
    wanted = direct(PROJECT["dependencies"] + extras + PYPROJECT["build-system"]["requires"])
    listed = [row["package"] for row in tables()]
    assert sorted(listed) == sorted(wanted)


def test_what_is_always_installed_is_used():
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources("src"))
    modules = {name: IMPORTED_AS.get(name, name) for name in direct(PROJECT["dependencies"])}
    pattern = r"^\s*(?:import|from) {0}\b|need\(\"{0}\b"
    unused = [name for name, module in modules.items() if not re.search(pattern.format(module), text, re.MULTILINE)]
    assert unused == []


def test_the_doctor_looks_at_all_that_is_always_installed():
    assert set(PARTS) == {PROJECT["name"], *direct(PROJECT["dependencies"])}


def test_every_extra_that_a_message_names_exists():
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources("src"))
    named = set(re.findall(r"""need\("[\w.]+", "([^"]*)"\)""", text))
    assert "parquet" in named
    assert named - {""} <= PROJECT["optional-dependencies"].keys()


def test_no_gateway_sdk_or_framework_is_always_installed():
    heavy = {"torch", "transformers", "openai", "anthropic", "litellm", "langchain", "langchain-core", "pandas"}
    assert not closure(PROJECT["dependencies"], everywhere=True) & heavy


@pytest.mark.skipif(platform.system() != "Linux" or platform.machine() != "x86_64", reason="sizes are those on Linux")
@pytest.mark.parametrize("row", [pytest.param(row, id=row["package"]) for row in tables()])
def test_a_size_is_that_of_the_installed_files(row):
    package = row["package"]
    try:
        installed = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    if installed.version != pins().get(package):
        pytest.skip(f"another version of {package} than the pinned one is installed")
    files = [Path(str(file.locate())) for file in installed.files or () if file.suffix != ".pyc"]
    megabytes = sum(file.stat().st_size for file in files if file.is_file()) / 1e6
    assert float(row["size"]) == pytest.approx(megabytes, rel=0.05, abs=0.1)


def test_constraints_are_exact_versions_and_nothing_else():
    odd = [line for line in CONSTRAINTS.splitlines() if not re.fullmatch(r"[A-Za-z0-9][\w.-]*==[0-9][\w.]*", line)]
    assert odd == []
    assert len(pins()) == len(CONSTRAINTS.splitlines())


def test_constraints_name_no_place():
    assert not re.search(r"://|--hash|--index|--find|@|/", CONSTRAINTS)


def test_constraints_pin_all_that_an_installation_brings():
    assert sorted(closure(DEV, everywhere=False) - set(pins())) == []


def test_constraints_pin_nothing_more():
    assert sorted(set(pins()) - closure(DEV, everywhere=True)) == []


def test_constraints_keep_the_lower_bounds():
    below = [
        requirement
        for requirement in DEV
        if (r := Requirement(requirement)).name != PROJECT["name"]
        and not r.specifier.contains(pins()[canonicalize_name(r.name)])
    ]
    assert below == []


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive, built without a network."""
    return build(ROOT, tmp_path_factory.mktemp("dist"))


def build(source: Path, folder: Path) -> Path:
    for module in (BUILT_BY, "trove_classifiers"):
        pytest.importorskip(module, reason=f"{BUILT_BY} is not installed in full, so nothing can be built here")
    command = [sys.executable, "-m", BUILT_BY, "build", "-d", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def metadata_of(folder: Path) -> Message:
    (wheel,) = folder.glob("*.whl")
    text = zipfile.ZipFile(wheel).read(f"evalmark-{PROJECT['version']}.dist-info/METADATA")
    return message_from_string(text.decode("utf-8"))


def tracked() -> set[str]:
    """The files that git knows; skips where this is no checkout."""
    return {name for name in _git("ls-files") if (ROOT / name).exists()}


def ignored_or_new() -> set[str]:
    """Files in the working tree that git does not know (yet)."""
    return set(_git("ls-files", "--others", "--exclude-standard"))


def _git(*words: str) -> list[str]:
    git = shutil.which("git")
    done = git and subprocess.run([git, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if not done or done.returncode:
        pytest.skip("this is no git checkout")
    return done.stdout.splitlines()


def test_the_wheel_holds_the_package_and_its_metadata(built):
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert [n for n in names if not n.startswith(("evalmark/", f"evalmark-{PROJECT['version']}.dist-info/"))] == []
    assert [n for n in names if n.endswith((".pth", ".pyc", ".so", ".dll", ".exe"))] == []
    assert {"evalmark/py.typed", "evalmark/__init__.py"} <= set(names)


def test_the_wheel_holds_every_tracked_file_of_the_package(built):
    (wheel,) = built.glob("*.whl")
    names = {n for n in zipfile.ZipFile(wheel).namelist() if n.startswith("evalmark/")}
    known = {name.removeprefix("src/") for name in tracked() if name.startswith("src/")}
    assert known - names == set()
    assert names - known - {name.removeprefix("src/") for name in ignored_or_new()} == set()


def test_the_source_archive_is_the_repository(built):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {member.name.partition("/")[2] for member in file.getmembers() if member.isfile()}
    included = tuple(path.lstrip("/") for path in PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    known = {n for n in tracked() if n.partition("/")[0] in included} | {"pyproject.toml", ".gitignore"}
    assert known - names == set()
    assert names - known - ignored_or_new() == {"PKG-INFO"}


def test_the_source_archive_holds_the_same_bytes(built):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        for name in ("README.md", "LICENSE", "constraints.txt", "src/evalmark/__init__.py"):
            packed = file.extractfile(f"evalmark-{PROJECT['version']}/{name}")
            assert packed is not None
            assert packed.read() == (ROOT / name).read_bytes(), name


def test_without_a_base_address_nothing_names_one(built):
    if PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["base-address"]:
        pytest.skip("the base address is known")
    metadata = metadata_of(built)
    assert not {"Project-URL", "Home-page", "Author", "Author-email", "Maintainer"} & set(metadata)
    assert metadata.get_payload() == (ROOT / "README.md").read_text(encoding="utf-8")


def test_with_a_base_address_links_pictures_and_schemas_lead_there(built, tmp_path):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    source = tmp_path / f"evalmark-{PROJECT['version']}"
    text, base = (source / "pyproject.toml").read_text(encoding="utf-8"), "https://code.invalid/owner/evalmark"
    (source / "pyproject.toml").write_text(
        re.sub('^base-address = ".*"$', f'base-address = "{base}/"', text, flags=re.MULTILINE), encoding="utf-8"
    )
    readme = "[Start](docs/README.md#start) ![run](docs/pictures/run.svg) [here](#top) [there](https://b.invalid/c)"
    (source / "README.md").write_text(f'{readme}\n<img src="docs/pictures/run-light.png">\n', encoding="utf-8")
    folder = build(source, tmp_path / "dist")
    metadata, tag = metadata_of(folder), f"v{PROJECT['version']}"
    assert f"Homepage, {base}" in metadata.get_all("Project-URL")
    assert metadata.get_payload() == (
        f"[Start]({base}/blob/{tag}/docs/README.md#start) ![run]({base}/raw/{tag}/docs/pictures/run.svg) [here](#top) "
        f'[there](https://b.invalid/c)\n<img src="{base}/raw/{tag}/docs/pictures/run-light.png">\n'
    )
    (wheel,) = folder.glob("*.whl")
    names = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".schema.json")]
    assert len(names) == len(set(names)) > 1
    for name in names:
        schema = json.loads(zipfile.ZipFile(wheel).read(name))
        assert schema["$id"] == f"{base}/raw/{tag}/src/{name}"


@pytest.mark.slow
def test_the_package_index_would_accept_what_is_built(built):
    files = [str(path) for path in built.iterdir() if path.name.startswith("evalmark-")]
    command = [sys.executable, "-m", "twine", "check", "--strict", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == len(files) == 2


@pytest.mark.slow
def test_the_wheel_alone_makes_a_working_program(built, tmp_path):
    """As pipx and uvx do it: an environment of its own, here with the libraries of this one."""
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "env", with_pip=False)
    purelib = sysconfig.get_path("purelib", vars={"base": str(tmp_path / "env")})
    shutil.unpack_archive(wheel, purelib, format="zip")
    (Path(purelib) / "libraries.pth").write_text("\n".join(p for p in sys.path if p.endswith("-packages")) + "\n")
    python = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    program = [str(python), "-c", "import evalmark; print(evalmark.__file__); from evalmark.cli import main; main()"]
    version = subprocess.run([*program, "--version"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert str(tmp_path) in version.stdout
    assert f"evalmark {PROJECT['version']}, Python {platform.python_version()}" in version.stdout
    (tmp_path / "cases.jsonl").write_text('{"input": "2 + 2", "expected": "4", "answer": "4"}\n')
    (tmp_path / "suite.json").write_text('{"datasets": ["cases.jsonl"], "metrics": ["equals"]}')
    done = subprocess.run([*program, "run", "suite.json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
