// A consumer with services of its own, which notes its errors and what is printed, and does not end the process.
#pragma once

#include "host_buffer.h"
#include "hostcall/consumer.h"

#include <gmock/gmock.h>

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace luthier::hostcall {

/// A handler that is a function object.
using HandlerFunction = std::function<int(uint32_t service, uint64_t *payload)>;

/// Matches an ErrorReport.
inline auto isError(int code, const std::string &text) {
  return testing::Truly(
      [code, text](const auto &report) { return report.code == code && report.text.find(text) != std::string::npos; });
}

class ConsumerTest : public testing::Test {
protected:
  std::unique_ptr<Consumer> makeConsumer(void *doorbell = nullptr) {
    auto consumer = Consumer::create({.services = &services_,
                                      .doorbell = doorbell,
                                      .onError =
                                          [this](int error, const std::string &text) {
                                            std::lock_guard lock(mutex_);
                                            errors_.push_back({error, text});
                                          },
                                      .halt = false,
                                      .print =
                                          [this](uint64_t stream, const std::string &text) {
                                            std::lock_guard lock(mutex_);
                                            (stream == wire::kStderr ? standardError_ : standardOutput_) += text;
                                            return static_cast<int>(text.size());
                                          }});
    EXPECT_TRUE(consumer);
    return std::move(*consumer);
  }
  std::unique_ptr<Consumer> launchConsumer(void *doorbell = nullptr) {
    auto consumer = makeConsumer(doorbell);
    EXPECT_TRUE(consumer->launch());
    return consumer;
  }

  void serve(uint32_t service, HandlerFunction function) {
    handlers_.push_back(std::make_unique<HandlerFunction>(std::move(function)));
    EXPECT_TRUE(services_.add(
        service,
        [](void *state, uint32_t requested, uint64_t *payload) {
          return (*static_cast<HandlerFunction *>(state))(requested, payload);
        },
        handlers_.back().get()));
  }
  /// A service that adds one.
  void serveIncrement(uint32_t service = 42) {
    serve(service, [](uint32_t, uint64_t *payload) {
      ++payload[0];
      return 0;
    });
  }

  struct ErrorReport {
    int code;
    std::string text;
    bool operator==(const ErrorReport &) const = default;
  };
  std::vector<ErrorReport> errors() {
    std::lock_guard lock(mutex_);
    return errors_;
  }
  std::string standardOutput() {
    std::lock_guard lock(mutex_);
    return standardOutput_;
  }
  std::string standardError() {
    std::lock_guard lock(mutex_);
    return standardError_;
  }

  Services services_;

private:
  std::vector<std::unique_ptr<HandlerFunction>> handlers_;
  std::mutex mutex_;
  std::vector<ErrorReport> errors_;
  std::string standardOutput_, standardError_;
};

} // namespace luthier::hostcall
