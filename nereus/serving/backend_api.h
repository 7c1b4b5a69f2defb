#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "nereus/base/result.h"
#include "nereus/http/message.h"

namespace nereus::serving {

enum class BackendKind : uint8_t {
  nereus,  ///< `nereus serve`
  vllm,    ///< with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1
  sglang,  ///< with --enable-lora
  openai,  ///< any other server of OpenAI's API: plain generation, no adapters
};

/// "nereus", "vllm", "sglang" or "openai".
Result<BackendKind> backend_kind(std::string_view name);
std::string_view backend_kind_name(BackendKind kind);

/// What becomes of requests that run when generation pauses.
enum class PauseMode : uint8_t {
  keep,   ///< they stand still and go on after `resume`
  wait,   ///< they come to their ends first
  abort,  ///< they end at once with what they have
};
/// "keep", "wait" or "abort".
Result<PauseMode> pause_mode(std::string_view name);

/// What a server offers, read from its answer to `models`.
struct ServedModels {
  std::set<std::string> models;                 ///< base models
  std::map<std::string, std::string> adapters;  ///< on top of them: name to path, "" where it is not told
  std::string fingerprint;                      ///< of the base model; "" where the server gives none
  std::string root;                             ///< where the server has it from
};

/// How one kind of server is asked for what OpenAI's API does not have. Immutable.
class BackendApi {
 public:
  virtual ~BackendApi() = default;
  virtual bool has_adapters() const { return true; }
  /// Whether `models` lists the adapters too.
  virtual bool lists_adapters() const { return true; }
  virtual http::Request load(const std::string& name, const std::string& path) const;
  /// Puts an adapter in the place of the one with its name, where there is one; requests under way go on.
  /// Nothing where the server knows no such way. Done where the answer's status is 200.
  virtual std::optional<http::Request> replace(const std::string& name, const std::string& path) const;
  virtual http::Request unload(const std::string& name) const;
  /// Whether the answer says that the adapter is there, or is gone: asking twice is no error.
  virtual bool is_loaded(const http::Response& answer, const std::string& name) const;
  virtual bool is_unloaded(const http::Response& answer) const;
  /// The body of a request for completions that makes it use an adapter; nothing where it does so as it is.
  virtual std::optional<std::string> address(std::string_view body, const std::string& adapter) const;
  /// Nothing where the server knows no such way of pausing.
  virtual std::optional<http::Request> pause(PauseMode mode) const;
  virtual std::optional<http::Request> resume() const;
};

std::unique_ptr<BackendApi> make_backend_api(BackendKind kind);

/// Reads the answer to GET /v1/models, which all kinds give alike.
Result<ServedModels> read_models(const http::Response& answer);

}  // namespace nereus::serving
