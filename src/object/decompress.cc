#include "object/decompress.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/MD5.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace luthier::object {

namespace {

constexpr std::string_view kMagic = "CCOB";

Result<uint64_t> inflateZlib(ByteSpan input, Buffer &into) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK)
    return makeError("zlib cannot be started");
  // zlib counts in 32 bits.
  constexpr uint64_t kPiece = 1u << 30;
  const ByteSpan output = into.bytes();
  uint64_t given = 0, taken = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    if (stream.avail_in == 0) {
      const uint64_t size = std::min(input.size() - given, kPiece);
      stream.next_in = reinterpret_cast<Bytef *>(const_cast<std::byte *>(input.data() + given));
      stream.avail_in = static_cast<uInt>(size);
      given += size;
    }
    if (stream.avail_out == 0) {
      const uint64_t size = std::min(output.size() - taken, kPiece);
      stream.next_out = reinterpret_cast<Bytef *>(into.data() + taken);
      stream.avail_out = static_cast<uInt>(size);
      taken += size;
    }
    // Z_BUF_ERROR, and so the end, when neither side has moved.
    status = inflate(&stream, Z_NO_FLUSH);
  }
  const uint64_t consumed = given - stream.avail_in, produced = taken - stream.avail_out;
  const std::string why = stream.msg ? stream.msg : "the data ends too early or is too long";
  inflateEnd(&stream);
  if (status != Z_STREAM_END)
    return makeError("zlib: {} (after {:#x} bytes)", why, consumed);
  if (produced != output.size())
    return makeError("zlib: {:#x} bytes instead of {:#x}", produced, output.size());
  return consumed;
}

Result<uint64_t> zstdFrame(ByteSpan input) {
  const size_t frame = ZSTD_findFrameCompressedSize(input.data(), input.size());
  if (ZSTD_isError(frame))
    return makeError("zstd: {}", ZSTD_getErrorName(frame));
  return frame;
}

Result<uint64_t> inflateZstd(ByteSpan input, Buffer &into) {
  const uint64_t frame = LUTHIER_TRY(zstdFrame(input));
  // The header's claim was held against all that follows; here is what there really is.
  if (into.bytes().size() / UnpackLimits().ratio > frame)
    return makeError("{:#x} bytes claim to unpack to {:#x}, which is not plausible", frame, into.bytes().size());
  const size_t produced = ZSTD_decompress(into.data(), into.bytes().size(), input.data(), frame);
  if (ZSTD_isError(produced))
    return makeError("zstd: {}", ZSTD_getErrorName(produced));
  if (produced != into.bytes().size())
    return makeError("zstd: {:#x} bytes instead of {:#x}", produced, into.bytes().size());
  return frame;
}

[[maybe_unused]] uint64_t hashOf(ByteSpan bytes) {
  return llvm::MD5::hash({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}).low();
}

} // namespace

Result<Buffer> Buffer::make(uint64_t size) {
  Buffer buffer;
  if (size == 0)
    return buffer;
  void *data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return makeErrorCode(errno, "no memory for {:#x} bytes: {}", size, std::strerror(errno));
  buffer.data_ = static_cast<std::byte *>(data);
  buffer.size_ = size;
  return buffer;
}

Buffer::Buffer(Buffer &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Buffer::~Buffer() {
  if (data_)
    munmap(data_, size_);
}

bool isCompressedBundle(ByteSpan bytes) {
  return bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

Result<CompressedHeader> readCompressedHeader(ByteSpan bytes, const UnpackLimits &limits) {
  if (!isCompressedBundle(bytes))
    return makeError("not a compressed bundle");
  constexpr std::string_view kWhat = "the header of a compressed bundle";
  CompressedHeader header;
  header.version = LUTHIER_TRY(readAs<uint16_t>(bytes, 4, kWhat));
  const auto method = LUTHIER_TRY(readAs<uint16_t>(bytes, 6, kWhat));
  if (method > 1)
    return makeError("compressed by method {}, which is not known (0 is zlib, 1 is zstd)", method);
  header.method = static_cast<CompressedHeader::Method>(method);
  switch (header.version) {
  case 1:
    header.unpackedSize = LUTHIER_TRY(readAs<uint32_t>(bytes, 8, kWhat));
    header.headerSize = 20;
    break;
  case 2:
    header.totalSize = LUTHIER_TRY(readAs<uint32_t>(bytes, 8, kWhat));
    header.unpackedSize = LUTHIER_TRY(readAs<uint32_t>(bytes, 12, kWhat));
    header.headerSize = 24;
    break;
  case 3:
    header.totalSize = LUTHIER_TRY(readAs<uint64_t>(bytes, 8, kWhat));
    header.unpackedSize = LUTHIER_TRY(readAs<uint64_t>(bytes, 16, kWhat));
    header.headerSize = 32;
    break;
  default:
    return makeError("compressed bundle of version {}, which is not known", header.version);
  }
  header.hash = LUTHIER_TRY(readAs<uint64_t>(bytes, header.headerSize - 8, kWhat));
  if (header.version > 1 && (header.totalSize < header.headerSize || header.totalSize > bytes.size()))
    return makeError("a compressed bundle of {:#x} bytes, but {:#x} are there", header.totalSize, bytes.size());
  const uint64_t packed = (header.totalSize ? header.totalSize : bytes.size()) - header.headerSize;
  if (header.unpackedSize > limits.bytes || header.unpackedSize / limits.ratio > packed)
    return makeError("{:#x} bytes claim to unpack to {:#x}, which is not plausible", packed, header.unpackedSize);
  return header;
}

Result<uint64_t> packedSize(ByteSpan bytes, const CompressedHeader &header) {
  if (header.totalSize)
    return header.totalSize;
  // Version 1 does not say. zstd's frames can be followed; of zlib's streams only unpacking tells the end.
  if (header.method == CompressedHeader::Method::Zstd)
    return header.headerSize + LUTHIER_TRY(zstdFrame(bytes.subspan(header.headerSize)));
  return LUTHIER_TRY(unpack(bytes, header)).consumed;
}

Result<Unpacked> unpack(ByteSpan bytes, const CompressedHeader &header) {
  const uint64_t end = header.totalSize ? header.totalSize : bytes.size();
  const ByteSpan packed = bytes.subspan(header.headerSize, end - header.headerSize);
  Unpacked result{LUTHIER_TRY(Buffer::make(header.unpackedSize))};
  const uint64_t consumed =
      LUTHIER_TRY(header.method == CompressedHeader::Method::Zstd ? inflateZstd(packed, result.bundle)
                                                                  : inflateZlib(packed, result.bundle));
  result.consumed = header.totalSize ? header.totalSize : header.headerSize + consumed;
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  if (const uint64_t hash = hashOf(result.bundle.bytes()); hash != header.hash)
    return makeError("the hash of a compressed bundle is {:#x} instead of {:#x}", hash, header.hash);
#endif
  return result;
}

} // namespace luthier::object
