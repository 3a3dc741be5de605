//===- RankHandlers.h - XLA's custom call over the ranks of a mesh axis -----------------===//
#ifndef MOERT_XLA_RANKHANDLERS_H
#define MOERT_XLA_RANKHANDLERS_H

#include "moert/xla.h"
#include "xla/ffi/api/c_api.h"

namespace moert::xla {

moe_xla_handler cpuRankHandlers();
moe_xla_handler cudaRankHandlers();

inline void *handlerPointer(XLA_FFI_Handler *handler) { return reinterpret_cast<void *>(handler); }

} // namespace moert::xla

#endif
