// rocSPARSE against the CPU: products, triangular solves and incomplete factors (waves wait for other waves), products
// of sparse matrices, sorting, conversions. Its kernels are in librocsparse; this program has none.
//
// Usage: rocsparse [ROWS]. Prints what was compared and a digest of it, the same in every run.

#include "csr.h"

#include <rocsparse/rocsparse.h>

#include <algorithm>
#include <string>

using namespace sample;

namespace {

#define SPARSE_CHECK(call)                                                                                             \
  do                                                                                                                   \
    if (const rocsparse_status status = (call); status != rocsparse_status_success)                                    \
      fail("%s:%d: %s returned %d", __FILE__, __LINE__, #call, status);                                                \
  while (0)

constexpr auto kNone = rocsparse_operation_none;
constexpr double kAlpha = 1.5, kBeta = -0.25;

rocsparse_handle handle;
rocsparse_mat_descr general;

/// What rocSPARSE asks to be given for a while.
using Buffer = DeviceArray<char>;

struct DeviceCsr {
  DeviceArray<int> start, column;
  DeviceArray<double> value;
  explicit DeviceCsr(const Csr &matrix) : start(matrix.start), column(matrix.column), value(matrix.value) {}
};

struct Info {
  rocsparse_mat_info info;
  Info() { SPARSE_CHECK(rocsparse_create_mat_info(&info)); }
  ~Info() { SPARSE_CHECK(rocsparse_destroy_mat_info(info)); }
  operator rocsparse_mat_info() const { return info; }
};

/// Equal but for `tolerance`, relative or absolute; equal to the bit by default.
template <class T>
void compare(const std::string &what, const std::vector<T> &got, const std::vector<T> &expected, double tolerance = 0) {
  if (got.size() != expected.size())
    fail("%s: %zu values instead of %zu", what.c_str(), got.size(), expected.size());
  for (size_t n = 0; n < got.size(); ++n)
    if (!(std::abs(double(got[n]) - double(expected[n])) <= tolerance * std::max(1.0, std::abs(double(expected[n])))))
      fail("%s: value %zu is %.17g instead of %.17g", what.c_str(), n, double(got[n]), double(expected[n]));
  uint64_t digest = 0xcbf29ce484222325; // FNV-1a
  for (size_t n = 0; n < got.size() * sizeof(T); ++n)
    digest = (digest ^ reinterpret_cast<const unsigned char *>(got.data())[n]) * 0x100000001b3;
  std::printf("%-20s %6zu values %016llx\n", what.c_str(), got.size(), static_cast<unsigned long long>(digest));
}

/// alpha * matrix * x + beta * y in all formats.
void vectorProducts(const Csr &m, Random &random) {
  const DeviceCsr d(m);
  const auto x = numbers(m.columns, random), y = numbers(m.rows, random);
  const DeviceArray<double> dx(x);
  const auto expected = m.times(x.data(), kAlpha, kBeta, y);
  const auto product = [&](const std::string &what, const auto &call) {
    const DeviceArray<double> dy(y);
    call(dy.data());
    compare(what, dy.toHost(), expected);
  };
  const auto csr = [&](rocsparse_mat_info info) {
    return [&, info](double *out) {
      SPARSE_CHECK(rocsparse_dcsrmv(handle, kNone, m.rows, m.columns, m.entries(), &kAlpha, general, d.value.data(),
                                    d.start.data(), d.column.data(), info, dx.data(), &kBeta, out));
    };
  };
  product("csrmv", csr(nullptr));
  const Info info;
  SPARSE_CHECK(rocsparse_dcsrmv_analysis(handle, kNone, m.rows, m.columns, m.entries(), general, d.value.data(),
                                         d.start.data(), d.column.data(), info));
  product("csrmv, adaptive", csr(info));

  const auto transposedY = numbers(m.columns, random);
  const DeviceArray<double> dty(transposedY), transposedX(y);
  SPARSE_CHECK(rocsparse_dcsrmv(handle, rocsparse_operation_transpose, m.rows, m.columns, m.entries(), &kAlpha, general,
                                d.value.data(), d.start.data(), d.column.data(), nullptr, transposedX.data(), &kBeta,
                                dty.data()));
  compare("csrmv, transposed", dty.toHost(), m.transposed().times(y.data(), kAlpha, kBeta, transposedY));

  const DeviceArray<int> rows(m.entries());
  SPARSE_CHECK(rocsparse_csr2coo(handle, d.start.data(), m.entries(), m.rows, rows.data(), rocsparse_index_base_zero));
  compare("csr2coo", rows.toHost(), m.rowOfEntry());
  product("coomv", [&](double *out) {
    SPARSE_CHECK(rocsparse_dcoomv(handle, kNone, m.rows, m.columns, m.entries(), &kAlpha, general, d.value.data(),
                                  rows.data(), d.column.data(), dx.data(), &kBeta, out));
  });

  int width = 0;
  SPARSE_CHECK(rocsparse_csr2ell_width(handle, m.rows, general, d.start.data(), general, &width));
  const DeviceArray<double> ellValues(size_t(width) * m.rows);
  const DeviceArray<int> ellColumns(size_t(width) * m.rows);
  SPARSE_CHECK(rocsparse_dcsr2ell(handle, m.rows, general, d.value.data(), d.start.data(), d.column.data(), general,
                                  width, ellValues.data(), ellColumns.data()));
  product("ellmv", [&](double *out) {
    SPARSE_CHECK(rocsparse_dellmv(handle, kNone, m.rows, m.columns, &kAlpha, general, ellValues.data(),
                                  ellColumns.data(), width, dx.data(), &kBeta, out));
  });

  rocsparse_hyb_mat hyb;
  SPARSE_CHECK(rocsparse_create_hyb_mat(&hyb));
  SPARSE_CHECK(rocsparse_dcsr2hyb(handle, m.rows, m.columns, general, d.value.data(), d.start.data(), d.column.data(),
                                  hyb, 0, rocsparse_hyb_partition_auto));
  product("hybmv", [&](double *out) {
    SPARSE_CHECK(rocsparse_dhybmv(handle, kNone, &kAlpha, general, hyb, dx.data(), &kBeta, out));
  });
  SPARSE_CHECK(rocsparse_destroy_hyb_mat(hyb));
}

/// Square blocks; each of these sizes has kernels of its own.
void blockProducts(const Csr &m, Random &random) {
  const DeviceCsr d(m);
  for (const int block : {2, 3, 4, 5, 8, 16, 17}) {
    const int rows = (m.rows + block - 1) / block, columns = (m.columns + block - 1) / block;
    const DeviceArray<int> start(rows + 1);
    int blocks = 0;
    SPARSE_CHECK(rocsparse_csr2bsr_nnz(handle, rocsparse_direction_row, m.rows, m.columns, general, d.start.data(),
                                       d.column.data(), block, general, start.data(), &blocks));
    const DeviceArray<int> column(blocks);
    const DeviceArray<double> value(size_t(blocks) * block * block);
    SPARSE_CHECK(rocsparse_dcsr2bsr(handle, rocsparse_direction_row, m.rows, m.columns, general, d.value.data(),
                                    d.start.data(), d.column.data(), block, general, value.data(), start.data(),
                                    column.data()));
    const auto x = numbers(size_t(columns) * block, random), y = numbers(size_t(rows) * block, random);
    const DeviceArray<double> dx(x), dy(y);
    SPARSE_CHECK(rocsparse_dbsrmv(handle, rocsparse_direction_row, kNone, rows, columns, blocks, &kAlpha, general,
                                  value.data(), start.data(), column.data(), block, dx.data(), &kBeta, dy.data()));
    auto got = dy.toHost();
    got.resize(m.rows); // the rest is padding
    auto expected = m.times(x.data(), kAlpha, kBeta, y);
    expected.resize(m.rows);
    compare("bsrmv " + std::to_string(block), got, expected);
  }
}

void denseProducts(const Csr &m, Random &random) {
  const DeviceCsr d(m);
  for (const int columns : {1, 7, 33}) {
    const auto b = numbers(size_t(m.columns) * columns, random);
    const std::vector<double> c(m.rows, 0.5);
    std::vector<double> before, expected;
    for (int n = 0; n < columns; ++n) {
      const auto column = m.times(b.data() + size_t(n) * m.columns, kAlpha, kBeta, c);
      expected.insert(expected.end(), column.begin(), column.end());
      before.insert(before.end(), c.begin(), c.end());
    }
    const DeviceArray<double> db(b), dc(before);
    SPARSE_CHECK(rocsparse_dcsrmm(handle, kNone, kNone, m.rows, columns, m.columns, m.entries(), &kAlpha, general,
                                  d.value.data(), d.start.data(), d.column.data(), db.data(), m.columns, &kBeta,
                                  dc.data(), m.rows));
    compare("csrmm " + std::to_string(columns), dc.toHost(), expected);
  }
}

void sparseProduct(const Csr &a, const Csr &b) {
  const DeviceCsr da(a), db(b);
  const Info info;
  size_t bytes = 0;
  SPARSE_CHECK(rocsparse_dcsrgemm_buffer_size(handle, kNone, kNone, a.rows, b.columns, a.columns, &kAlpha, general,
                                              a.entries(), da.start.data(), da.column.data(), general, b.entries(),
                                              db.start.data(), db.column.data(), nullptr, nullptr, 0, nullptr, nullptr,
                                              info, &bytes));
  const Buffer buffer(bytes);
  const DeviceArray<int> start(a.rows + 1);
  int entries = 0;
  SPARSE_CHECK(rocsparse_csrgemm_nnz(handle, kNone, kNone, a.rows, b.columns, a.columns, general, a.entries(),
                                     da.start.data(), da.column.data(), general, b.entries(), db.start.data(),
                                     db.column.data(), nullptr, 0, nullptr, nullptr, general, start.data(), &entries,
                                     info, buffer.data()));
  const DeviceArray<int> column(entries);
  const DeviceArray<double> value(entries);
  SPARSE_CHECK(rocsparse_dcsrgemm(handle, kNone, kNone, a.rows, b.columns, a.columns, &kAlpha, general, a.entries(),
                                  da.value.data(), da.start.data(), da.column.data(), general, b.entries(),
                                  db.value.data(), db.start.data(), db.column.data(), nullptr, nullptr, 0, nullptr,
                                  nullptr, nullptr, general, value.data(), start.data(), column.data(), info,
                                  buffer.data()));
  const Csr expected = a.times(b, kAlpha);
  compare("csrgemm, starts", start.toHost(), expected.start);
  compare("csrgemm, columns", column.toHost(), expected.column);
  compare("csrgemm, values", value.toHost(), expected.value);
}

void conversions(const Csr &m) {
  const DeviceCsr d(m);
  size_t bytes = 0;
  SPARSE_CHECK(rocsparse_csr2csc_buffer_size(handle, m.rows, m.columns, m.entries(), d.start.data(), d.column.data(),
                                             rocsparse_action_numeric, &bytes));
  const Buffer buffer(bytes);
  const DeviceArray<double> cscValue(m.entries());
  const DeviceArray<int> cscRow(m.entries()), cscStart(m.columns + 1);
  SPARSE_CHECK(rocsparse_dcsr2csc(handle, m.rows, m.columns, m.entries(), d.value.data(), d.start.data(),
                                  d.column.data(), cscValue.data(), cscRow.data(), cscStart.data(),
                                  rocsparse_action_numeric, rocsparse_index_base_zero, buffer.data()));
  const Csr transposed = m.transposed();
  compare("csr2csc, starts", cscStart.toHost(), transposed.start);
  compare("csr2csc, rows", cscRow.toHost(), transposed.column);
  compare("csr2csc, values", cscValue.toHost(), transposed.value);

  const DeviceArray<double> dense(size_t(m.rows) * m.columns);
  SPARSE_CHECK(rocsparse_dcsr2dense(handle, m.rows, m.columns, general, d.value.data(), d.start.data(), d.column.data(),
                                    dense.data(), m.rows));
  compare("csr2dense", dense.toHost(), m.dense());
  const DeviceArray<int> entriesOfRow(m.rows), start(m.rows + 1);
  int entries = 0;
  SPARSE_CHECK(rocsparse_dnnz(handle, rocsparse_direction_row, m.rows, m.columns, general, dense.data(), m.rows,
                              entriesOfRow.data(), &entries));
  const DeviceArray<double> value(entries);
  const DeviceArray<int> column(entries);
  SPARSE_CHECK(rocsparse_ddense2csr(handle, m.rows, m.columns, general, dense.data(), m.rows, entriesOfRow.data(),
                                    value.data(), start.data(), column.data()));
  Csr withoutZeros;
  for (int r = 0; r < m.rows; ++r) {
    std::map<int, double> row;
    for (int n = m.start[r]; n < m.start[r + 1]; ++n)
      if (m.value[n] != 0)
        row[m.column[n]] = m.value[n];
    withoutZeros.append(row);
  }
  compare("dense2csr, starts", start.toHost(), withoutZeros.start);
  compare("dense2csr, columns", column.toHost(), withoutZeros.column);
  compare("dense2csr, values", value.toHost(), withoutZeros.value);
}

void sorting(const Csr &m, Random &random) {
  std::vector<int> columns = m.column;
  for (int r = 0; r < m.rows; ++r)
    shuffle(columns.data() + m.start[r], m.entries(r), random);
  const DeviceArray<int> start(m.start), column(columns), order(m.entries());
  size_t bytes = 0;
  SPARSE_CHECK(rocsparse_create_identity_permutation(handle, m.entries(), order.data()));
  SPARSE_CHECK(
      rocsparse_csrsort_buffer_size(handle, m.rows, m.columns, m.entries(), start.data(), column.data(), &bytes));
  const Buffer buffer(bytes);
  SPARSE_CHECK(rocsparse_csrsort(handle, m.rows, m.columns, m.entries(), general, start.data(), column.data(),
                                 order.data(), buffer.data()));
  compare("csrsort", column.toHost(), m.column);
  auto byOrder = order.toHost();
  for (int &n : byOrder)
    n = columns[n];
  compare("csrsort, order", byOrder, m.column);

  std::vector<int> entries(m.entries()), cooRows, cooColumns;
  std::iota(entries.begin(), entries.end(), 0);
  shuffle(entries.data(), m.entries(), random);
  const auto rows = m.rowOfEntry();
  for (const int n : entries) {
    cooRows.push_back(rows[n]);
    cooColumns.push_back(m.column[n]);
  }
  const DeviceArray<int> cooRow(cooRows), cooColumn(cooColumns);
  SPARSE_CHECK(
      rocsparse_coosort_buffer_size(handle, m.rows, m.columns, m.entries(), cooRow.data(), cooColumn.data(), &bytes));
  const Buffer cooBuffer(bytes);
  SPARSE_CHECK(rocsparse_coosort_by_row(handle, m.rows, m.columns, m.entries(), cooRow.data(), cooColumn.data(),
                                        nullptr, cooBuffer.data()));
  compare("coosort, rows", cooRow.toHost(), rows);
  compare("coosort, columns", cooColumn.toHost(), m.column);
}

void triangularSolves(const Csr &m, Random &random) {
  const DeviceCsr d(m);
  const auto b = numbers(m.rows, random);
  const DeviceArray<double> db(b), dx(m.rows);
  const double one = 1;
  for (const bool lower : {true, false}) {
    rocsparse_mat_descr triangle;
    SPARSE_CHECK(rocsparse_create_mat_descr(&triangle));
    SPARSE_CHECK(rocsparse_set_mat_fill_mode(triangle, lower ? rocsparse_fill_mode_lower : rocsparse_fill_mode_upper));
    SPARSE_CHECK(
        rocsparse_set_mat_diag_type(triangle, lower ? rocsparse_diag_type_unit : rocsparse_diag_type_non_unit));
    const Info info;
    size_t bytes = 0;
    SPARSE_CHECK(rocsparse_dcsrsv_buffer_size(handle, kNone, m.rows, m.entries(), triangle, d.value.data(),
                                              d.start.data(), d.column.data(), info, &bytes));
    const Buffer buffer(bytes);
    SPARSE_CHECK(rocsparse_dcsrsv_analysis(handle, kNone, m.rows, m.entries(), triangle, d.value.data(), d.start.data(),
                                           d.column.data(), info, rocsparse_analysis_policy_force,
                                           rocsparse_solve_policy_auto, buffer.data()));
    SPARSE_CHECK(rocsparse_dcsrsv_solve(handle, kNone, m.rows, m.entries(), &one, triangle, d.value.data(),
                                        d.start.data(), d.column.data(), info, db.data(), dx.data(),
                                        rocsparse_solve_policy_auto, buffer.data()));
    compare(lower ? "csrsv, lower" : "csrsv, upper", dx.toHost(), m.solve(lower, b), 1e-9);
    SPARSE_CHECK(rocsparse_destroy_mat_descr(triangle));
  }
}

void incompleteFactors(const Csr &m) {
  const DeviceCsr d(m);
  const Info info;
  size_t bytes = 0;
  SPARSE_CHECK(rocsparse_dcsrilu0_buffer_size(handle, m.rows, m.entries(), general, d.value.data(), d.start.data(),
                                              d.column.data(), info, &bytes));
  const Buffer buffer(bytes);
  SPARSE_CHECK(rocsparse_dcsrilu0_analysis(handle, m.rows, m.entries(), general, d.value.data(), d.start.data(),
                                           d.column.data(), info, rocsparse_analysis_policy_force,
                                           rocsparse_solve_policy_auto, buffer.data()));
  SPARSE_CHECK(rocsparse_dcsrilu0(handle, m.rows, m.entries(), general, d.value.data(), d.start.data(), d.column.data(),
                                  info, rocsparse_solve_policy_auto, buffer.data()));
  compare("csrilu0", d.value.toHost(), m.incompleteFactors(), 1e-9);
}

/// Three diagonals, three right sides. What is compared is the product with the solution.
void tridiagonalSolve(int rows, Random &random) {
  constexpr int kColumns = 3;
  std::vector<double> below(rows, 0.25), middle(rows), above(rows, -0.5);
  below.front() = above.back() = 0;
  for (int r = 0; r < rows; ++r)
    middle[r] = 2 + double(r % 5) / 8;
  const auto right = numbers(size_t(rows) * kColumns, random);
  const DeviceArray<double> dBelow(below), dMiddle(middle), dAbove(above), dx(right);
  size_t bytes = 0;
  SPARSE_CHECK(rocsparse_dgtsv_no_pivot_buffer_size(handle, rows, kColumns, dBelow.data(), dMiddle.data(),
                                                    dAbove.data(), dx.data(), rows, &bytes));
  const Buffer buffer(bytes);
  SPARSE_CHECK(rocsparse_dgtsv_no_pivot(handle, rows, kColumns, dBelow.data(), dMiddle.data(), dAbove.data(), dx.data(),
                                        rows, buffer.data()));
  const auto x = dx.toHost();
  std::vector<double> product(right.size());
  for (int n = 0; n < int(right.size()); ++n) {
    const int r = n % rows;
    product[n] = middle[r] * x[n] + (r > 0 ? below[r] * x[n - 1] : 0) + (r + 1 < rows ? above[r] * x[n + 1] : 0);
  }
  compare("gtsv", product, right, 1e-9);
}

} // namespace

int main(int argc, char **argv) {
  const int rows = sizeArgument(argc, argv, 700);
  Random random;
  const Csr wide = randomMatrix(rows, rows + rows / 5, random, false), square = randomMatrix(rows, rows, random, true);
  SPARSE_CHECK(rocsparse_create_handle(&handle));
  SPARSE_CHECK(rocsparse_create_mat_descr(&general));
  vectorProducts(wide, random);
  blockProducts(wide, random);
  denseProducts(wide, random);
  sparseProduct(square, wide);
  conversions(wide);
  sorting(wide, random);
  triangularSolves(square, random);
  incompleteFactors(square);
  tridiagonalSolve(rows, random);
  SPARSE_CHECK(rocsparse_destroy_mat_descr(general));
  SPARSE_CHECK(rocsparse_destroy_handle(handle));
  return pass();
}
