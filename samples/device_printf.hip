// HIP's own printf from device code. Its output reaches the program's stdout through the runtime's hostcall thread; the
// sample sends stdout to a file while the kernel runs and compares the lines, sorted because waves print in no fixed
// order.
#include "sample.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <unistd.h>

constexpr int Groups = 3;
constexpr int GroupSize = 80; // one full wave and a quarter of another

__global__ void greet(const int *numbers) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (numbers[i] % 2 == 0)
    printf("thread %03d: %s %d, %#llx, %.3f, %c\n", i, "even", numbers[i], 0x100000000ull + i, i / 8.0, 'a' + i % 26);
  else
    printf("thread %03d: odd\n", i);
}

std::string expectedLine(int i, int number) {
  char line[128];
  if (number % 2 == 0)
    std::snprintf(line, sizeof line, "thread %03d: %s %d, %#llx, %.3f, %c", i, "even", number, 0x100000000ull + i,
                  i / 8.0, 'a' + i % 26);
  else
    std::snprintf(line, sizeof line, "thread %03d: odd", i);
  return line;
}

int main() {
  const int n = Groups * GroupSize;
  sample::Random random;
  std::vector<int> numbers(n);
  std::vector<std::string> expected;
  for (int i = 0; i < n; ++i) {
    numbers[i] = random.below(1000);
    expected.push_back(expectedLine(i, numbers[i]));
  }
  sample::DeviceArray<int> deviceNumbers(numbers);

  char path[] = "/tmp/device_printf.XXXXXX";
  int file = mkstemp(path);
  if (file < 0)
    sample::fail("no temporary file");
  std::fflush(stdout);
  int terminal = dup(STDOUT_FILENO);
  dup2(file, STDOUT_FILENO);
  greet<<<Groups, GroupSize>>>(deviceNumbers.data());
  hipError_t launched = hipGetLastError();
  hipError_t finished = hipDeviceSynchronize();
  std::fflush(stdout);
  dup2(terminal, STDOUT_FILENO);
  close(terminal);
  close(file);

  std::vector<std::string> lines;
  std::ifstream input(path);
  for (std::string line; std::getline(input, line);)
    lines.push_back(line);
  unlink(path);
  HIP_CHECK(launched);
  HIP_CHECK(finished);
  std::sort(lines.begin(), lines.end());
  std::sort(expected.begin(), expected.end());
  if (lines.size() != expected.size())
    sample::fail("%zu lines were printed, expected %zu", lines.size(), expected.size());
  for (size_t i = 0; i < lines.size(); ++i)
    if (lines[i] != expected[i])
      sample::fail("line %zu is '%s', expected '%s'", i, lines[i].c_str(), expected[i].c_str());
  std::printf("%zu lines printed by the GPU, the first: %s\n", lines.size(), lines.front().c_str());
  return sample::pass();
}
