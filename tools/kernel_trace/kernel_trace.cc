// Writes every kernel launch to a file as it completes: grid, workgroups, arguments, times. Kernels run unmodified.
//
// A line of JSON per launch. What is kept in memory is the arguments of launches that have not completed, up to a
// number of launches that the user can choose, and the sums of each kernel.
#include <luthier/ratio.h>
#include <luthier/tool.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <unistd.h>

namespace {

std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string toJson(const luthier::Dim3 &size) {
  return "[" + std::to_string(size.x) + "," + std::to_string(size.y) + "," + std::to_string(size.z) + "]";
}

std::string hexadecimal(const std::byte *first, size_t bytes) {
  std::string text = "0x";
  for (size_t n = bytes; n-- > 0;) { // as a number: the last byte counts most
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(first[n]));
    text += digits;
  }
  return text;
}

class KernelTrace : public luthier::Tool {
public:
  void start() override {
    report().columns({"kernel", "launches", "ms", "mean us", "least us", "most us"});
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (fd_ < 0)
      warn("cannot create " + path_ + ": " + std::strerror(errno) + ": nothing is traced");
  }

  void instrument(luthier::Kernel &, luthier::Site at) override { at.observe(); }

  luthier::Decision launch(luthier::Launch &launch) override {
    ++begun_;
    if (pending_.size() < most_)
      pending_[launch.number()] = argumentsOf(launch);
    return luthier::Decision::Observed;
  }

  void finished(const luthier::Launch &launch) override {
    ++completed_;
    const auto arguments = pending_.extract(launch.number());
    if (arguments.empty())
      ++withoutArguments_;
    write("{\"launch\":" + std::to_string(launch.number()) + ",\"kernel\":" + quoted(launch.kernel().name()) +
          ",\"symbol\":" + quoted(launch.kernel().symbol()) + ",\"gpu\":" + std::to_string(launch.gpu()) +
          ",\"queue\":" + std::to_string(launch.queue()) + ",\"grid\":" + toJson(launch.grid()) +
          ",\"workgroup\":" + toJson(launch.workgroup()) + ",\"begin_ns\":" + std::to_string(launch.beginTime()) +
          ",\"end_ns\":" + std::to_string(launch.endTime()) +
          (arguments.empty() ? "" : ",\"arguments\":" + arguments.mapped()) + "}\n");
    const uint64_t time = launch.endTime() - launch.beginTime();
    Sums &sums = kernels_[launch.kernel().id()];
    sums.least = sums.launches++ ? std::min(sums.least, time) : time;
    sums.most = std::max(sums.most, time);
    sums.all += time;
  }

  void exit() override {
    for (const auto &[kernel, sums] : kernels_)
      report().row(kernel, sums.launches, luthier::ratio(sums.all, 1e6, 3),
                   luthier::ratio(sums.all, 1e3 * static_cast<double>(sums.launches)), luthier::ratio(sums.least, 1e3),
                   luthier::ratio(sums.most, 1e3));
    if (begun_ > completed_)
      warn(std::to_string(begun_ - completed_) + " launches had not completed and are not in " + path_);
    if (withoutArguments_)
      warn(std::to_string(withoutArguments_) + " launches have no arguments in " + path_ +
           ": too many were under way at a time (--kernel_trace.pending)");
    if (unwritten_) {
      warn(std::to_string(unwritten_) + " launches are missing: " + failed_);
      lost(unwritten_);
    }
  }

private:
  /// Those of the source, as far as the host can read them.
  static std::string argumentsOf(const luthier::Launch &launch) {
    const std::vector<std::byte> bytes = launch.arguments();
    std::string text;
    for (const luthier::KernelArgument &each : launch.kernel().arguments())
      if (!each.hidden && each.offset + each.size <= bytes.size()) {
        text += (text.empty() ? "{" : ",{") + ("\"offset\":" + std::to_string(each.offset)) +
                ",\"size\":" + std::to_string(each.size);
        if (!each.name.empty())
          text += ",\"name\":" + quoted(each.name);
        if (!each.type.empty())
          text += ",\"type\":" + quoted(each.type);
        text += ",\"value\":" + quoted(hexadecimal(bytes.data() + each.offset, each.size)) + "}";
      }
    return "[" + text + "]";
  }

  /// A line at once: what is in the file is whole, however the application ends.
  void write(const std::string &line) {
    for (size_t done = 0; done < line.size() && fd_ >= 0;) {
      const ssize_t n = ::write(fd_, line.data() + done, line.size() - done);
      if (n > 0)
        done += static_cast<size_t>(n);
      else if (errno != EINTR) {
        failed_ = "cannot write " + path_ + ": " + std::strerror(errno);
        ::close(fd_);
        fd_ = -1;
      }
    }
    unwritten_ += fd_ < 0;
  }

  struct Sums {
    uint64_t launches = 0, all = 0, least = 0, most = 0; // nanoseconds
  };
  std::string path_ = outputFile("file", "kernel_trace.jsonl", "file that launches are written to");
  uint64_t most_ = number("pending", 4096, "launches under way at a time whose arguments are kept", 1, 1 << 20);
  int fd_ = -1;
  std::string failed_; ///< why the file could not be written any further
  uint64_t begun_ = 0, completed_ = 0, withoutArguments_ = 0, unwritten_ = 0;
  std::map<uint64_t, std::string> pending_; ///< arguments of launches that have not completed
  std::map<luthier::KernelId, Sums> kernels_;
};

} // namespace

LUTHIER_TOOL(KernelTrace)
