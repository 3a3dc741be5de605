//===- Faults.h - the fault block at the start of a workspace ------------------===//
#ifndef MOERT_CPU_FAULTS_H
#define MOERT_CPU_FAULTS_H

#include "KernelABI.h"
#include "Program/Program.h"

namespace moert {

/// What moert_cpu_context::fault does; context->state is the FaultBlock.
void recordFault(const moert_cpu_context *context, int32_t kind, int64_t row, int64_t value, int64_t limit);

} // namespace moert

#endif
