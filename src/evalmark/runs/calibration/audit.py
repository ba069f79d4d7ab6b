"""Audits judges: compares their scores of a run with labels, machine-checked rules or another metric."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from evalmark.core.errors import ConfigError
from evalmark.core.settings import Settings
from evalmark.core.text import count
from evalmark.core.values.run import DatasetInfo, Metric, Run
from evalmark.core.values.score import Result, Score
from evalmark.inputs.documents.files import path_kind
from evalmark.prompts.metrics.disagreement import follows_rules
from evalmark.prompts.metrics.rule_checks import RuleChecks
from evalmark.prompts.specs.spec import RULES_FILE, PromptSpec, folder_of, read_spec
from evalmark.runs.execution.rescore import NO_OVERRIDES, RescoreRequest, plan_rescore
from evalmark.runs.execution.threshold_notes import evidence_of_run, labels_for_run
from evalmark.runs.planning.overrides import Overrides
from evalmark.runs.planning.plan import DatasetSource, Loader, Plan, load_embedder
from evalmark.runs.targets.given_target import GivenTarget
from evalmark.stats.calibration.audit import audit_judge, has_verdicts
from evalmark.stats.calibration.audit_results import GroundTruth, JudgeAudit
from evalmark.stats.calibration.canaries import CASES, CanaryReport, canary_cases, canary_report, padded_cases
from evalmark.stats.calibration.evidence import label_scores
from evalmark.stats.calibration.graded_audit import GradedAudit, GradedTruth, audit_scores, has_graded_scores
from evalmark.stats.calibration.label_choice import drawn_keys
from evalmark.stats.calibration.model_families import relatives
from evalmark.stats.calibration.threshold_calibration import select_metrics
from evalmark.stats.inference.intervals import LEVEL
from evalmark.stats.inference.means import FEW
from evalmark.stats.summary.clusters import ClusterFinder
from evalmark.storage.store.store import Store

LABELS, RULES = "labels", "rules"
"""Values of `against` that are not the name of a metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """The request of `evalmark audit`."""

    run: Run
    metrics: tuple[str, ...] = ()
    """Empty: all metrics with a judge model, or all metrics if none has one."""
    against: str = LABELS
    """`labels`, `rules`, or the name of a metric of the run."""
    prompt: Path | None = None
    """The prompt with the rules to check; None: the scores of rules in the run are used."""
    threshold: float | None = None
    """The threshold from which a score passes, for metrics without one; None: such metrics have no verdicts."""
    level: float = LEVEL
    all_labels: bool = False
    """Whether labels of all outputs count, even if enough of the outputs that evalmark drew are labelled."""
    suite: Path | None = None
    """The suite with the metrics that judge canaries; None: the suite of the run, or, without one, scorers by name."""
    overrides: Overrides = NO_OVERRIDES


def audit(request: AuditRequest, store: Store, graded: Collection[str] = ()) -> tuple[JudgeAudit, ...]:
    """Compute how far each judge of a run agrees with labels, with machine-checked rules, or with another metric.

    Metrics named in `graded`, whose scores `audit_graded` compares, are left out if they have no verdicts.

    Raises:
        ConfigError: the run has no such metric, or none whose verdicts could be compared.
    """
    if request.prompt is not None and request.against != RULES:
        raise ConfigError(
            f"--prompt names a prompt whose rules are checked, but the judge is compared with {request.against}; add --against {RULES}, "
            "or leave --prompt out."
        )
    if not 0 < request.level < 1:
        raise ConfigError(f"--level is {request.level:g}; it has to be between 0 and 1.")
    run = request.run
    truths = known_truth(request, store)
    metrics = audited_metrics(request, optional=graded)
    finder = ClusterFinder(run)
    audits = [
        audit_judge(run.results, one, truths, threshold=request.threshold, level=request.level, cluster_of=finder.name)
        for one in metrics
    ]
    models = models_under_test(run)
    unit = finder.unit({(result.trial.dataset, result.trial.mode) for result in run.results})
    return tuple(replace(one, relatives=relatives(one.metric.judge, models), unit=unit) for one in audits)


def audit_graded(request: AuditRequest, store: Store) -> tuple[GradedAudit, ...]:
    """Compute how far scores of judges agree with scores that people gave, or with thumbs if a metric has no verdicts.

    Only metrics with scores between 0 and 1 are compared. The result is empty if there are no labels.
    """
    run = request.run
    if request.against != LABELS:
        return ()
    metrics = [metric for metric in selected_metrics(request) if has_graded_scores(run.results, metric.name)]
    if not metrics:
        return ()
    labels = labels_for_run(store, run)
    scores, evidence = label_scores(run.results, labels), evidence_of_run(store, run)
    thumbs = {one.key: float(one.liked) for one in evidence.labelled}
    found = []
    for metric in metrics:
        has_verdict = request.threshold is not None or has_verdicts(run.results, metric.name)
        known = scores or ({} if has_verdict else thumbs)
        if known:
            drawn = set() if request.all_labels else drawn_keys(evidence, known)
            truth = GradedTruth(
                scores={key: known[key] for key in drawn} if len(drawn) >= FEW else known,
                source="scores of people" if scores else "thumbs of people",
                is_drawn=len(drawn) >= FEW,
            )
            found.append(audit_scores(run.results, metric, truth, request.level, cluster_of=ClusterFinder(run).name))
    return tuple(found)


def models_under_test(run: Run) -> tuple[str, ...]:
    """Return the names of the targets, and of the models with spending that are not judges."""
    judges = {metric.judge for metric in run.metrics}
    others = (spent.model for spent in run.spending if spent.model not in judges)
    return tuple(dict.fromkeys((*(result.trial.target for result in run.results), *others)))


def selected_metrics(request: AuditRequest) -> tuple[Metric, ...]:
    """Return the metrics of a run that the request selects.

    Raises:
        ConfigError: there are none.
    """
    run, judges = request.run, request.overrides.judges
    known = list({metric.name: metric for metric in run.metrics}.values())
    where = f"run {run.id}"
    if request.metrics or judges:
        found = select_metrics(known, request.metrics, judges, where)
    else:
        found = [metric for metric in known if metric.judge] or known
    found = [metric for metric in found if metric.name != request.against]
    if not found:
        raise ConfigError(f"{where} has no metric that can be compared with {request.against}.")
    return tuple(found)


def audited_metrics(request: AuditRequest, optional: Collection[str] = ()) -> tuple[Metric, ...]:
    """Return the metrics of a run whose verdicts are audited; those named in `optional` are left out if they have none.

    Raises:
        ConfigError: there are none, or a required one has no verdicts.
    """
    run, where = request.run, f"run {request.run.id}"
    found = selected_metrics(request)
    fit = [metric for metric in found if request.threshold is not None or has_verdicts(run.results, metric.name)]
    unfit = [metric.name for metric in found if metric not in fit and metric.name not in optional]
    if unfit and (request.metrics or not (fit or optional)):
        name = unfit[0]
        raise ConfigError(
            f"{where}: {name} has no verdicts that could be compared, since it has no threshold; give it a --threshold "
            "from 0 to 1, or learn one with evalmark calibrate."
        )
    return tuple(fit)


def known_truth(request: AuditRequest, store: Store) -> GroundTruth:
    """Return what is known to be true of the outputs of a run, according to `against`.

    Raises:
        ConfigError: there is no such metric, or no prompt whose rules could be checked.
    """
    run = request.run
    if request.against == LABELS:
        evidence = evidence_of_run(store, run)
        return GroundTruth(
            verdicts={labelled.key: labelled.liked for labelled in evidence.labelled},
            votes={labelled.key: labelled.votes for labelled in evidence.labelled} | dict(evidence.tied),
            source="people",
            evidence=evidence,
            use_all=request.all_labels,
        )
    if request.against == RULES:
        if request.prompt is None:
            return truth_of_rules(run)
        spec, remark = _spec(request.prompt, run)
        return truth_of_rules(run, spec, remark)
    names = [metric.name for metric in run.metrics]
    if request.against not in names:
        close = get_close_matches(request.against, [*names, LABELS, RULES], n=1)
        advice = f"did you mean {close[0]!r}?" if close else f"it takes labels, rules, or one of {', '.join(names)}."
        raise ConfigError(f"--against {request.against}: run {run.id} has no such metric; {advice}")
    found = {
        result.trial.id: score.passed
        for result in run.results
        for score in result.scores
        if score.name == request.against and score.passed is not None
    }
    return GroundTruth(verdicts=found, source=request.against, is_whole=True)


def truth_of_rules(run: Run, spec: PromptSpec | None = None, remark: str = "") -> GroundTruth:
    """Return which outputs follow all machine-checked rules, by the scores of the run or by the rules of a prompt.

    An output is left out if it breaks no rule but some check is undecided. `remark` is shown after the name of the file
    of rules.

    Raises:
        ConfigError: the run has no such scores and no prompt is named, or none of its rules can be checked.
    """
    rules = None if spec is None else RuleChecks(spec=spec)
    if rules is not None and not rules.checks:
        raise ConfigError(
            f"{rules.spec.folder / RULES_FILE if rules.spec else ''}{f' ({remark})' if remark else ''}: has no rule that a machine can check, so no judge can be "
            "compared with it; write a check below a rule, such as check: {words: {max: 80}}."
        )
    found: dict[str, bool] = {}
    for result in run.results:
        follows = follows_rules(_checked(result, rules))
        if follows is not None:
            found[result.trial.id] = follows
    if not found:
        raise ConfigError(
            f"run {run.id} has no scores of rules; name the prompt with --prompt, or score the rules: evalmark rescore"
        )
    return GroundTruth(verdicts=found, source="the rules", about=_about(run, rules, remark), is_whole=True)


def _about(run: Run, rules: RuleChecks | None, remark: str) -> str:
    """Describe which rules were checked, and whether their checks cover the rules completely."""
    if rules is None or rules.spec is None:
        return f"the scores of rules in run {run.id}" + (f", which was made with {run.suite}" if run.suite else "")
    spec = rules.spec
    checkable = f"{len(rules.checks)} of {count(len(spec.rules), 'rule')} can be checked"
    whole = len(rules.checks) == len(spec.rules) and all(check.is_whole for check in rules.checks.values())
    rest = "" if whole else "; an output that passes the checks may still break a rule"
    return f"{spec.folder / RULES_FILE}{f' ({remark})' if remark else ''}: {checkable}{rest}"


def _checked(result: Result, rules: RuleChecks | None) -> Sequence[Score]:
    """Return the scores of the machine-checked rules of an output."""
    if result.output.error is not None:
        return ()
    if rules is not None:
        return rules(result.trial.case, result.output)
    return [s for s in result.scores if s.name.startswith(f"{RuleChecks.name}.") and "rule" in s.detail]


def _spec(prompt: Path, run: Run) -> tuple[PromptSpec, str]:
    """Read the prompt with the rules in its own folder, or else with those in the folder of a dataset of the run.

    Returns:
        The prompt, and a remark on which file of rules was used; empty if there is only one.

    Raises:
        ConfigError: the file is not a prompt but a file of rules.
    """
    if prompt.name == RULES_FILE:
        raise ConfigError(
            f"--prompt {prompt}: this is a file of rules, not a prompt; name the prompt whose folder contains it, such as {prompt.parent}.prompty."
        )
    own = folder_of(prompt)
    folders = (Path(info.path) for info in run.datasets if info.path)
    beside = next((f for f in folders if f.resolve() != own.resolve() and path_kind(f / RULES_FILE) == "file"), None)
    if beside is None:
        return read_spec(prompt), ""
    if path_kind(own / RULES_FILE) == "nothing":
        return read_spec(prompt, beside), f"beside the results; there is no {own / RULES_FILE}"
    return read_spec(prompt), f"of the prompt; {beside / RULES_FILE} is not read"


def plan_canaries(
    request: AuditRequest, settings: Settings, load: Loader = load_embedder, most: int = CASES
) -> tuple[Plan, tuple[Metric, ...]]:
    """Plan to score canaries (attacks on a judge) with every judge, in place of the outputs of some cases.

    Raises:
        ConfigError: the run has no case, or the suite no longer has the metrics that judged it.
    """
    run = request.run
    metrics = audited_metrics(request)
    by_name = request.suite is None and not run.suite
    names = tuple(dict.fromkeys(metric.base or metric.name for metric in metrics)) if by_name else ()
    rescore_request = RescoreRequest(run=run, metrics=names, suite=request.suite, overrides=request.overrides)
    plan = plan_rescore(rescore_request, settings, load)
    audited_names = {metric.name for metric in metrics} | {metric.base for metric in metrics if metric.base}
    specs = {one.bound(None).name: one for one in plan.scorers}
    judges = {name: one for name, one in specs.items() if name in audited_names or one.base in audited_names}
    cases = (*canary_cases(run.results, most), *padded_cases(run.results, most))
    if not cases:
        raise ConfigError(f"run {run.id} has no case from which canaries could be made.")
    if not judges:
        names_text = " or ".join(sorted(audited_names))
        raise ConfigError(f"run {run.id}: {request.suite or run.suite} has no metric {names_text} to judge canaries.")
    source = DatasetSource(info=DatasetInfo(name="canaries"), read=lambda _: iter(cases))
    found = replace(plan, name=f"canaries for {run.name}", sources=(source,), scorers=tuple(judges.values()))
    found = replace(found, targets=(GivenTarget(),), rescored=None, repeat=1, gate=None, suite="", notes=())
    return found, tuple(one.bound(None).metric for one in judges.values())


def canary_reports(run: Run, metrics: Sequence[Metric], request: AuditRequest) -> Mapping[str, CanaryReport]:
    """Return the report on each judge, by the name of its metric: how many canaries it passed."""
    return {
        metric.name: canary_report(
            run.results, request.run.results, metric, threshold=request.threshold, level=request.level
        )
        for metric in metrics
    }
