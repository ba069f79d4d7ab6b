"""The Jinja environment of all pages, with its filters and functions; every text of a page is escaped here."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from types import CodeType
from typing import Any

import jinja2
from jinja2.bccache import Bucket
from markupsafe import Markup

from evalmark.core import money
from evalmark.core.case_titles import case_title, input_title
from evalmark.core.text import count, cut_at_word, one_line, unwrap_single_input
from evalmark.reports.text import (
    audit,
    calibration,
    change_words,
    changed_cases,
    comparison,
    gate_marks,
    judges,
    numbers,
    several_baselines,
    titles,
    trade_offs,
    transcripts,
    variance,
    verdicts,
)
from evalmark.reports.text.word_changes import merge_changes, shorten_common

from . import sparklines
from .assets import SHORTCUTS
from .escaping import breakable, coded, page_text, segments, visible, wrap_change
from .markdown import plain_beginning
from .rich_text import rich_text
from .timeline import timeline_title

_FOLDER = Path(__file__).parent / "templates"
_MARKS = {"pass": "✓", "fail": "✗", "error": "!", "unscored": "?", "ungated": "·", "skipped": numbers.GAP}
_WORDS = {"pass": "passed", "fail": "failed"}


class _CompiledTemplates(jinja2.FileSystemBytecodeCache):
    """Keeps compiled templates where Python keeps compiled modules: compiling takes most of the time of a page or report."""

    def __init__(self) -> None:
        folder = Path(cache_from_source(__file__)).parent
        super().__init__(str(folder), f"template-%s.{sys.implementation.cache_tag}")
        self._codes: dict[tuple[str, str], CodeType] = {}
        """The templates of this process, for folders that cannot be written."""
        self._settings = f"{jinja2.__version__} {Path(__file__).stat().st_mtime_ns}"
        """What a compiled template depends on besides its text: the environment is set up in this file."""

    def get_source_checksum(self, source: str) -> str:
        return super().get_source_checksum(f"{self._settings}\n{source}")

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get((bucket.key, bucket.checksum))
        if bucket.code is None:
            with suppress(Exception):  # a damaged file: pickle and marshal raise errors of many kinds
                super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.code is not None:
            self._codes[bucket.key, bucket.checksum] = bucket.code
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                super().dump_bytecode(bucket)


@cache
def _compiled_templates() -> jinja2.BytecodeCache:
    return _CompiledTemplates()


def template_environment(folder: Path, offered: Mapping[str, Any]) -> jinja2.Environment:
    """Make the Jinja environment of a template folder, with the shared templates and `offered` names.

    Foreign text is never a template and is always escaped.
    """
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, _FOLDER]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        optimized=False,  # constants are not worth the time that it takes to find them
        bytecode_cache=_compiled_templates(),
    )
    made.filters |= {
        "breakable": breakable,
        "coded": coded,
        "text": page_text,
        "line": one_line,
        "beginning": cut_at_word,
        "plain": plain_beginning,
        "bare": unwrap_single_input,
        "duration": numbers.duration,
        "money": money.money,
        "percent": numbers.percent,
        "rate": numbers.rate,
        "mark": lambda kind: _MARKS.get(kind, "·"),
        "word": _word,
        "number": lambda n: f"{n:,}",
        "number_of": count,
        "minute": numbers.minute,
        "when": lambda text: text.replace("T", " ").replace("+00:00", " UTC").replace("Z", " UTC"),
    }
    made.globals |= {
        "audit_text": audit,
        "calibration_text": calibration,
        "change_words": change_words,
        "case_text": changed_cases,
        "case_title": case_title,
        "input_title": input_title,
        "comparison_text": comparison,
        "gate_text": gate_marks,
        "judge_text": judges,
        "number_text": numbers,
        "metrics_against": several_baselines.metrics_against,
        "timeline_title": timeline_title,
        "title_text": titles,
        "trade_off_text": trade_offs,
        "transcript_text": transcripts,
        "variance_text": variance,
        "verdict_text": verdicts,
        "spent_lines": money.spent_lines,
        "spent_title": money.spent_title,
        "sparklines": sparklines,
        "rich_text": rich_text,
        "segments": segments,
        "merge_changes": merge_changes,
        "shorten_common": shorten_common,
        "wrap_change": wrap_change,
        "SHORTCUTS": SHORTCUTS,
    }
    made.globals |= offered
    return made


def _word(kind: str, has_metrics: bool = True) -> str:
    """Return the word for how a trial ended; without metrics, an output is not scored rather than ungated."""
    return "not scored" if kind == "ungated" and not has_metrics else _WORDS.get(kind, kind)


def render_page(templates: jinja2.Environment, name: str, values: Mapping[str, Any]) -> str:
    """Render a template."""
    return templates.get_template(name).render(values)


def _finalize(value: Any) -> Any:
    """Finalize a template expression: None becomes empty, control characters become visible."""
    if value is None:
        return ""
    return value if isinstance(value, Markup) or not isinstance(value, str) else visible(value)
