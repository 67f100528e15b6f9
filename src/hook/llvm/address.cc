// Effective addresses of memory accesses, as code: the formulas of the ISA manuals' chapters on memory instructions
// (scalar memory, vector memory buffers, flat memory, data share).

#include "hook/llvm/wrapper.h"

#include <llvm/IR/IntrinsicsAMDGPU.h>

namespace luthier::hook {

bool isAddress(SourceKind kind) { return kind != SourceKind::Scalar && kind != SourceKind::Vector; }

unsigned addressBits(SourceKind kind) {
  return kind == SourceKind::LdsAddress || kind == SourceKind::ScratchAddress ? 32 : 64;
}

Result<std::vector<AddressPart>> addressParts(const Source &source, const isa::Target &target) {
  std::vector<AddressPart> parts;
  switch (source.kind) {
  case SourceKind::Scalar:
  case SourceKind::Vector:
    return makeError("a value has no address");
  case SourceKind::FlatAddress:
    parts.push_back({Part::Vaddr, false, 2});
    break;
  case SourceKind::GlobalAddress:
    parts.push_back({Part::Saddr, true, 2});
    parts.push_back({Part::Vaddr, false, 1});
    break;
  case SourceKind::LdsAddress:
  case SourceKind::ScratchAddress:
    if (source.saddr)
      parts.push_back({Part::Saddr, true, 1});
    if (source.vaddr)
      parts.push_back({Part::Vaddr, false, 1});
    break;
  case SourceKind::BufferAddress:
    if (target.bufferResource < isa::BufferResource::Gfx9)
      return makeError("addresses of buffer accesses are not supported for {}", target.name);
    parts.push_back({Part::Saddr, true, 4});
    if (source.idxen || source.offen)
      parts.push_back({Part::Vaddr, false, static_cast<uint8_t>(source.idxen + source.offen)});
    if (source.saddr)
      parts.push_back({Part::Soffset, true, 1});
    break;
  case SourceKind::KernelArgument:
    parts.push_back({Part::Saddr, true, 2});
    break;
  case SourceKind::ScalarAddress:
    parts.push_back({Part::Saddr, true, 2});
    if (source.saddr)
      parts.push_back({Part::Soffset, true, 1});
    break;
  }
  if (source.offset)
    parts.push_back({Part::Offset, true, 1});
  return parts;
}

llvm::Value *buildLaneId(llvm::IRBuilder<> &b) {
  llvm::Value *low = b.CreateIntrinsic(llvm::Intrinsic::amdgcn_mbcnt_lo, {}, {b.getInt32(~0u), b.getInt32(0)});
  return b.CreateIntrinsic(llvm::Intrinsic::amdgcn_mbcnt_hi, {}, {b.getInt32(~0u), low});
}

namespace {

llvm::Value *join(llvm::IRBuilder<> &b, llvm::Value *low, llvm::Value *high) {
  return b.CreateOr(b.CreateZExt(low, b.getInt64Ty()), b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), b.getInt64(32)));
}

/// The field of `count` bits at `bit` of a dword.
llvm::Value *field(llvm::IRBuilder<> &b, llvm::Value *word, unsigned bit, unsigned count) {
  return b.CreateAnd(b.CreateLShr(word, b.getInt32(bit)), b.getInt32((1u << count) - 1));
}

struct Parts {
  std::vector<llvm::Value *> vaddr, saddr;
  llvm::Value *soffset = nullptr, *offset = nullptr;
};

/// Buffers: the resource's base, the record of the index (with the lane's number added where the resource says so) and
/// the offset in it. Swizzled buffers interleave the elements, of 4 or 16 bytes, of as many records as the resource
/// says.
class BufferAddress {
public:
  BufferAddress(llvm::IRBuilder<> &builder, const Source &source, const Parts &parts, isa::BufferResource layout)
      : b_(builder), source_(source), p_(parts), layout_(layout), word1_(parts.saddr[1]), word3_(parts.saddr[3]) {}

  llvm::Value *build() {
    llvm::Type *const i64 = b_.getInt64Ty();
    llvm::Value *const swizzled = isSwizzled();
    llvm::Value *base = join(b_, p_.saddr[0], b_.CreateAnd(word1_, b_.getInt32(0xffff)));
    llvm::Value *offset = p_.offset ? p_.offset : b_.getInt32(0);
    if (source_.offen)
      offset = b_.CreateAdd(offset, p_.vaddr[source_.idxen ? 1 : 0]);
    if (p_.soffset && layout_ >= isa::BufferResource::Gfx12) { // part of what is swizzled
      offset = b_.CreateSelect(swizzled, b_.CreateAdd(offset, p_.soffset), offset);
      base = b_.CreateAdd(base, b_.CreateZExt(b_.CreateSelect(swizzled, b_.getInt32(0), p_.soffset), i64));
    } else if (p_.soffset)
      base = b_.CreateAdd(base, b_.CreateZExt(p_.soffset, i64));
    llvm::Value *const addTid = b_.CreateICmpNE(field(b_, word3_, 23, 1), b_.getInt32(0));
    llvm::Value *index = b_.CreateSelect(addTid, buildLaneId(b_), b_.getInt32(0));
    if (source_.idxen)
      index = b_.CreateAdd(index, p_.vaddr[0]);
    llvm::Value *const stride = b_.CreateZExt(strideOf(addTid), i64);

    llvm::Value *const linear =
        b_.CreateAdd(b_.CreateMul(b_.CreateZExt(index, i64), stride), b_.CreateZExt(offset, i64));
    llvm::Value *const shift = b_.CreateAdd(field(b_, word3_, 21, 2), b_.getInt32(3)); // log2 of the records
    llvm::Value *const group = b_.CreateZExt(b_.CreateLShr(index, shift), i64);
    llvm::Value *const within = b_.CreateAnd(index, lowBits(shift, true));
    llvm::Value *const element = elementShift();
    llvm::Value *const whole = b_.CreateZExt(b_.CreateAnd(offset, lowBits(element, false)), i64);
    llvm::Value *interleaved = b_.CreateAdd(b_.CreateMul(group, stride), whole);
    interleaved = b_.CreateShl(interleaved, b_.CreateZExt(shift, i64));
    interleaved = b_.CreateAdd(interleaved, b_.CreateZExt(b_.CreateShl(within, element), i64));
    interleaved = b_.CreateAdd(interleaved, b_.CreateZExt(b_.CreateAnd(offset, lowBits(element, true)), i64));
    return b_.CreateAdd(base, b_.CreateSelect(swizzled, interleaved, linear));
  }

private:
  bool hasElements() const { return layout_ >= isa::BufferResource::Gfx11; }
  llvm::Value *isSwizzled() {
    return hasElements() ? b_.CreateICmpNE(field(b_, word1_, 30, 2), b_.getInt32(0))
                         : b_.CreateICmpSLT(word1_, b_.getInt32(0));
  }
  /// log2 of an element's bytes.
  llvm::Value *elementShift() {
    if (!hasElements())
      return b_.getInt32(2);
    return b_.CreateSelect(b_.CreateICmpEQ(field(b_, word1_, 30, 2), b_.getInt32(3)), b_.getInt32(4), b_.getInt32(2));
  }
  llvm::Value *strideOf(llvm::Value *addTid) {
    llvm::Value *stride = field(b_, word1_, 16, 14);
    if (layout_ == isa::BufferResource::Gfx9 && !source_.typed) {
      llvm::Value *const more = b_.CreateShl(field(b_, word3_, 15, 4), b_.getInt32(14));
      stride = b_.CreateOr(stride, b_.CreateSelect(addTid, more, b_.getInt32(0)));
    }
    if (layout_ >= isa::BufferResource::Gfx12) { // STRIDE_SCALE: by 1, 4, 8 or 32
      llvm::Value *const scale = field(b_, word3_, 18, 2);
      const auto is = [&](unsigned n) { return b_.CreateICmpEQ(scale, b_.getInt32(n)); };
      llvm::Value *by = b_.CreateSelect(is(1), b_.getInt32(2), b_.getInt32(0));
      by = b_.CreateSelect(is(2), b_.getInt32(3), by);
      stride = b_.CreateShl(stride, b_.CreateSelect(is(3), b_.getInt32(5), by));
    }
    return stride;
  }
  /// The bits below `shift`, or all others.
  llvm::Value *lowBits(llvm::Value *shift, bool below) {
    llvm::Value *const above = b_.CreateShl(b_.getInt32(~0u), shift);
    return below ? b_.CreateNot(above) : above;
  }

  llvm::IRBuilder<> &b_;
  const Source &source_;
  const Parts &p_;
  isa::BufferResource layout_;
  llvm::Value *word1_, *word3_;
};

/// SMEM: all parts are in bytes and lose their two low bits, but for loads of less than a dword (gfx12). The base of a
/// resource has 48 bits, above which there is its stride.
llvm::Value *scalarAddress(llvm::IRBuilder<> &b, const Source &source, const Parts &p) {
  llvm::Type *const i64 = b.getInt64Ty();
  const uint64_t mask = source.narrow ? ~0ull : ~3ull;
  llvm::Value *address = join(b, p.saddr[0], p.saddr[1]);
  address = b.CreateAnd(address, b.getInt64(source.resource ? mask & 0xffff'ffff'ffff : mask));
  if (p.soffset) {
    llvm::Value *bytes = b.CreateZExt(p.soffset, i64);
    if (source.unit64)
      bytes = b.CreateMul(bytes, b.getInt64(64));
    address = b.CreateAdd(address, b.CreateAnd(bytes, b.getInt64(mask)));
  }
  if (p.offset)
    address = b.CreateAdd(address, b.CreateSExt(b.CreateAnd(p.offset, b.getInt32(static_cast<uint32_t>(mask))), i64));
  return address;
}

} // namespace

llvm::Value *buildAddress(llvm::IRBuilder<> &b, const Source &source, const isa::Target &target,
                          std::span<const std::vector<llvm::Value *>> values) {
  Parts p;
  const auto described = addressParts(source, target);
  for (size_t n = 0; described && n < described->size(); ++n)
    switch ((*described)[n].part) {
    case Part::Vaddr:
      p.vaddr = values[n];
      break;
    case Part::Saddr:
      p.saddr = values[n];
      break;
    case Part::Soffset:
      p.soffset = values[n][0];
      break;
    case Part::Offset:
      p.offset = values[n][0];
      break;
    case Part::Value:
      break;
    }
  llvm::Type *const i64 = b.getInt64Ty();
  switch (source.kind) {
  case SourceKind::FlatAddress:
  case SourceKind::GlobalAddress: {
    llvm::Value *address = source.kind == SourceKind::FlatAddress
                               ? join(b, p.vaddr[0], p.vaddr[1])
                               : b.CreateAdd(join(b, p.saddr[0], p.saddr[1]), b.CreateZExt(p.vaddr[0], i64));
    return p.offset ? b.CreateAdd(address, b.CreateSExt(p.offset, i64)) : address;
  }
  case SourceKind::LdsAddress:
  case SourceKind::ScratchAddress: {
    const bool lds = source.kind == SourceKind::LdsAddress;
    llvm::Value *address = b.getInt32(0);
    if (!p.saddr.empty()) // M0 counts with 16 bits
      address = lds ? b.CreateAnd(p.saddr[0], b.getInt32(0xffff)) : p.saddr[0];
    if (!p.vaddr.empty())
      address = b.CreateAdd(address, p.vaddr[0]);
    if (p.offset)
      address = b.CreateAdd(address, p.offset);
    if (lds && source.byLane)
      address = b.CreateAdd(address, b.CreateShl(buildLaneId(b), b.getInt32(2)));
    return address;
  }
  case SourceKind::BufferAddress:
    return BufferAddress(b, source, p, target.bufferResource).build();
  case SourceKind::KernelArgument: {
    llvm::Value *address = join(b, p.saddr[0], p.saddr[1]);
    return p.offset ? b.CreateAdd(address, b.CreateZExt(p.offset, i64)) : address;
  }
  case SourceKind::ScalarAddress:
    return scalarAddress(b, source, p);
  case SourceKind::Scalar:
  case SourceKind::Vector:
    break;
  }
  return b.getInt32(0);
}

} // namespace luthier::hook
