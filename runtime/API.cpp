//===- API.cpp - the C functions of moert.h ----------------------------------------===//
#include "Executor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

using namespace moert;

static moe_status *findEntry(const moe_program *program, uint32_t number, const Entry *&entry) {
  REQUIRE_ARGUMENT(program);
  if (number >= program->entries.size())
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "entry is %u; the program has %zu", number, program->entries.size());
  entry = &program->entries[number];
  return nullptr;
}

moe_status *moert::createExecutor(const moe_program &program, int32_t device, const moe_options &options,
                                  std::unique_ptr<Executor> &executor) {
  if (!std::strcmp(program.target, "cpu"))
    return createCPUExecutor(program, device, options, executor);
  if (program.isCuda)
    return createCUDAExecutor(program, device, options, executor);
  return MOERT_ERROR(MOE_WRONG_TARGET, "the program was compiled for target '%s'; this runtime has 'cpu' and 'cuda'",
                     program.target);
}

static moe_status *describeArgument(const moe_program *program, uint32_t number, const char *what,
                                    std::vector<Argument> Entry::*list, uint32_t i, moe_argument_info *info) {
  const Entry *entry = nullptr;
  MOERT_TRY(findEntry(program, number, entry));
  REQUIRE_ARGUMENT(info);
  const std::vector<Argument> &arguments = entry->*list;
  if (i >= arguments.size())
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "%s is %u; entry '%s' has %zu", what, i, entry->name, arguments.size());
  const Argument &argument = arguments[i];
  *info = {argument.name, argument.dtype, argument.rank, {}, argument.alias};
  std::copy_n(argument.dims, MOE_MAX_RANK, info->dims);
  return nullptr;
}

extern "C" {

const char *moe_version(void) { return MOERT_VERSION; }

moe_status *moe_program_load(const void *blob, size_t n, moe_program **program) {
  return guarded("moe_program_load", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(blob);
    REQUIRE_ARGUMENT(program);
    std::unique_ptr<moe_program> result;
    MOERT_TRY(loadProgram(blob, n, result));
    *program = result.release();
    return nullptr;
  });
}

moe_status *moe_program_load_file(const char *path, moe_program **program) {
  return guarded("moe_program_load_file", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(path);
    REQUIRE_ARGUMENT(program);
    std::ifstream file(path, std::ios::binary);
    if (!file)
      return MOERT_ERROR(MOE_SYSTEM, "cannot open '%s': %s", path, std::strerror(errno));
    std::vector<uint8_t> bytes;
    size_t n = 0;
    while (file) {
      bytes.resize(std::max<size_t>(1 << 16, n * 2));
      file.read(reinterpret_cast<char *>(bytes.data() + n), std::streamsize(bytes.size() - n));
      n += size_t(file.gcount());
    }
    if (file.bad())
      return MOERT_ERROR(MOE_SYSTEM, "cannot read '%s': %s", path, std::strerror(errno));
    std::unique_ptr<moe_program> result;
    if (moe_status *status = loadProgram(bytes.data(), n, result))
      return named(path, status);
    *program = result.release();
    return nullptr;
  });
}

void moe_program_retain(moe_program *program) {
  if (program)
    program->references.fetch_add(1, std::memory_order_relaxed);
}
void moe_program_release(moe_program *program) {
  if (program && program->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete program;
}

uint32_t moe_program_num_entries(const moe_program *program) { return program ? uint32_t(program->entries.size()) : 0; }
const char *moe_program_target(const moe_program *program) { return program ? program->target : ""; }
const char *moe_program_arch(const moe_program *program) { return program ? program->arch : ""; }

moe_status *moe_program_entry(const moe_program *program, uint32_t number, moe_entry_info *info) {
  return guarded("moe_program_entry", [&]() -> moe_status * {
    const Entry *entry = nullptr;
    MOERT_TRY(findEntry(program, number, entry));
    REQUIRE_ARGUMENT(info);
    if (info->struct_size < sizeof(*info))
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "info->struct_size is %zu, but must be at least %zu", info->struct_size,
                         sizeof(*info));
    info->name = entry->name;
    info->num_inputs = uint32_t(entry->inputs.size());
    info->num_outputs = uint32_t(entry->outputs.size());
    info->flags = entry->flags;
    info->ranks = entry->ranks;
    info->axis = entry->axis;
    return nullptr;
  });
}

moe_status *moe_program_find(const moe_program *program, const char *name, uint32_t *entry) {
  return guarded("moe_program_find", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(program);
    REQUIRE_ARGUMENT(name);
    REQUIRE_ARGUMENT(entry);
    for (size_t i = 0; i < program->entries.size(); ++i)
      if (!std::strcmp(program->entries[i].name, name)) {
        *entry = uint32_t(i);
        return nullptr;
      }
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "the program has no entry '%s'", name);
  });
}

moe_status *moe_program_input(const moe_program *program, uint32_t entry, uint32_t i, moe_argument_info *info) {
  return guarded("moe_program_input",
                 [&] { return describeArgument(program, entry, "input", &Entry::inputs, i, info); });
}

moe_status *moe_program_output(const moe_program *program, uint32_t entry, uint32_t i, moe_argument_info *info) {
  return guarded("moe_program_output",
                 [&] { return describeArgument(program, entry, "output", &Entry::outputs, i, info); });
}

moe_status *moe_output_shape(const moe_program *program, uint32_t number, const moe_buffer *inputs, size_t numInputs,
                             uint32_t i, int64_t *shape) {
  return guarded("moe_output_shape", [&]() -> moe_status * {
    const Entry *entry = nullptr;
    MOERT_TRY(findEntry(program, number, entry));
    REQUIRE_ARGUMENT(shape);
    if (i >= entry->outputs.size())
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "output is %u; entry '%s' has %zu", i, entry->name,
                         entry->outputs.size());
    std::vector<int64_t> values(entry->exprs.size());
    MOERT_TRY(checkInputs(*entry, inputs, numInputs, values.data()));
    const Argument &output = entry->outputs[i];
    for (int32_t d = 0; d < output.rank; ++d)
      if (values[output.exprs[d]] < 0)
        return MOERT_ERROR(MOE_INVALID_ARGUMENT, "output %u '%s': dimension %d is %lld for these inputs", i,
                           output.name, d, (long long)values[output.exprs[d]]);
    for (int32_t d = 0; d < output.rank; ++d)
      shape[d] = values[output.exprs[d]];
    return nullptr;
  });
}

moe_status *moe_workspace_query(const moe_program *program, uint32_t number, const moe_buffer *inputs, size_t numInputs,
                                size_t *bytes, size_t *align) {
  return guarded("moe_workspace_query", [&]() -> moe_status * {
    const Entry *entry = nullptr;
    MOERT_TRY(findEntry(program, number, entry));
    REQUIRE_ARGUMENT(bytes);
    REQUIRE_ARGUMENT(align);
    std::vector<int64_t> values(entry->exprs.size());
    MOERT_TRY(checkInputs(*entry, inputs, numInputs, values.data()));
    size_t needed = 0;
    MOERT_TRY(workspaceLayout(*entry, values.data(), needed));
    *bytes = needed;
    *align = kAlignment;
    return nullptr;
  });
}

moe_status *moe_session_create(moe_program *program, int32_t device, const moe_options *options,
                               moe_session **session) {
  return guarded("moe_session_create", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(program);
    REQUIRE_ARGUMENT(session);
    moe_options chosen = {sizeof(moe_options), 0, nullptr};
    if (options && options->struct_size < sizeof(*options))
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "options->struct_size is %zu, but must be at least %zu",
                         options->struct_size, sizeof(*options));
    if (options)
      chosen = *options;
    auto result = std::make_unique<moe_session>(program);
    MOERT_TRY(createExecutor(*program, device, chosen, result->executor));
    *session = result.release();
    return nullptr;
  });
}

void moe_session_retain(moe_session *session) {
  if (session)
    session->references.fetch_add(1, std::memory_order_relaxed);
}
void moe_session_release(moe_session *session) {
  if (session && session->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete session;
}

moe_status *moe_session_connect(moe_session *session, uint32_t number, const moe_buffer *inputs, size_t numInputs,
                                moe_comm *comm, void *stream) {
  return guarded("moe_session_connect", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(session);
    const Entry *entry = nullptr;
    MOERT_TRY(findEntry(session->program, number, entry));
    return session->executor->connect(*entry, {inputs, numInputs, nullptr, 0, nullptr, 0, comm, stream});
  });
}

moe_status *moe_enqueue(moe_session *session, uint32_t number, const moe_buffer *inputs, size_t numInputs,
                        const moe_buffer *outputs, size_t numOutputs, void *workspace, size_t workspaceBytes,
                        moe_comm *comm, void *stream) {
  return guarded("moe_enqueue", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(session);
    const Entry *entry = nullptr;
    MOERT_TRY(findEntry(session->program, number, entry));
    return session->executor->enqueue(
        *entry, {inputs, numInputs, outputs, numOutputs, workspace, workspaceBytes, comm, stream});
  });
}

moe_status *moe_enqueue_traced(moe_session *session, uint32_t number, const moe_buffer *inputs, size_t numInputs,
                               const moe_buffer *outputs, size_t numOutputs, void *workspace, size_t workspaceBytes,
                               moe_comm *comm, void *stream, moe_step_function report, void *user) {
  return guarded("moe_enqueue_traced", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(session);
    REQUIRE_ARGUMENT(report);
    const Entry *entry = nullptr;
    MOERT_TRY(findEntry(session->program, number, entry));
    Trace trace;
    MOERT_TRY(session->executor->trace(
        *entry, {inputs, numInputs, outputs, numOutputs, workspace, workspaceBytes, comm, stream}, trace));
    auto tell = [&](moe_step_kind kind, const char *name, const Trace::Record &record) {
      std::vector<int64_t> rows(record.bounds.size() / 2);
      for (size_t g = 0; g < rows.size(); ++g)
        rows[g] = record.bounds[2 * g + 1] - record.bounds[2 * g];
      moe_step step = {sizeof(step),   kind,         name,         record.begin, record.end, record.hostBegin,
                       record.hostEnd, record.flops, record.bytes, rows.data(),  rows.size()};
      report(user, &step);
    };
    if (session->program->isCuda)
      tell(MOE_STEP_FILL, "clear", trace.clear);
    for (size_t i = 0; i < entry->steps.size(); ++i) {
      const Trace::Record &record = trace.steps[i];
      if (entry->steps[i].kind == Step::Launch)
        tell(MOE_STEP_LAUNCH, session->program->kernels[record.kernel].name, record);
      else if (entry->steps[i].kind == Step::Memset)
        tell(MOE_STEP_FILL, "fill", record);
      else if (entry->steps[i].kind == Step::Copy)
        tell(MOE_STEP_COPY, "copy", record);
      else if (entry->steps[i].kind == Step::AllToAll)
        tell(MOE_STEP_EXCHANGE, "exchange", record);
    }
    return nullptr;
  });
}

moe_status *moe_session_poll(moe_session *session, const void *workspace, moe_fault *faults, size_t *n) {
  return guarded("moe_session_poll", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(session);
    REQUIRE_ARGUMENT(workspace);
    REQUIRE_ARGUMENT(n);
    if (reinterpret_cast<uintptr_t>(workspace) % kAlignment)
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "workspace is at address %p, but must be aligned to %zu bytes",
                         workspace, kAlignment);
    if (!faults && *n)
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "faults is NULL, but *n is %zu", *n);
    FaultBlock block;
    MOERT_TRY(session->executor->readFaults(workspace, block));
    size_t room = *n, found = 0;
    for (int kind = 0; kind < MOE_NUM_FAULT_KINDS; ++kind) {
      const FaultBlock::Record &record = block.records[kind];
      if (!record.count)
        continue;
      if (found < room)
        faults[found] = {moe_fault_kind(kind), record.count, record.row, record.value, record.limit};
      ++found;
    }
    *n = found;
    return nullptr;
  });
}

} // extern "C"
