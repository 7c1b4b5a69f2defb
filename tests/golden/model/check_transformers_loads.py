#!/usr/bin/env python3
"""Loads a model folder with Transformers, and an adapter with PEFT, and prints the logits of given ids as JSON.

usage: check_transformers_loads.py MODEL_FOLDER [ADAPTER_FOLDER] --ids 1,2,3 [--positions 0,2] [--vocabulary 2000]

Prints {"family", "missing", "unexpected", "adapted_modules", "logits": [positions][vocabulary]} on one line. Weights
that the folder lacks, or has too many, are listed rather than passed over; an adapter that touches no module is an error.
"""
import argparse
import json
import os
import sys
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers
from transformers import AutoModelForCausalLM


def numbers(text):
    return [int(part) for part in text.split(",")]


def load(folder):
    model, info = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    return model.eval(), {key: sorted(info.get(key + "_keys", [])) for key in ("missing", "unexpected")}


def adapt(model, folder):
    """PEFT warns, and goes on, where the file lacks a tensor that the configuration asks for: an error here."""
    from peft import PeftModel
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*missing adapter keys.*")
        adapted = PeftModel.from_pretrained(model, folder)
    modules = sum(1 for name, _ in adapted.named_modules() if name.endswith("lora_A.default"))
    if modules == 0:
        sys.exit(f"{folder}: no module of the model carries the adapter")
    return adapted.eval(), modules


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model")
    options.add_argument("adapter", nargs="?")
    options.add_argument("--ids", type=numbers, required=True)
    options.add_argument("--positions", type=numbers, help="rows of the logits to print; all of them")
    options.add_argument("--vocabulary", type=int, help="print the first so many logits of a row; all of them")
    arguments = options.parse_args()
    torch.set_num_threads(2)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    model, info = load(arguments.model)
    modules = 0
    if arguments.adapter:
        model, modules = adapt(model, arguments.adapter)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([arguments.ids])).logits[0]
    rows = logits[arguments.positions] if arguments.positions else logits
    print(json.dumps({"family": model.config.model_type, **info, "adapted_modules": modules,
                      "logits": rows[:, :arguments.vocabulary].tolist()}))


if __name__ == "__main__":
    main()
