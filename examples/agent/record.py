"""Records what the evals of this folder ask: run `python record.py` after a change of the agent, its tools or its cases.

Here a script plays both models, so that anybody can run it: PLAYED has the steps of the agent's model, and the judge finds
every answer right. Where `pyproject.toml` names real models, the second and the third command of `main` are all it takes.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from evalmark.testing.scripted import ScriptedRequest, ScriptedServer

HERE = Path(__file__).parent
PORT = 8377
"""Part of the addresses in pyproject.toml: recorded replies are found by the address too."""
PLAYED = {
    "Do you have a drill?": [
        {"action": "find", "thing": "drill"},
        {"action": "answer", "answer": "Yes, we have two drills, and one of them is free."},
    ],
    "When can I come on Saturday?": [
        {"action": "hours", "day": "Saturday"},
        {"action": "answer", "answer": "We are open from 10:00 to 14:00 on Saturday. Bring a bag!"},
    ],
    "Please put a tent aside for me on Friday.": [
        {"action": "find", "thing": "tent"},
        {"action": "reserve", "item": "t1", "day": "Friday"},
        {"action": "answer", "answer": "Done: a tent is yours on Friday, under the number t1-Fr."},
    ],
    "Thank you, that was quick!": [{"action": "answer", "answer": "You are welcome."}],
    "Are you open on Monday?": [
        {"action": "hours", "day": "Monday"},
        {"action": "answer", "answer": "No, we are closed on Mondays."},
    ],
    "Reserve the waffle iron for Saturday.": [
        {"action": "find", "thing": "waffle iron"},
        {"action": "answer", "answer": "I am sorry, our waffle iron is not free."},
    ],
    "Could I have the waffle iron, for Friday?": [{"thing": "waffle iron", "day": "Friday"}],
    "A tent on Saturday would be great": [{"thing": "tent", "day": "Saturday"}],
}


def play(said: ScriptedRequest) -> dict[str, str]:
    """What either model says."""
    if said.model == "judge-1":
        more = "Bring a bag" in said.text
        return {"reason": "It adds a tip." if more else "The same facts.", "answer": "B" if more else "C"}
    question = next(text for role, text in said.messages if role == "user")
    done = sum(role == "assistant" for role, _ in said.messages)
    empty = dict.fromkeys(said.schema["properties"], "") if said.schema else {}
    return {**empty, **PLAYED[question][done]}


def main(recorded: Path) -> int:
    """Run all evals against the script, and write what was recorded."""
    with tempfile.TemporaryDirectory() as folder, ScriptedServer(play, port=PORT) as server:
        store = str(Path(folder) / "evalmark.db")
        evals = [sys.executable, "-m", "pytest", "--evalmark", "--evalmark-store", store, "-p", "no:cacheprovider"]
        code = subprocess.run(evals, cwd=HERE, check=False).returncode
        export = [sys.executable, "-m", "evalmark", "cache", "export", str(recorded), "--store", store]
        subprocess.run(export, cwd=HERE, check=True)
        print(json.dumps({"asked": server.count, "problems": server.problems}))
    return code


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "recorded.jsonl").absolute()))
