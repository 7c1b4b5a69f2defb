#!/usr/bin/env python3
"""Compares a server's log-probs under LoRA adapters with PEFT's; prints one line an adapter that held.

usage: peft_adapters.py MODEL URL SCRATCH [PUBLISHED...]

MODEL: the Hugging Face folder that the server at URL serves. Adapters made by PEFT are written into SCRATCH and loaded
by the server; PUBLISHED are adapter folders written by Nereus, which PEFT loads too.
"""
import json
import pathlib
import sys
import urllib.request

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM

TOLERANCE = 1e-4
PROMPTS = [[5, 6, 7], [300 + 7 * i for i in range(40)]]
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
CONFIGS = {
    "peft-attention": LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"]),
    "peft-all": LoraConfig(r=8, lora_alpha=16, target_modules=ALL, use_rslora=True),
    "peft-rank-1": LoraConfig(r=1, lora_alpha=2, target_modules=ALL),
}


def post(url, path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def make_adapter(base, name, config, scratch):
    torch.manual_seed(len(name))
    model = get_peft_model(base, config)
    for key, tensor in model.named_parameters():
        if "lora_B" in key:  # zero as PEFT makes it, which would act as no adapter
            torch.nn.init.normal_(tensor, std=0.1)
    model.save_pretrained(scratch / name)
    model.unload()
    return scratch / name


def sampled(url, name, prompt):
    """Tokens that the server drew, and their log-probs."""
    body = {"model": name, "prompt": prompt, "max_tokens": 8, "n": 2, "seed": 3, "ignore_eos": True, "logprobs": 0,
            "return_token_ids": True}
    return [(choice["token_ids"], choice["logprobs"]["token_logprobs"])
            for choice in post(url, "/v1/completions", body)["choices"]]


@torch.no_grad()
def log_probs(model, prompt, tokens):
    logits = model(torch.tensor([prompt + tokens])).logits[0, len(prompt) - 1:-1]
    return torch.log_softmax(logits, -1).gather(1, torch.tensor(tokens)[:, None])[:, 0]


def compare(url, name, base, adapter):
    """The largest difference from PEFT's log-probs, that of these from the base model's, and whether the adapter is zero."""
    answers = [(prompt, *answer) for prompt in PROMPTS for answer in sampled(url, name, prompt)]
    without = [log_probs(base, prompt, tokens) for prompt, tokens, _ in answers]
    model = PeftModel.from_pretrained(base, adapter).eval()
    zero = not any(tensor.any() for key, tensor in model.named_parameters() if "lora_B" in key)
    difference = effect = 0.0
    for (prompt, tokens, got), plain in zip(answers, without):
        expected = log_probs(model, prompt, tokens)
        difference = max(difference, (torch.tensor(got) - expected).abs().max().item())
        effect = max(effect, (plain - expected).abs().max().item())
    model.unload()
    return difference, effect, zero


def main():
    folder, url, scratch, *published = sys.argv[1:]
    base = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    adapters = {name: make_adapter(base, name, config, pathlib.Path(scratch)) for name, config in CONFIGS.items()}
    adapters |= {pathlib.Path(path).name: pathlib.Path(path) for path in published}
    for name, adapter in adapters.items():
        post(url, "/v1/load_lora_adapter", {"lora_name": name, "lora_path": str(adapter.resolve())})
        difference, effect, zero = compare(url, name, base, adapter)
        found = f"{name}: differs from PEFT by {difference:.2g}; PEFT's differ from the base by {effect:.2g}"
        # The policy that training starts from may still be published: an adapter of zeros, and it acts as none.
        if not difference < TOLERANCE or not (effect == 0 if zero else effect > 10 * TOLERANCE):
            sys.exit(f"failed: {found}")
        print(found)
        post(url, "/v1/unload_lora_adapter", {"lora_name": name})  # a server has few slots
    print("all held")


main()
