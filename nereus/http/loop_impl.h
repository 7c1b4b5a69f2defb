#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <map>
#include <thread>

#include "nereus/http/loop.h"

namespace nereus::http {

/// For the files that know Asio.
struct Loop::Impl {
  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{context.get_executor()};
  std::map<uint64_t, std::function<void()>> hooks;  // by number, of what is to be closed with the loop
  uint64_t next_hook = 0;
  bool closing = false;
  std::thread thread;
};

}  // namespace nereus::http
