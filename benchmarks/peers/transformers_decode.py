#!/usr/bin/env python3
"""Sampling speed of Transformers' generate on the CPU: one JSON line a batch size and round, with tokens_per_s from
the start of the call, prompts included.

usage: transformers_decode.py MODEL_FOLDER --dtype float32|bfloat16 [--batch 1,8] [--prompt 64] [--new 64] [--rounds 3]
"""
import argparse
import json
import os
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import AutoModelForCausalLM


def sample(model, batch, prompt, new):
    """Seconds for `new` tokens of each of `batch` random prompts."""
    ids = torch.randint(100, 40000, (batch, prompt))
    begin = time.perf_counter()
    out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=new, min_new_tokens=new,
                         do_sample=True, temperature=1.0, top_k=0, top_p=1.0)
    seconds = time.perf_counter() - begin
    assert out.shape == (batch, prompt + new), out.shape
    return seconds


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model")
    options.add_argument("--dtype", required=True, choices=["float32", "bfloat16"])
    options.add_argument("--batch", default="1,8,32,64")
    options.add_argument("--prompt", type=int, default=64)
    options.add_argument("--new", type=int, default=64)
    options.add_argument("--rounds", type=int, default=3)
    arguments = options.parse_args()
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=getattr(torch, arguments.dtype)).eval()
    for batch in map(int, arguments.batch.split(",")):
        sample(model, batch, arguments.prompt, 2)  # warm-up
        for _ in range(arguments.rounds):
            seconds = sample(model, batch, arguments.prompt, arguments.new)
            print(json.dumps({"batch": batch, "tokens_per_s": batch * arguments.new / seconds}), flush=True)


if __name__ == "__main__":
    main()
