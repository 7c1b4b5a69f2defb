#include "nereus/serving/backend_api.h"

#include <iterator>

#include "nereus/base/json.h"

namespace nereus::serving {

namespace {

struct KindName {
  BackendKind kind;
  std::string_view name;
};

constexpr KindName kKinds[] = {{BackendKind::nereus, "nereus"},
                               {BackendKind::vllm, "vllm"},
                               {BackendKind::sglang, "sglang"},
                               {BackendKind::openai, "openai"}};

constexpr std::string_view kModes[] = {"keep", "wait", "abort"};

std::string_view mode_name(PauseMode mode) {
  return kModes[static_cast<size_t>(mode)];
}

bool mentions(const http::Response& answer, std::string_view words) {
  return answer.body.find(words) != std::string::npos;
}

std::string text_field(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Our own server and vLLM's, whose endpoints ours has.
class VllmApi : public BackendApi {
 public:
  std::optional<http::Request> replace(const std::string& name, const std::string& path) const override {
    return http::json_request("POST", "/v1/load_lora_adapter",
                              {{"lora_name", name}, {"lora_path", path}, {"load_inplace", true}});
  }
  std::optional<http::Request> pause(PauseMode mode) const override {
    return http::json_request("POST", fmt::format("/pause?mode={}", mode_name(mode)), OrderedJson::object());
  }
  std::optional<http::Request> resume() const override {
    return http::json_request("POST", "/resume", OrderedJson::object());
  }
};

class SglangApi final : public BackendApi {
 public:
  bool lists_adapters() const override { return false; }
  http::Request load(const std::string& name, const std::string& path) const override {
    return http::json_request("POST", "/load_lora_adapter", {{"lora_name", name}, {"lora_path", path}});
  }
  http::Request unload(const std::string& name) const override {
    return http::json_request("POST", "/unload_lora_adapter", {{"lora_name", name}});
  }
  bool is_loaded(const http::Response& answer, const std::string& name) const override {
    const auto value = parse_json(answer.body, "answer");
    if (!value || !value->is_object()) return false;
    const auto loaded = value->find("loaded_adapters");
    if (loaded != value->end() && loaded->is_object() && loaded->contains(name)) return true;
    return answer.status == 200 && value->value("success", Json()) == Json(true);
  }
  bool is_unloaded(const http::Response& answer) const override {
    const auto value = parse_json(answer.body, "answer");
    if (!value || !value->is_object()) return false;
    return value->value("success", Json()) == Json(true) || mentions(answer, "not loaded") ||
           mentions(answer, "not found");
  }
  std::optional<std::string> address(std::string_view body, const std::string& adapter) const override {
    auto request = parse_ordered_json(body, "request");
    if (!request || !request->is_object()) return std::nullopt;
    // The name of an adapter is no model's there.
    request->erase("model");
    (*request)["lora_path"] = adapter;
    return request->dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  }
  std::optional<http::Request> pause(PauseMode mode) const override {
    if (mode == PauseMode::wait) return std::nullopt;
    const char* name = mode == PauseMode::keep ? "in_place" : "abort";
    return http::json_request("POST", "/pause_generation", {{"mode", name}});
  }
  std::optional<http::Request> resume() const override {
    return http::json_request("POST", "/continue_generation", OrderedJson::object());
  }
};

class OpenaiApi final : public BackendApi {
 public:
  bool has_adapters() const override { return false; }
};

}  // namespace

Result<BackendKind> backend_kind(std::string_view name) {
  for (const auto& kind : kKinds)
    if (kind.name == name) return kind.kind;
  return fail("{}: expected a kind of server: nereus, vllm, sglang or openai", name);
}

Result<PauseMode> pause_mode(std::string_view name) {
  for (const PauseMode mode : {PauseMode::keep, PauseMode::wait, PauseMode::abort})
    if (mode_name(mode) == name) return mode;
  return fail("{}: expected a way of pausing: keep, wait or abort", name);
}

std::string_view backend_kind_name(BackendKind kind) {
  for (const auto& entry : kKinds)
    if (entry.kind == kind) return entry.name;
  return "";
}

http::Request BackendApi::load(const std::string& name, const std::string& path) const {
  return http::json_request("POST", "/v1/load_lora_adapter", {{"lora_name", name}, {"lora_path", path}});
}

std::optional<http::Request> BackendApi::replace(const std::string&, const std::string&) const {
  return std::nullopt;
}

http::Request BackendApi::unload(const std::string& name) const {
  return http::json_request("POST", "/v1/unload_lora_adapter", {{"lora_name", name}});
}

bool BackendApi::is_loaded(const http::Response& answer, const std::string&) const {
  return answer.status == 200 || (answer.status == 400 && mentions(answer, "already been loaded"));
}

bool BackendApi::is_unloaded(const http::Response& answer) const {
  return answer.status == 200 || mentions(answer, "cannot be found");
}

std::optional<std::string> BackendApi::address(std::string_view, const std::string&) const {
  return std::nullopt;  // "model" names the adapter already
}

std::optional<http::Request> BackendApi::pause(PauseMode) const {
  return std::nullopt;
}

std::optional<http::Request> BackendApi::resume() const {
  return std::nullopt;
}

std::unique_ptr<BackendApi> make_backend_api(BackendKind kind) {
  switch (kind) {
    case BackendKind::nereus:
    case BackendKind::vllm:
      return std::make_unique<VllmApi>();
    case BackendKind::sglang:
      return std::make_unique<SglangApi>();
    case BackendKind::openai:
      return std::make_unique<OpenaiApi>();
  }
  return nullptr;
}

Result<ServedModels> read_models(const http::Response& answer) {
  if (answer.status != 200) return fail("/v1/models: {}", answer.brief());
  const auto value = parse_json(answer.body, "/v1/models");
  if (!value) return pass(value);
  if (!value->is_object() || !value->contains("data") || !(*value)["data"].is_array())
    return fail("/v1/models: expected {{\"data\": [..]}}");
  ServedModels served;
  for (const auto& model : (*value)["data"]) {
    if (!model.is_object()) return fail("/v1/models: expected objects in \"data\"");
    const std::string id = text_field(model, "id");
    if (id.empty()) return fail("/v1/models: expected an \"id\" of each model");
    if (!text_field(model, "parent").empty()) {
      served.adapters.emplace(id, text_field(model, "root"));
      continue;
    }
    served.models.insert(id);
    if (served.fingerprint.empty()) served.fingerprint = text_field(model, "fingerprint");
    if (served.root.empty()) served.root = text_field(model, "root");
  }
  return served;
}

}  // namespace nereus::serving
