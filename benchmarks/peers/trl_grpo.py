#!/usr/bin/env python3
"""GRPO with TRL on additions, on the CPU in fp32: one JSON line a step with step_s, reward, mean_length and tokens
(prompts and completions).

usage: trl_grpo.py MODEL_FOLDER [--prompts 4] [--completions 8] [--new 64] [--steps 4] [--rank 16]
       the learning curve that docs/benchmarks.md quotes: --prompts 8 --completions 8 --new 24 --steps 16
"""
import argparse
import json
import os
import random
import re
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

from datasets import Dataset
from peft import LoraConfig
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer


def additions():
    pairs = [(a, b) for a in range(1, 51) for b in range(1, 51)]
    random.Random(0).shuffle(pairs)
    return Dataset.from_list([{"prompt": [{"role": "user", "content": f"What is {a} + {b}? Reply with the number only."}],
                               "answer": str(a + b)} for a, b in pairs])


def last_number(completions, answer, **_):
    """1 where the last number of the answer is right."""
    numbers = [re.findall(r"\d+", completion[0]["content"]) for completion in completions]
    return [float(bool(found) and found[-1] == right) for found, right in zip(numbers, answer)]


class PrintSteps(TrainerCallback):
    def __init__(self):
        self.tokens = 0

    def on_log(self, args, state, control, logs=None, **_):
        if "step_time" in logs:
            total = int(state.num_input_tokens_seen or logs.get("num_tokens", 0))
            print(json.dumps({"step_s": logs["step_time"], "reward": logs["reward"],
                              "mean_length": logs["completions/mean_length"], "tokens": total - self.tokens}), flush=True)
            self.tokens = total


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model")
    options.add_argument("--prompts", type=int, default=4)
    options.add_argument("--completions", type=int, default=8)
    options.add_argument("--new", type=int, default=64)
    options.add_argument("--steps", type=int, default=4)
    options.add_argument("--rank", type=int, default=16)
    arguments = options.parse_args()
    rows = arguments.prompts * arguments.completions
    micro = arguments.completions if arguments.new > 24 else min(rows, 32)
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=folder, per_device_train_batch_size=micro, gradient_accumulation_steps=rows // micro,
            num_generations=arguments.completions, max_completion_length=arguments.new, max_steps=arguments.steps,
            logging_steps=1, save_strategy="no", report_to="none", use_cpu=True, bf16=False, learning_rate=2e-4,
            lr_scheduler_type="constant", beta=0.0, gradient_checkpointing=False, disable_tqdm=True,
            model_init_kwargs={"dtype": "float32"})
        lora = LoraConfig(r=arguments.rank, lora_alpha=2 * arguments.rank, target_modules="all-linear")
        GRPOTrainer(model=arguments.model, reward_funcs=last_number, args=config, train_dataset=additions(),
                    callbacks=[PrintSteps()], peft_config=lora).train()


if __name__ == "__main__":
    main()
