"""Makes the reference files of tests/checkpoint and tests/spec with Transformers, PEFT and gguf-py.

    python make.py            everything in this folder
    python make.py GGUF       also smollm2.json, from SmolLM2-135M-Instruct.Q4_1.gguf

Needs torch, transformers, peft, gguf, safetensors. Files that do not depend on library versions come out the same.
"""

import hashlib
import json
import pathlib
import shutil
import sys

import gguf
import numpy as np
import torch
from gguf.quants import dequantize
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.numpy import save_file as save_numpy
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

HERE = pathlib.Path(__file__).resolve().parent
TYPES = gguf.GGMLQuantizationType
SIZES = {
    "hidden_size": 64,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "vocab_size": 264,
}
RNG = np.random.default_rng(20240607)


def digest(array) -> str:
    return hashlib.sha256(np.ascontiguousarray(array, dtype=np.float32).tobytes()).hexdigest()


def digests(model) -> dict:
    return {name: digest(tensor.float().numpy()) for name, tensor in sorted(model.state_dict().items())}


def write_json(name: str, value) -> None:
    (HERE / name).write_text(json.dumps(value, indent=1) + "\n")


def random_blocks(kind, count: int) -> np.ndarray:
    """Random bytes with finite fp16 scales where the format has them."""
    size = gguf.GGML_QUANT_SIZES[kind][1]
    blocks = RNG.integers(0, 256, (count, size), dtype=np.uint8)
    places = {TYPES.Q8_0: [0], TYPES.Q4_0: [0], TYPES.Q4_1: [0, 2], TYPES.Q6_K: [208]}[kind]
    for place in places:
        scale = RNG.normal(0, 0.05, count).astype(np.float16)
        blocks[:, place : place + 2] = scale.view(np.uint8).reshape(count, 2)
    return blocks


def make_blocks() -> None:
    """Blocks of each quantised type and what gguf-py makes of them; all finite halves by checksum."""
    tensors = {}
    for kind, count in ((TYPES.Q8_0, 24), (TYPES.Q4_0, 24), (TYPES.Q4_1, 24), (TYPES.Q6_K, 6)):
        blocks = random_blocks(kind, count)
        tensors[kind.name + ".blocks"] = blocks.reshape(-1)
        tensors[kind.name + ".values"] = dequantize(blocks, kind).reshape(-1)
    save_numpy(tensors, HERE / "blocks.safetensors")
    bits = np.arange(65536, dtype=np.uint16)
    halves = bits[np.isfinite(bits.view(np.float16))]
    bfloats = torch.from_numpy(bits.astype(np.int32)).to(torch.int16).view(torch.bfloat16).float().numpy()
    write_json("floats.json", {"finite_f16": digest(halves.view(np.float16)), "finite_bf16": digest(bfloats[np.isfinite(bfloats)])})


def make_rope() -> None:
    cases = []
    scaling = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    for head_dim, theta, scaled in ((64, 1e5, None), (128, 5e5, scaling), (64, 5e5, dict(scaling, factor=32.0))):
        rope = {"rope_theta": theta, "rope_type": "default"} if scaled is None else {"rope_theta": theta, "rope_type": "llama3", **scaled}
        config = LlamaConfig(hidden_size=head_dim * 4, num_attention_heads=4, head_dim=head_dim, rope_parameters=rope, max_position_embeddings=131072)
        values = LlamaRotaryEmbedding(config).inv_freq.tolist()
        cases.append({"config": config.to_dict(), "inv_freq": values})
    write_json("rope.json", cases)


def tiny_model() -> LlamaForCausalLM:
    torch.manual_seed(1)
    model = LlamaForCausalLM(LlamaConfig(**SIZES, eos_token_id=[2, 5], tie_word_embeddings=False))
    for name, tensor in model.named_parameters():
        if "norm" in name:
            torch.nn.init.normal_(tensor.data, 1.0, 0.1)
    return model


def save_tiny(model) -> None:
    """The same model in shards of fp32 and in one file of bf16."""
    for name in ("tiny_sharded", "tiny_bf16"):
        shutil.rmtree(HERE / name, ignore_errors=True)
    model.save_pretrained(HERE / "tiny_sharded", max_shard_size="250KB")
    half = LlamaForCausalLM(model.config)
    half.load_state_dict(model.state_dict())
    half.to(torch.bfloat16).save_pretrained(HERE / "tiny_bf16")
    write_json("tiny.json", {"tiny_sharded": digests(model), "tiny_bf16": digests(half)})


def make_adapter(model, name: str, **options) -> None:
    """An adapter with random B, and the checksums of the factors; the merged weights by PEFT."""
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(2)
    adapted = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **options))
    for key, tensor in adapted.named_parameters():
        if "lora_B" in key:
            torch.nn.init.normal_(tensor.data, 0, 0.1)
    adapted.save_pretrained(folder)
    (folder / "README.md").unlink()
    adapted.unload()
    loaded = PeftModel.from_pretrained(tiny_copy(model), folder)
    merged = loaded.merge_and_unload().state_dict()
    some = [key for key in sorted(merged) if "q_proj" in key or "k_proj" in key]
    save_file({key: merged[key].contiguous() for key in some}, folder / "merged.safetensors")


def tiny_copy(model) -> LlamaForCausalLM:
    copy = LlamaForCausalLM(model.config)
    copy.load_state_dict(model.state_dict())
    return copy


def permute(weights: np.ndarray, heads: int) -> np.ndarray:
    """The order of q's and k's rows in GGUF files of the Llama family."""
    return weights.reshape(heads, 2, weights.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(weights.shape)


def byte_alphabet() -> list:
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    return list(bytes_to_unicode().values())


def add_tokenizer(writer) -> None:
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    merges = ["h e", "l l", "he ll", "hell o", "\u0120 w"]
    tokens = specials + byte_alphabet() + [m.replace(" ", "") for m in merges]
    assert len(tokens) == SIZES["vocab_size"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(specials) + [1] * (len(tokens) - len(specials)))
    writer.add_token_merges(merges)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_chat_template("{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}")


def add_sizes(writer) -> None:
    writer.add_context_length(SIZES["max_position_embeddings"])
    writer.add_embedding_length(SIZES["hidden_size"])
    writer.add_block_count(SIZES["num_hidden_layers"])
    writer.add_feed_forward_length(SIZES["intermediate_size"])
    writer.add_head_count(SIZES["num_attention_heads"])
    writer.add_head_count_kv(SIZES["num_key_value_heads"])
    writer.add_rope_dimension_count(SIZES["hidden_size"] // SIZES["num_attention_heads"])
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(SIZES["vocab_size"])


def tensors_of_gguf(model):
    """(name, array, type) with a type of each kind that is read."""
    names = {
        "self_attn.q_proj": ("attn_q", TYPES.Q4_0),
        "self_attn.k_proj": ("attn_k", TYPES.Q8_0),
        "self_attn.v_proj": ("attn_v", TYPES.F16),
        "self_attn.o_proj": ("attn_output", TYPES.BF16),
        "mlp.gate_proj": ("ffn_gate", TYPES.Q4_1),
        "mlp.up_proj": ("ffn_up", TYPES.F32),
        "mlp.down_proj": ("ffn_down", TYPES.Q6_K),
        "input_layernorm": ("attn_norm", TYPES.F32),
        "post_attention_layernorm": ("ffn_norm", TYPES.F32),
    }
    state = {k: v.numpy() for k, v in model.state_dict().items()}
    yield "token_embd.weight", state["model.embed_tokens.weight"], TYPES.Q8_0
    for layer in range(SIZES["num_hidden_layers"]):
        for module, (short, kind) in names.items():
            weights = state[f"model.layers.{layer}.{module}.weight"]
            if short == "attn_q":
                weights = permute(weights, SIZES["num_attention_heads"])
            if short == "attn_k":
                weights = permute(weights, SIZES["num_key_value_heads"])
            yield f"blk.{layer}.{short}.weight", weights, kind
    yield "output_norm.weight", state["model.norm.weight"], TYPES.F32


def make_gguf(model) -> None:
    """A tied model in a GGUF file of mixed types, and the checksums of what Transformers reads from it."""
    path = HERE / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    add_sizes(writer)
    add_tokenizer(writer)
    for name, weights, kind in tensors_of_gguf(model):
        if kind == TYPES.Q6_K:  # gguf-py cannot quantise to it: random blocks instead
            data = random_blocks(kind, weights.size // 256).reshape(weights.shape[0], -1)
        else:
            data = gguf.quantize(weights, kind)
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    loaded = AutoModelForCausalLM.from_pretrained(HERE, gguf_file=path.name, dtype=torch.float32)
    write_json("tiny_gguf.json", digests(loaded))


def make_smollm2(path: str) -> None:
    file = pathlib.Path(path)
    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    write_json("smollm2.json", digests(model))


def main() -> None:
    torch.set_num_threads(2)
    make_blocks()
    make_rope()
    model = tiny_model()
    save_tiny(model)
    make_adapter(model, "adapter", r=4, lora_alpha=8, target_modules="all-linear")
    make_adapter(model, "adapter_rslora", r=3, lora_alpha=2.5, use_rslora=True, target_modules=["q_proj", "down_proj"])
    make_gguf(model)
    if len(sys.argv) > 1:
        make_smollm2(sys.argv[1])


if __name__ == "__main__":
    main()
