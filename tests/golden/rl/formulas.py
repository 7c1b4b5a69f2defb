"""The losses written out token by token, as the papers have them, in double precision.

Nothing here is vectorised or shared with the code under test: a batch is a list of sequences, a sequence a
list of tokens, and gradients come from autograd.
"""

import math

import torch


def clamp(x, low=None, high=None):
    return torch.clamp(x, min=low, max=high)


def active_tokens(batch):
    """[(sequence, token index)] of the tokens that are trained, token indices counting through the batch."""
    places, t = [], 0
    for s, length in enumerate(batch["lengths"]):
        for _ in range(length):
            if batch["mask"][t] == 1:
                places.append((s, t))
            t += 1
    return places


def by_sequence(batch):
    groups = {}
    for s, t in active_tokens(batch):
        groups.setdefault(s, []).append(t)
    return groups


def correction_weights(batch, options):
    """(weight of each active token, its value before the bounds)."""
    mode = options.get("correction", "none")
    old, sampler = batch["old"], batch["sampler"]
    raw = {}
    for tokens in by_sequence(batch).values():
        differences = {t: max(-20.0, min(20.0, old[t] - sampler[t])) for t in tokens}
        product = math.exp(max(-20.0, min(20.0, sum(differences.values()))))
        for t in tokens:
            raw[t] = product if mode.startswith("sequence") else math.exp(differences[t])
    low, high = options.get("correction_min"), options.get("correction_max")
    low = -math.inf if low is None else low
    high = math.inf if high is None else high
    if mode == "none":
        return {t: 1.0 for t in raw}
    if mode.endswith("mask"):
        return {t: w if low <= w <= high else 0.0 for t, w in raw.items()}
    return {t: min(max(w, low), high) for t, w in raw.items()}


def loss(batch, options, counts):
    """Loss of a batch, from tensors batch["logprob"] and batch["entropy"] (with gradient) and numbers."""
    logprob, entropy = batch["logprob"], batch["entropy"]
    kind = options["loss"]
    groups = by_sequence(batch)
    log_ratio = {t: clamp(logprob[t] - batch["old"][t], -20, 20) for _, t in active_tokens(batch)}
    weights = correction_weights(batch, options)
    sequence_level = kind in ("gspo", "luspo")
    default_low, default_high = (3e-4, 4e-4) if sequence_level else (0.2, 0.2)
    low = options.get("epsilon", default_low)
    high = options.get("epsilon_high", options.get("epsilon", default_high))

    token_loss = {}
    for s, tokens in groups.items():
        a = batch["advantage"][s]
        mean_ratio = torch.exp(sum(log_ratio[t] for t in tokens) / len(tokens))
        for t in tokens:
            rho = mean_ratio if sequence_level else torch.exp(log_ratio[t])
            if kind == "cispo":
                value = -min(rho.item(), options.get("cispo_max", 5.0)) * a * logprob[t]
            elif kind == "sapo":
                tau = options.get("sapo_temperature_pos", 1.0) if a > 0 else options.get("sapo_temperature_neg", 1.05)
                value = -(4 / tau) * torch.sigmoid(tau * (rho - 1)) * a
            elif kind == "vespo":
                total = sum(log_ratio[u].item() for u in tokens)
                total += sum(max(math.log(1e-8), min(20.0, math.log(max(weights[u], 1e-300)))) for u in tokens)
                log_w = max(math.log(1e-8), min(20.0, total))
                k, lam = (2.0, 3.0) if a >= 0 else (3.0, 2.0)
                value = -math.exp(lam + k * log_w - lam * math.exp(log_w)) * a * logprob[t]
            else:
                capped = clamp(rho, high=options["delta"]) if "delta" in options else rho
                value = -torch.min(capped * a, clamp(rho, 1 - low, 1 + high) * a)
                if "dual_clip" in options and a < 0:
                    value = torch.min(value, torch.tensor(-options["dual_clip"] * a, dtype=value.dtype))
            if kind != "vespo":
                value = value * weights[t]
            if "off_policy_threshold" in options:
                gap = sum(max(-20.0, min(20.0, batch["sampler"][u] - logprob[u].item())) for u in tokens)
                if a < 0 and gap / len(tokens) > options["off_policy_threshold"]:
                    value = value * 0
            if "entropy_threshold" in counts and entropy[t].item() < counts["entropy_threshold"]:
                value = value * 0
            if options.get("beta", 0) != 0:
                d = clamp(batch["ref"][t] - logprob[t], -20, 20)
                kl = torch.exp(d) - d - 1
                value = value + options["beta"] * (kl * rho if options.get("kl_times_ratio", True) else kl)
            token_loss[t] = value

    zero = (logprob * 0).sum()
    aggregation = options.get("aggregation") or {"gspo": "grpo", "sapo": "grpo", "luspo": "luspo"}.get(kind, "dapo")
    sums = {s: sum(token_loss[t] for t in tokens) for s, tokens in groups.items()}
    if aggregation == "dapo":
        result = sum(sums.values(), zero) / max(counts["active_tokens"], 1)
    elif aggregation == "bnpo":
        result = sum(sums.values(), zero) / max(len(token_loss), 1) / counts.get("micro_batches", 1)
    elif aggregation == "dr_grpo":
        result = sum(sums.values(), zero) / (counts["sequences"] * counts["max_completion_length"])
    elif aggregation == "grpo":
        result = sum((sums[s] / len(groups[s]) for s in groups), zero) / max(counts["active_sequences"], 1)
    else:
        result = sum(sums.values(), zero) / max(counts["active_sequences"], 1)

    if options.get("entropy_coef", 0) != 0:
        kept = [t for t in token_loss if entropy[t].item() >= counts.get("entropy_threshold", -1)]
        denominator = counts["entropy_tokens"] if "entropy_threshold" in counts else counts["active_tokens"]
        result = result - options["entropy_coef"] * sum(entropy[t] for t in kept) / max(denominator, 1)
    return result


def gae(rewards, values, mask, lengths, gamma, lam):
    """Advantages and returns by the definition: the discounted sum of later errors over the own tokens."""
    advantages, returns, begin = [0.0] * len(rewards), [0.0] * len(rewards), 0
    for length in lengths:
        own = [t for t in range(begin, begin + length) if mask[t] == 1]
        errors = {}
        for i, t in enumerate(own):
            following = values[own[i + 1]] if i + 1 < len(own) else 0.0
            errors[t] = rewards[t] + gamma * following - values[t]
        for t in range(begin, begin + length):
            later = [u for u in own if u >= t]
            advantages[t] = sum((gamma * lam) ** i * errors[u] for i, u in enumerate(later))
            returns[t] = advantages[t] + values[t]
        begin += length
    return advantages, returns


def whitened(values, mask):
    kept = torch.tensor([v for v, m in zip(values, mask) if m == 1], dtype=torch.float64)
    mean, scale = kept.mean().item(), (kept.var() + 1e-8).rsqrt().item()
    return [(v - mean) * scale if m == 1 else 0.0 for v, m in zip(values, mask)]


def value_loss(values, old, returns, mask, clip):
    terms = []
    for t, m in enumerate(mask):
        if m == 1:
            clipped = old[t] + clamp(values[t] - old[t], -clip, clip)
            terms.append(0.5 * torch.max((values[t] - returns[t]) ** 2, (clipped - returns[t]) ** 2))
    return sum(terms) / len(terms)
