#include "nereus/http/parser.h"
#include "nereus/http/url.h"
#include "tests/fuzz/read_bytes.h"

namespace {

using namespace nereus;
using fuzz::require;

struct Outcome {
  int failure = 0;
  bool done = false;
  std::string method, target, body;
  size_t fields = 0;
  int status = 0;
};

/// What the bytes mean when they come in pieces of `step`.
Outcome read(http::MessageKind kind, std::string_view text, size_t step) {
  http::Parser parser(kind, {.header_bytes = 2048, .body_bytes = 4096});
  Outcome outcome;
  std::string held;
  for (size_t i = 0; i < text.size() && !parser.done(); i += step) {
    held += text.substr(i, step);
    while (!parser.done()) {
      const auto taken = parser.put(held);
      if (!taken) {
        outcome.failure = taken.error().status;
        return outcome;
      }
      require(*taken <= held.size());
      held.erase(0, *taken);
      if (*taken == 0) break;
    }
  }
  if (!parser.done() && parser.started()) (void)parser.end();
  outcome.done = parser.done();
  if (!parser.head_done()) return outcome;
  outcome.method = parser.method();
  outcome.target = parser.target();
  outcome.body = parser.take_body();
  outcome.fields = parser.headers().size();
  outcome.status = parser.status();
  require(outcome.body.size() <= 4096);
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto kind : {http::MessageKind::request, http::MessageKind::response}) {
    const Outcome whole = read(kind, text, size + 1), pieces = read(kind, text, 1);
    // How the network cuts a message does not change what it is.
    if (whole.done && pieces.done) {
      require(whole.method == pieces.method && whole.target == pieces.target && whole.body == pieces.body);
      require(whole.fields == pieces.fields && whole.status == pieces.status);
    }
    if (whole.done) require(pieces.done);
  }
  http::Request request;
  request.target = std::string(text);
  (void)request.path();
  (void)request.query("mode");
  const auto url = http::Url::parse(text);
  if (url) require(http::Url::parse(url->text()).has_value());
  return 0;
}
