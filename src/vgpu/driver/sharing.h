// How processes name each other's buffers: the 16 bytes of IPC handles, and dmabuf descriptors.
//
// Both say in which process's file in memory a buffer is, and where (SharedBuffer); the other process opens that file.
// A dmabuf is a file in memory of its own, as large as the buffer, because that is what its size is taken for, with the
// description at its beginning.
#pragma once

#include "vgpu/driver/memory.h"

#include <optional>

namespace luthier::vgpu {

/// A new descriptor; -1 and errno.
int makeDmabuf(const SharedBuffer &shared, bool closeOnExec);
/// Nothing, and errno, for descriptors that are no dmabuf of ours.
std::optional<SharedBuffer> readDmabuf(int fd);

/// False when it does not fit.
bool packShareHandle(const SharedBuffer &shared, uint32_t (&words)[4]);
SharedBuffer unpackShareHandle(const uint32_t (&words)[4]);

} // namespace luthier::vgpu
