#include "check/records.h"

#include "support/write_all.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

namespace luthier::check {

using nlohmann::json;

namespace {

constexpr const char *kFindings = "findings";
constexpr const char *kCounts = ".counts";
/// Places that one process counts; more of them are reported but not counted.
constexpr size_t kMostCounted = 4096;

} // namespace

struct RecordWriter::Counts {
  std::atomic<uint64_t> launches, kernels;
  std::atomic<uint64_t> again[kMostCounted];
};

Result<std::unique_ptr<RecordWriter>> RecordWriter::open(const std::filesystem::path &folder) {
  const auto opened = [](const std::filesystem::path &path, int flags) -> Result<int> {
    const int fd = ::open(path.c_str(), flags | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
      return makeError("cannot open {}: {}", path.string(), std::strerror(errno));
    return fd;
  };
  const int file = LUTHIER_TRY(opened(folder / kFindings, O_WRONLY | O_APPEND));
  const std::filesystem::path countsFile = folder / fmt::format("{}{}", getpid(), kCounts);
  const Result<int> counts = opened(countsFile, O_RDWR);
  void *mapped = MAP_FAILED;
  if (counts && ftruncate(*counts, sizeof(Counts)) == 0)
    mapped = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, *counts, 0);
  const int reason = errno;
  if (counts)
    close(*counts);
  if (mapped == MAP_FAILED) {
    close(file);
    return makeError("cannot map {}: {}", countsFile.string(), std::strerror(reason));
  }
  return std::unique_ptr<RecordWriter>(new RecordWriter(file, static_cast<Counts *>(mapped)));
}

RecordWriter::~RecordWriter() {
  munmap(counts_, sizeof(Counts));
  close(file_);
}

/// One write, so that lines of several processes stay whole.
void RecordWriter::append(const std::string &line) const { writeAll(file_, line + "\n"); }

size_t RecordWriter::add(const Finding &finding) {
  const size_t number = findings_.fetch_add(1);
  append(json{{"process", getpid()}, {"number", number}, {"finding", toJson(finding)}}.dump(
      -1, ' ', false, json::error_handler_t::replace));
  again(number);
  return number;
}

void RecordWriter::again(size_t finding) {
  if (finding < kMostCounted)
    counts_->again[finding].fetch_add(1, std::memory_order_relaxed);
}

void RecordWriter::countLaunch(bool firstOfKernel) {
  counts_->launches.fetch_add(1, std::memory_order_relaxed);
  if (firstOfKernel)
    counts_->kernels.fetch_add(1, std::memory_order_relaxed);
}

void RecordWriter::uncountLaunch() { counts_->launches.fetch_sub(1, std::memory_order_relaxed); }

void RecordWriter::notChecked(const std::string &what) {
  append(json{{"not_checked", what}}.dump(-1, ' ', false, json::error_handler_t::replace));
}

Result<Records> Records::read(const std::filesystem::path &folder) {
  Records all;
  std::map<uint64_t, std::vector<uint64_t>> counts; // by process
  std::error_code failed;
  for (const auto &entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.path().extension() != kCounts)
      continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::vector<uint64_t> values(sizeof(RecordWriter::Counts) / sizeof(uint64_t));
    file.read(reinterpret_cast<char *>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(uint64_t)));
    ++all.processes;
    all.launches += values[0];
    all.kernels += values[1];
    counts[std::strtoull(entry.path().stem().c_str(), nullptr, 10)] = {values.begin() + 2, values.end()};
  }
  if (failed)
    return makeError("cannot read {}: {}", folder.string(), failed.message());

  std::ifstream file(folder / kFindings);
  std::map<std::string, size_t> known; // by key
  for (std::string line; std::getline(file, line);) {
    const json value = json::parse(line, nullptr, false);
    if (!value.is_object())
      continue; // the last line of a process that was killed while it wrote
    if (const auto what = value.find("not_checked"); what != value.end() && what->is_string()) {
      if (std::ranges::find(all.notChecked, what->get<std::string>()) == all.notChecked.end())
        all.notChecked.push_back(what->get<std::string>());
      continue;
    }
    const auto found = value.find("finding");
    std::optional<Finding> finding = found != value.end() ? findingFrom(*found) : std::nullopt;
    if (!finding)
      continue;
    const auto process = value.value("process", uint64_t{0});
    const auto number = value.value("number", uint64_t{0});
    if (const auto own = counts.find(process); own != counts.end() && number < own->second.size())
      finding->count = std::max<uint64_t>(1, own->second[number]);
    const auto [place, isNew] = known.emplace(finding->key(), all.findings.size());
    if (isNew)
      all.findings.push_back(*std::move(finding));
    else
      all.findings[place->second].count += finding->count;
  }
  return all;
}

} // namespace luthier::check
