#include "runtime/kernel_instrumenter.h"

#include "hsa/agent.h"
#include "hsa/interceptor.h"
#include "runtime/code_listing.h"
#include "support/demangle.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace luthier::runtime {

namespace {

/// In ROCr's order.
uint32_t gpuNumber(hsa_agent_t agent) {
  const auto gpus = hsa::Agent::gpus();
  if (!gpus)
    return 0;
  const auto found = std::ranges::find_if(*gpus, [&](hsa::Agent gpu) { return gpu.raw().handle == agent.handle; });
  return static_cast<uint32_t>(found - gpus->begin());
}

/// As if it were new, but for launches and time: its code may have been loaded, and rewritten, before.
void describe(KernelAccount &account, const KernelIdentity &identity) {
  const double seconds = account.seconds;
  static_cast<report::KernelAccount &>(account) = {};
  account.seconds = seconds;
  account.id = identity.number;
  account.name = identity.name;
  account.symbol = identity.symbol;
  account.digest = fmt::format("{:016x}", identity.digest);
  account.gpu = identity.gpu;
}

} // namespace

void KernelInstrumenter::configure(Options options) {
  options_ = std::move(options);
  compiler_ = std::make_unique<hook::FragmentCompiler>();
}

KernelInstrumenter::Object &KernelInstrumenter::objectOf(const hsa::SharedCode &code) {
  const auto [found, isNew] = objects_.try_emplace(code->number(), Object{.code = code});
  if (isNew)
    found->second.digest = digestOf(code->storage());
  return found->second;
}

Result<std::shared_ptr<ObjectView>> KernelInstrumenter::viewOf(Object &object) {
  if (!object.view) {
    object.view = LUTHIER_TRY(ObjectView::create(object.code, *compiler_));
    object.view->rewriter->setForm(options_.hookForm);
  }
  return object.view;
}

std::shared_ptr<InstrumentedKernel> KernelInstrumenter::instrument(uint64_t kernelObject,
                                                                   const InstrumentedKernel::Choice &choice) {
  const auto begin = std::chrono::steady_clock::now();
  auto result = std::make_shared<InstrumentedKernel>();
  result->choice = choice;
  const hsa::SharedCode code = hsa::Interceptor::instance().code().find(kernelObject);
  const object::Symbol *symbol = code ? code->kernelOf(kernelObject) : nullptr;
  if (!symbol) {
    result->identity = std::make_shared<KernelIdentity>();
    result->account = account_.kernel("");
    result->account->name = fmt::format("{:#x}", kernelObject);
    result->account->skipped = "its code object is not known";
    return result;
  }
  result->executable = code->executable();
  result->agent = code->agent();
  Object &object = objectOf(code);
  result->identity =
      identities_.of(object.digest, std::string(symbol->name), demangle(symbol->name), gpuNumber(code->agent()));
  const KernelIdentity &identity = *result->identity;
  result->account = account_.kernel(fmt::format("{} {}", identity.number, fmt::join(choice, ",")));
  KernelAccount &account = *result->account;
  describe(account, identity);
  account.object = code->uri();
  if (!choice.empty())
    account.name += fmt::format(" [variant {}]", fmt::join(choice, ", "));
  const auto skip = [&](std::string why) {
    account.skipped = std::move(why);
    return result;
  };
  const auto fail = [&](const std::string &why) {
    account_.fail(fmt::format("{} runs unmodified: {}", account.name, why));
    return skip(why);
  };
  if (!options_.filter.wants(identity.name, identity.symbol))
    return skip(report::kLeftOut);
  if (!options_.runtimeKernels && KernelFilter::isRuntimeKernel(identity.symbol))
    return skip(report::kRuntimeKernel);

  const Progress::Task task(progress_, fmt::format("instrumenting {}", account.name));
  const auto view = viewOf(object);
  if (!view)
    return fail(view.error().message());
  auto kernel = Kernel::Impl::create(*view, *symbol, modules_);
  if (!kernel)
    return fail(kernel.error().message());
  result->kernel = *std::move(kernel);
  result->kernel->identity = result->identity;
  const std::string nothingAsked = askTools(*result);
  if (result->kernel->insertions.empty())
    return skip(nothingAsked);
  details_.addCode(identity.number, [&] { return listCode(Kernel(*result->kernel)); });
  if (const auto built = result->build(memory_, siteValues_); !built) {
    if (account.sitesAsked == 0 || account.sitesPlaced) { // otherwise each site has its reason
      account.sitesAsked = result->kernel->insertions.size();
      account.sitesPlaced = 0;
      account.rejectedSites.clear();
      account.rejected = {{built.error().message(), account.sitesAsked}};
    }
    return fail(built.error().message());
  }
  if (options_.strict)
    for (const auto &[reason, count] : account.rejected)
      account_.fail(fmt::format("{}: {} sites were rejected: {}", account.name, count, reason));
  progress_.kernelInstrumented();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  account.seconds += seconds;
  account_.addSeconds(seconds);
  return result;
}

std::string KernelInstrumenter::askTools(InstrumentedKernel &kernel) {
  Kernel::Impl &impl = *kernel.kernel;
  std::string why = tools_.anyWorks() ? "no tool requested anything in it" : "no tool works";
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
  if (impl.observed && impl.insertions.empty())
    why = report::kOnlyObserved;
  return why;
}

void KernelInstrumenter::forget(hsa_executable_t executable) {
  std::erase_if(objects_,
                [&](const auto &entry) { return entry.second.code->executable().handle == executable.handle; });
}

} // namespace luthier::runtime
