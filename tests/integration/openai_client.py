#!/usr/bin/env python3
"""Asks a server by the official OpenAI client and checks what comes back; prints one line a check that held.

usage: openai_client.py BASE_URL TOKEN
"""
import sys

import openai

url, token = sys.argv[1:]
client = openai.OpenAI(base_url=url + "/v1", api_key=token, max_retries=0, timeout=60)
model = client.models.list().data[0].id


def check(name, holds):
    if not holds:
        sys.exit(f"failed: {name}")
    print(name)


def refused(kind, call):
    try:
        call()
    except kind as error:
        return bool(error.message)
    return False


plain = client.completions.create(model=model, prompt="one two", max_tokens=5, n=2, seed=3, temperature=1.0)
check("completion", len(plain.choices) == 2 and plain.usage.completion_tokens <= 10)
again = client.completions.create(model=model, prompt="one two", max_tokens=5, n=2, seed=3, temperature=1.0)
check("seed", [c.text for c in plain.choices] == [c.text for c in again.choices])

ids = client.completions.create(model=model, prompt=[5, 6, 7], max_tokens=4, logprobs=0,
                                extra_body={"return_token_ids": True})
choice = ids.choices[0]
check("token ids", ids.usage.prompt_tokens == 3 and len(choice.token_ids) == len(choice.logprobs.token_logprobs))
check("log-probs", all(value <= 0 for value in choice.logprobs.token_logprobs))

stream = client.completions.create(model=model, prompt="one two", max_tokens=5, seed=3, stream=True,
                                   stream_options={"include_usage": True})
chunks = list(stream)
check("stream", "".join(c.choices[0].text for c in chunks if c.choices) == plain.choices[0].text)
check("stream's usage", chunks[-1].usage is not None and chunks[-1].usage.completion_tokens <= 5)

messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
chat = client.chat.completions.create(model=model, messages=messages, max_completion_tokens=6, seed=1, logprobs=True)
check("chat", chat.choices[0].message.role == "assistant" and chat.choices[0].finish_reason in ("stop", "length"))
check("chat's log-probs", len(chat.choices[0].logprobs.content) == chat.usage.completion_tokens)
streamed = client.chat.completions.create(model=model, messages=messages, max_completion_tokens=6, seed=1, stream=True)
text = "".join(chunk.choices[0].delta.content or "" for chunk in streamed if chunk.choices)
check("chat stream", text == chat.choices[0].message.content)

stop = plain.choices[0].text[1:3]
cut = client.completions.create(model=model, prompt="one two", max_tokens=5, seed=3, stop=[stop])
check("stop", stop not in cut.choices[0].text and cut.choices[0].finish_reason == "stop")

check("unknown model", refused(openai.NotFoundError,
                               lambda: client.completions.create(model="no-such", prompt="a")))
check("bad request", refused(openai.BadRequestError,
                             lambda: client.completions.create(model=model, prompt="a", temperature=-1)))
wrong = openai.OpenAI(base_url=url + "/v1", api_key="wrong", max_retries=0)
check("wrong token", refused(openai.AuthenticationError, lambda: wrong.models.list()))
print("all held")
