#include "hsa/instr.h"

#include <algorithm>

namespace luthier::hsa {

Result<std::shared_ptr<const isa::InstrSequence>> CapturedCode::instructions(const object::Symbol &function) const {
  if (!object())
    return object().error();
  if (!object()->hasTarget())
    return makeError("{}: instructions of {} are not known", uri_, object()->targetId());
  std::lock_guard lock(decodeMutex_);
  auto &known = decoded_[&function];
  if (known)
    return known;
  if (!decoder_)
    decoder_ = LUTHIER_TRY(isa::Decoder::create(object()->target()));
  const auto bytes = LUTHIER_TRY(object()->code(function));
  auto sequence = decoder_->decode(bytes, loadedAddress(function.address));
  if (!sequence)
    return sequence.error().withContext(fmt::format("{}: {}", uri_, function.name));
  known = std::make_shared<const isa::InstrSequence>(std::move(*sequence));
  return known;
}

Result<std::vector<Instr>> Instr::of(const SharedCode &code, const object::Symbol &function) {
  const auto sequence = LUTHIER_TRY(code->instructions(function));
  std::vector<Instr> result;
  result.reserve(sequence->instrs().size());
  for (const luthier::Instr &instr : sequence->instrs())
    result.push_back(Instr(code, &function, sequence, &instr));
  return result;
}

Result<Instr> Instr::at(const CodeCapture &capture, uint64_t loadedAddress) {
  const SharedCode code = capture.find(loadedAddress);
  if (!code)
    return makeError("no code is loaded at {:#x}", loadedAddress);
  const object::Symbol *function = code->functionAt(loadedAddress);
  if (!function)
    return makeError("no function of {} is at {:#x}", code->uri(), loadedAddress);
  const auto sequence = LUTHIER_TRY(code->instructions(*function));
  const auto instrs = sequence->instrs();
  auto after = std::ranges::upper_bound(instrs, loadedAddress, {}, &luthier::Instr::address);
  if (after == instrs.begin() || std::prev(after)->end() <= loadedAddress)
    return makeError("no instruction of {} is at {:#x}", function->name, loadedAddress);
  return Instr(code, function, sequence, &*std::prev(after));
}

} // namespace luthier::hsa
