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
    if (target.bufferResource != isa::BufferResource::Gfx9)
      return makeError("addresses of buffer accesses are not supported for {}", target.name);
    parts.push_back({Part::Saddr, true, 4});
    if (source.idxen || source.offen)
      parts.push_back({Part::Vaddr, false, static_cast<uint8_t>(source.idxen + source.offen)});
    if (source.saddr)
      parts.push_back({Part::Soffset, true, 1});
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
/// the offset in it. Swizzled buffers interleave the dwords of as many records as the resource says.
llvm::Value *bufferAddress(llvm::IRBuilder<> &b, const Source &source, const Parts &p) {
  llvm::Type *const i64 = b.getInt64Ty();
  llvm::Value *const word1 = p.saddr[1], *const word3 = p.saddr[3];
  llvm::Value *base = join(b, p.saddr[0], b.CreateAnd(word1, b.getInt32(0xffff)));
  if (p.soffset)
    base = b.CreateAdd(base, b.CreateZExt(p.soffset, i64));
  llvm::Value *const addTid = b.CreateICmpNE(field(b, word3, 23, 1), b.getInt32(0));
  llvm::Value *stride = field(b, word1, 16, 14);
  if (!source.typed) {
    llvm::Value *const more = b.CreateShl(field(b, word3, 15, 4), b.getInt32(14));
    stride = b.CreateOr(stride, b.CreateSelect(addTid, more, b.getInt32(0)));
  }
  llvm::Value *index = b.CreateSelect(addTid, buildLaneId(b), b.getInt32(0));
  if (source.idxen)
    index = b.CreateAdd(index, p.vaddr[0]);
  llvm::Value *offset = p.offset ? p.offset : b.getInt32(0);
  if (source.offen)
    offset = b.CreateAdd(offset, p.vaddr[source.idxen ? 1 : 0]);

  llvm::Value *const linear =
      b.CreateAdd(b.CreateMul(b.CreateZExt(index, i64), b.CreateZExt(stride, i64)), b.CreateZExt(offset, i64));
  llvm::Value *const shift = b.CreateAdd(field(b, word3, 21, 2), b.getInt32(3)); // log2 of the records
  llvm::Value *const group = b.CreateZExt(b.CreateLShr(index, shift), i64);
  llvm::Value *const within = b.CreateAnd(index, b.CreateNot(b.CreateShl(b.getInt32(~0u), shift)));
  llvm::Value *const dword = b.CreateZExt(b.CreateAnd(offset, b.getInt32(~3u)), i64);
  llvm::Value *swizzled = b.CreateAdd(b.CreateMul(group, b.CreateZExt(stride, i64)), dword);
  swizzled = b.CreateShl(swizzled, b.CreateZExt(shift, i64));
  swizzled = b.CreateAdd(swizzled, b.CreateZExt(b.CreateShl(within, b.getInt32(2)), i64));
  swizzled = b.CreateAdd(swizzled, b.CreateZExt(b.CreateAnd(offset, b.getInt32(3)), i64));
  llvm::Value *const isSwizzled = b.CreateICmpSLT(word1, b.getInt32(0));
  return b.CreateAdd(base, b.CreateSelect(isSwizzled, swizzled, linear));
}

/// SMEM: all parts are in bytes and lose their two low bits. The base of a resource has 48 bits, above which there is
/// its stride.
llvm::Value *scalarAddress(llvm::IRBuilder<> &b, const Source &source, const Parts &p) {
  llvm::Type *const i64 = b.getInt64Ty();
  llvm::Value *address = join(b, p.saddr[0], p.saddr[1]);
  address = b.CreateAnd(address, b.getInt64(source.resource ? 0xffff'ffff'fffc : ~3ull));
  if (p.soffset) {
    llvm::Value *bytes = b.CreateZExt(p.soffset, i64);
    if (source.unit64)
      bytes = b.CreateMul(bytes, b.getInt64(64));
    address = b.CreateAdd(address, b.CreateAnd(bytes, b.getInt64(~3ull)));
  }
  if (p.offset)
    address = b.CreateAdd(address, b.CreateSExt(b.CreateAnd(p.offset, b.getInt32(~3u)), i64));
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
    return bufferAddress(b, source, p);
  case SourceKind::ScalarAddress:
    return scalarAddress(b, source, p);
  case SourceKind::Scalar:
  case SourceKind::Vector:
    break;
  }
  return b.getInt32(0);
}

} // namespace luthier::hook
