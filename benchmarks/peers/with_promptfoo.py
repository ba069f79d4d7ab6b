"""promptfoo: `promptfoo eval` over a configuration that is written here, equals, its cache off.

Run by peer_runs.py: python benchmarks/peers/with_promptfoo.py CASES URL JOBS, with the program in PROMPTFOO_PROGRAM.
"""

import json
import os
import subprocess
from pathlib import Path

from work import KEY, MODEL, Work, given, print_passed

QUIET = {
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "PROMPTFOO_DISABLE_SHARING": "1",
}
FAILED = 100
"""Its exit code where a test fails; the count of those that passed says which."""


def configuration(work: Work) -> dict:
    config = {"apiBaseUrl": work.url, "apiKey": KEY, "temperature": 0}
    tests = [
        {"vars": {"letter": row["input"]}, "assert": [{"type": "equals", "value": row["expected"]}]}
        for row in work.rows
    ]
    return {
        "prompts": ["{{letter}}"],
        "providers": [{"id": f"openai:chat:{MODEL}", "config": config}],
        "tests": tests,
    }


def main() -> None:
    work = given(__doc__)
    folder = work.path.parent
    written, found = folder / "promptfooconfig.json", folder / "found.json"
    written.write_text(json.dumps(configuration(work)), encoding="utf-8")
    words = [os.environ["PROMPTFOO_PROGRAM"], "eval", "-c", str(written), "-j", str(work.jobs), "-o", str(found)]
    quiet = ["--no-cache", "--no-table", "--no-share", "--no-progress-bar"]
    environment = {**os.environ, **QUIET, "PROMPTFOO_CONFIG_DIR": str(folder / "promptfoo")}
    done = subprocess.run([*words, *quiet], env=environment, check=False)
    assert done.returncode in (0, FAILED), done.returncode
    print_passed(json.loads(Path(found).read_text(encoding="utf-8"))["results"]["stats"]["successes"])


if __name__ == "__main__":
    main()
