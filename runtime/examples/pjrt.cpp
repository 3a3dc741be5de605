//===- pjrt.cpp - a program inside XLA, from C++ without Python ----------------------===//
//
//   moe-example-pjrt PLUGIN.so PLATFORM PRODUCT.mlir PRODUCT.moe
//
// Loads a plugin of XLA's PJRT C API, registers moe_execute with it, and runs the ragged product of PRODUCT.mlir as a
// custom call: x[5, 16] of ones in two groups of 2 and 3 rows, times w[2, 16, 8] whose group g is g + 1. PRODUCT.moe is
// what moe-compile makes of the text (--target=cpu for platform cpu, --target=cuda for CUDA). Built if PJRT's headers
// are found (MOE_PJRT_INCLUDE).
//
//===----------------------------------------------------------------------===//
#include "moert/xla.h"
#include "xla/pjrt/c/pjrt_c_api.h"
#include "xla/pjrt/c/pjrt_c_api_ffi_extension.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

[[noreturn]] static void fail(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(1);
}

static void check(moe_status *status) {
  if (status)
    fail(moe_status_message(status));
}

/// Arguments of a PJRT call, with its size filled in.
#define ARGS(type, name)                                                                                               \
  PJRT_##type##_Args name = {};                                                                                        \
  name.struct_size = PJRT_##type##_Args_STRUCT_SIZE

static const PJRT_Api *api;

static void check(PJRT_Error *error) {
  if (!error)
    return;
  ARGS(Error_Message, message);
  message.error = error;
  api->PJRT_Error_Message(&message);
  fail(std::string(message.message, message.message_size));
}

static void wait(PJRT_Event *event) {
  ARGS(Event_Await, args);
  args.event = event;
  check(api->PJRT_Event_Await(&args));
}

static std::string readFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    fail(std::string("cannot read ") + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A string of MLIR's.
static std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    char code[4];
    std::snprintf(code, sizeof(code), "\\%02X", static_cast<unsigned char>(c));
    result += c == '"' || c == '\\' || c < ' ' ? std::string(code) : std::string(1, c);
  }
  return result + "\"";
}

/// Registers the handlers of a platform with the plugin. PJRT takes one function a target, which is the execute stage:
/// it does what the others have not done.
static void registerHandlers(const std::string &platform) {
  const PJRT_Extension_Base *extension = api->extension_start;
  while (extension && extension->type != PJRT_Extension_Type_FFI)
    extension = extension->next;
  if (!extension)
    fail("the plugin has no FFI extension");
  size_t count = 0;
  const moe_xla_handler *handlers = moe_xla_handlers(&count);
  for (size_t i = 0; i < count; ++i) {
    if (platform != handlers[i].platform || std::strcmp(handlers[i].target, MOE_XLA_TARGET) != 0)
      continue;
    ARGS(FFI_Register_Handler, args);
    args.target_name = MOE_XLA_TARGET;
    args.target_name_size = std::strlen(MOE_XLA_TARGET);
    args.handler = handlers[i].execute;
    args.platform_name = platform.data();
    args.platform_name_size = platform.size();
    return check(reinterpret_cast<const PJRT_FFI_Extension *>(extension)->register_handler(&args));
  }
  fail("there are no handlers for platform " + platform);
}

static PJRT_LoadedExecutable *compile(PJRT_Client *client, std::string module) {
  ARGS(Client_Compile, args);
  PJRT_Program program = {};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  program.code = module.data();
  program.code_size = module.size();
  program.format = "mlir";
  program.format_size = 4;
  // A CompileOptionsProto of one replica and one partition.
  const char options[] = "\x1a\x04\x20\x01\x28\x01";
  args.client = client;
  args.program = &program;
  args.compile_options = options;
  args.compile_options_size = sizeof(options) - 1;
  check(api->PJRT_Client_Compile(&args));
  return args.executable;
}

static PJRT_Buffer *upload(PJRT_Client *client, const void *data, PJRT_Buffer_Type type,
                           const std::vector<int64_t> &shape) {
  ARGS(Client_AddressableDevices, devices);
  devices.client = client;
  check(api->PJRT_Client_AddressableDevices(&devices));
  ARGS(Client_BufferFromHostBuffer, args);
  args.client = client;
  args.data = data;
  args.type = type;
  args.dims = shape.data();
  args.num_dims = shape.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = devices.addressable_devices[0];
  check(api->PJRT_Client_BufferFromHostBuffer(&args));
  wait(args.done_with_host_buffer);
  return args.buffer;
}

static PJRT_Buffer *execute(PJRT_LoadedExecutable *executable, const std::vector<PJRT_Buffer *> &inputs) {
  PJRT_ExecuteOptions options = {};
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  PJRT_Buffer *const *arguments = inputs.data(), *result = nullptr, **results = &result;
  PJRT_Event *done = nullptr;
  ARGS(LoadedExecutable_Execute, args);
  args.executable = executable;
  args.options = &options;
  args.argument_lists = &arguments;
  args.num_devices = 1;
  args.num_args = inputs.size();
  args.output_lists = &results;
  args.device_complete_events = &done;
  check(api->PJRT_LoadedExecutable_Execute(&args));
  wait(done);
  return result;
}

int main(int argc, char **argv) {
  if (argc != 5)
    fail("usage: moe-example-pjrt PLUGIN.so PLATFORM PRODUCT.mlir PRODUCT.moe");
  void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin)
    fail(dlerror());
  auto *getApi = reinterpret_cast<const PJRT_Api *(*)()>(dlsym(plugin, "GetPjrtApi"));
  if (!getApi)
    fail(std::string(argv[1]) + " is no PJRT plugin");
  api = getApi();
  ARGS(Plugin_Initialize, initialize);
  check(api->PJRT_Plugin_Initialize(&initialize));
  const std::string platform = argv[2], text = readFile(argv[3]), blob = readFile(argv[4]);
  registerHandlers(platform);

  // Without this the handlers would run moe-compile.
  moe_program *program = nullptr;
  check(moe_program_load(blob.data(), blob.size(), &program));
  moe_xla_add_program(program, platform.c_str(), text.data(), text.size());
  const std::vector<int64_t> x = {5, 16}, w = {2, 16, 8}, sizes = {2};
  const moe_buffer shapes[] = {{nullptr, 0, MOE_F32, 2, x.data(), nullptr},
                               {nullptr, 0, MOE_F32, 3, w.data(), nullptr},
                               {nullptr, 0, MOE_I32, 1, sizes.data(), nullptr}};
  size_t workspace = 0, align = 0;
  check(moe_workspace_query(program, 0, shapes, 3, &workspace, &align));
  workspace += MOE_XLA_WORKSPACE_SLACK;

  ARGS(Client_Create, create);
  check(api->PJRT_Client_Create(&create));
  const std::string operands = "tensor<5x16xf32>, %w: tensor<2x16x8xf32>, %s: tensor<2xi32>";
  PJRT_LoadedExecutable *executable =
      compile(create.client,
              "func.func @main(%x: " + operands + ") -> tensor<5x8xf32> {\n  %y:2 = stablehlo.custom_call @" +
                  MOE_XLA_TARGET + "(%x, %w, %s) {api_version = 4 : i32, backend_config = {program = " + quoted(text) +
                  ", version = " + quoted(moe_version()) +
                  "}} : (tensor<5x16xf32>, tensor<2x16x8xf32>, tensor<2xi32>) -> (tensor<5x8xf32>, tensor<" +
                  std::to_string(workspace) + "xui8>)\n  return %y#0 : tensor<5x8xf32>\n}\n");

  std::vector<float> ones(5 * 16, 1), weights(2 * 16 * 8, 1), y(5 * 8);
  std::fill(weights.begin() + 16 * 8, weights.end(), 2);
  const int32_t rows[] = {2, 3};
  PJRT_Buffer *result = execute(executable, {upload(create.client, ones.data(), PJRT_Buffer_Type_F32, x),
                                             upload(create.client, weights.data(), PJRT_Buffer_Type_F32, w),
                                             upload(create.client, rows, PJRT_Buffer_Type_S32, sizes)});
  ARGS(Buffer_ToHostBuffer, download);
  download.src = result;
  download.dst = y.data();
  download.dst_size = y.size() * sizeof(float);
  check(api->PJRT_Buffer_ToHostBuffer(&download));
  wait(download.event);
  for (int row = 0; row < 5; ++row)
    std::printf("row %d: %g\n", row, y[size_t(row) * 8]);
  moe_program_release(program);
  return 0;
}
