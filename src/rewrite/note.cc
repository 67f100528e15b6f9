#include "rewrite/note.h"

#include <algorithm>

namespace luthier::rewrite {

namespace {

using hook::Port;

/// Registers in short, if they follow each other; else one by one.
std::string listOf(const std::vector<Reg> &regs) {
  bool run = !regs.empty();
  for (size_t n = 1; n < regs.size(); ++n)
    run &= regs[n] == regs[0] + static_cast<unsigned>(n);
  if (run)
    return toString(RegRange{regs[0], static_cast<uint16_t>(regs.size())});
  std::string text;
  for (Reg reg : regs)
    text += (text.empty() ? "" : ", ") + toString(reg);
  return "{" + text + "}";
}

/// A value and where the hook finds it, unless that is where the value is.
std::string valueOf(std::span<const InputBinding> inputs, std::span<const Reg> places) {
  if (inputs.empty())
    return "?";
  std::string what;
  std::vector<Reg> from;
  if (std::ranges::all_of(inputs, &InputBinding::constant)) {
    uint64_t value = inputs[0].value;
    if (inputs.size() == 2)
      value |= uint64_t{inputs[1].value} << 32;
    what = fmt::format("{:#x}", value);
    for (size_t n = 1; n < inputs.size() && inputs.size() > 2; ++n)
      what += fmt::format("{}{:#x}{}", n == 1 ? ", " : "", inputs[n].value, n + 1 < inputs.size() ? ", " : "");
    if (inputs.size() > 2)
      what = "{" + what + "}";
  } else if (inputs[0].lane >= 0)
    what = fmt::format("{} from lane {}", toString(inputs[0].guest), inputs[0].lane);
  else {
    for (const InputBinding &input : inputs)
      from.push_back(input.guest);
    what = listOf(from);
  }
  const std::vector<Reg> to(places.begin(), places.end());
  return to == from ? what : what + " in " + listOf(to);
}

std::string placeOf(const ReservedSlot &slot) {
  if (slot.memory >= 0)
    return "memory";
  return slot.lanes ? fmt::format("lane {} of {}", slot.lane, toString(slot.regs.first)) : toString(slot.regs.first);
}

std::string_view labelOf(const Argument &argument) {
  switch (argument.kind) {
  case Argument::Kind::Address:
    return "address = ";
  case Argument::Kind::Width:
    return "width = ";
  case Argument::Kind::Pc:
    return "pc = ";
  case Argument::Kind::Result:
    return "result = ";
  case Argument::Kind::Kernarg:
    return "kernarg = ";
  case Argument::Kind::Callee:
    return "callee = ";
  default:
    return "";
  }
}

} // namespace

std::string noteOf(const Insertion &insertion, const Site &site, const PlacedSite &placed) {
  const hook::Fragment &fragment = *site.fragment->fragment;
  if (fragment.asWritten)
    return "assembly";
  std::vector<std::string> parameters(insertion.argumentCount());
  std::string others;
  size_t at = 0;
  for (const Port &port : fragment.inputs) {
    const size_t count = std::min<size_t>(port.regs.count, site.inputs.size() - at);
    const std::string value =
        valueOf(std::span(site.inputs).subspan(at, count), std::span(placed.inputs).subspan(at, count));
    at += count;
    if (port.kind == Port::Kind::Parameter && port.index < parameters.size()) {
      std::string &text = parameters[port.index];
      text += text.empty() ? value : " + " + value; // the parts of an address
      continue;
    }
    std::string name = port.kind == Port::Kind::LdsBlock     ? "LDS"
                       : port.kind == Port::Kind::GroupBlock ? "per-workgroup variables"
                                                             : "per-launch variables";
    if (port.kind == Port::Kind::WaveVariable || port.kind == Port::Kind::LaneVariable)
      name = insertion.module->variables()[port.index].name;
    else if (port.kind == Port::Kind::Launch)
      name = hook::kLaunchValueNames[port.launch];
    else if (port.kind == Port::Kind::Frame)
      name = "frame";
    others += (others.empty() ? " with " : ", ") +
              (port.kind == Port::Kind::Register ? value : fmt::format("{} = {}", name, value));
  }
  const size_t ofPredicate = insertion.predicateArguments.size();
  std::string text = (insertion.predicate.empty() ? insertion.hook : "if " + insertion.predicate) + "(";
  for (size_t n = 0; n < parameters.size(); ++n) {
    const Argument &argument = insertion.argument(n);
    if (!insertion.predicate.empty() && n == ofPredicate)
      text += "): " + insertion.hook + "(";
    else
      text += n ? ", " : "";
    if (argument.kind == Argument::Kind::Operand)
      text += fmt::format("op{} = ", argument.value);
    else if (argument.kind == Argument::Kind::Source)
      text += fmt::format("source{} = ", argument.value);
    else if (argument.kind == Argument::Kind::Launch)
      text += fmt::format("{} = ", hook::kLaunchValueNames[static_cast<size_t>(argument.launch)]);
    else
      text += labelOf(argument);
    text += parameters[n].empty() ? "not used" : parameters[n];
  }
  if (!insertion.predicate.empty() && ofPredicate == parameters.size())
    text += "): " + insertion.hook + "(";
  text += ")";
  if (!insertion.result.empty())
    text += " -> " + toString(insertion.result);
  text += others;
  for (const VisitCheck &check : site.checks)
    text += check.every ? fmt::format(", every {} visits by {}", check.every, placeOf(check.slot))
                        : fmt::format(", when {} = {}", insertion.sampling.when, placeOf(check.slot));
  return text + (placed.called ? ", called" : "");
}

} // namespace luthier::rewrite
