//===- Format.h - what the writer and the reader of .moe files share --------===//
#ifndef MOE_LIB_TARGET_PROGRAM_FORMAT_H
#define MOE_LIB_TARGET_PROGRAM_FORMAT_H

#include "mlir/IR/BuiltinTypes.h"

#include "Program/Format.h"
#include "moert/moert.h"
#include "program_generated.h"

namespace mlir::moe::program {

namespace fb = ::moe::fb;

/// Of a type that prog::isBufferElementType accepts.
inline fb::DType toDType(Type type) {
  if (type.isF32())
    return fb::DType::F32;
  if (type.isBF16())
    return fb::DType::BF16;
  if (type.isF16())
    return fb::DType::F16;
  if (type.isInteger(32))
    return fb::DType::I32;
  if (type.isInteger(64))
    return fb::DType::I64;
  if (type.isInteger(1))
    return fb::DType::I1;
  return type.isUnsignedInteger() ? fb::DType::U8 : fb::DType::I8;
}

/// Of a value that the runtime's loader accepts.
inline Type fromDType(MLIRContext *context, fb::DType dtype) {
  switch (dtype) {
  case fb::DType::F32:
    return Float32Type::get(context);
  case fb::DType::BF16:
    return BFloat16Type::get(context);
  case fb::DType::F16:
    return Float16Type::get(context);
  case fb::DType::I32:
    return IntegerType::get(context, 32);
  case fb::DType::I64:
    return IntegerType::get(context, 64);
  case fb::DType::I8:
    return IntegerType::get(context, 8);
  case fb::DType::U8:
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  case fb::DType::I1:
    return IntegerType::get(context, 1);
  }
  return {};
}

/// The loader's verdict on a file: its message, or nothing if it accepts the file.
inline std::string check(ArrayRef<char> bytes) {
  moe_program *program = nullptr;
  moe_status *status = moe_program_load(bytes.data(), bytes.size(), &program);
  if (!status) {
    moe_program_release(program);
    return {};
  }
  std::string message = moe_status_message(status);
  moe_status_free(status);
  return message;
}

} // namespace mlir::moe::program

#endif
