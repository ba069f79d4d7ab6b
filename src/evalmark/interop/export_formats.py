"""How ragas, LangSmith, Braintrust, Langfuse and Phoenix name the parts of what they export."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evalmark.interop.shared.recorded import KnownMetric

Names = tuple[str, ...]
_JUDGED = "judged too, by evalmark's own questions"
_EMBEDDED = "by the run's embedding model"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFormat:
    """The names that a tool uses. A name that ends in a dot is the prefix of several columns."""

    tool: str
    id: Names
    """Names of the id of a dataset's item, which is the same in every experiment."""
    input: Names
    expected: Names
    output: Names = ("output",)
    reference_if_dataset: Names = ()
    """Names that hold the output of a result, but the expected output of a dataset's item."""
    marks_result: Names = ()
    """Names of which a result has at least one, where a dataset has an output too."""
    contexts: Names = ()
    retrieved: Names = ()
    scores: Names = ()
    """Names of a mapping or a list of scores, and prefixes of their columns."""
    score_columns: bool = False
    """Whether every further column that holds numbers is a score."""
    seconds: Names = ()
    milliseconds: Names = ()
    tokens: tuple[Names, Names] = ((), ())
    """Names of the counts of input and output tokens."""
    repeat: str = ""
    """The name of the number of the repeat, counted from 1."""
    texts: Names = ()
    """Columns of a CSV file that stay text, even if it looks like JSON."""
    unused: Names = ()
    """Names that mean nothing outside the tool."""
    known: Mapping[str, KnownMetric] = field(default_factory=dict)


FORMATS: Mapping[str, ExportFormat] = {
    "ragas": ExportFormat(
        tool="ragas",
        id=(),
        input=("user_input", "question"),
        expected=("reference", "ground_truth", "ground_truths"),
        output=("response", "answer"),
        contexts=("reference_contexts",),
        retrieved=("retrieved_contexts", "contexts"),
        score_columns=True,
        texts=("user_input", "question", "response", "answer", "reference", "ground_truth"),
        known={
            "exact_match": KnownMetric("equals"),
            "string_present": KnownMetric("contains"),
            "non_llm_string_similarity": KnownMetric("edit_similarity"),
            "faithfulness": KnownMetric("faithfulness", "changed", _JUDGED),
            "semantic_similarity": KnownMetric("similarity", "changed", _EMBEDDED),
            "answer_similarity": KnownMetric("similarity", "changed", _EMBEDDED),
        },
    ),
    "langsmith": ExportFormat(
        tool="LangSmith",
        id=("example_id", "reference_example_id", "id"),
        input=("inputs", "inputs.", "input"),
        expected=("reference_outputs", "reference_output", "reference.", "reference", "expected"),
        output=("outputs", "outputs.", "output"),
        reference_if_dataset=("outputs", "outputs.", "output"),
        marks_result=(
            "reference_outputs", "reference_output", "reference.", "reference_example_id", "feedback", "feedback.",
            "feedback_stats", "execution_time", "evaluation_results", "example_id",
        ),
        scores=("feedback", "feedback_stats", "evaluation_results", "feedback."),
        seconds=("execution_time", "latency"),
        texts=("inputs.", "outputs.", "reference."),
        tokens=(("prompt_tokens",), ("completion_tokens",)),
        unused=("dataset_id", "session_id", "trace_id", "dotted_order", "created_at", "modified_at", "source_run_id"),
    ),
    "braintrust": ExportFormat(
        tool="Braintrust",
        id=("origin",),
        input=("input",),
        expected=("expected",),
        scores=("scores", "scores."),
        tokens=(("prompt_tokens",), ("completion_tokens",)),
        unused=(
            "_xact_id", "_pagination_key", "project_id", "experiment_id", "dataset_id", "span_id", "root_span_id",
            "span_parents", "span_attributes", "is_root", "created", "log_id", "org_id", "id", "context",
        ),
        known={
            "Levenshtein": KnownMetric("edit_similarity"),
            "ExactMatch": KnownMetric("equals"),
            "ValidJSON": KnownMetric("is_json"),
            "Factuality": KnownMetric("factuality", "changed", _JUDGED),
            "Faithfulness": KnownMetric("faithfulness", "changed", _JUDGED),
            "EmbeddingSimilarity": KnownMetric("similarity", "changed", _EMBEDDED),
        },
    ),
    "langfuse": ExportFormat(
        tool="Langfuse",
        id=("datasetItemId", "dataset_item_id", "id"),
        input=("input",),
        expected=("expectedOutput", "expected_output"),
        scores=("scores", "evaluations"),
        seconds=("latency",),
        tokens=(("inputTokens", "promptTokens"), ("outputTokens", "completionTokens")),
        unused=(
            "datasetId", "datasetName", "sourceTraceId", "sourceObservationId", "createdAt", "updatedAt", "projectId",
            "status", "htmlPath", "observations", "externalId", "public", "bookmarked", "environment", "traceId", "trace_id",
        ),
    ),
    "phoenix": ExportFormat(
        tool="Phoenix",
        id=("example_id", "id"),
        input=("input",),
        expected=("reference_output", "expected"),
        output=("output",),
        reference_if_dataset=("output",),
        marks_result=("reference_output", "repetition_number", "annotations"),
        scores=("annotations", "annotation_"),
        milliseconds=("latency_ms",),
        tokens=(("prompt_token_count",), ("completion_token_count",)),
        repeat="repetition_number",
        unused=("trace_id", "updated_at", "node_id"),
    ),
}  # fmt: skip
