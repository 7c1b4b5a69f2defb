#!/usr/bin/env python3
"""Runs TRL's GRPOTrainer for two optimizer steps on a tiny random Llama, with given completions and rewards, and
writes what goes in and what comes out. README.md says how the files are read.

Needs torch, transformers, peft and trl==1.16.0. `make.py --double` writes nothing: it runs everything in
double precision as well and prints how far TRL's own single precision is from that.
"""

import json
import os
import pathlib
import random
import shutil
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

HERE = pathlib.Path(__file__).parent
VOCABULARY, PAD, END = 264, 0, 2
GROUP, MAX_COMPLETION = 4, 12  # completions of a prompt, tokens of a completion at most

CASES = {
    # name: what differs from the common settings below
    "full_dapo": {"loss_type": "dapo", "beta": 0.0, "learning_rate": 1e-3, "mask_truncated_completions": True},
    "full_grpo_kl": {"loss_type": "grpo", "beta": 0.04, "learning_rate": 3e-4, "num_iterations": 2},
    "lora_dapo": {"lora": True, "loss_type": "dapo", "beta": 0.0, "learning_rate": 1e-2, "temperature": 0.8},
    "lora_grpo_kl": {"lora": True, "loss_type": "grpo", "beta": 0.04, "learning_rate": 3e-3, "num_iterations": 2},
}


def write_model():
    torch.manual_seed(11)
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-5, tie_word_embeddings=False,
        pad_token_id=PAD, bos_token_id=1, eos_token_id=END, initializer_range=0.08,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.add_(0.1 * torch.randn_like(weight))
    model.save_pretrained(HERE / "model")
    (HERE / "model" / "generation_config.json").unlink(missing_ok=True)
    lora = LoraConfig(r=4, lora_alpha=8, target_modules=[
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"], task_type="CAUSAL_LM")
    adapted = get_peft_model(model, lora)
    with torch.no_grad():
        for name, weight in adapted.named_parameters():
            if "lora_B" in name:
                weight.copy_(0.05 * torch.randn_like(weight))
    adapted.peft_config["default"].base_model_name_or_path = "model"
    adapted.save_pretrained(HERE / "adapter")
    (HERE / "adapter" / "README.md").unlink(missing_ok=True)


def tokenizer():
    words = {f"t{i}": i for i in range(VOCABULARY)}
    inner = Tokenizer(models.WordLevel(words, unk_token="t3"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="t0", eos_token="t2", unk_token="t3")


def make_rollouts():
    """Two rollouts of three groups of four: lengths vary, one completion of each rollout is truncated."""
    draw = random.Random(5)
    token = lambda: draw.randrange(4, VOCABULARY)
    rollouts = []
    for number in range(2):
        groups = []
        for g in range(3):
            completions = []
            for c in range(GROUP):
                ids = [token() for _ in range(draw.randrange(2, MAX_COMPLETION - 1))] + [END]
                completions.append({"tokens": ids, "reward": draw.choice([0.0, 0.25, 0.5, 1.0]), "truncated": False})
            groups.append({"prompt": [token() for _ in range(3 + 2 * g + number)], "completions": completions})
        cut = groups[1]["completions"][number]
        cut.update(tokens=[token() for _ in range(MAX_COMPLETION)], truncated=True)
        # One group without spread: it teaches nothing, but its tokens are counted.
        for completion in groups[2]["completions"]:
            completion["reward"] = 1.0 if number == 1 else completion["reward"]
        rollouts.append({"groups": groups})
    return rollouts


class Recorder:
    """Collects what TRL computes, by completion: rows are shuffled into micro-batches."""

    def __init__(self, rollouts):
        self.rows = {tuple(c["tokens"]): (r, i) for r, rollout in enumerate(rollouts)
                     for i, c in enumerate(c for g in rollout["groups"] for c in g["completions"])}
        self.step = self.empty()
        self.steps = []

    def empty(self):
        return {"loss": 0.0, "rollout": None, "logprobs": {}, "ref_logprobs": {}, "old_logprobs": {}, "advantages": {}}


class Trainer(GRPOTrainer):
    def record(self, recorder):
        self.recorder = recorder
        return self

    def _get_per_token_logps_and_entropies(self, *args, **kwargs):
        result = super()._get_per_token_logps_and_entropies(*args, **kwargs)
        self.latest = result[0].detach()
        return result

    def _compute_loss(self, model, inputs):
        loss = super()._compute_loss(model, inputs)
        step = self.recorder.step
        step["loss"] += loss.item()
        for i, ids in enumerate(inputs["completion_ids"].tolist()):
            # Padding is 0, and no completion holds a 0.
            ids = [t for t in ids if t != PAD]
            rollout, row = self.recorder.rows[tuple(ids)]
            step["rollout"] = rollout
            step["advantages"][row] = inputs["advantages"][i].item()
            for name, values in (("logprobs", self.latest), ("old_logprobs", inputs.get("old_per_token_logps")),
                                 ("ref_logprobs", inputs.get("ref_per_token_logps"))):
                if values is not None:
                    step[name][row] = values[i, : len(ids)].tolist()
        return loss


class OnStep(TrainerCallback):
    def __init__(self, recorder, weights):
        self.recorder, self.weights = recorder, weights

    def on_step_end(self, args, state, control, model=None, **kwargs):
        self.recorder.step["weights"] = self.weights(model)
        self.recorder.steps.append(self.recorder.step)
        self.recorder.step = self.recorder.empty()

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "grad_norm" in logs:
            self.recorder.steps[-1].update(grad_norm=float(logs["grad_norm"]), lr=logs["learning_rate"],
                                           kl=logs.get("kl"), entropy=logs["entropy"], logged_loss=logs["loss"],
                                           clip_ratio=logs["clip_ratio/region_mean"])


def load(lora, dtype):
    model = AutoModelForCausalLM.from_pretrained(HERE / "model", dtype=dtype)
    if lora:
        model = PeftModel.from_pretrained(model, HERE / "adapter", is_trainable=True, autocast_adapter_dtype=False)
        model = model.to(dtype)
    return model


def trained_weights(lora):
    def weights(model):
        result = {}
        for name, weight in model.state_dict().items():
            if lora and ".default" not in name:
                continue
            result[name.replace(".default", "")] = weight.detach().float().clone().contiguous()
        return result

    return weights


def run(case, rollouts, dtype):
    changes = dict(CASES[case])
    lora = changes.pop("lora", False)
    settings = {
        "num_generations": GROUP, "max_completion_length": MAX_COMPLETION, "per_device_train_batch_size": 6,
        "gradient_accumulation_steps": 2, "steps_per_generation": 2, "num_iterations": 1, "max_steps": 2,
        "temperature": 1.0, "epsilon": 0.2, "scale_rewards": "group", "max_grad_norm": 1.0, "weight_decay": 0.0,
        "adam_beta1": 0.9, "adam_beta2": 0.999, "adam_epsilon": 1e-8, "lr_scheduler_type": "constant",
        "warmup_steps": 0, "optim": "adamw_torch", **changes,
    }
    recorder = Recorder(rollouts)
    calls = iter(rollouts)
    current = {}

    def rollout(prompts, trainer):
        current.update(next(calls))
        groups = current["groups"]
        return {"prompt_ids": [g["prompt"] for g in groups for _ in g["completions"]],
                "completion_ids": [c["tokens"] for g in groups for c in g["completions"]], "logprobs": None}

    def reward(completion_ids, **kwargs):
        given = {tuple(c["tokens"]): c["reward"] for g in current["groups"] for c in g["completions"]}
        return [given[tuple(ids)] for ids in completion_ids]

    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=load(lora, dtype), reward_funcs=reward, rollout_func=rollout, processing_class=tokenizer(),
            train_dataset=Dataset.from_dict({"prompt": [f"t{i}" for i in range(4, 16)]}),
            args=GRPOConfig(output_dir=folder, report_to="none", logging_steps=1, save_strategy="no", use_cpu=True,
                            bf16=False, fp16=False, gradient_checkpointing=False, disable_tqdm=True,
                            shuffle_dataset=False, seed=3, **settings),
            callbacks=[OnStep(recorder, trained_weights(lora))],
        ).record(recorder)
        trainer.train()
    return settings, recorder.steps


def ordered(values):
    return [values[i] for i in sorted(values)]


def describe(steps, rollouts):
    result = []
    for step in steps:
        entry = {key: step[key] for key in ("rollout", "loss", "grad_norm", "lr", "kl", "entropy", "clip_ratio")
                 if step.get(key) is not None}
        entry["advantages"] = ordered(step["advantages"])
        for name in ("logprobs", "old_logprobs", "ref_logprobs"):
            if step[name]:
                entry[name] = [[round(v, 7) for v in row] for row in ordered(step[name])]
        result.append(entry)
    return result


def distance(a, b):
    return (sum(((a[n].double() - b[n].double()) ** 2).sum() for n in a) ** 0.5).item()


def compare(rollouts):
    for case in CASES:
        lora = CASES[case].get("lora", False)
        start = trained_weights(lora)(load(lora, torch.float32).float()) if not lora else {
            n.replace(".default", ""): w.detach().float().clone()
            for n, w in load(True, torch.float32).state_dict().items() if ".default" in n}
        _, single = run(case, rollouts, torch.float32)
        _, double = run(case, rollouts, torch.float64)
        for number, (a, b) in enumerate(zip(single, double)):
            print(f"{case} step {number + 1}: loss {a['loss']:.8f} {b['loss']:.8f}, grad norm {a['grad_norm']:.7f} "
                  f"{b['grad_norm']:.7f}, update differs by "
                  f"{distance(a['weights'], b['weights']) / distance(start, b['weights']):.2e}")


def main():
    rollouts = make_rollouts()
    if "--double" in sys.argv:
        return compare(rollouts)
    for folder in ("model", "adapter", "expected"):
        shutil.rmtree(HERE / folder, ignore_errors=True)
    write_model()
    (HERE / "expected").mkdir()
    file = {"rollouts": rollouts, "pad_id": PAD, "eos_id": END, "cases": {}}
    for case in CASES:
        settings, steps = run(case, rollouts, torch.float32)
        file["cases"][case] = {"lora": CASES[case].get("lora", False), "settings": settings,
                               "steps": describe(steps, rollouts)}
        save_file(steps[-1]["weights"], HERE / "expected" / f"{case}.safetensors")
        if CASES[case].get("lora"):
            save_file(steps[0]["weights"], HERE / "expected" / f"{case}_step1.safetensors")
        for step in steps:
            print(case, {k: round(step[k], 7) for k in ("loss", "grad_norm", "logged_loss", "entropy", "clip_ratio")},
                  step.get("kl"))
    text = json.dumps(file, separators=(",", ":")).replace('{"', '\n{"')
    (HERE / "golden.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
