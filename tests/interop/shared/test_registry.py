"""A run as a registry of openai/evals: which of its metrics are evals there."""

from dataclasses import replace

import yaml

from evalmark.core.values.run import Metric
from evalmark.interop.openai_evals.registry_exporter import to_openai_registry
from evalmark.interop.openai_evals.registry_importer import import_openai_registry
from evalmark.interop.shared.export_run import ExportCheck, ExportRun
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
    assert [part.outcome for part in back.parts] == ["kept", "kept"]


def test_evals_of_the_registry_go_back_as_they_came(tmp_path):
    spec = {"prompt": "Q {input} A {completion}", "choice_strings": "YN", "choice_scores": {"Y": 1.0, "N": 0.0}}
    checks = (
        ExportCheck(name="starts", scorer="evalmark.scorers:RegistryMatch", settings={"kind": "match"}),
        ExportCheck(
            name="fits",
            scorer="evalmark.scorers:RegistryClassify",
            settings={"spec": spec, "eval_type": "classify", "args": {"rubric": "x"}},
        ),
    )
    exported = to_openai_registry(ExportRun(run=RUN, checks=checks))
    evals, graded = (yaml.safe_load(exported.files[f"{part}/moods-of-texts.yaml"]) for part in ("evals", "modelgraded"))
    classes = [row["class"].rpartition(":")[2] for row in evals.values() if "class" in row]
    assert (classes, exported.remarks) == (["Match", "ModelBasedClassify"], ())
    assert graded["moods-of-texts-fits"] == {**spec, "input_outputs": {"input": "completion"}}
    back = import_openai_registry(laid_out(tmp_path, exported.files))
    suite = yaml.safe_load(back.files["suite.yaml"])
    settings = [next(iter(metric.values())) for metric in suite["metrics"]]
    assert settings[0]["kind"] == "match"
    assert {key: settings[1][key] for key in ("spec", "eval_type", "args")} == dict(checks[1].settings)
