"""Checks that Transformers and PEFT load what Nereus wrote, with equal tensors.

    python check_loaded_by_transformers.py FOLDER [--adapter ADAPTER] [--tokenizer-like OTHER]

FOLDER: a model written by `nereus model convert`, `merge` or `init`. ADAPTER: an adapter for it.
OTHER: a folder or GGUF file whose tokenizer, as Transformers reads it, must give the same ids and the same chats.
"""

import argparse
import json
import pathlib
import random
import sys

import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

TEXTS = ["Hello world", "What is 12 + 34?", " leading", "x  y   z", "caf\u00e9 \u4f60\u597d \U0001f600", "<|im_start|>user\nhi<|im_end|>", "a\n\n\nb\t", ""]


def weights_of(folder: pathlib.Path) -> dict:
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return load_file(folder / "model.safetensors")
    files = set(json.loads(index.read_text())["weight_map"].values())
    return {name: tensor for file in sorted(files) for name, tensor in load_file(folder / file).items()}


def check_model(folder: pathlib.Path):
    model, info = AutoModelForCausalLM.from_pretrained(folder, dtype="auto", output_loading_info=True)
    for key in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not info[key], (key, info[key])
    state = model.state_dict()
    written = weights_of(folder)
    for name, tensor in written.items():
        assert state[name].dtype == tensor.dtype, (name, state[name].dtype, tensor.dtype)
        assert torch.equal(state[name], tensor), name
    print(f"{folder}: {len(written)} tensors equal in {type(model).__name__}, eos {model.generation_config.eos_token_id}")
    return model


def check_adapter(model, adapter: pathlib.Path) -> None:
    loaded = PeftModel.from_pretrained(model, adapter)
    state = loaded.state_dict()
    written = load_file(adapter / "adapter_model.safetensors")
    for name, tensor in written.items():
        found = state[name.replace(".weight", ".default.weight")]
        assert torch.equal(found.to(tensor.dtype), tensor), name
    factors = [name for name in state if "lora_" in name]
    assert len(factors) == len(written), (len(factors), len(written))
    print(f"{adapter}: {len(written)} factors equal in {type(loaded).__name__}")


def random_texts(count: int):
    # Without digits: from GGUF, Transformers leaves out that SmolLM2 splits digits off before anything else.
    rng = random.Random(5)
    alphabet = "abc xyz ABC\n\t.,!?()+-=_\u00e9\u4e2d\u0416\U0001f680'"
    return ["".join(rng.choice(alphabet) for _ in range(rng.randrange(60))) for _ in range(count)]


def load_tokenizer(path: pathlib.Path):
    if path.suffix == ".gguf":
        return AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    return AutoTokenizer.from_pretrained(path)


def check_tokenizer(folder: pathlib.Path, other: pathlib.Path) -> None:
    ours, theirs = load_tokenizer(folder), load_tokenizer(other)
    texts = TEXTS + random_texts(500)
    for text in texts:
        assert ours(text)["input_ids"] == theirs(text)["input_ids"], text
        assert ours.decode(ours(text)["input_ids"]) == theirs.decode(theirs(text)["input_ids"]), text
    for name in ("bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id"):
        assert getattr(ours, name) == getattr(theirs, name), name
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    for prompt in (False, True):
        options = {"tokenize": False, "add_generation_prompt": prompt}
        assert ours.apply_chat_template(chat, **options) == theirs.apply_chat_template(chat, **options)
    print(f"{folder}: {len(texts)} texts and 2 chats equal to those of {other}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--adapter", type=pathlib.Path)
    parser.add_argument("--tokenizer-like", type=pathlib.Path)
    options = parser.parse_args()
    model = check_model(options.folder)
    if options.tokenizer_like:
        check_tokenizer(options.folder, options.tokenizer_like)
    if options.adapter:
        check_adapter(model, options.adapter)
    return 0


if __name__ == "__main__":
    sys.exit(main())
