//===- Format.h - header and checksum of a .moe file -------------------------===//
//
// Shared by the compiler's writer and the runtime's loader; program.fbs describes the layout. Header only.
//
//===----------------------------------------------------------------------===//
#ifndef MOERT_PROGRAM_FORMAT_H
#define MOERT_PROGRAM_FORMAT_H

#include <cstddef>
#include <cstdint>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace moert {

constexpr char kMagic[4] = {'M', 'O', 'E', 'P'};
/// Raised whenever an older reader would misunderstand a newer file or the other way round.
constexpr uint32_t kFormatVersion = 5;
constexpr size_t kHeaderBytes = 32;
constexpr size_t kChecksumBytes = 16;

struct Header {
  char magic[4];
  uint32_t version;
  uint64_t length; ///< bytes of the FlatBuffer that follows
  uint8_t checksum[kChecksumBytes];
};

inline void checksum(const void *payload, size_t n, uint8_t out[kChecksumBytes]) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(payload, n));
  std::memcpy(out, canonical.digest, kChecksumBytes);
}

/// The 32 bytes that precede the FlatBuffer of n bytes at payload.
inline void writeHeader(const void *payload, size_t n, uint8_t out[kHeaderBytes]) {
  std::memcpy(out, kMagic, 4);
  for (int i = 0; i < 4; ++i)
    out[4 + i] = uint8_t(kFormatVersion >> (8 * i));
  for (int i = 0; i < 8; ++i)
    out[8 + i] = uint8_t(uint64_t(n) >> (8 * i));
  checksum(payload, n, out + 16);
}

inline Header readHeader(const uint8_t in[kHeaderBytes]) {
  Header header = {};
  std::memcpy(header.magic, in, 4);
  for (int i = 0; i < 4; ++i)
    header.version |= uint32_t(in[4 + i]) << (8 * i);
  for (int i = 0; i < 8; ++i)
    header.length |= uint64_t(in[8 + i]) << (8 * i);
  std::memcpy(header.checksum, in + 16, kChecksumBytes);
  return header;
}

} // namespace moert

#endif
