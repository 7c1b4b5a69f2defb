// What the proxy tells about itself.
#include <set>

#include "nereus/serving/prometheus.h"
#include "nereus/serving/proxy.h"

namespace nereus::serving {

http::Response Proxy::models() const {
  OrderedJson data = OrderedJson::array();
  std::set<std::string> bases;
  for (const auto& backend : fleet_.backends())
    for (const auto& model : backend->models)
      if (bases.insert(model).second)
        data.push_back({{"id", model}, {"object", "model"}, {"owned_by", "nereus"}, {"parent", nullptr}});
  const std::string base = bases.empty() ? "" : *bases.begin();
  for (const auto& [name, path] : fleet_.adapters())
    data.push_back(
        {{"id", name}, {"object", "model"}, {"owned_by", "nereus"}, {"parent", base}, {"root", path}});
  return http::json_response(200, {{"object", "list"}, {"data", data}});
}

http::Response Proxy::health(bool details) const {
  OrderedJson servers = OrderedJson::array();
  bool any = false;
  for (const auto& backend : fleet_.backends()) {
    any = any || backend->state == BackendState::serving;
    servers.push_back({{"url", backend->name()},
                       {"kind", backend_kind_name(backend->options.kind)},
                       {"state", name_of(backend->state)},
                       {"running", backend->running},
                       {"adapters", backend->adapters},
                       {"last_failure", backend->reason}});
  }
  OrderedJson page = {{"status", any ? "ok" : "no server serves"},
                      {"adapter_slots", fleet_.options().adapter_slots}};
  if (details) page["servers"] = servers;
  return http::json_response(any ? 200 : 503, page);
}

http::Response Proxy::metrics() const {
  PrometheusPage page;
  page.counter("nereus_proxy_requests_total", "Requests for completions.");
  page.value(static_cast<double>(counts_.requests));
  page.counter("nereus_proxy_routed_total", "Choices of a server, by reason.");
  page.value(static_cast<double>(counts_.affinity), {{"reason", "affinity"}});
  page.value(static_cast<double>(counts_.fresh), {{"reason", "fresh"}});
  page.value(static_cast<double>(counts_.spilled), {{"reason", "spilled"}});
  page.counter("nereus_proxy_retries_total", "Requests offered to another server.");
  page.value(static_cast<double>(counts_.retries));
  page.counter("nereus_proxy_failed_total", "Requests that no server answered whole.");
  page.value(static_cast<double>(counts_.failed));
  page.counter("nereus_proxy_refused_total", "Requests beyond the number that may run.");
  page.value(static_cast<double>(counts_.refused));
  page.gauge("nereus_proxy_running", "Requests under way.");
  page.value(static_cast<double>(running_));
  page.gauge("nereus_proxy_remembered_blocks", "Blocks of prompts that routing remembers.");
  page.value(static_cast<double>(router_.remembered()));
  page.gauge("nereus_proxy_adapters", "Adapters published.");
  page.value(static_cast<double>(fleet_.adapters().size()));
  page.counter("nereus_proxy_publications_total", "Changes of adapters, by result.");
  page.value(static_cast<double>(fleet_.counts().published), {{"result", "published"}});
  page.value(static_cast<double>(fleet_.counts().withdrawn), {{"result", "withdrawn"}});
  page.value(static_cast<double>(fleet_.counts().undone), {{"result", "undone"}});
  page.value(static_cast<double>(fleet_.counts().unproved), {{"result", "unproved"}});
  page.gauge("nereus_backend_serving", "1 where the server gets requests.");
  for (const auto& b : fleet_.backends())
    page.value(b->state == BackendState::serving ? 1 : 0, {{"url", b->name()}});
  page.gauge("nereus_backend_running", "Requests under way at the server.");
  for (const auto& b : fleet_.backends()) page.value(static_cast<double>(b->running), {{"url", b->name()}});
  page.counter("nereus_backend_requests_total", "Requests offered to the server.");
  for (const auto& b : fleet_.backends()) page.value(static_cast<double>(b->requests), {{"url", b->name()}});
  page.counter("nereus_backend_errors_total", "Requests that the server failed.");
  for (const auto& b : fleet_.backends()) page.value(static_cast<double>(b->errors), {{"url", b->name()}});
  page.counter("nereus_backend_ejections_total", "Times the server was ejected.");
  for (const auto& b : fleet_.backends()) page.value(static_cast<double>(b->ejections), {{"url", b->name()}});
  return page.response();
}

}  // namespace nereus::serving
