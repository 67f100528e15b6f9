// Calls the compiler cannot inline: device functions through a table of pointers, virtual functions of objects built on
// the GPU, and recursion with a stack in scratch memory. Lanes of one wave call different functions and recurse to
// different depths.
#include "sample.h"

using Operation = int (*)(int, int);

__host__ __device__ int add(int a, int b) { return a + b; }
__host__ __device__ int subtract(int a, int b) { return a - b; }
__host__ __device__ int multiply(int a, int b) { return a * b; }
__host__ __device__ int power(int a, int b) {
  int result = 1;
  for (int i = 0; i < (b & 7); ++i)
    result *= a;
  return result;
}

constexpr int Operations = 4;
__device__ Operation deviceTable[Operations] = {add, subtract, multiply, power};
const Operation hostTable[Operations] = {add, subtract, multiply, power};

class Shape {
public:
  __host__ __device__ virtual int area() const = 0;
};

class Square : public Shape {
public:
  __host__ __device__ explicit Square(int side) : side_(side) {}
  __host__ __device__ int area() const override { return side_ * side_; }

private:
  int side_;
};

class Rectangle : public Shape {
public:
  __host__ __device__ Rectangle(int width, int height) : width_(width), height_(height) {}
  __host__ __device__ int area() const override { return width_ * height_; }

private:
  int width_, height_;
};

constexpr size_t ShapeBytes = sizeof(Rectangle) > sizeof(Square) ? sizeof(Rectangle) : sizeof(Square);

__host__ __device__ Shape *makeShape(void *memory, int i) {
  if (i % 3 == 0)
    return new (memory) Square(i);
  return new (memory) Rectangle(i, i + 1);
}

// Objects of one launch are used by the next: the virtual table pointers must stay valid.
__global__ void makeShapes(char *memory, Shape **shapes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    shapes[i] = makeShape(memory + i * ShapeBytes, i);
}

// The number of ways to climb `stairs` stairs; the array makes every call own some scratch.
__host__ __device__ __attribute__((noinline)) int climb(int stairs, int *path, int depth) {
  if (stairs <= 1)
    return 1;
  int below[2] = {0, depth};
  path[depth & 1] = depth;
  int ways = climb(stairs - 1, below, depth + 1) + climb(stairs - 2, below, depth + 1);
  return ways + (below[0] + below[1] < 0);
}

__host__ __device__ int expectedOf(int i, int viaPointer, int viaVirtual) {
  int path[2] = {};
  return viaPointer * 31 + viaVirtual * 17 + climb(i % 11, path, 0) + path[0];
}

__global__ void callAll(Shape *const *shapes, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = expectedOf(i, deviceTable[i % Operations](i, i / 3), shapes[i]->area());
}

int main(int argc, char **argv) {
  int n = sample::sizeArgument(argc, argv, 300);
  sample::DeviceArray<char> memory(n * ShapeBytes);
  sample::DeviceArray<Shape *> shapes(n);
  sample::DeviceArray<int> out(n);
  makeShapes<<<(n + 127) / 128, 128>>>(memory.data(), shapes.data(), n);
  callAll<<<(n + 127) / 128, 128>>>(shapes.data(), out.data(), n);
  HIP_CHECK(hipGetLastError());

  std::vector<int> result = out.toHost();
  alignas(Rectangle) char hostMemory[ShapeBytes];
  for (int i = 0; i < n; ++i) {
    int expected = expectedOf(i, hostTable[i % Operations](i, i / 3), makeShape(hostMemory, i)->area());
    if (result[i] != expected)
      sample::fail("lane %d computed %d, expected %d", i, result[i], expected);
  }
  std::printf("%d lanes called %d functions by pointer, two by virtual table, and one recursively\n", n, Operations);
  return sample::pass();
}
