"""Inspect: a task with generate() and exact(), its log written where it is started.

Run by peer_runs.py: python benchmarks/peers/with_inspect.py CASES URL JOBS
"""

import inspect_ai
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import exact
from inspect_ai.solver import generate
from work import KEY, MODEL, given, print_passed


def main() -> None:
    work = given(__doc__)

    @task
    def letters() -> Task:
        samples = [Sample(id=row["id"], input=row["input"], target=row["expected"]) for row in work.rows]
        return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=exact())

    config = GenerateConfig(temperature=0, max_connections=work.jobs)
    model = get_model(f"openai-api/mock/{MODEL}", config=config, base_url=work.url, api_key=KEY)
    (log,) = inspect_ai.eval(letters(), model=model, display="none", log_dir="logs", max_samples=work.jobs)
    assert log.status == "success", log.error
    print_passed(sum(sample.scores["exact"].value == "C" for sample in log.samples))


if __name__ == "__main__":
    main()
