"""Recorded sessions on the command line: listed, shown, labelled one by one and in bulk, and made a dataset."""

import json
from dataclasses import replace

import pytest

from evalmark.core.values.label import content_fingerprint
from evalmark.core.values.session import Session, Span, session_id_for_key
from evalmark.store import open_store

BEGAN = "2026-11-22T09:30:00.000000+00:00"
FIRST, SECOND, STEP = "a" * 16, "b" * 16, "c" * 16
ONE, TWO = "1" * 16, "2" * 16


def span(id_, session, given, output, **more):
    return Span(id=id_, session=session, project="demo", started=BEGAN, input=given, output=output, seconds=0.5, **more)


@pytest.fixture
def sessions(world):
    """One session with one answer and a step, one with two answers."""
    with open_store(world / ".evalmark" / "evalmark.db") as store:
        store.sessions.add(
            [Session(id=ONE, project="demo", started=BEGAN, metadata={"plan": "pro"}, dropped=3)],
            [span(FIRST, ONE, "Oslo?", "Yes."), span(STEP, ONE, "?", "!", parent=FIRST, kind="tool", name="search")],
        )
        store.sessions.add(
            [Session(id=TWO, project="demo", started=BEGAN)],
            [span(SECOND, TWO, "Rome?", "No."), span("d" * 16, TWO, "Bern?", None, error="KeyError: x")],
        )
        store.sessions.add([Session(id="3" * 16, project="other\x1b[31m", started=BEGAN)], [])


@pytest.fixture
def said(sessions, world):
    """Everything ever said, as the store has it."""

    def read():
        with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
            return store.sessions.all_labels()

    return read


def test_sessions_are_listed_newest_first(evalmark, sessions):
    found = evalmark("list", "sessions")
    assert found.code == 0
    rows = [line.split() for line in found.out.splitlines() if line.strip()]
    assert [row[:2] for row in rows[1:]] == [["3" * 16, "other"], [TWO, "demo"], [ONE, "demo"]]
    assert [row[-4:] for row in rows] == [
        ["answers", "failed", "labels", "dropped"],
        ["0", "0", "0", "0"],
        ["2", "1", "0", "0"],
        ["1", "0", "0", "3"],
    ]
    assert "\x1b" not in found.out
    assert len(evalmark("list", "sessions", "demo", "-n", "1").out.strip().splitlines()) == 4


def test_the_list_of_runs_is_as_it_was(evalmark, sessions):
    assert "No runs yet." in evalmark("list").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["list", "sesions"], "no run matches 'sesions'", id="a list of nothing"),
        pytest.param(["list", "sessions", "dem"], "did you mean demo?", id="a project that is close"),
        pytest.param(["list", "sessions", "zzz"], "there are sessions of demo, other", id="a project that is not"),
        pytest.param(
            ["show", "f"],
            "No recorded session has this id either; they are listed by: evalmark list sessions",
            id="an id of nothing",
        ),
        pytest.param(["show", ONE, "--failed"], "is not a run", id="cases of a session"),
        pytest.param(["note"], "name the output to label", id="nothing to label"),
        pytest.param(["note", ONE], "give a label with --label", id="nothing to say"),
        pytest.param(["note", ONE, "--label", "meh"], "it takes up or down", id="no thumb"),
        pytest.param(["note", ONE, "--score", "2"], "use a number from 0 to 1", id="a score above one"),
        pytest.param(["note", ONE, "--score", "nan"], "use a number from 0 to 1", id="a score that is no number"),
        pytest.param(["note", TWO, "--label", "up"], f"has 2 answers, {SECOND}, {'d' * 16}", id="several answers"),
        pytest.param(["note", "3" * 16, "--label", "up"], "has no answer", id="no answer"),
        pytest.param(["note", ONE, "--label", "up", "--case", "x"], "is not a run, so it has no cases", id="a case"),
        pytest.param(["note", ONE, "--withdraw", "--by", "x"], "x has no label to withdraw", id="nothing to take back"),
        pytest.param(["note", ONE, "--withdraw", "--label", "up"], "leave out --label", id="both"),
        pytest.param(["note", ONE, "--file", "x.csv"], "--file can only be combined with --by", id="a file and an id"),
        pytest.param(["note", "--file", "x.csv"], "x.csv", id="no such file"),
    ],
)
def test_what_cannot_be_meant_is_said_and_nothing_is_kept(evalmark, said, words, message):
    found = evalmark(*words)
    assert found.code == 2
    assert message in found.text
    assert said() == []


def test_a_label_names_its_author_and_stays_in_the_history(evalmark, said):
    assert "by ann" in evalmark("note", ONE, "--label", "up", "--comment", "Right \x1b[31m☺", "--by", "ann").out
    evalmark("note", FIRST, "--label", "down", "--score", "0.25", "--by", "bob")
    assert "has 2 labels" in evalmark("note", "aa", "--label", "down", "--by", "ann").out
    assert "Withdrawn:" in evalmark("note", "aa", "--withdraw", "--by", "bob").out
    assert [(one.about, one.by, one.liked, one.score) for one in said()] == [
        (f"span:{FIRST}", "ann", True, None),
        (f"span:{FIRST}", "bob", False, 0.25),
        (f"span:{FIRST}", "ann", False, None),
        (f"span:{FIRST}", "bob", None, None),
    ]
    assert {one.content for one in said()} == {content_fingerprint("Oslo?", "Yes.")}
    shown = evalmark("show", ONE).out
    labels = [" ".join(line.split()) for line in shown.splitlines() if " label " in line]
    assert [line.split(", 2026")[0] for line in labels] == [
        "label up, ann",
        "label down, score 0.25, bob",
        "label down, ann",
        "label withdrawn, bob",
    ]
    assert ["(superseded)" in line for line in labels] == [True, True, False, False]
    assert "Right ☺" in shown
    assert "tool search" in shown


def test_a_key_in_a_comment_is_not_kept_and_that_is_said(evalmark, world, sessions, said):
    key = "sk-proj-abcdefghijklmnopqrstuvwx"
    found = evalmark("note", ONE, "--score", "0.5", "--comment", f"It told {key}!", "--by", "ann")
    assert "Removed what looked like a key or a password from 1 comment." in found.out
    (world / "labels.csv").write_text(f"id,label,comment\n{ONE},up,password: hunter2-xyz\n{ONE},up,Right.\n")
    assert "from 1 comment." in evalmark("note", "--file", "labels.csv", "--by", "bob").out
    assert "taken out" not in evalmark("note", ONE, "--comment", "Right.", "--by", "cid").out
    assert [one.comment for one in said()] == ["It told (not kept)!", "password: (not kept)", "Right.", "Right."]
    assert key.encode() not in b"".join(path.read_bytes() for path in (world / ".evalmark").iterdir())


def test_a_session_goes_by_the_key_that_the_app_has_for_it(evalmark, world):
    with open_store(".evalmark/evalmark.db") as ledger:
        for number, (project, key) in enumerate([("shop", "user-7"), ("shop", "user-8"), ("bank", "user-8")]):
            i = session_id_for_key(project, key)
            spans = [replace(span(f"{number}" * 16, i, "Hello?", "Hello."), project=project)]
            ledger.sessions.add([Session(id=i, project=project, started=BEGAN)], spans)
    assert "for span 0000000000000000 of shop" in evalmark("note", "user-7", "--label", "up", "--by", "ann").out
    assert "up, ann" in evalmark("show", "user-7").out
    assert "'user-8' could be session" in evalmark("note", "user-8", "--label", "up", "--by", "ann").err
    for words in (["note", "user-9", "--label", "up"], ["show", "last"]):
        found = evalmark(*words)
        assert (found.code, "evalmark list sessions" in found.err) == (2, True)


def test_a_step_is_shown_by_itself(evalmark, sessions):
    shown = evalmark("show", STEP).out
    assert "tool search" in shown
    assert "Oslo" not in shown


def test_the_author_is_who_git_knows(evalmark, said, world, monkeypatch):
    monkeypatch.setenv("HOME", str(world))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(world))
    (world / ".gitconfig").write_text("[user]\n\tname = Ann of Git\n")
    assert "by Ann of Git" in evalmark("note", ONE, "--label", "up").out
    assert said()[0].by == "Ann of Git"


def test_an_output_of_a_run_is_labelled_and_so_is_a_score_of_it(evalmark, said, world):
    (world / "cases.jsonl").write_text(
        '{"id": "x1", "input": "a", "answer": "A", "expected": "A"}\n{"id": "x2", "input": "b", "answer": "B", "expected": "A"}\n'
    )
    (world / "suite.yaml").write_text("datasets: [cases.jsonl]\nmetrics: [equals]\n")
    evalmark("run", "suite.yaml", "-q")
    assert evalmark("note", "last", "--case", "x1", "--label", "up", "--by", "ann").code == 0
    assert evalmark("note", "last", "--case", "x2", "--metric", "equals", "--label", "down", "--by", "ann").code == 0
    output, score = said()
    assert output.about.startswith("output:")
    assert score.about.endswith("/equals")
    assert (output.content, score.content) == (content_fingerprint("a", "A"), content_fingerprint("b", "B"))
    assert "up, ann" in evalmark("show", "last", "--case", "x1").out
    assert "equals label" in evalmark("show", "last", "--case", "x2").out
    for words, message in (
        (["--case", "x"], "could be case x1, x2"),
        (["--case", "y"], "has no output for case 'y'"),
        (["--case", "x1", "--metric", "equal"], "did you mean 'equals'?"),
        ([], "select an output with --case"),
    ):
        assert message in evalmark("note", "last", *words, "--label", "up").text
    (world / "more.csv").write_text(f"about,label\n{output.about},down\n{score.about},up\n", encoding="utf-8")
    assert "2 labels stored" in evalmark("note", "--file", "more.csv", "--by", "bob").out


def test_outputs_of_a_run_are_labelled_by_their_cases_from_a_file(evalmark, said, world):
    rows = [{"id": name, "input": name, "answer": "A", "expected": "A"} for name in ("x1", "x2", "7")]
    (world / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (world / "suite.yaml").write_text("datasets: [cases.jsonl]\nmetrics: [equals]\nrepeat: 2\n")
    evalmark("run", "suite.yaml", "-q")
    (world / "l.csv").write_text(
        f"id,case,repeat,metric,label\nlast,x1,2,,up\nlast,x2,1,equals,down\n{FIRST},,,,up\n", encoding="utf-8"
    )
    assert "3 labels stored" in evalmark("note", "--file", "l.csv", "--by", "ann").out
    (world / "l.jsonl").write_text('{"id": "last", "case": 7, "repeat": 1, "label": "up"}\n', encoding="utf-8")
    assert "1 label stored" in evalmark("note", "--file", "l.jsonl", "--by", "ann").out
    assert [label.about.split(":")[0] for label in said()] == ["output", "score", "span", "output"]
    assert evalmark("show", "last", "--case", "x1").out.count("up, ann") == 1
    (world / "bad.csv").write_text(
        f"id,case,repeat,label\nlast,y,,up\nlast,x1,,up\nlast,x1,0,up\n{FIRST},x1,,up\nlast,,,up\noutput:a/b,x1,,up\n",
        encoding="utf-8",
    )
    found = evalmark("note", "--file", "bad.csv", "--by", "ann")
    for line, message in enumerate(
        [
            "has no output for case 'y'",
            "select one with --repeat (1, 2)",
            "the repeat is '0'; it is a whole number from 1",
            "is not a run, so it has no cases",
            "in a file with a column `case`",
            "already selects the output; leave out case",
        ],
        start=2,
    ):
        assert f"bad.csv:{line}: " in found.err
        assert message in found.err
    assert len(said()) == 4


def test_a_file_of_labels_is_kept_whole(evalmark, said, world):
    (world / "labels.csv").write_text(f'id,label,score,comment,by\n{FIRST},👍,,"so, so",ann\n{SECOND},down,0.5,,\n')
    (world / "labels.jsonl").write_text(
        json.dumps({"about": f"span:{FIRST}", "label": False, "by": "cy"})
        + "\n"
        + json.dumps({"id": ONE, "score": 1})
        + "\n"
    )
    assert "2 labels stored, by ann, bob" in evalmark("note", "--file", "labels.csv", "--by", "bob").out
    assert "2 labels stored" in evalmark("note", "--file", "labels.jsonl", "--by", "bob").out
    assert [(one.liked, one.score, one.comment, one.by) for one in said()] == [
        (True, None, "so, so", "ann"),
        (False, 0.5, "", "bob"),
        (False, None, "", "cy"),
        (None, 1.0, "", "bob"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "places"),
    [
        pytest.param(
            "l.csv",
            f"id,label,score\n{FIRST},up,\nffff,up,\n{FIRST},so,\n{FIRST},,2\n{FIRST},,x\n,up,\n{TWO},up,\n{FIRST},,\n",
            ["l.csv:3", "l.csv:4", "l.csv:5", "l.csv:6", "l.csv:7", "l.csv:8", "l.csv:9"],
            id="everything that can be wrong with a row",
        ),
        pytest.param(
            "l.csv", f"id,labl\n{FIRST},up\n", ["l.csv:2: there is no column 'labl'"], id="a misspelled column"
        ),
        pytest.param(
            "l.jsonl",
            f'{{"id": "{FIRST}", "label": "up", "comment": {{"a": 1}}}}\n{{"id": "{FIRST}", "label": "up", "by": ["x"]}}\n',
            ["l.jsonl:1: `comment` is {'a': 1}; it takes a text.", "l.jsonl:2: `by` is ['x']"],
            id="what is not a text",
        ),
        pytest.param(
            "l.csv", f"id,about,label\n{FIRST},{TWO},up\n", ["leave one of them out"], id="two columns that contradict"
        ),
        pytest.param("l.csv", f"id,label\n{FIRST},up,more\n", ["l.csv:2"], id="a row that is too long"),
        pytest.param("l.jsonl", '{"id": "x"\n[]\n', ["l.jsonl:1", "l.jsonl:2"], id="lines that are no objects"),
        pytest.param("l.jsonl", '{"id": "output:x", "label": "up"}\n', ["output:RUN/TRIAL"], id="half an output"),
        pytest.param("l.txt", "", ["labels are read from .csv"], id="a file of another kind"),
        pytest.param("l.csv", "", ["l.csv"], id="an empty file"),
    ],
)
def test_a_file_with_a_fault_is_refused_whole_and_every_fault_is_named(evalmark, said, world, name, text, places):
    (world / name).write_text(text)
    found = evalmark("note", "--file", name, "--by", "bob")
    assert found.code == 2
    assert [place for place in places if place not in found.text] == []
    assert said() == []


def test_labels_become_cases_of_a_suite_and_a_file(evalmark, said, world):
    refused = evalmark("validate", "sessions:demo")
    assert (refused.code, "label answers with: evalmark note" in refused.out) == (2, True)
    for words in ([FIRST, "up", "ann"], [SECOND, "down", "ann"], ["d" * 16, "up", "ann"], [SECOND, "up", "bob"]):
        evalmark("note", words[0], "--label", words[1], "--by", words[2])
    assert evalmark("validate", "sessions:demo").out == "sessions:demo: no errors\n"
    (world / "bot.py").write_text("def answer(question):\n    return 'Yes.'\n")
    (world / "suite.yaml").write_text(
        "datasets: [sessions:demo]\ntarget: bot:answer\nmetrics: [{edit_similarity: {threshold: 0.9}}]\n"
    )
    assert evalmark("validate", "suite.yaml").code == 0
    ran = evalmark("run", "suite.yaml")
    assert ran.code == 0
    assert "demo   1 of 1 passed" in ran.out
    assert "1 answer that people disagree on left out" in ran.text
    assert "1 labelled answer that ended in an error left out" in ran.text
    assert "1 case" in evalmark("export", "sessions:demo", "-o", "cases.jsonl").out
    (row,) = map(json.loads, (world / "cases.jsonl").read_text().splitlines())
    assert (row["input"], row["liked"], row["disliked"]) == ("Oslo?", ["Yes."], [])
    assert evalmark("validate", "cases.jsonl").code == 0


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        pytest.param("'sessions:'", "names no project", id="no project"),
        pytest.param("sessions:dem", "did you mean demo?", id="another project"),
        pytest.param("{path: 'sessions:demo', encoding: latin-1}", "only a `name` can be set", id="options of a file"),
    ],
)
def test_a_suite_that_names_sessions_wrongly_is_refused_with_its_place(evalmark, sessions, world, dataset, message):
    (world / "suite.yaml").write_text(f"datasets: [{dataset}]\nmetrics: [equals]\n")
    found = evalmark("validate", "suite.yaml")
    assert found.code == 2
    assert message in found.out


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["export", "sessions:demo", "-o", "x.csv"], id="another ending"),
        pytest.param(["export", "sessions:demo", "-o", "x.jsonl", "--to", "promptfoo"], id="another format"),
        pytest.param(["export", "-o", "x"], id="no format"),
    ],
)
def test_an_export_that_cannot_be_is_refused(evalmark, sessions, world, words):
    assert evalmark(*words).code == 2
    assert not list(world.glob("x*"))


def test_ten_thousand_sessions_are_listed_a_line_each(evalmark, world):
    with open_store(world / ".evalmark" / "evalmark.db") as store:
        for start in range(0, 10_000, 1_000):
            ids = [f"{number:016x}" for number in range(start, start + 1_000)]
            store.sessions.add(
                [Session(id=i, project="demo", started=BEGAN) for i in ids], [span(i, i, "q", "a") for i in ids]
            )
    found = evalmark("list", "sessions", "-n", "10000")
    assert sum("2026-" in line for line in found.out.splitlines()) == 10_000


def test_a_file_of_labels_that_is_read_again_adds_what_is_new_in_it(evalmark, said, world):
    file = world / "labels.csv"
    head = "id,label,comment,by\n"
    rows = [f"{FIRST},up,short,ann\n", f"{FIRST},down,,ann\n", f"{FIRST},up,short,ann\n", f"{SECOND},up,,bob\n"]
    file.write_text(head + "".join(rows[:3]), encoding="utf-8")
    assert evalmark("note", "--file", file).out.endswith("3 labels stored, by ann.\n")
    again = evalmark("note", "--file", file)
    assert again.out.endswith("0 labels stored, by ann; 3 stored before.\n")
    file.write_text(head + "".join(rows), encoding="utf-8")
    assert evalmark("note", "--file", file).out.endswith("1 label stored, by ann, bob; 3 stored before.\n")
    assert [(one.liked, one.by) for one in said()] == [(True, "ann"), (False, "ann"), (True, "ann"), (True, "bob")]


def test_a_file_of_labels_does_not_say_again_what_was_taken_back_since(evalmark, said, world):
    file = world / "labels.csv"
    file.write_text(f"id,label,by\n{FIRST},up,ann\n", encoding="utf-8")
    assert evalmark("note", "--file", file).code == 0
    assert evalmark("note", FIRST, "--withdraw", "--by", "ann").code == 0
    assert "0 labels stored" in evalmark("note", "--file", file).out
    assert [one.withdrawn for one in said()] == [False, True]


def test_a_row_with_an_id_of_its_own_is_a_new_word_where_it_says_something_else(evalmark, said, world):
    file = world / "labels.jsonl"
    for label, kept in (("up", 1), ("up", 0), ("down", 1), ("down", 0), ("up", 1)):
        file.write_text(json.dumps({"id": FIRST, "label": label, "by": "ann", "label_id": 7}), encoding="utf-8")
        assert f": {kept} label" in evalmark("note", "--file", file).out
    assert [one.liked for one in said()] == [True, False, True]


def test_two_rows_with_one_id_are_named(evalmark, said, world):
    file = world / "labels.csv"
    file.write_text(f"id,label,label_id\n{FIRST},up,a\n{SECOND},up,a\n", encoding="utf-8")
    found = evalmark("note", "--file", file, "--by", "ann")
    assert found.code == 2
    assert f"{file}:3: the label_id 'a' is already in {file}:2; give each row its own." in found.err
    assert said() == []
