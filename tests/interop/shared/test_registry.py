"""A run as a registry of openai/evals: which of its metrics are evals there."""

from dataclasses import replace

import yaml

from evalmark.core.values.run import Metric
from evalmark.interop.openai_evals.registry_exporter import to_openai_registry
from evalmark.interop.openai_evals.registry_importer import import_openai_registry
from evalmark.interop.shared.run_files import export_run_of

from .carried import RUN, laid_out
from .test_run_files import FILES


def test_a_question_that_needs_no_ideal_answer_is_an_eval_of_the_registry(tmp_path):
    folder = laid_out(tmp_path, FILES)
    metrics = tuple(Metric(name=name, judge="openai/judge") for name in ("compliance", "apt", "near", "equals"))
    blind = [
        replace(result, trial=replace(result.trial, case=replace(result.trial.case, expected=None, examples=())))
        for result in RUN.results
    ]
    run = replace(RUN, suite=str(folder / "mood.prompty"), metrics=metrics, results=blind)
    exported = to_openai_registry(export_run_of(run))
    evals, graded = (yaml.safe_load(exported.files[f"{part}/moods-of-texts.yaml"]) for part in ("evals", "modelgraded"))
    specs = {row["args"]["modelgraded_spec"] for row in evals.values() if "args" in row}
    assert specs == graded.keys() == {"moods-of-texts-compliance", "moods-of-texts-apt"}
    assert not any("{ideal}" in row["prompt"] for row in graded.values())
    assert [remark.split(":")[0] for remark in exported.remarks] == ["near", "equals"]
    back = import_openai_registry(laid_out(tmp_path / "out", exported.files))
    assert [(part.outcome, "shows all messages" in part.to) for part in back.dropped] == [("left out", True)]
