#include "report/kernel_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

KernelAccount kernel(uint64_t id, const std::string &name, const std::string &digest, uint32_t gpu) {
  KernelAccount account;
  account.id = id;
  account.name = account.symbol = name;
  account.digest = digest;
  account.gpu = gpu;
  account.object = "file:///tmp/" + digest;
  return account;
}

Table tableOf(const std::vector<uint64_t> &ids) {
  Table table{"count", {"kernel", "n"}, {}};
  for (const uint64_t id : ids)
    table.rows.push_back({{"fill", false, id}, {"7", true}});
  return table;
}

std::vector<std::string> texts(const std::vector<Cell> &row) {
  std::vector<std::string> texts;
  for (const Cell &cell : row)
    texts.push_back(cell.text);
  return texts;
}

TEST(KernelColumns, NamesThatTellKernelsApartNeedNone) {
  const Account account{{kernel(1, "fill", "aaaaaaaa11111111", 0), kernel(2, "copy", "bbbbbbbb22222222", 0)}, 0, 0, {}};
  EXPECT_THAT(withKernelColumns(tableOf({1, 2, 1}), account).columns, ElementsAre("kernel", "n"));
}

TEST(KernelColumns, OneNameInTwoObjects) {
  const Account account{{kernel(1, "fill", "aaaaaaaa11111111", 0), kernel(2, "fill", "bbbbbbbb22222222", 0)}, 0, 0, {}};
  const Table table = withKernelColumns(tableOf({2, 1}), account);
  EXPECT_THAT(table.columns, ElementsAre("kernel", "object", "n"));
  EXPECT_THAT(texts(table.rows[0]), ElementsAre("fill", "bbbbbbbb", "7"));
  EXPECT_THAT(texts(table.rows[1]), ElementsAre("fill", "aaaaaaaa", "7"));
  // Another table that has one of them only.
  EXPECT_THAT(withKernelColumns(tableOf({1, 1}), account).columns, ElementsAre("kernel", "n"));
}

TEST(KernelColumns, SeveralGpus) {
  const Account account{{kernel(1, "fill", "aaaaaaaa11111111", 0), kernel(2, "fill", "aaaaaaaa11111111", 1),
                         kernel(3, "fill", "bbbbbbbb22222222", 1)},
                        0,
                        0,
                        {}};
  Table table = withKernelColumns(tableOf({1, 2}), account);
  EXPECT_THAT(table.columns, ElementsAre("kernel", "gpu", "n"));
  EXPECT_THAT(texts(table.rows[1]), ElementsAre("fill", "1", "7"));
  EXPECT_TRUE(table.rows[1][1].number);
  table = withKernelColumns(tableOf({1, 3}), account);
  EXPECT_THAT(table.columns, ElementsAre("kernel", "object", "gpu", "n"));
  EXPECT_THAT(texts(table.rows[1]), ElementsAre("fill", "bbbbbbbb", "1", "7"));
}

TEST(KernelColumns, RowsOfNoKernelStayInLine) {
  const Account account{{kernel(1, "fill", "aaaaaaaa11111111", 0), kernel(2, "fill", "aaaaaaaa11111111", 1)}, 0, 0, {}};
  const Table table = withKernelColumns(tableOf({1, 0, 2}), account);
  EXPECT_THAT(texts(table.rows[1]), ElementsAre("fill", "", "7"));
}

TEST(KernelColumns, TheAccountSaysWhatTheObjectsAre) {
  const Account account{{kernel(1, "fill", "aaaaaaaa11111111", 0), kernel(2, "fill", "bbbbbbbb22222222", 0)}, 0, 0, {}};
  const std::string text = toText({}, account);
  EXPECT_THAT(text, HasSubstr("bbbbbbbb  file:///tmp/bbbbbbbb22222222\n"));
}

} // namespace
} // namespace luthier::report
