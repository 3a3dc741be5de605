/* Runs the first entry of a .moe, its f32 inputs filled with ones, others with zeros, dynamic sizes 4, and prints the
 * sum of each f32 output: cc run.c -lmoert -o run && ./run layer.moe */
#include <moert/moert.h>
#include <stdio.h>
#include <stdlib.h>

static void check(moe_status *status) {
  if (!status)
    return;
  fprintf(stderr, "error %s: %s\n", moe_code_name(moe_status_code(status)), moe_status_message(status));
  moe_status_free(status);
  exit(1);
}

/* A row-major tensor in new memory; dynamic sizes become `rows`. The shape stays in info->dims. */
static moe_buffer allocate(moe_argument_info *info, int64_t rows) {
  size_t elements = 1;
  for (int d = 0; d < info->rank; ++d) {
    if (info->dims[d] < 0)
      info->dims[d] = rows;
    elements *= (size_t)info->dims[d];
  }
  moe_buffer buffer = {NULL, elements * moe_dtype_size(info->dtype), info->dtype, info->rank, info->dims, NULL};
  buffer.data = calloc(elements + 1, moe_dtype_size(info->dtype));
  for (size_t i = 0; info->dtype == MOE_F32 && i < elements; ++i)
    ((float *)buffer.data)[i] = 1.0f;
  return buffer;
}

int main(int argc, char **argv) {
  enum { MAX_ARGUMENTS = 16 };
  moe_argument_info info[2 * MAX_ARGUMENTS];
  moe_buffer inputs[MAX_ARGUMENTS], outputs[MAX_ARGUMENTS];
  moe_entry_info entry = {.struct_size = sizeof(entry)};
  moe_program *program = NULL;
  moe_session *session = NULL;
  size_t bytes = 0, align = 0, num_faults = MOE_NUM_FAULT_KINDS;
  moe_fault faults[MOE_NUM_FAULT_KINDS];

  if (argc != 2)
    return fprintf(stderr, "usage: %s layer.moe\n", argv[0]), 1;
  check(moe_program_load_file(argv[1], &program));
  check(moe_program_entry(program, 0, &entry));
  if (entry.num_inputs > MAX_ARGUMENTS || entry.num_outputs > MAX_ARGUMENTS)
    return fprintf(stderr, "more than %d arguments\n", MAX_ARGUMENTS), 1;
  for (uint32_t i = 0; i < entry.num_inputs; ++i) {
    check(moe_program_input(program, 0, i, &info[i]));
    inputs[i] = allocate(&info[i], 4);
  }
  for (uint32_t i = 0; i < entry.num_outputs; ++i) {
    moe_argument_info *output = &info[MAX_ARGUMENTS + i];
    check(moe_program_output(program, 0, i, output));
    check(moe_output_shape(program, 0, inputs, entry.num_inputs, i, output->dims));
    outputs[i] = allocate(output, 0);
  }
  check(moe_workspace_query(program, 0, inputs, entry.num_inputs, &bytes, &align));
  void *workspace = aligned_alloc(align, (bytes + align - 1) / align * align);

  check(moe_session_create(program, 0, NULL, &session));
  check(moe_enqueue(session, 0, inputs, entry.num_inputs, outputs, entry.num_outputs, workspace, bytes, NULL, NULL));
  check(moe_session_poll(session, workspace, faults, &num_faults));
  for (size_t i = 0; i < num_faults; ++i)
    printf("fault %s, first in row %lld\n", moe_fault_name(faults[i].kind), (long long)faults[i].row);
  for (uint32_t i = 0; i < entry.num_outputs; ++i) {
    double sum = 0;
    for (size_t j = 0; outputs[i].dtype == MOE_F32 && j < outputs[i].size_bytes / 4; ++j)
      sum += ((float *)outputs[i].data)[j];
    printf("%s: sum %g\n", info[MAX_ARGUMENTS + i].name, sum);
    free(outputs[i].data);
  }
  for (uint32_t i = 0; i < entry.num_inputs; ++i)
    free(inputs[i].data);
  free(workspace);
  moe_session_release(session);
  moe_program_release(program);
  return 0;
}
