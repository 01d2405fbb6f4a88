#!/usr/bin/env bash
# Makes a small mixture-of-experts model, starts the server, puts the model into it and goes on serving.
set -euo pipefail
cd "$(dirname "$0")/.."

shim=.venv/bin/shim
python=.venv/bin/python
address=${SHIM_HOST:-${OLLAMA_HOST:-127.0.0.1:11434}}
models=.cache/models
moe=$models/smollm2-moe.gguf

if $shim list >/dev/null 2>&1; then
    echo "Something serves at $address already. Stop it, or choose another port: OLLAMA_HOST=127.0.0.1:11435 make run" >&2
    exit 1
fi

dense=$($python -m demo.smollm2 $models)
if [ ! -e $moe ] || [ demo/upcycle.py -nt $moe ]; then
    $python -m demo.upcycle "$dense" $moe --experts 8 --used 2 --mode copies
fi

# A process group of its own: Ctrl-C reaches this script alone, which then asks the server once to stop. A second
# signal would make it end without finishing anything.
set -m
$shim serve &
server=$!
set +m
stop() {
    trap - EXIT INT TERM HUP
    kill -TERM $server 2>/dev/null || true
    wait $server
}
trap stop EXIT INT TERM HUP
until $shim list >/dev/null 2>&1; do
    kill -0 $server 2>/dev/null || exit 1 # it has said why
    sleep 0.2
done
$shim create demo -f demo/Modelfile

cat <<TRY

Serving at $address. The model is called demo. In another terminal, try:

    $shim run demo "Why is the sky blue?"
    $shim list
    $shim show demo
    curl http://$address/api/chat -d '{"model": "demo", "messages": [{"role": "user", "content": "Hello!"}]}'

Any Ollama client works as it is. Change num_experts_used in demo/Modelfile, then: $shim create demo -f demo/Modelfile
Ctrl-C stops the server.

TRY
wait $server
