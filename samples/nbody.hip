// Gravity between n bodies. The GPU sets up a spiral galaxy with the float sin, cos, exp, log, pow and atan2, then
// takes time steps with rsqrtf, positions staged through LDS. The CPU repeats both in double precision; the allowed
// relative errors are below.
#include "sample.h"

#include <algorithm>
#include <cmath>

constexpr int GroupSize = 128;
constexpr int Steps = 3;
constexpr float TimeStep = 0.01f;
constexpr float Softening = 0.05f;
constexpr double SetupTolerance = 4e-6;
constexpr double StepTolerance = 1e-5;

template <typename Real> struct Body {
  Real x, y, z, mass;
};

// One formula for both sides: float on the GPU, double on the CPU.
template <typename Real> __host__ __device__ Body<Real> placeBody(int i, int n) {
  Real t = (Real(i) + Real(0.5)) / Real(n);
  Real angle = Real(12) * std::sqrt(t);
  Real radius = std::exp(t) * std::pow(t, Real(0.25));
  Real cosine = std::cos(angle), sine = std::sin(angle);
  return {radius * cosine, radius * sine, Real(0.1) * std::atan2(cosine, radius), Real(1) + std::log(Real(1) + t)};
}

__global__ void setUp(Body<float> *bodies, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    bodies[i] = placeBody<float>(i, n);
}

__global__ void step(const Body<float> *in, Body<float> *out, float3 *velocities, int n) {
  __shared__ Body<float> tile[GroupSize];
  int i = blockIdx.x * GroupSize + threadIdx.x;
  Body<float> self = in[min(i, n - 1)];
  float ax = 0, ay = 0, az = 0;
  for (int start = 0; start < n; start += GroupSize) {
    int other = start + threadIdx.x;
    tile[threadIdx.x] = other < n ? in[other] : Body<float>{0, 0, 0, 0};
    __syncthreads();
    for (int j = 0; j < GroupSize; ++j) {
      float dx = tile[j].x - self.x, dy = tile[j].y - self.y, dz = tile[j].z - self.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + Softening * Softening);
      float scale = tile[j].mass * inverse * inverse * inverse;
      ax += dx * scale;
      ay += dy * scale;
      az += dz * scale;
    }
    __syncthreads();
  }
  if (i >= n)
    return;
  float3 v = velocities[i];
  v.x += ax / n * TimeStep;
  v.y += ay / n * TimeStep;
  v.z += az / n * TimeStep;
  velocities[i] = v;
  out[i] = {self.x + v.x * TimeStep, self.y + v.y * TimeStep, self.z + v.z * TimeStep, self.mass};
}

void stepOnCpu(std::vector<Body<double>> &bodies, std::vector<double> &velocities) {
  std::vector<Body<double>> old = bodies;
  size_t n = bodies.size();
  for (size_t i = 0; i < n; ++i) {
    double ax = 0, ay = 0, az = 0;
    for (const Body<double> &other : old) {
      double dx = other.x - old[i].x, dy = other.y - old[i].y, dz = other.z - old[i].z;
      double inverse = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + double(Softening) * Softening);
      double scale = other.mass * inverse * inverse * inverse;
      ax += dx * scale;
      ay += dy * scale;
      az += dz * scale;
    }
    bodies[i].x += (velocities[3 * i] += ax / n * TimeStep) * TimeStep;
    bodies[i].y += (velocities[3 * i + 1] += ay / n * TimeStep) * TimeStep;
    bodies[i].z += (velocities[3 * i + 2] += az / n * TimeStep) * TimeStep;
  }
}

// The largest difference in any coordinate, relative to the size of the galaxy (e).
double worstError(const std::vector<Body<float>> &bodies, const std::vector<Body<double>> &expected) {
  double worst = 0;
  for (size_t i = 0; i < bodies.size(); ++i)
    for (double error : {bodies[i].x - expected[i].x, bodies[i].y - expected[i].y, bodies[i].z - expected[i].z,
                         bodies[i].mass - expected[i].mass})
      worst = std::isnan(error) ? INFINITY : std::max(worst, std::abs(error) / M_E);
  return worst;
}

int main(int argc, char **argv) {
  int n = sample::sizeArgument(argc, argv, 500);
  int groups = (n + GroupSize - 1) / GroupSize;
  sample::DeviceArray<Body<float>> bodies(n), next(n);
  sample::DeviceArray<float3> velocities(n);
  velocities.zero();

  setUp<<<groups, GroupSize>>>(bodies.data(), n);
  HIP_CHECK(hipGetLastError());
  std::vector<Body<double>> expected(n);
  for (int i = 0; i < n; ++i)
    expected[i] = placeBody<double>(i, n);
  double setupError = worstError(bodies.toHost(), expected);
  if (!(setupError <= SetupTolerance))
    sample::fail("after the set-up the largest error is %g, allowed is %g", setupError, SetupTolerance);

  std::vector<double> expectedVelocities(3 * n);
  Body<float> *current = bodies.data(), *other = next.data();
  for (int i = 0; i < Steps; ++i) {
    step<<<groups, GroupSize>>>(current, other, velocities.data(), n);
    HIP_CHECK(hipGetLastError());
    std::swap(current, other);
    stepOnCpu(expected, expectedVelocities);
  }
  double stepError = worstError((current == bodies.data() ? bodies : next).toHost(), expected);
  if (!(stepError <= StepTolerance))
    sample::fail("after %d steps the largest error is %g, allowed is %g", Steps, stepError, StepTolerance);
  std::printf("%d bodies, %d steps; largest relative error %.1e after set-up, %.1e at the end\n", n, Steps, setupError,
              stepError);
  return sample::pass();
}
