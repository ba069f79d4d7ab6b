"""Build the documentation site: `python docs/site/build.py`, then open build/docs/site/docs/index.html.

The pages are README.md, docs/ and what they link to, in their folders, so that links work on the site as on the code host.
Added are the commands, from `--help`, and the Python API, from docstrings. The menu is the list in docs/README.md.
"""

import ast
import html
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from evalmark.cli.commands.app import VERBS, parsed_command, program

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "docs", "examples", "benchmarks")
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "*.db", "results", "passages", "build.py", "zensical.toml")


def copy_pages(to: Path) -> None:
    """Copy the pages and the files that they link to."""
    to.mkdir(parents=True)
    for name in PAGES:
        place = ROOT / name
        if place.is_dir():
            shutil.copytree(place, to / name, ignore=LEFT_OUT)
        elif place.exists():
            shutil.copy(place, to / name)
    for page in to.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        # A second word after the language tells tests what a block needs; Zensical would not see a block there.
        page.write_text(re.sub(r"^(```\w+) [\w-]+$", r"\1", text, flags=re.MULTILINE), encoding="utf-8")


def commands() -> Iterator[tuple[str, typer.core.TyperCommand]]:
    """Yield every command with its name, in the order of `--help`."""
    group = parsed_command(program())
    for verb in VERBS:
        command = group.commands[verb]
        below = getattr(command, "commands", {})
        yield from ((f"{verb} {name}", one) for name, one in below.items())
        if not below:
            yield verb, command


def as_cell(text: str) -> str:
    """Escape a text of the help for a cell of a table; code in backticks stays code."""
    text = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([*_\[\]])", r"\\\1", text).replace("|", "&#124;")


def as_flag(text: str) -> str:
    """Write a flag with its placeholder as code."""
    return f"<code>{html.escape(text, quote=False).replace('|', '&#124;')}</code>"


def command_reference() -> str:
    """Describe every command, its arguments and its flags, from the program itself."""
    lines = []
    for name, command in commands():
        context = typer.Context(command, info_name=f"evalmark {name}")
        usage = " ".join(command.collect_usage_pieces(context))
        lines += [f"## evalmark {name}", "", f"```text\nevalmark {name} {usage}\n```", "", command.help or "", ""]
        records = [record for one in command.params if (record := one.get_help_record(context))]
        if records:
            lines += ["| argument or flag | meaning |", "|---|---|"]
            lines += [f"| {as_flag(flag)} | {as_cell(text)} |" for flag, text in records]
        lines.append("")
    return "\n".join(lines)


def public_modules() -> list[str]:
    """Return the package and its modules that have an `__all__`."""
    package = ROOT / "src" / "evalmark"
    files = [package / "__init__.py", *sorted(package.glob("*.py")), *sorted(package.glob("*/__init__.py"))]
    offering = [
        file
        for file in files
        if file.parent.name != "cli" and re.search(r"^__all__\b", file.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    names = [file.relative_to(package.parent).with_suffix("").as_posix().removesuffix("/__init__") for file in offering]
    return list(dict.fromkeys(name.replace("/", ".") for name in names))


def public_names(module: str) -> Iterator[str]:
    """Yield where each public name of a module is defined, in the order of `__all__`."""
    source = ast.parse(Path(importlib.util.find_spec(module).origin).read_text(encoding="utf-8"))
    defined_in = {}
    for node in ast.walk(source):
        if isinstance(node, ast.ImportFrom):
            home = f"{module}.{node.module}" if node.level else node.module
            defined_in |= {one.asname or one.name: f"{home}.{one.name}" for one in node.names}
    for node in source.body:
        if isinstance(node, ast.Assign) and any(ast.unparse(one) == "__all__" for one in node.targets):
            yield from (defined_in.get(name, f"{module}.{name}") for name in ast.literal_eval(node.value))


def module_page(module: str) -> str:
    """Write the page of a public module; mkdocstrings fills in each name."""
    spec = importlib.util.find_spec(module)
    docstring = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return "\n\n".join([f"# {module}", docstring, *(f"::: {name}" for name in public_names(module))]) + "\n"


def menu(first: str, modules: list[tuple[str, str]]) -> str:
    """Make the menu, in TOML, from the list of pages in docs/README.md."""
    sections = ['{"Overview" = ["README.md", "docs/README.md", "CHANGELOG.md", "CONTRIBUTING.md"]}']
    for part in re.split(r"^## ", first, flags=re.MULTILINE)[1:]:
        title = part.partition("\n")[0].partition(":")[0]
        entries = []
        for text, link in re.findall(r"\[([^\]]+)\]\(([^)#]+\.md)\)", part):
            below = [f'{{"{name}" = "{page}"}}' for name, page in modules] if link == "reference/api.md" else []
            page = f'["docs/{link}", {", ".join(below)}]' if below else f'"docs/{link}"'
            entries.append(f'{{"{text[0].upper()}{text[1:]}" = {page}}}')
        sections.append(f'{{"{title}" = [{", ".join(entries)}]}}')
    return "nav = [\n  " + ",\n  ".join(sections) + ",\n]\n"


def build(to: Path) -> int:
    """Build the site in a folder; return the exit code of the generator, which checks every link and anchor."""
    shutil.rmtree(to, ignore_errors=True)
    pages = to / "pages"
    copy_pages(pages)
    with (pages / "docs/reference/commands.md").open("a", encoding="utf-8") as page:
        page.write("\n" + command_reference())
    modules = [(module, f"docs/reference/api/{module}.md") for module in public_modules()]
    (pages / "docs/reference/api").mkdir()
    for module, place in modules:
        (pages / place).write_text(module_page(module), encoding="utf-8")
    first = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    settings = (HERE / "zensical.toml").read_text(encoding="utf-8")
    settings = settings.replace("[project]\n", "[project]\n" + menu(first, modules), 1).replace("ROOT", ROOT.as_posix())
    (to / "zensical.toml").write_text(settings, encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(to / "zensical.toml")]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).partition("Traceback")[0])
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(build(Path(sys.argv[1] if sys.argv[1:] else ROOT / "build" / "docs").resolve()))
