//===- Measure.cpp - times compiled products on a GPU -----------------------------===//

#include "Measure.h"
#include "CUDA/Driver.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

using namespace mlir::moe;
using namespace moert;
namespace cuda = moert::cuda;

namespace {

/// Sizes of groups that together have the rows.
std::vector<int64_t> drawSizes(GroupSizes kind, int64_t groups, int64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> weights(groups, 1);
  if (kind == GroupSizes::Skewed)
    for (double &weight : weights)
      weight = std::exp(0.8 * normal(random));
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0), before = 0;
  std::vector<int64_t> sizes;
  for (double weight : weights) {
    int64_t begin = std::llround(before / sum * rows);
    before += weight;
    sizes.push_back(std::llround(before / sum * rows) - begin);
  }
  return sizes;
}

uint16_t toBF16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
uint16_t toF16(float value) {
  auto half = static_cast<_Float16>(value);
  uint16_t bits;
  std::memcpy(&bits, &half, 2);
  return bits;
}

class CudaMeasure : public Measure {
public:
  CudaMeasure(std::vector<MeasureBuffer> buffers, int64_t rows, uint64_t seed)
      : buffers(std::move(buffers)), rows(rows), seed(seed) {}

  ~CudaMeasure() override {
    for (moe_session *session : sessions)
      moe_session_release(session);
    for (cuda::DevicePtr memory : memories)
      driver.MemFree(memory);
    for (cuda::Event event : events)
      driver.EventDestroy(event);
    if (queue)
      driver.StreamDestroy(queue);
    if (context) {
      cuda::Context popped;
      driver.CtxPopCurrent(&popped);
      driver.DevicePrimaryCtxRelease(device);
    }
  }

  moe_status *open() {
    MOERT_TRY(driver.open());
    MOERT_CUDA(driver, DeviceGet, &device, 0);
    cuda::Context primary = nullptr;
    MOERT_CUDA(driver, DevicePrimaryCtxRetain, &primary, device);
    context = primary;
    MOERT_CUDA(driver, CtxPushCurrent, context);
    MOERT_CUDA(driver, StreamCreate, &queue, cuda::kNonBlockingStream);
    for (const MeasureBuffer &buffer : buffers) {
      int64_t count = std::accumulate(buffer.shape.begin(), buffer.shape.end(), int64_t(1), std::multiplies<>());
      size_t bytes = count * moe_dtype_size(buffer.dtype);
      cuda::DevicePtr memory = 0;
      MOERT_TRY(allocate(bytes, memory));
      MOERT_TRY(fill(buffer, memory, count));
      moe_buffer argument = {reinterpret_cast<void *>(uintptr_t(memory)),
                             bytes,
                             buffer.dtype,
                             static_cast<int32_t>(buffer.shape.size()),
                             buffer.shape.data(),
                             nullptr};
      (buffer.isOutput() ? outputs : inputs).push_back(argument);
    }
    return nullptr;
  }

  moe_status *add(const void *bytes, size_t size) override {
    moe_program *program = nullptr;
    MOERT_TRY(moe_program_load(bytes, size, &program));
    moe_session *session = nullptr;
    moe_status *status = moe_session_create(program, 0, nullptr, &session);
    size_t needed = 0, align = 0;
    if (!status)
      status = moe_workspace_query(program, 0, inputs.data(), inputs.size(), &needed, &align);
    moe_program_release(program);
    MOERT_TRY(status);
    sessions.push_back(session);
    if (needed > workspaceBytes) {
      MOERT_TRY(allocate(needed, workspace));
      workspaceBytes = needed;
    }
    return nullptr;
  }

  moe_status *use(GroupSizes kind) override {
    unsigned input = 0;
    for (const MeasureBuffer &buffer : buffers) {
      if (buffer.content == MeasureBuffer::Content::Bounds) {
        std::vector<int64_t> bounds;
        int64_t row = 0;
        for (int64_t size : drawSizes(kind, buffer.shape[0], rows, seed)) {
          bounds.insert(bounds.end(), {row, row + size});
          row += size;
        }
        MOERT_TRY(upload(address(inputs[input]), bounds.data(), bounds.size() * sizeof(int64_t)));
      }
      input += !buffer.isOutput();
    }
    return nullptr;
  }

  moe_status *run(unsigned program, uint64_t &hash) override {
    auto output = outputs.begin();
    for (const MeasureBuffer &buffer : buffers)
      if (buffer.isOutput()) {
        unsigned char byte = buffer.content == MeasureBuffer::Content::Sum ? 0 : 0xff;
        MOERT_CUDA(driver, MemsetD8Async, address(*output), byte, output->size_bytes, queue);
        ++output;
      }
    MOERT_TRY(enqueue(program));
    MOERT_CUDA(driver, StreamSynchronize, queue);
    hash = 1469598103934665603ull;
    std::vector<uint64_t> piece(kPiece / sizeof(uint64_t));
    for (const moe_buffer &output : outputs) {
      size_t pieces = std::max<size_t>(std::min<size_t>(64, output.size_bytes / kPiece), 1);
      for (size_t i = 0; i < pieces; ++i) {
        size_t begin = output.size_bytes / pieces * i, size = std::min(kPiece, output.size_bytes - begin);
        piece.back() = 0;
        MOERT_CUDA(driver, MemcpyDtoH, piece.data(), address(output) + begin, size);
        for (size_t word = 0; word < size / sizeof(uint64_t); ++word)
          hash = (hash ^ piece[word]) * 1099511628211ull;
      }
    }
    return nullptr;
  }

  moe_status *time(unsigned program, unsigned warmup, unsigned runs, std::vector<double> &times) override {
    while (events.size() <= runs) {
      cuda::Event event = nullptr;
      MOERT_CUDA(driver, EventCreate, &event, 0);
      events.push_back(event);
    }
    for (unsigned i = 0; i < warmup; ++i)
      MOERT_TRY(enqueue(program));
    MOERT_CUDA(driver, EventRecord, events[0], queue);
    for (unsigned i = 0; i < runs; ++i) {
      MOERT_TRY(enqueue(program));
      MOERT_CUDA(driver, EventRecord, events[i + 1], queue);
    }
    MOERT_CUDA(driver, StreamSynchronize, queue);
    for (unsigned i = 0; i < runs; ++i) {
      float milliseconds = 0;
      MOERT_CUDA(driver, EventElapsedTime, &milliseconds, events[i], events[i + 1]);
      times.push_back(1000.0 * milliseconds);
    }
    return nullptr;
  }

private:
  static constexpr size_t kPiece = 1 << 16;

  static cuda::DevicePtr address(const moe_buffer &buffer) { return reinterpret_cast<uintptr_t>(buffer.data); }

  moe_status *allocate(size_t bytes, cuda::DevicePtr &memory) {
    MOERT_CUDA(driver, MemAlloc, &memory, std::max<size_t>(bytes, 256));
    memories.push_back(memory);
    return nullptr;
  }

  /// Returns when the copy is done: the stream does not wait for it.
  moe_status *upload(cuda::DevicePtr to, const void *from, size_t bytes) {
    MOERT_CUDA(driver, MemcpyHtoD, to, from, bytes);
    MOERT_CUDA(driver, CtxSynchronize);
    return nullptr;
  }

  moe_status *enqueue(unsigned program) {
    return moe_enqueue(sessions[program], 0, inputs.data(), inputs.size(), outputs.data(), outputs.size(),
                       reinterpret_cast<void *>(uintptr_t(workspace)), workspaceBytes, nullptr, queue);
  }

  moe_status *fill(const MeasureBuffer &buffer, cuda::DevicePtr memory, int64_t count) {
    using Content = MeasureBuffer::Content;
    if (buffer.isOutput() || buffer.content == Content::Bounds || count == 0)
      return nullptr;
    if (buffer.content != Content::Random) {
      std::mt19937_64 random(seed);
      std::vector<int32_t> values(count);
      for (int64_t i = 0; i < count; ++i)
        values[i] = static_cast<int32_t>(buffer.content == Content::Count ? i : random() % buffer.limit);
      return upload(memory, values.data(), values.size() * sizeof(int32_t));
    }
    // The first part is drawn, then what is there is copied behind it again and again. Its length is odd, so that rows
    // differ.
    std::mt19937_64 random(seed + memories.size());
    std::normal_distribution<float> normal(0, 0.125F);
    size_t size = moe_dtype_size(buffer.dtype), bytes = count * size;
    std::vector<unsigned char> drawn(std::min<size_t>(count, (1 << 21) + 7) * size);
    for (size_t at = 0; at < drawn.size(); at += size) {
      float value = normal(random);
      uint16_t half = buffer.dtype == MOE_BF16 ? toBF16(value) : toF16(value);
      std::memcpy(&drawn[at], size == 2 ? static_cast<const void *>(&half) : &value, size);
    }
    MOERT_TRY(upload(memory, drawn.data(), drawn.size()));
    for (size_t done = drawn.size(); done < bytes;) {
      size_t next = std::min(done, bytes - done);
      MOERT_CUDA(driver, MemcpyDtoDAsync, memory + done, memory, next, queue);
      done += next;
    }
    MOERT_CUDA(driver, StreamSynchronize, queue);
    return nullptr;
  }

  std::vector<MeasureBuffer> buffers;
  int64_t rows;
  uint64_t seed;
  cuda::Driver driver;
  cuda::Device device = 0;
  cuda::Context context = nullptr;
  cuda::Stream queue = nullptr;
  std::vector<cuda::DevicePtr> memories;
  std::vector<cuda::Event> events;
  std::vector<moe_buffer> inputs, outputs;
  std::vector<moe_session *> sessions;
  cuda::DevicePtr workspace = 0;
  size_t workspaceBytes = 0;
};

} // namespace

moe_status *Measure::create(std::vector<MeasureBuffer> buffers, int64_t rows, uint64_t seed,
                            std::unique_ptr<Measure> &measure) {
  auto made = std::make_unique<CudaMeasure>(std::move(buffers), rows, seed);
  MOERT_TRY(made->open());
  measure = std::move(made);
  return nullptr;
}
