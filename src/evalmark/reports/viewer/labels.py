"""Labels of outputs and scores, and the forms that set them; they work without JavaScript."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from evalmark.core.errors import ConfigError, StoreError
from evalmark.core.values.label import Label, current_labels, majority_vote, parse_thumb
from evalmark.reports.viewer.auth.guard import FORM
from evalmark.reports.viewer.urls.parameters import parse_count
from evalmark.reports.viewer.urls.paths import decode_name, encode_name
from evalmark.storage.store.store import Store
from evalmark.tracing.annotations.labels import LabelSubject, NewLabel, result_subject, save_labels, span_subject

from .page_context import PageContext

PART = "x-evalmark-part"
"""Header by which a script requests only the form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelView:
    """Labels of one output or score, for the current user."""

    subject: LabelSubject
    fields: Mapping[str, str]
    """Form fields that identify it: `run`, `number` and perhaps `metric`, or `span`."""
    ever: tuple[Label, ...]
    """All labels ever given, oldest first."""
    labels: tuple[Label, ...]
    """Current labels: the last of each person."""
    author: str
    """The current user."""

    @property
    def mine(self) -> tuple[Label, ...]:
        """Labels of the current user."""
        return tuple(label for label in self.labels if label.by == self.author)

    @property
    def mine_liked(self) -> bool | None:
        """Thumb of the current user."""
        return next((label.liked for label in reversed(self.mine) if label.liked is not None), None)

    @property
    def mine_score(self) -> float | None:
        """Score of the current user."""
        return next((label.score for label in reversed(self.mine) if label.score is not None), None)

    @property
    def mine_comment(self) -> str:
        """Comment of the current user."""
        return next((label.comment for label in reversed(self.mine) if label.comment), "")

    @property
    def liked(self) -> bool | None:
        """Majority of thumbs; None on a tie or without thumbs."""
        return majority_vote(self.labels)

    @property
    def outdated(self) -> int:
        """Labels of an earlier output, from before the run was resumed."""
        content = self.subject.content
        return sum(label.content != content for label in self.labels) if content else 0

    @property
    def people(self) -> tuple[str, ...]:
        """People with a label."""
        return tuple(dict.fromkeys(label.by for label in self.labels))


def label_views(
    store: Store, subjects: Iterable[tuple[LabelSubject, Mapping[str, str]]], author: str
) -> dict[str, LabelView]:
    """Return the labels of each subject by its `about`; `subjects` pairs subjects with form fields."""
    by_about = {subject.about: (subject, fields) for subject, fields in subjects}
    ever: defaultdict[str, list[Label]] = defaultdict(list)
    for label in store.sessions.labels(by_about) if by_about else ():
        ever[label.about].append(label)
    return {
        about: LabelView(
            subject=subject, fields=fields, ever=tuple(ever[about]), labels=current_labels(ever[about]), author=author
        )
        for about, (subject, fields) in by_about.items()
    }


def form_fields(run: str, number: int, metric: str = "") -> dict[str, str]:
    """Form fields that identify an output or one of its scores."""
    metrics = {"metric": encode_name(metric)} if metric else {}
    return {"run": encode_name(run), "number": str(number), **metrics}


def save(context: PageContext, request: Request) -> Response:
    """Save the label of a form, and answer with the form or go back to the page."""
    sent: Mapping[str, str] = request.scope[FORM]
    form = of_row(sent)
    try:
        subject, fields = form_subject(context, form)
        label = form_word(form, context.author(request))
        if form.get("brief") == "1":
            label = _with_earlier_remarks(
                label, label_views(context.view.store, [(subject, fields)], label.by)[subject.about]
            )
        save_labels(context.view.store, [(subject, label)])
    except ConfigError as fault:
        raise HTTPException(400, str(fault)) from fault
    except StoreError as fault:
        raise HTTPException(409, context.view.sentence_of(fault)) from fault
    back = _back(form.get("back", ""))
    if PART in request.headers:
        labels = label_views(context.view.store, [(subject, fields)], label.by)[subject.about]
        response = context.page(
            request,
            "label_form.html",
            {
                "view": labels,
                "brief": form.get("brief") == "1",
                "back": back,
                "of_rows": None if form is sent else _row_place(form),
            },
        )
    else:
        response = RedirectResponse(back, 303)
    context.remember(request, response, label.by)
    return response


def form_subject(context: PageContext, form: Mapping[str, str]) -> tuple[LabelSubject, Mapping[str, str]]:
    """Return the subject of a form and its identifying fields.

    Raises:
        ConfigError: it names nothing, or an unknown score.
        NotFoundError: the run, result or recorded answer does not exist any more.
    """
    store = context.view.store
    if form.get("span"):
        return span_subject(store.sessions.span(form["span"])), {"span": form["span"]}
    number = parse_count(form.get("number", ""))
    if number is None or not form.get("run"):
        raise ConfigError("the form names no output to label; reload the page and send it again.")
    run = store.run(decode_name(form["run"]))
    result = context.view.result(run, number)
    metric = decode_name(form["metric"]) if form.get("metric") else None
    return result_subject(run.id, result, metric), form_fields(run.id, number, metric or "")


def of_row(form: Mapping[str, str]) -> Mapping[str, str]:
    """Return the form of one result, if a button of the form of all rows was pressed.

    A button sends the label, the number of the result, and the number of its row if that is another one.

    >>> of_row({"run": "r", "liked": "up 4", "back": "/runs/r"})
    {'run': 'r', 'liked': 'up', 'back': '/runs/r#row-4', 'number': '4', 'row': ''}
    >>> of_row({"run": "r", "liked": "up 4 2", "back": "/grid?run=r"})["back"]
    '/grid?run=r#row-2'
    """
    liked, _, place = form.get("liked", "").partition(" ")
    number, _, row = place.partition(" ")
    if "number" in form or "span" in form or not number.isdecimal() or not (row or number).isdecimal():
        return form
    back = f"{form.get('back', '')}#row-{row or number}"
    return {**form, "liked": liked, "number": number, "row": row, "back": back}


def _row_place(form: Mapping[str, str]) -> Mapping[str, str]:
    """Return which form the buttons of a reply belong to, and their row."""
    place = form.get("form", "")
    return {"form": place if place.replace("-", "").isalnum() else "row-labels", "row": form["row"]}


def form_word(form: Mapping[str, str], author: str) -> NewLabel:
    """Return the label in a form; `author` is the default name.

    Raises:
        ConfigError: the label is empty, or its thumb or score is invalid.
    """
    by = form.get("by", "").strip() or author
    if not by:
        raise ConfigError("no name is given; open the page of the case and enter your name under By.")
    if form.get("withdraw"):
        return NewLabel(by=by)
    try:
        liked = parse_thumb(form.get("liked", ""))
    except ValueError as fault:
        raise ConfigError(f"{fault}.") from None
    try:
        score = float(form["score"]) if form.get("score", "").strip() else None
    except ValueError:
        raise ConfigError(f"the score is {form['score']!r}; it is a number from 0 to 1.") from None
    label = NewLabel(by=by, liked=liked, score=score, comment=form.get("comment", "").strip())
    if label.withdraws:
        raise ConfigError("the label is empty; choose a thumb, or give a score or a comment.")
    return label


def _with_earlier_remarks(label: NewLabel, earlier: LabelView) -> NewLabel:
    """Add the person's earlier score and comment to a thumb from a form without them, unless the thumb changes."""
    if label.liked is None or earlier.mine_liked is (not label.liked):
        return label
    return replace(label, score=earlier.mine_score, comment=earlier.mine_comment)


def _back(path: str) -> str:
    """Return the page to go back to; always a page of the viewer."""
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isascii() and path.isprintable()
    return path if is_ours else "/"
