#!/usr/bin/env python3
"""Writes golden.json: losses with their gradients, advantages, GAE and value losses for the tests of nereus/rl.

Needs torch and trl==1.16.0. Every case is worked out by formulas.py; what TRL implements as well is also run
through TRL's code, and both must agree before anything is written.
"""

import json
import math
import pathlib
import random

import torch

import formulas
import trl_reference

HERE = pathlib.Path(__file__).parent
random.seed(7)


def draw(count, low, high):
    return [round(random.uniform(low, high), 3) for _ in range(count)]


def make_batch(lengths, advantage, masked=(), spread=0.4, sampler_spread=0.3):
    count = sum(lengths)
    logprob = draw(count, -3.0, -0.1)
    near = lambda width: [round(x + random.uniform(-width, width), 5) for x in logprob]
    return {
        "lengths": lengths,
        "logprob": logprob,
        "old": near(spread),
        "ref": near(0.8),
        "sampler": near(sampler_spread),
        "entropy": [round(x * 64) / 64 for x in draw(count, 0.1, 3.0)],
        "advantage": advantage,
        "mask": [0 if t in masked else 1 for t in range(count)],
    }


def batches():
    result = {
        # Two tokens in the middle of a completion are a tool's output.
        "plain": make_batch([6, 3, 7, 2, 5], [1.1, -0.8, 0.4, 0.9, -0.6], masked={11, 12}),
        # The second and the last completion are truncated and masked as a whole.
        "truncated": make_batch([4, 3, 5, 2], [0.9, -1.2, -0.5, 0.7], masked={4, 5, 6, 12, 13}),
        # Hardly moved: ratios of sequences near their range of some 1e-4.
        "near": make_batch([5, 4, 6, 3], [1.0, -1.0, 0.5, -0.7], spread=1.2e-3),
        # Far off: some log-ratios beyond the clamps.
        "far": make_batch([4, 5, 3], [1.0, -1.0, 0.6], spread=3.0, sampler_spread=4.0),
    }
    result["far"]["old"][1] = result["far"]["logprob"][1] + 30.0
    result["far"]["old"][5] = result["far"]["logprob"][5] - 25.0
    result["far"]["ref"][2] = result["far"]["logprob"][2] + 24.0
    result["far"]["sampler"][6] = result["far"]["old"][6] - 26.0
    return result


def counts_of(batch):
    groups = formulas.by_sequence(batch)
    return {
        "active_tokens": sum(batch["mask"]),
        "active_sequences": len(groups),
        "sequences": len(batch["lengths"]),
        "max_completion_length": 8,
    }


def cases():
    """(name, batch, options, whether TRL can compute it too)."""
    result = []

    def add(batch, trl, **options):
        name = "_".join([batch] + [str(v) if k in ("loss", "aggregation") else f"{k}_{v}" for k, v in options.items()])
        result.append((name.replace(".", "p"), batch, options, trl))

    for aggregation in ("dapo", "grpo", "bnpo", "dr_grpo"):
        add("plain", True, loss="grpo", aggregation=aggregation)
        add("truncated", aggregation != "grpo", loss="grpo", aggregation=aggregation)
        add("far", False, loss="grpo", aggregation=aggregation)
    add("plain", False, loss="grpo", aggregation="luspo")
    add("plain", True, loss="grpo", epsilon_high=0.28)
    add("plain", True, loss="grpo", epsilon=0.1, epsilon_high=0.15)
    add("plain", True, loss="grpo", delta=1.25)
    add("far", False, loss="grpo", delta=4.0)
    add("plain", False, loss="grpo", dual_clip=1.3)
    add("far", False, loss="grpo", dual_clip=3.0)
    for kind in ("gspo", "luspo"):
        for batch in ("near", "plain", "truncated"):
            add(batch, batch != "truncated", loss=kind)
        add("plain", True, loss=kind, epsilon=0.05, epsilon_high=0.1)
    for kind in ("cispo", "sapo", "vespo"):
        for batch in ("plain", "near", "truncated", "far"):
            add(batch, batch != "far" and not (batch == "truncated" and kind == "sapo"), loss=kind)
    add("plain", True, loss="cispo", cispo_max=1.2)
    add("plain", True, loss="sapo", sapo_temperature_pos=2.0, sapo_temperature_neg=3.0)
    for aggregation in ("dapo", "grpo"):
        for times_ratio in (True, False):
            add("plain", True, loss="grpo", aggregation=aggregation, beta=0.04, kl_times_ratio=times_ratio)
    add("truncated", True, loss="grpo", beta=0.1)
    add("far", False, loss="grpo", beta=0.1, kl_times_ratio=False)
    add("plain", True, loss="gspo", beta=0.04)
    add("plain", True, loss="cispo", beta=0.04)
    bounds = {
        "token_truncate": (None, 1.1), "token_mask": (0.9, 1.2), "sequence_truncate": (0.8, 1.3),
        "sequence_mask": (0.8, 1.3), "decoupled": (None, None),
    }
    for mode, (low, high) in bounds.items():
        for kind in ("grpo", "vespo") if not mode.startswith("sequence") else ("grpo", "gspo"):
            options = {"correction": mode, "beta": 0.04}
            if low is not None:
                options["correction_min"] = low
            if high is not None:
                options["correction_max"] = high
            add("plain", True, loss=kind, **options)
            add("far", False, loss=kind, **options)
    add("plain", True, loss="grpo", off_policy_threshold=0.02)
    add("far", False, loss="grpo", off_policy_threshold=0.5)
    add("plain", True, loss="grpo", entropy_coef=0.01)
    add("plain", True, loss="grpo", aggregation="grpo", entropy_coef=0.02)
    add("plain", True, loss="grpo", top_entropy_quantile=0.3)
    add("truncated", True, loss="grpo", top_entropy_quantile=0.5, entropy_coef=0.05, beta=0.04)
    return result


def close(a, b, tolerance):
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-12)


def gradients(batch, function):
    leaf = dict(batch)
    leaf["logprob"] = torch.tensor(batch["logprob"], dtype=torch.float64, requires_grad=True)
    leaf["entropy"] = torch.tensor(batch["entropy"], dtype=torch.float64, requires_grad=True)
    value = function(leaf)
    (value + 0 * leaf["entropy"].sum()).backward()
    return value.item(), leaf["logprob"].grad.tolist(), leaf["entropy"].grad.tolist()


def solve(name, batch, options, use_trl):
    counts = counts_of(batch)
    if "top_entropy_quantile" in options:
        active = torch.tensor([e for e, m in zip(batch["entropy"], batch["mask"]) if m], dtype=torch.float32)
        counts["entropy_threshold"] = torch.quantile(active, 1 - options["top_entropy_quantile"]).item()
        counts["entropy_tokens"] = int((active >= counts["entropy_threshold"]).sum())
    value, grad, entropy_grad = gradients(batch, lambda leaf: formulas.loss(leaf, options, counts))
    if use_trl:
        weights = formulas.correction_weights(batch, options)
        weights = torch.tensor([weights.get(t, 1.0) for t in range(len(batch["mask"]))], dtype=torch.float64)
        theirs = gradients(batch, lambda leaf: trl_reference.loss(leaf, options, counts, weights))
        # TRL holds SAPO's temperatures in single precision.
        tolerance = 1e-6 if options["loss"] == "sapo" else 1e-9
        for mine, their in zip([value] + grad + entropy_grad, [theirs[0]] + theirs[1] + theirs[2]):
            assert close(mine, their, tolerance), (name, mine, their)
    case = {"name": name, "trl": use_trl, "options": options, "counts": counts, "loss": value, "grad": grad}
    if any(entropy_grad):
        case["entropy_grad"] = entropy_grad
    return case


def advantage_cases():
    one = [[1.0, 0.0, 0.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.1, 0.9, 0.3, 0.0]]
    two = [one[0], [0.2, 0.1, None, 0.4, 1.0, 1.0, 1.0, 1.0, None, 0.3, 0.7, None]]
    absent = [[1.0, None, 0.0, 1.0, None, None, None, 2.0, 0.1, 0.9, 0.3, None]]
    result = []
    for name, rewards, weights in (("one", one, [1.0]), ("two", two, [1.0, 0.5]), ("absent", absent, [1.0])):
        for scale in ("group", "batch", "none"):
            values = trl_reference.advantages(rewards, 4, scale, "sum_then_normalize", weights)
            result.append({"name": f"{name}_{scale}", "rewards": rewards, "sizes": [4, 4, 4], "weights": weights,
                           "scale": scale, "combine": "sum_then_normalize", "values": values})
    full = [one[0], [0.2, 0.1, 0.3, 0.4, 1.0, 1.0, 1.0, 1.0, 0.8, 0.3, 0.7, 0.6]]
    values = trl_reference.advantages(full, 4, "group", "normalize_then_sum", [1.0, 0.5])
    result.append({"name": "two_decoupled", "rewards": full, "sizes": [4, 4, 4], "weights": [1.0, 0.5],
                   "scale": "group", "combine": "normalize_then_sum", "values": values})
    return result


def gae_cases():
    lengths = [6, 1, 4]
    count = sum(lengths)
    rewards, values = draw(count, -0.2, 0.2), draw(count, -1.0, 1.0)
    rewards[5] = 1.0
    result = []
    for mask in ([1] * count, [1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 1]):
        for gamma, lam in ((1.0, 0.95), (0.9, 0.8)):
            advantages, returns = formulas.gae(rewards, values, mask, lengths, gamma, lam)
            result.append({"rewards": rewards, "values": values, "mask": mask, "lengths": lengths, "gamma": gamma,
                           "lambda": lam, "advantages": advantages, "returns": returns,
                           "whitened": formulas.whitened(advantages, mask)})
    return result


def value_case():
    values, old, returns = draw(9, -1, 1), draw(9, -1, 1), draw(9, -1, 1)
    mask = [1, 1, 0, 1, 1, 1, 1, 0, 1]
    leaf = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    loss = formulas.value_loss(leaf, old, returns, mask, 0.2)
    loss.backward()
    return {"values": values, "old": old, "returns": returns, "mask": mask, "clip": 0.2, "loss": loss.item(),
            "grad": leaf.grad.tolist()}


def main():
    data = batches()
    solved = []
    for name, batch, options, use_trl in cases():
        case = solve(name, data[batch], options, use_trl)
        case["batch"] = batch
        solved.append(case)
    golden = {"batches": data, "losses": solved, "advantages": advantage_cases(), "gae": gae_cases(),
              "value": value_case()}
    text = json.dumps(golden, separators=(",", ":")).replace('{"name"', '\n{"name"')
    (HERE / "golden.json").write_text(text + "\n")
    print(f"{len(solved)} losses, {sum(case['trl'] for case in solved)} of them also by TRL")


if __name__ == "__main__":
    main()
