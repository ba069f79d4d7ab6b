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
"""What a judge can be held against, beside other metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """The request of `evalmark audit`."""

    run: Run
    metrics: tuple[str, ...] = ()
    """Empty: all metrics that a model judges, or else all that pass or fail."""
    against: str = LABELS
    """`labels`, `rules`, or the name of a metric of the run."""
    prompt: Path | None = None
    """The prompt whose rules are checked, where the run has no scores of them."""
    threshold: float | None = None
    """Against which values are held, for metrics that neither pass nor fail."""
    level: float = LEVEL
    all_labels: bool = False
    """Whether labels of outputs count that evalmark did not draw, although there are enough others."""
    suite: Path | None = None
    """Where the metrics stand that canaries are judged by; None: in the suite of the run, or by their names."""
    overrides: Overrides = NO_OVERRIDES


def audit(wanted: AuditRequest, store: Store, graded: Collection[str] = ()) -> tuple[JudgeAudit, ...]:
    """Return how far each judge of a run agrees with labels, with machine-checked rules, or with another metric.

    Metrics that are `graded`, as `audit_graded` has compared their scores, need no verdicts.

    Raises:
        ConfigError: the run has no such metric, or none whose verdicts could be compared.
    """
    if wanted.prompt is not None and wanted.against != RULES:
        raise ConfigError(
            f"--prompt names a prompt whose rules are checked, and the judge is held against {wanted.against}; add --against {RULES}, "
            "or leave --prompt out."
        )
    if not 0 < wanted.level < 1:
        raise ConfigError(f"--level is {wanted.level:g}; it has to be between 0 and 1.")
    run = wanted.run
    truths = known_truth(wanted, store)
    metrics = audited_metrics(wanted, but=graded)
    named = ClusterFinder(run).name
    found = (
        audit_judge(run.results, one, truths, threshold=wanted.threshold, level=wanted.level, cluster_of=named)
        for one in metrics
    )
    models = models_under_test(run)
    return tuple(replace(one, relatives=relatives(one.metric.judge, models)) for one in found)


def audit_graded(wanted: AuditRequest, store: Store) -> tuple[GradedAudit, ...]:
    """Return how far scores of judges agree with scores that people gave, or with thumbs if a metric has no verdicts.

    Only metrics with scores between 0 and 1 are compared, and nothing without labels.
    """
    run = wanted.run
    if wanted.against != LABELS:
        return ()
    metrics = [metric for metric in selected_metrics(wanted) if has_graded_scores(run.results, metric.name)]
    if not metrics:
        return ()
    labels = labels_for_run(store, run)
    scores, evidence = label_scores(run.results, labels), evidence_of_run(store, run)
    thumbs = {one.key: float(one.liked) for one in evidence.told}
    found = []
    for metric in metrics:
        has_verdict = wanted.threshold is not None or has_verdicts(run.results, metric.name)
        known = scores or ({} if has_verdict else thumbs)
        if known:
            drawn = set() if wanted.all_labels else drawn_keys(evidence.samples, known)
            truth = GradedTruth(
                scores={key: known[key] for key in drawn} if len(drawn) >= FEW else known,
                source="scores of people" if scores else "thumbs of people",
                is_drawn=len(drawn) >= FEW,
            )
            found.append(audit_scores(run.results, metric, truth, wanted.level, cluster_of=ClusterFinder(run).name))
    return tuple(found)


def models_under_test(run: Run) -> tuple[str, ...]:
    """Return the names of targets, which are those of models if models were asked, and of other models that are no judges."""
    judges = {metric.judge for metric in run.metrics}
    others = (spent.model for spent in run.spending if spent.model not in judges)
    return tuple(dict.fromkeys((*(result.trial.target for result in run.results), *others)))


def selected_metrics(wanted: AuditRequest) -> tuple[Metric, ...]:
    """Return the metrics of a run that the request selects.

    Raises:
        ConfigError: there are none.
    """
    run, judges = wanted.run, wanted.overrides.judges
    known = list({metric.name: metric for metric in run.metrics}.values())
    where = f"run {run.id}"
    if wanted.metrics or judges:
        found = select_metrics(known, wanted.metrics, judges, where)
    else:
        found = [metric for metric in known if metric.judge] or known
    found = [metric for metric in found if metric.name != wanted.against]
    if not found:
        raise ConfigError(f"{where} has no metric that could be held against {wanted.against}.")
    return tuple(found)


def audited_metrics(wanted: AuditRequest, but: Collection[str] = ()) -> tuple[Metric, ...]:
    """Return the metrics of a run whose verdicts are audited; those named `but` may pass and fail nothing.

    Raises:
        ConfigError: there are none, or one passes and fails nothing.
    """
    run, where = wanted.run, f"run {wanted.run.id}"
    found = selected_metrics(wanted)
    fit = [metric for metric in found if wanted.threshold is not None or has_verdicts(run.results, metric.name)]
    unfit = [metric.name for metric in found if metric not in fit and metric.name not in but]
    if unfit and (wanted.metrics or not (fit or but)):
        name = unfit[0]
        raise ConfigError(
            f"{where}: {name} passes and fails nothing, so its verdicts cannot be compared; give it a --threshold, "
            "from 0 to 1, or learn one with evalmark calibrate."
        )
    return tuple(fit)


def known_truth(wanted: AuditRequest, store: Store) -> GroundTruth:
    """Return the known truth about the outputs of a run.

    Raises:
        ConfigError: there is no such metric, or no prompt whose rules could be checked.
    """
    run = wanted.run
    if wanted.against == LABELS:
        evidence = evidence_of_run(store, run)
        return GroundTruth(
            verdicts={told.key: told.liked for told in evidence.told},
            votes={told.key: told.votes for told in evidence.told},
            source="people",
            evidence=evidence,
            use_all=wanted.all_labels,
        )
    if wanted.against == RULES:
        if wanted.prompt is None:
            return truth_of_rules(run)
        spec, remark = _spec(wanted.prompt, run)
        return truth_of_rules(run, spec, remark)
    names = [metric.name for metric in run.metrics]
    if wanted.against not in names:
        close = get_close_matches(wanted.against, [*names, LABELS, RULES], n=1)
        advice = f"did you mean {close[0]!r}?" if close else f"it takes labels, rules, or one of {', '.join(names)}."
        raise ConfigError(f"--against {wanted.against}: run {run.id} has no such metric; {advice}")
    found = {
        result.trial.id: score.passed
        for result in run.results
        for score in result.scores
        if score.name == wanted.against and score.passed is not None
    }
    return GroundTruth(verdicts=found, source=wanted.against, is_whole=True)


def truth_of_rules(run: Run, spec: PromptSpec | None = None, remark: str = "") -> GroundTruth:
    """Return which outputs keep to all machine-checked rules: by the scores of the run, or by the rules of a prompt.

    An output of which a check can tell nothing, and that breaks no rule, is left out. `remark` is said of the file of rules.

    Raises:
        ConfigError: the run has no such scores and no prompt is named, or none of its rules can be checked.
    """
    rules = None if spec is None else RuleChecks(spec=spec)
    if rules is not None and not rules.checks:
        raise ConfigError(
            f"{rules.spec.folder / RULES_FILE if rules.spec else ''}{f' ({remark})' if remark else ''}: has no rule that a machine can check, so there is nothing to hold a "
            "judge against; state a check below a rule, such as check: {words: {max: 80}}."
        )
    found: dict[str, bool] = {}
    for result in run.results:
        kept = follows_rules(_checked(result, rules))
        if kept is not None:
            found[result.trial.id] = kept
    if not found:
        raise ConfigError(
            f"run {run.id} has no scores of rules; name the prompt with --prompt, or judge by them: evalmark rescore"
        )
    return GroundTruth(verdicts=found, source="the rules", about=_about(run, rules, remark), is_whole=True)


def _about(run: Run, rules: RuleChecks | None, remark: str) -> str:
    """Describe which rules were checked, and what their checks leave open."""
    if rules is None or rules.spec is None:
        return f"the scores of rules in run {run.id}" + (f", which was made with {run.suite}" if run.suite else "")
    spec = rules.spec
    able = f"{len(rules.checks)} of {count(len(spec.rules), 'rule')} can be checked"
    whole = len(rules.checks) == len(spec.rules) and all(check.is_whole for check in rules.checks.values())
    rest = "" if whole else "; an output that keeps to the checks may still break a rule"
    return f"{spec.folder / RULES_FILE}{f' ({remark})' if remark else ''}: {able}{rest}"


def _checked(result: Result, rules: RuleChecks | None) -> Sequence[Score]:
    """Return the scores of the machine-checked rules of an output."""
    if result.output.error is not None:
        return ()
    if rules is not None:
        return rules(result.trial.case, result.output)
    return [s for s in result.scores if s.name.startswith(f"{RuleChecks.name}.") and "rule" in s.detail]


def _spec(prompt: Path, run: Run) -> tuple[PromptSpec, str]:
    """Read the prompt with the rules in its own folder, or else with those beside the results.

    With it comes what a reader should know of the choice.

    Raises:
        ConfigError: it is a file of rules.
    """
    if prompt.name == RULES_FILE:
        raise ConfigError(
            f"--prompt {prompt}: that is a file of rules and no prompt; name the prompt whose folder it lies in, as {prompt.parent}.prompty."
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
    wanted: AuditRequest, settings: Settings, load: Loader = load_embedder, most: int = CASES
) -> tuple[Plan, tuple[Metric, ...]]:
    """Plan the scoring of attacks by every judge, in place of the outputs of some cases.

    Raises:
        ConfigError: the run has no case, or what judged it is not known any more.
    """
    run = wanted.run
    metrics = audited_metrics(wanted)
    by_name = wanted.suite is None and not run.suite
    names = tuple(dict.fromkeys(metric.base or metric.name for metric in metrics)) if by_name else ()
    again = RescoreRequest(run=run, metrics=names, suite=wanted.suite, overrides=wanted.overrides)
    plan = plan_rescore(again, settings, load)
    called = {metric.name for metric in metrics} | {metric.base for metric in metrics if metric.base}
    asked = {one.bound(None).name: one for one in plan.scorers}
    kept = {name: one for name, one in asked.items() if name in called or one.base in called}
    cases = (*canary_cases(run.results, most), *padded_cases(run.results, most))
    if not cases or not kept:
        missing = "a case" if not cases else f"a metric {' or '.join(sorted(called))} in {wanted.suite or run.suite}"
        raise ConfigError(f"run {run.id}: there is not {missing} that canaries could be judged by.")
    source = DatasetSource(info=DatasetInfo(name="canaries"), read=lambda _: iter(cases))
    found = replace(plan, name=f"canaries for {run.name}", sources=(source,), scorers=tuple(kept.values()))
    found = replace(found, targets=(GivenTarget(),), kept=None, repeat=1, gate=None, suite="", notes=())
    return found, tuple(one.bound(None).metric for one in kept.values())


def canary_reports(run: Run, metrics: Sequence[Metric], wanted: AuditRequest) -> Mapping[str, CanaryReport]:
    """Return what canaries show of each judge, by the name of its metric."""
    return {
        metric.name: canary_report(
            run.results, wanted.run.results, metric, threshold=wanted.threshold, level=wanted.level
        )
        for metric in metrics
    }
