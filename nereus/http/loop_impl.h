#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <map>
#include <thread>

#include "nereus/http/loop.h"

namespace nereus::http {

/// For the files that know Asio.
struct Loop::Impl {
  /// Where its owner has not removed it.
  void call_hook(uint64_t id);

  // By number, of what is to be closed with the loop. Outlives the context, which may be left with work that
  // was posted too late and holds what has a hook.
  std::map<uint64_t, std::function<void()>> hooks;
  uint64_t next_hook = 0;
  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{context.get_executor()};
  bool closing = false;
  std::thread thread;
};

}  // namespace nereus::http
