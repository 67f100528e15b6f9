#include "runtime/kernel_instrumenter.h"

#include "hsa/code_capture.h"
#include "support/demangle.h"

#include <chrono>

#include <fmt/format.h>

namespace luthier::runtime {

void KernelInstrumenter::configure(Options options) {
  options_ = std::move(options);
  compiler_ = std::make_unique<hook::FragmentCompiler>();
}

Result<std::shared_ptr<ObjectView>> KernelInstrumenter::viewOf(const hsa::SharedCode &code) {
  if (const auto found = objects_.find(code->number()); found != objects_.end())
    return found->second;
  auto view = LUTHIER_TRY(ObjectView::create(code, *compiler_));
  objects_[code->number()] = view;
  return view;
}

std::shared_ptr<InstrumentedKernel> KernelInstrumenter::instrument(uint64_t kernelObject,
                                                                   const InstrumentedKernel::Choice &choice) {
  const auto begin = std::chrono::steady_clock::now();
  auto result = std::make_shared<InstrumentedKernel>();
  result->choice = choice;
  result->account = account_.addKernel();
  KernelAccount &account = *result->account;
  const auto skip = [&](std::string why) {
    account.skipped = std::move(why);
    return result;
  };
  const auto fail = [&](const std::string &why) {
    account_.fail(fmt::format("{} runs unmodified: {}", account.name, why));
    return skip(why);
  };
  const hsa::SharedCode code = hsa::Interceptor::instance().code().find(kernelObject);
  const object::Symbol *symbol = code ? code->kernelOf(kernelObject) : nullptr;
  if (!symbol) {
    account.name = fmt::format("{:#x}", kernelObject);
    return skip("its code object is not known");
  }
  account.symbol = symbol->name;
  account.name = demangle(symbol->name);
  if (!choice.empty())
    account.name += fmt::format(" [variant {}]", fmt::join(choice, ", "));
  account.object = code->uri();
  result->executable = code->executable();
  result->agent = code->agent();
  if (!options_.filter.wants(demangle(symbol->name), account.symbol))
    return skip(report::kLeftOut);

  const auto object = viewOf(code);
  if (!object)
    return fail(object.error().message());
  auto kernel = Kernel::Impl::create(*object, *symbol, modules_);
  if (!kernel)
    return fail(kernel.error().message());
  result->kernel = *std::move(kernel);
  const std::string nothingAsked = askTools(*result);
  if (result->kernel->insertions.empty())
    return skip(nothingAsked);
  if (const auto built = result->build(memory_); !built) {
    account.sitesAsked = result->kernel->insertions.size();
    account.sitesPlaced = 0;
    account.rejected = {{built.error().message(), account.sitesAsked}};
    return fail(built.error().message());
  }
  if (options_.strict)
    for (const auto &[reason, count] : account.rejected)
      account_.fail(fmt::format("{}: {} places were refused: {}", account.name, count, reason));
  account.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  account_.addSeconds(account.seconds);
  return result;
}

std::string KernelInstrumenter::askTools(InstrumentedKernel &kernel) {
  Kernel::Impl &impl = *kernel.kernel;
  std::string why = tools_.anyWorks() ? "no tool asked for anything in it" : "there is no tool that works";
  for (const auto &tool : tools_.all()) {
    if (!tool->works())
      continue;
    const size_t asked = impl.insertions.size();
    kernel.selectVariantFor(tool->number);
    Kernel view(impl);
    tools_.call(*tool, "instrument", [&] { tool->tool->instrument(view, Site(impl)); });
    if (tool->broken)
      why = fmt::format("tool {} threw", tool->name);
    else if (const std::string error = std::exchange(impl.error, {}); !error.empty())
      account_.fail(why = fmt::format("tool {}: {}", tool->name, error));
    else
      continue;
    impl.insertions.resize(asked); // what one tool gets wrong is not the others' loss
  }
  return why;
}

void KernelInstrumenter::forget(hsa_executable_t executable) {
  std::erase_if(objects_,
                [&](const auto &entry) { return entry.second->code->executable().handle == executable.handle; });
}

} // namespace luthier::runtime
