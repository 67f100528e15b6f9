// What compilers make of pointers to functions, virtual functions, switches, recursion, stacks and tables.
using uint = unsigned int;
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device))

DEVICE const uint constants[8] = {3, 1, 4, 1, 5, 9, 2, 6};
DEVICE uint global;

DEVICE __attribute__((noinline)) uint twice(uint x) { return x * 2 + 1; }
DEVICE __attribute__((noinline)) uint thrice(uint x) { return x * 3 + 2; }
DEVICE uint (*const functions[2])(uint) = { twice, thrice };

KERNEL pointerCalls(uint *out, uint *in) {
  const uint n = __builtin_amdgcn_workitem_id_x();
  uint x = in[n];
  for (uint i = 0; i < 6; ++i)
    x = functions[in[i] & 1](x);
  out[n] = x + constants[n & 7];
}

struct Shape {
  DEVICE virtual uint area(uint x) const { return x; }
};
struct Square : Shape {
  DEVICE uint area(uint x) const override { return x * x; }
};
struct Circle : Shape {
  DEVICE uint area(uint x) const override { return x * x * 3; }
};
KERNEL virtualCalls(uint *out, uint *in) {
  const uint n = __builtin_amdgcn_workitem_id_x();
  Shape shape;
  Square square;
  Circle circle;
  const Shape *const shapes[] = {&shape, &square, &circle};
  uint x = 0;
  for (uint i = 0; i < 6; ++i)
    x += shapes[in[i] % 3]->area(in[n] + i);
  out[n] = x;
}

KERNEL switches(uint *out, uint *in) {
  const uint n = __builtin_amdgcn_workitem_id_x();
  uint x = in[n];
  for (uint i = 0; i < 12; ++i)
    switch (in[i] % 9) {
    case 0:
      x += 17;
      break;
    case 1:
      x ^= in[n + i];
      break;
    case 2:
      x *= 3;
      break;
    case 3:
      x = x >> 3 | x << 29;
      break;
    case 4:
      x -= constants[x & 7];
      break;
    case 5:
      x = ~x;
      break;
    case 6:
      x += n * i;
      break;
    default:
      x ^= 0x5555;
      break;
    }
  out[n] = x;
}

DEVICE __attribute__((noinline)) uint fibonacci(uint n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
KERNEL recursive(uint *out, uint *in) {
  const uint n = __builtin_amdgcn_workitem_id_x();
  out[n] = fibonacci(in[n] % 7) + in[n];
}

KERNEL stack(uint *out, uint *in) {
  const uint n = __builtin_amdgcn_workitem_id_x();
  uint local[32];
  for (uint i = 0; i < 32; ++i)
    local[i] = in[n + i];
  for (uint i = 0; i < 31; ++i)
    local[local[i] & 31] += local[i + 1];
  uint x = 0;
  for (uint i = 0; i < 32; ++i)
    x = x * 31 + local[i];
  out[n] = x;
}
