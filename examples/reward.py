#!/usr/bin/env python3
"""A reward of your own, in plain Python. Copy this file and change `score`.

A job uses it by

    [[reward]]
    kind = "command"
    name = "close_number"
    command = ["python3", "reward.py"]

The program is started once and kept. For each completion it gets one line of JSON on its standard input,

    {"id": 12, "prompt": ..., "completion": "The answer is 42.", "finish": "stop", "num_tokens": 7,
     "columns": {"answer": "42", "topic": "addition"}}

and prints one line of JSON for each, in any order:

    {"id": 12, "reward": 1.0}

"prompt" is what the data set holds: a text, or a list of messages. "finish" is "stop" where the model ended its
answer and "length" where it was cut off. "columns" are all other columns of the line in the data set. A reward of
None (null) means "no opinion": the completion is left out of its group's statistics. print() is for answers alone;
messages go to standard error. The program ends when its input ends.

Try it without a model:

    echo '{"id": 1, "completion": "It is 41.", "columns": {"answer": "42"}}' | python3 examples/reward.py
"""

import json
import re
import sys


def score(prompt, completion, columns):
    """1 for the right number, less the further away the last number is, plus a little for a short answer."""
    try:
        expected = float(columns["answer"])
    except (KeyError, ValueError):
        return None  # nothing to compare with
    numbers = re.findall(r"-?\d+(?:\.\d+)?", completion)
    if not numbers:
        return 0.0
    distance = abs(float(numbers[-1]) - expected) / max(abs(expected), 1.0)
    closeness = 1.0 if distance == 0 else 0.5 * max(0.0, 1.0 - distance)
    brevity = 0.1 if len(completion) <= 20 else 0.0
    return closeness + brevity


def main():
    for line in sys.stdin:
        request = json.loads(line)
        reward = score(request.get("prompt"), request["completion"], request["columns"])
        print(json.dumps({"id": request["id"], "reward": reward}), flush=True)


if __name__ == "__main__":
    main()
