#!/usr/bin/env python3
"""Speed of full fine-tuning in fp32 with PyTorch and Transformers on the CPU (forward, backward, AdamW): one JSON line
a step with tokens_per_s.

usage: transformers_train.py MODEL_FOLDER [--batch 8] [--length 256] [--steps 3]
"""
import argparse
import json
import os
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import AutoModelForCausalLM


def step(model, optimizer, batch, length):
    """Seconds for one step on random tokens."""
    ids = torch.randint(100, 40000, (batch, length))
    begin = time.perf_counter()
    model(input_ids=ids, labels=ids).loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return time.perf_counter() - begin


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model")
    options.add_argument("--batch", type=int, default=8)
    options.add_argument("--length", type=int, default=256)
    options.add_argument("--steps", type=int, default=3)
    arguments = options.parse_args()
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, weight_decay=0.0)
    step(model, optimizer, arguments.batch, arguments.length)  # warm-up
    for _ in range(arguments.steps):
        seconds = step(model, optimizer, arguments.batch, arguments.length)
        print(json.dumps({"tokens_per_s": arguments.batch * arguments.length / seconds}), flush=True)


if __name__ == "__main__":
    main()
