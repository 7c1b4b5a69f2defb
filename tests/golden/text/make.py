#!/usr/bin/env python3
"""Makes the golden ids of the tokenizer tests with Hugging Face's tokenizers (made with 0.23.3).

    pip install tokenizers gguf
    python tests/golden/text/make.py SmolLM2-135M-Instruct.Q4_1.gguf

Writes, beside this script:
  smollm2.jsonl                       2,000 strings and their ids in SmolLM2's vocabulary (taken from the GGUF file)
  {smollm,llama3,qwen2}_tokenizer.json  small tokenizers in the style of three families, trained here
  {smollm,llama3,qwen2}.jsonl         strings and ids of these
Each line: text, ids (without special tokens around it), `full` (with them, where different), `decoded` (all
tokens, where different from text), `plain` (without special tokens, where different from decoded).
"""
import json
import pathlib
import random
import sys
import unicodedata

from gguf import GGUFReader
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import trainers

HERE = pathlib.Path(__file__).parent
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

WORDS = """
the a of to and in is it you that he was for on are with as I his they be at one have this from or had by hot but
some what there we can out other were all your when up use word how said an each she which do their time if will
way about many then them would write like so these her long make thing see him two has look more day could go come
did my sound no most number who over know water than call first people may down side been now find any new work
part take get place made live where after back little only round man year came show every good me give our under
antidisestablishmentarianism GPU GRPO LoRA tokenizer straße naïve café coöperate façade El Niño smörgåsbord
""".split()

SCRIPTS = [
    "Привет, как дела? Всё хорошо.", "Γειά σου Κόσμε, τι κάνεις;", "你好，世界！今天天气很好。", "こんにちは世界、お元気ですか？",
    "안녕하세요 세계, 잘 지내세요?", "مرحبا بالعالم، كيف حالك؟", "שלום עולם, מה שלומך?", "नमस्ते दुनिया, आप कैसे हैं?",
    "হ্যালো বিশ্ব", "வணக்கம் உலகம்", "สวัสดีชาวโลก สบายดีไหม", "ສະບາຍດີຊາວໂລກ", "မင်္ဂလာပါ", "ជំរាបសួរ ពិភពលោក", "გამარჯობა მსოფლიო", "Բարեւ աշխարհ",
    "ሰላም ልዑል", "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", "ᠮᠣᠩᠭᠣᠯ", "Xin chào thế giới", "Zażółć gęślą jaźń", "Příliš žluťoučký kůň", "Dünyanın İstanbul'u ılık",
    "𝕳𝖊𝖑𝖑𝖔 𝒲𝑜𝓇𝓁𝒹", "𐎠𐎡𐎢 𓀀𓁐 𒀀𒁀", "नि क्षि ❤", "ﷺ ﬁ ﬂ Ǆ ß ẞ ſ K Å", "ⅷ ² ³ ½ ① ٣٤ ४५ ๓ 六 Ⅻ 𝟙𝟚", "e\u0301 a\u0308 o\u0302\u0323 \u1100\u1161\u11a8",
]

EMOJI = ["🙂", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇯🇵", "👩🏿‍🚀", "❤️‍🔥", "🫠", "1️⃣", "🧑‍🤝‍🧑", "☃", "🦙", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "😀😃😄"]

CODE = [
    "def f(x):\n    return x ** 2  # square\n\n\nprint(f(3))\n", "for (int i = 0; i < n; ++i) {\n\tsum += a[i];\n}\r\n",
    "SELECT * FROM t WHERE id=42 AND name LIKE '%x%';", "<div class=\"a b\">\n  <p>Hello &amp; bye</p>\n</div>",
    "{\"key\": [1, 2.5e-3, null, true], \"s\": \"\\u00e9\\n\"}", "#!/bin/sh\nset -eu\necho \"$HOME\" | sed 's/a/b/g' > /dev/null 2>&1\n",
    "fn main() -> Result<(), Box<dyn Error>> { Ok(()) }", "x = a if b else [c for c in d if c != e]", "\\frac{a}{b} = \\sum_{i=0}^{n} x_i^2",
    "https://example.com/a/b?c=d&e=%20f#g", "user.name+tag@example.co.uk", "C:\\Users\\me\\file.txt", "0x1F 1e10 3.14159 1,000,000 -42 +7 50% $9.99 €5",
    "2024-07-26T12:00:00Z", "import os, sys\nif __name__ == '__main__':\n\tsys.exit(0)", "template <class T> T&& f(T&&...);", "a->b()::c<d>>e", "diff --git a/x b/x\n@@ -1,2 +1,3 @@\n-old\n+new",
]

CONTRACTIONS = ["I'm", "you're", "it's", "we'll", "they've", "he'd", "don't", "DON'T", "I'M", "WE'LL", "'tis", "rock 'n' roll", "'S", "it'ſ", "x'll'd've", "’s it’s", "''''s", "'re've"]

MARKUP = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>", "<file_sep>", "<jupyter_code>", "<empty_output>"]
BROKEN = ["<|im_start|", "<|im_end|>>", "<<|im_end|>", "< |im_start|>", "<|IM_START|>", "<|im_start |>", "<|im_<|im_end|>", "<|endoftext", "|endoftext|>"]


def by_hand():
    spaces = [" " * n for n in (1, 2, 3, 4, 7, 8, 15, 16, 31, 64, 129)] + ["\t" * n for n in (1, 2, 3, 9)]
    lines = ["\n" * n for n in (1, 2, 3, 5, 20)] + ["\r\n", "\r\n\r\n", "\r", "\n \n", " \n", "\n ", "\t\n\t", "\v\f", "a\n\n b", "a \n b"]
    odd = ["\u00a0", "\u2003x", "x\u2009y", "\u3000", "\u200b", "\u180e", "\u0085", "\u2028\u2029", "\ufeff", "\u202e", "a\u00a0 b", "\x00", "\x01\x02\x7f", "\x1b[31mred\x1b[0m", "\ufffd", "\U0010ffff", "\ue000", "\ufdd0", "\x1c\x1d\x1e\x1f", "a\x85b \xa0 c"]
    runs = ["1" * n for n in (1, 2, 3, 4, 10, 50)] + ["a" * 300, "-" * 80, "=" * 40, "." * 33, "é" * 20, "🙂" * 12, "ab" * 60, "!?" * 20, "0 " * 20, "１２３ 456"]
    padded = [f"{left}{core}{right}" for core in ("x", "12", "?", "é", "'s") for left in ("", " ", "  ", "\n", "\t ") for right in ("", " ", "  ", "\n")]
    return [""] + spaces + lines + odd + runs + padded + SCRIPTS + EMOJI + CODE + CONTRACTIONS + MARKUP + BROKEN


ASSIGNED = [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]


def generated(rng):
    """One string of random parts."""
    parts = [
        lambda: " ".join(rng.choices(WORDS, k=rng.randint(1, 8))),
        lambda: rng.choice(WORDS).upper() + rng.choice(",.;:!?"),
        lambda: " " * rng.randint(1, 12),
        lambda: "\n" * rng.randint(1, 3) + " " * rng.randint(0, 8),
        lambda: str(rng.randint(0, 10 ** rng.randint(1, 14))),
        lambda: " " + str(rng.randint(0, 999)) + rng.choice([" + ", "*", " = ", "%", "th"]),
        lambda: rng.choice(SCRIPTS)[: rng.randint(1, 25)],
        lambda: rng.choice(EMOJI),
        lambda: rng.choice(CODE)[: rng.randint(4, 40)],
        lambda: rng.choice(CONTRACTIONS),
        lambda: rng.choice(MARKUP + BROKEN),
        lambda: "".join(chr(rng.choice(ASSIGNED)) for _ in range(rng.randint(1, 5))),
        lambda: "".join(chr(rng.randint(0, 0x17F)) for _ in range(rng.randint(1, 8))),
        lambda: "".join(rng.choices("()[]{}<>|&*^%$#@!~`'\"\\/_-+=", k=rng.randint(1, 6))),
        lambda: "<|im_start|>user\n" + rng.choice(WORDS) + "<|im_end|>\n",
    ]
    return "".join(rng.choice(parts)() for _ in range(rng.randint(1, 6)))


def texts(count):
    rng = random.Random(20)
    out = list(dict.fromkeys(by_hand()))
    while len(out) < count:
        text = generated(rng)
        if text not in out:
            out.append(text)
    return out


def smollm_steps():
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False)])


def split_steps(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def smollm2(gguf):
    """SmolLM2's tokenizer: the vocabulary of the file, the steps of its tokenizer.json."""
    fields = GGUFReader(gguf).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"].contents()]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = smollm_steps()
    tokenizer.decoder = decoders.ByteLevel()
    types = fields["tokenizer.ggml.token_type"].contents()
    tokenizer.add_special_tokens([token for token, kind in zip(tokens, types) if kind == 3])
    return tokenizer


def trained(steps, corpus, normalizer=None):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = steps
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    trainer = trainers.BpeTrainer(vocab_size=1000, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False)
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in MARKUP])
    tokenizer.add_tokens([AddedToken("good", single_word=True), AddedToken("[LEFT]", lstrip=True),
                          AddedToken("[RIGHT]", rstrip=True), AddedToken("Å☃", normalized=True), AddedToken("good day")])
    return tokenizer


def llama3_style(corpus):
    tokenizer = trained(split_steps(LLAMA3), corpus)
    begin = tokenizer.token_to_id("<|endoftext|>")
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|endoftext|> $A", pair="<|endoftext|> $A <|endoftext|> $B",
                                      special_tokens=[("<|endoftext|>", begin)])])
    changed = json.loads(tokenizer.to_str())
    changed["model"]["ignore_merges"] = True
    # Tokens that no merge leads to: only whole pieces become them.
    del changed["model"]["merges"][-40::4]
    return Tokenizer.from_str(json.dumps(changed))


def write_cases(name, tokenizer, strings):
    with open(HERE / f"{name}.jsonl", "w", encoding="utf-8") as file:
        for text in strings:
            case = {"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids}
            full = tokenizer.encode(text).ids
            decoded = tokenizer.decode(case["ids"], skip_special_tokens=False)
            plain = tokenizer.decode(case["ids"], skip_special_tokens=True)
            if full != case["ids"]:
                case["full"] = full
            if decoded != text:
                case["decoded"] = decoded
            if plain != decoded:
                case["plain"] = plain
            file.write(json.dumps(case, ensure_ascii=False, separators=(",", ":")) + "\n")


def write_tokenizer(name, tokenizer):
    text = json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":"))
    (HERE / f"{name}_tokenizer.json").write_text(text + "\n", encoding="utf-8")


def main():
    strings = texts(2000)
    write_cases("smollm2", smollm2(sys.argv[1]), strings)
    added = [" good ", "goodness good", "so good day", "a [LEFT] b", "a  \n[LEFT][RIGHT]  \n b", "A\u030a☃ Å☃", "Å☃ \u212b☃", "good\u0301", "_good", "good good", "[RIGHT] [LEFT]"]
    some = added + strings[::6]
    styles = {"smollm": trained(smollm_steps(), strings), "llama3": llama3_style(strings),
              "qwen2": trained(split_steps(QWEN2), strings, normalizers.NFC())}
    for name, tokenizer in styles.items():
        write_tokenizer(name, tokenizer)
        write_cases(name, tokenizer, some)


if __name__ == "__main__":
    main()
