"""lm-eval: a task of its own over the file, local-chat-completions, exact_match.

Run by peer_runs.py: python benchmarks/peers/with_lm_eval.py CASES URL JOBS
"""

import os

from work import KEY, MODEL, Work, given, print_passed

os.environ.update(OPENAI_API_KEY=KEY, HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")

from lm_eval import simple_evaluate

ROOM = 64
"""Tokens of an answer."""


def task_of(work: Work) -> dict:
    return {
        "task": "letters",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(work.path)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{input}}",
        "doc_to_target": "{{expected}}",
        "generation_kwargs": {"until": [], "do_sample": False, "max_gen_toks": ROOM},
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    }


def main() -> None:
    work = given(__doc__)
    address = f"model={MODEL},base_url={work.url}/chat/completions,num_concurrent={work.jobs},max_retries=1"
    found = simple_evaluate(
        model="local-chat-completions",
        model_args=f"{address},tokenized_requests=False",
        tasks=[task_of(work)],
        apply_chat_template=True,
        bootstrap_iters=0,
    )
    share = found["results"]["letters"]["exact_match,none"]
    print_passed(round(share * len(work.rows)))


if __name__ == "__main__":
    main()
