#!/usr/bin/env python3
"""Golden values of the model from Transformers and PEFT in fp32; README.md says what each file holds.

usage: make.py [--smollm2 HF_FOLDER]     (the Python that `scripts/setup --peers` makes)

Without --smollm2 only the tiny models are made.
"""
import argparse
import json
import os
import pathlib
import shutil

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

HERE = pathlib.Path(__file__).resolve().parent

COMMON = dict(vocab_size=160, hidden_size=48, intermediate_size=96, num_hidden_layers=2,
              max_position_embeddings=128, rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2,
              pad_token_id=None, attention_bias=False, mlp_bias=False)
TINY = {
    # Three query heads share each key-value head; a head of its own.
    "tiny_grouped": dict(COMMON, num_attention_heads=6, num_key_value_heads=2, head_dim=8,
                         tie_word_embeddings=False, rope_parameters={"rope_type": "default", "rope_theta": 10000.0}),
    # The head is the embedding; head_dim is not hidden_size / heads.
    "tiny_tied": dict(COMMON, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
                      tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 500.0}),
    # Short original context, so that of the eight frequencies some are kept, some blended, some divided.
    "tiny_llama3": dict(COMMON, num_attention_heads=3, num_key_value_heads=1, head_dim=16, tie_word_embeddings=True,
                        rope_parameters={"rope_type": "llama3", "rope_theta": 1000.0, "factor": 8.0,
                                         "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                         "original_max_position_embeddings": 64}),
}
SMOLLM2_TEXT = ("The Nereids were sea nymphs, the fifty daughters of Nereus. In 1801, sailors counted "
                "17 + 25 = 42 waves; `for (int i = 0; i < 42; ++i)` would do the same.")
SMOLLM2_CHATS = [
    [{"role": "user", "content": "What is 17 + 25? Reply with the number only."}],
    [{"role": "system", "content": "You answer in one short sentence."},
     {"role": "user", "content": "What is the capital of France?"}],
    [{"role": "user", "content": "Name three colours."},
     {"role": "assistant", "content": "Red, green, blue."},
     {"role": "user", "content": "Now write a line of verse about the first."}],
]


def randomise(model, seed):
    """Weights large enough that logits spread over several units; norms around one."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 1:
                parameter.copy_(1 + 0.2 * noise)
            elif "embed" in name or "lm_head" in name:
                parameter.copy_(0.3 * noise)
            else:
                parameter.copy_(1.2 * noise / parameter.shape[1] ** 0.5)


def random_ids(count, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(3, COMMON["vocab_size"], (count,), generator=generator)


def chosen(logits, ids):
    """log p(ids[t] | ids[:t]) for t = 1 … n − 1, from logits [n, vocab]."""
    return torch.log_softmax(logits[:-1], -1).gather(1, ids[1:, None])[:, 0]


def gradients(model, rename=lambda name: name):
    return {"grad." + rename(n): p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def evaluate(model, ids, targets, rename=lambda name: name):
    """The values of one sequence; loss is the mean of −log p over the given target positions."""
    model.zero_grad()
    logits = model(input_ids=ids[None]).logits[0]
    logprobs = chosen(logits, ids)
    loss = -logprobs[targets - 1].mean()
    loss.backward()
    return {"ids": ids.int(), "targets": targets.int(), "logits": logits.detach(), "logprobs": logprobs.detach(),
            "loss": loss.detach()[None], **gradients(model, rename)}


def forest(model):
    """Three completions of one prompt; loss is the mean of −log p over all their tokens."""
    model.zero_grad()
    prompt, completions = random_ids(7, 21), [random_ids(n, 30 + n) for n in (5, 1, 9)]
    logprobs = [chosen(model(input_ids=torch.cat([prompt, c])[None]).logits[0], torch.cat([prompt, c]))[6:]
                for c in completions]
    loss = -torch.cat(logprobs).mean()
    loss.backward()
    values = {"prompt": prompt.int(), "loss": loss.detach()[None], **gradients(model)}
    for i, (tokens, logprob) in enumerate(zip(completions, logprobs)):
        values |= {f"completion.{i}": tokens.int(), f"logprobs.{i}": logprob.detach().clone()}
    return values


def write(path, tensors):
    save_file({name: t.contiguous() for name, t in tensors.items()}, path)


def make_tiny(name, config, seed):
    model = LlamaForCausalLM(LlamaConfig(**config)).float()
    randomise(model, seed)
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    write(folder / "golden.safetensors", evaluate(model, random_ids(24, seed + 100), torch.arange(9, 24)))
    if name == "tiny_grouped":
        write(folder / "forest.safetensors", forest(model))
    return model


def adapter_name(name):
    """The name that PEFT gives a parameter of the default adapter in its file."""
    return name.replace(".default.weight", ".weight")


def make_lora():
    base = LlamaForCausalLM.from_pretrained(HERE / "tiny_grouped", dtype=torch.float32)
    base.name_or_path = base.config._name_or_path = "tiny_grouped"
    options = dict(r=4, lora_alpha=8, lora_dropout=0.0, target_modules="all-linear", task_type="CAUSAL_LM")
    model = get_peft_model(base, LoraConfig(**options))
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))
    values = evaluate(model, random_ids(24, 77), torch.arange(9, 24), adapter_name)
    folder = HERE / "lora"
    shutil.rmtree(folder, ignore_errors=True)
    save_adapter(model, folder)
    write(folder / "golden.safetensors", values | rslora(options) | merged(model))


def save_adapter(model, folder):
    """As PEFT saves it, less its model card; the list of modules sorted, so that the file is the same each time."""
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text())
    config["target_modules"] = sorted(config["target_modules"])
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def rslora(options):
    """Logits of the same adapter where use_rslora is on: scaled by alpha / √r."""
    base = LlamaForCausalLM.from_pretrained(HERE / "tiny_grouped", dtype=torch.float32)
    model = get_peft_model(base, LoraConfig(**options, use_rslora=True))
    adapter = load_file(HERE / "lora" / "adapter_model.safetensors")
    missing = [n for n, _ in model.named_parameters() if "lora_" in n and adapter_name(n) not in adapter]
    assert not missing, missing
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.copy_(adapter[adapter_name(name)])
        return {"rslora_logits": model(input_ids=random_ids(24, 77)[None]).logits[0]}


def merged(model):
    return {"merged." + n: p.detach() for n, p in model.merge_and_unload().named_parameters() if "_proj" in n}


def element_indices(name, shape, ids):
    """Sixteen places in the flattened parameter; half of the embedding's lie in rows of the text's tokens."""
    count = torch.Size(shape).numel()
    places = [(i * 7919 + 13) * 104729 % count for i in range(16)]
    if "embed" in name:
        places[:8] = [ids[i * 4] * shape[1] + 50 * i for i in range(8)]
    return places


def smollm2_gradients(model, ids):
    grads = []
    for name, parameter in model.named_parameters():
        places = element_indices(name, parameter.shape, ids)
        flat = parameter.grad.flatten()
        grads.append({"name": name, "norm": flat.double().norm().item(), "largest": flat.abs().max().item(),
                      "index": places, "value": [flat[i].item() for i in places]})
    return grads


def greedy(model, tokenizer, messages):
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)["input_ids"]
    with torch.no_grad():
        tokens = model.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)), do_sample=False,
                                max_new_tokens=32)[0]
        logits = model(input_ids=tokens[None]).logits[0]
    top = logits[len(prompt) - 1:-1].topk(2, -1).values
    return {"messages": messages, "prompt": prompt, "completion": tokens[len(prompt):].tolist(),
            "logprobs": chosen(logits, tokens)[len(prompt) - 1:].tolist(),
            "smallest_margin": (top[:, 0] - top[:, 1]).min().item()}


def make_smollm2(source):
    model = LlamaForCausalLM.from_pretrained(source, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(source)
    ids = torch.tensor(tokenizer(SMOLLM2_TEXT)["input_ids"][:40])
    assert len(ids) == 40, len(ids)
    values = evaluate(model, ids, torch.arange(1, 40))
    positions = [0, 1, 7, 20, 39]
    logits = values["logits"]
    folder = HERE / "smollm2"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    write(folder / "logits.safetensors",
          {"ids": ids.int(), "positions": torch.tensor(positions).int(), "logits": logits[positions, :2000],
           "logsumexp": logits.logsumexp(-1), "logprobs": values["logprobs"], "loss": values["loss"]})
    # In double precision: Transformers' own fp32 gradients of some norms are 2e-4 away from these.
    exact = LlamaForCausalLM.from_pretrained(source, dtype=torch.float64)
    evaluate(exact, ids, torch.arange(1, 40))
    (folder / "gradients.json").write_text(lines(smollm2_gradients(exact, ids.tolist())))
    (folder / "greedy.json").write_text(lines([greedy(model, tokenizer, chat) for chat in SMOLLM2_CHATS]))


def lines(rows):
    """A JSON array with one element a line."""
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--smollm2", help="folder that benchmarks/peers/smollm2_to_hf.py wrote")
    arguments = options.parse_args()
    torch.set_num_threads(2)
    transformers.logging.set_verbosity_error()
    for seed, (name, config) in enumerate(TINY.items()):
        make_tiny(name, config, seed)
    make_lora()
    if arguments.smollm2:
        make_smollm2(arguments.smollm2)


if __name__ == "__main__":
    main()
