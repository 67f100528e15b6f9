// What the application loads is captured, found by any loaded address, decoded there, and forgotten when it goes.

#include "fixture.h"
#include "hsa/code_capture.h"
#include "hsa/instr.h"

namespace luthier::hsa::test {
namespace {

using CodeCaptureTest = HsaTest;

TEST_F(CodeCaptureTest, FindsObjectFunctionAndInstructionByAddress) {
  AppExecutable executable(gpu());
  const CodeCapture &capture = Interceptor::instance().code();
  const SharedCode code = capture.find(executable.kernelObject());
  ASSERT_TRUE(code);
  EXPECT_EQ(code->executable().handle, executable.raw().handle);
  const object::Symbol *kernel = code->kernelOf(executable.kernelObject());
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->name, "count");

  const std::vector<Instr> instrs = value(Instr::of(code, *kernel));
  ASSERT_GT(instrs.size(), 3u);
  EXPECT_EQ(instrs[0].address(), code->loadedAddress(kernel->address));
  EXPECT_EQ(code->functionAt(instrs[0].address()), kernel);
  EXPECT_TRUE(std::ranges::any_of(instrs, [](const Instr &i) { return i->opcode() == Opcode::S_ENDPGM; }));
  for (const Instr &instr : instrs)
    for (const uint64_t offset : {uint64_t(0), uint64_t(instr->size() - 1)}) {
      const Instr found = value(Instr::at(capture, instr.address() + offset));
      EXPECT_EQ(found.address(), instr.address());
      EXPECT_EQ(found->opcode(), instr->opcode());
      EXPECT_EQ(&found.function(), kernel);
    }
  executable.destroy();
}

TEST_F(CodeCaptureTest, ForgetsWhatIsUnloadedButNotForThoseWhoHoldIt) {
  AppExecutable executable(gpu());
  const CodeCapture &capture = Interceptor::instance().code();
  const SharedCode held = capture.find(executable.kernelObject());
  ASSERT_TRUE(held);
  const size_t before = capture.all().size();
  executable.destroy();
  EXPECT_EQ(capture.all().size(), before - 1);
  EXPECT_FALSE(capture.find(executable.kernelObject()));
  EXPECT_THAT(errorOf(Instr::at(capture, executable.kernelObject())), testing::HasSubstr("no code is loaded at 0x"));
  ASSERT_TRUE(held->object());
  EXPECT_TRUE(held->object()->find("count"));
}

} // namespace
} // namespace luthier::hsa::test
