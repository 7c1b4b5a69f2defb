#!/usr/bin/env python3
"""Puts two servers of llama.cpp behind `nereus proxy` and asks them by the official OpenAI client; prints one line a check.

usage: llama_proxy.py NEREUS LLAMA_SERVER MODEL.gguf FOLDER

LLAMA_SERVER is llama.cpp's own server, or "llama-cpp-python" for that package's, which must be installed.
"""
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import openai

nereus, llama_server, model, folder = sys.argv[1:]
started = []


def check(name, holds):
    if not holds:
        raise SystemExit(f"failed: {name}")
    print(name, flush=True)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(name, command):
    log = open(pathlib.Path(folder) / f"{name}.log", "w")
    started.append(subprocess.Popen([str(part) for part in command], stdout=log, stderr=log))
    return started[-1]


def start_llama(port):
    if llama_server == "llama-cpp-python":
        return start(f"llama-{port}", [sys.executable, "-m", "llama_cpp.server", "--model", model, "--model_alias", "smol",
                                       "--host", "127.0.0.1", "--port", port, "--n_ctx", 512, "--n_threads", 1,
                                       "--logits_all", "true", "--interrupt_requests", "false"])
    return start(f"llama-{port}", [llama_server, "-m", model, "--alias", "smol", "--host", "127.0.0.1", "--port", port,
                                   "-c", 1024, "-t", 1, "-np", 2])


def wait_for(what, condition, seconds=120):
    until = time.time() + seconds
    while time.time() < until:
        try:
            if condition():
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"failed: {what} within {seconds} s")


def page(path):
    with urllib.request.urlopen(url + path, timeout=5) as answer:
        return answer.read().decode()


def ask(client, prompt, **more):
    return client.completions.create(model="smol", prompt=prompt, max_tokens=8, temperature=0, **more)


def check_api(client):
    check("models", client.models.list().data[0].id == "smol")
    plain = ask(client, "The capital of France is")
    check("completion", plain.choices[0].finish_reason == "length" and plain.usage.completion_tokens == 8)
    streamed = list(ask(client, "The capital of France is", stream=True))
    text = "".join(chunk.choices[0].text for chunk in streamed if chunk.choices)
    check("stream", text == plain.choices[0].text and len(streamed) > 4)
    messages = [{"role": "user", "content": "Say hello."}]
    chat = client.chat.completions.create(model="smol", messages=messages, max_tokens=8, temperature=0)
    check("chat", chat.choices[0].message.role == "assistant" and chat.usage.completion_tokens <= 8)
    chunks = client.chat.completions.create(model="smol", messages=messages, max_tokens=8, temperature=0, stream=True)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    check("chat stream", text == chat.choices[0].message.content)
    check("log-probs", ask(client, "One two three", logprobs=1).choices[0].logprobs is not None)
    try:
        client.completions.create(model="no-such", prompt="a")
        check("unknown model", False)
    except openai.NotFoundError as error:
        check("unknown model", "no-such" in str(error))


try:
    ports = [free_port(), free_port()]
    servers = [start_llama(port) for port in ports]
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    start("proxy", [nereus, "proxy", "--port", port, "--check-seconds", 0.5, "--answer-seconds", 30,
                    *(f"--backend=openai=http://127.0.0.1:{one}" for one in ports)])
    wait_for("both servers serve", lambda: page("/health").count('"serving"') == 2)
    client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0, timeout=120)
    check_api(client)
    # Long enough for a whole block of the prompt's text, so that routing keeps it together.
    prompt = "Once upon a time there was a proxy that kept every prompt with the server which had it. "
    for _ in range(4):
        ask(client, prompt)
    check("kept together", 'routed_total{reason="affinity"} 0\n' not in page("/metrics"))
    servers[0].send_signal(signal.SIGKILL)
    answers = [ask(client, f"{i} is a number. {prompt}").choices[0].text for i in range(4)]
    check("one server was killed", len(answers) == 4)
    print("all held")
finally:
    for process in started:
        process.kill()
        process.wait()
