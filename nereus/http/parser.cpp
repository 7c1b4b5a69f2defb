#include "nereus/http/parser.h"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace nereus::http {

namespace beast = boost::beast;
using beast::http::error;
using ErrorCode = beast::error_code;

namespace {

// A line between chunks that has no end within so many bytes is an attack.
constexpr size_t kMaxChunkLine = 16 << 10;
// Beast 1.81 asserts that it is offered no fewer bytes of chunks once it has seen the last one's line; what
// is left of a valid message is never shorter.
constexpr size_t kLeastOfChunks = 5;

struct Message {
  std::string method, target;
  int status = 0, version = 11;
  Headers headers;
  std::string body;
};

/// Beast's parser calls these as it goes.
template <bool isRequest>
class Collector final : public beast::http::basic_parser<isRequest> {
 public:
  explicit Collector(Message& message) : message_(message) {}

 private:
  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target, int version,
                       ErrorCode&) override {
    message_.method = std::string(method);
    message_.target = std::string(target);
    message_.version = version;
  }
  void on_response_impl(int code, beast::string_view, int version, ErrorCode&) override {
    message_.status = code;
    message_.version = version;
  }
  void on_field_impl(beast::http::field, beast::string_view name, beast::string_view value,
                     ErrorCode&) override {
    if (!head_done_) message_.headers.add({name.data(), name.size()}, {value.data(), value.size()});
  }
  void on_header_impl(ErrorCode&) override { head_done_ = true; }
  void on_body_init_impl(const boost::optional<uint64_t>&, ErrorCode&) override {}
  size_t on_body_impl(beast::string_view body, ErrorCode&) override {
    message_.body.append(body.data(), body.size());
    return body.size();
  }
  void on_chunk_header_impl(uint64_t, beast::string_view, ErrorCode&) override {}
  size_t on_chunk_body_impl(uint64_t, beast::string_view body, ErrorCode&) override {
    message_.body.append(body.data(), body.size());
    return body.size();
  }
  void on_finish_impl(ErrorCode&) override {}

  Message& message_;
  bool head_done_ = false;
};

ParseFailure describe(const ErrorCode& code) {
  if (code == error::header_limit || code == error::buffer_overflow)
    return {431, "the request's header is too large"};
  if (code == error::body_limit) return {413, "the request's body is too large"};
  if (code == error::bad_version) return {505, "expected HTTP/1.0 or HTTP/1.1"};
  return {400, "malformed HTTP message: " + code.message()};
}

}  // namespace

/// Requests and responses behind one set of calls.
struct Parser::Impl {
  virtual ~Impl() = default;
  virtual size_t put(std::string_view input, ErrorCode& code) = 0;
  virtual void put_eof(ErrorCode& code) = 0;
  virtual bool head_done() const = 0;
  virtual bool done() const = 0;
  virtual bool started() const = 0;
  virtual bool keep_alive() const = 0;
  virtual bool chunked() const = 0;
  Message message;
};

namespace {

template <class Base, bool isRequest>
struct Typed final : Base {
  Typed(const ParserLimits& limits, bool bodiless) : parser(this->message) {
    parser.header_limit(limits.header_bytes);
    parser.body_limit(limits.body_bytes);
    parser.eager(true);
    if (bodiless) parser.skip(true);
  }
  size_t put(std::string_view input, ErrorCode& code) override {
    return parser.put(boost::asio::const_buffer(input.data(), input.size()), code);
  }
  void put_eof(ErrorCode& code) override { parser.put_eof(code); }
  bool head_done() const override { return parser.is_header_done(); }
  bool done() const override { return parser.is_done(); }
  bool started() const override { return parser.got_some(); }
  bool keep_alive() const override { return parser.keep_alive(); }
  bool chunked() const override { return parser.chunked(); }
  Collector<isRequest> parser;
};

}  // namespace

Parser::Parser(MessageKind kind, ParserLimits limits, bool bodiless) {
  if (kind == MessageKind::request)
    impl_ = std::make_unique<Typed<Impl, true>>(limits, bodiless);
  else
    impl_ = std::make_unique<Typed<Impl, false>>(limits, bodiless);
}

Parser::~Parser() = default;
Parser::Parser(Parser&&) noexcept = default;

tl::expected<size_t, ParseFailure> Parser::put(std::string_view input) {
  if (head_done() && impl_->chunked() && input.size() < kLeastOfChunks) return size_t{0};
  ErrorCode code;
  const size_t taken = impl_->put(input, code);
  if (code == error::need_more) code = {};
  if (code) return tl::unexpected(describe(code));
  if (taken == 0 && head_done() && !done() && input.size() >= kMaxChunkLine)
    return tl::unexpected(ParseFailure{400, "malformed HTTP message: no end of a chunk's head or trailer"});
  return taken;
}

tl::expected<void, ParseFailure> Parser::end() {
  ErrorCode code;
  if (!started()) return tl::unexpected(ParseFailure{400, "the connection ended before a message"});
  impl_->put_eof(code);
  if (code) return tl::unexpected(ParseFailure{400, "the connection ended within a message"});
  return {};
}

bool Parser::head_done() const {
  return impl_->head_done();
}
bool Parser::done() const {
  return impl_->done();
}
bool Parser::started() const {
  return impl_->started();
}
const std::string& Parser::method() const {
  return impl_->message.method;
}
const std::string& Parser::target() const {
  return impl_->message.target;
}
int Parser::status() const {
  return impl_->message.status;
}
int Parser::minor_version() const {
  return impl_->message.version - 10;
}
const Headers& Parser::headers() const {
  return impl_->message.headers;
}
Request Parser::take_request() {
  Message& message = impl_->message;
  return {std::move(message.method), std::move(message.target), std::move(message.headers), ""};
}
Headers Parser::take_headers() {
  return std::exchange(impl_->message.headers, {});
}
bool Parser::keep_alive() const {
  return impl_->keep_alive();
}
std::string Parser::take_body() {
  return std::exchange(impl_->message.body, {});
}
size_t Parser::body_held() const {
  return impl_->message.body.size();
}

}  // namespace nereus::http
