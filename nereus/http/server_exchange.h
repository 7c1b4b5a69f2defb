#pragma once

#include <memory>
#include <string>

#include "nereus/http/connection.h"
#include "nereus/http/exchange.h"
#include "nereus/http/parser.h"
#include "nereus/http/server.h"

namespace nereus::http {

/// An Exchange over a connection. Made once the request's head is there.
class ServerExchange final : public Exchange {
 public:
  /// `keep_alive`: the server is willing to take another request on the connection.
  ServerExchange(std::shared_ptr<Connection> connection, Parser parser, const ServerOptions& options,
                 bool keep_alive);
  /// Said before the handler is called, if at all.
  void trust() { trusted_ = true; }
  ~ServerExchange() override;

  const Request& request() const override { return request_; }
  bool trusted() const override { return trusted_; }
  std::string peer() const override { return connection_->peer(); }
  Task<Result<std::string>> body() override;
  Task<Result<std::string>> read_some() override;
  Task<Status> respond(Response response) override;
  Task<Status> begin(int status, Headers headers) override;
  Task<Status> write(std::string_view piece) override;
  Task<Status> end() override;
  void abort() override;
  bool begun() const override { return begun_; }
  std::stop_token stop() const override { return stop_.get_token(); }

  void request_stop() { stop_.request_stop(); }
  /// Closes the answer in whatever state the handler left it; whether the connection may be used again.
  Task<bool> finish();

 private:
  double body_seconds_left();
  Task<Result<std::string>> refuse(int status, std::string message);
  std::string_view connection_field() const;
  /// The client may still be sending what nobody reads; a close now would take the answer away from it.
  Task<> drain();

  std::shared_ptr<Connection> connection_;
  Parser parser_;
  const ServerOptions& options_;
  Request request_;
  std::stop_source stop_;
  bool keep_alive_, begun_ = false, ended_ = false, chunked_ = false, bodiless_ = false;
  bool continue_expected_ = false, trusted_ = false;
  bool body_awaited_ = false;
  double body_until_ = 0;  // when the body will have been too slow
};

}  // namespace nereus::http
