//===- Exchange.cpp - from an all_to_all step to what a communicator moves -----------===//
#include "Exchange.h"

#include <algorithm>
#include <string>

using namespace moert;

moe_status *moert::checkComm(const Entry &entry, const moe_comm *comm, bool onDevice) {
  if (!comm && !entry.ranks)
    return nullptr;
  if (!entry.ranks)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "comm is not NULL, but entry '%s' takes none", entry.name);
  if (!comm)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "comm is NULL, but entry '%s' is for %u ranks of axis '%s'", entry.name,
                       entry.ranks, entry.axis);
  if (comm->comm->size != int64_t(entry.ranks))
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "comm has %d ranks, but entry '%s' is for %u of axis '%s'",
                       comm->comm->size, entry.name, entry.ranks, entry.axis);
  if (entry.moves && comm->comm->onDevice() != onDevice)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "comm is for memory of the %s, but entry '%s' runs on the %s",
                       onDevice ? "host" : "device", entry.name, onDevice ? "device" : "host");
  return nullptr;
}

/// Bytes of a row: what lies between two steps of the first dimension.
static size_t rowBytes(const Frame &frame, uint32_t number) {
  const Buffer &buffer = frame.entry.buffers[number];
  size_t bytes = moe_dtype_size(buffer.dtype);
  for (int32_t d = 1; d < buffer.rank; ++d)
    bytes *= size_t(sizesOf(frame.descriptor(number))[d]);
  return bytes;
}

/// Bounds as a kernel made them: ascending and within the rows.
static moe_status *checkBounds(const char *what, const int64_t *bounds, int64_t rows, int32_t ranks) {
  int64_t last = 0;
  for (int32_t r = 0; r < ranks; ++r) {
    int64_t begin = bounds[2 * r], end = bounds[2 * r + 1];
    if (begin < last || end < begin || end > rows)
      return MOERT_ERROR(MOE_BAD_PROGRAM,
                         "rows %lld to %lld to %s for rank %d are outside of %lld rows, or not in order",
                         (long long)begin, (long long)end, what, r, (long long)rows);
    last = end;
  }
  return nullptr;
}

moe_status *moert::checkRows(const Frame &frame, const Step &step, int32_t ranks) {
  int64_t sourceRows = sizesOf(frame.descriptor(step.source))[0], rows = sizesOf(frame.descriptor(step.target))[0];
  size_t bytes = rowBytes(frame, step.source), targetBytes = rowBytes(frame, step.target);
  if (bytes != targetBytes)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "rows of %zu bytes would be received as rows of %zu bytes", bytes,
                       targetBytes);
  if (step.send < 0 && (rows != sourceRows || rows % ranks))
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "%lld rows would be exchanged for %lld as equal blocks of %d ranks",
                       (long long)sourceRows, (long long)rows, ranks);
  if (step.send < 0)
    return nullptr;
  auto checkShape = [&](const char *what, int32_t bounds) -> moe_status * {
    const int64_t *sizes = sizesOf(frame.descriptor(uint32_t(bounds)));
    if (sizes[0] == ranks && sizes[1] == 2)
      return nullptr;
    return MOERT_ERROR(MOE_BAD_PROGRAM, "the bounds of rows to %s are %lld x %lld for %d ranks", what,
                       (long long)sizes[0], (long long)sizes[1], ranks);
  };
  MOERT_TRY(checkShape("send", step.send));
  return checkShape("receive", step.receive);
}

moe_status *moert::setPieces(const Frame &frame, const Step &step, const int64_t *send, const int64_t *receive,
                             Comm &comm) {
  char *source = pointerOf(frame.descriptor(step.source)), *target = pointerOf(frame.descriptor(step.target));
  int64_t sourceRows = sizesOf(frame.descriptor(step.source))[0], rows = sizesOf(frame.descriptor(step.target))[0];
  size_t bytes = rowBytes(frame, step.source);
  MOERT_TRY(checkRows(frame, step, comm.size));
  if (send) {
    MOERT_TRY(checkBounds("send", send, sourceRows, comm.size));
    MOERT_TRY(checkBounds("receive", receive, rows, comm.size));
  }
  for (int32_t r = 0; r < comm.size; ++r) {
    auto piece = [&](char *data, const int64_t *bounds) -> Piece {
      int64_t begin = bounds ? bounds[2 * r] : rows / comm.size * r;
      int64_t end = bounds ? bounds[2 * r + 1] : rows / comm.size * (r + 1);
      return {data + size_t(begin) * bytes, size_t(end - begin) * bytes};
    };
    comm.send[size_t(r)] = piece(source, send);
    comm.receive[size_t(r)] = piece(target, receive);
  }
  return nullptr;
}

int64_t moert::countSent(const Frame &frame, const Step &step, const int64_t *send, Comm &comm) {
  int64_t block = sizesOf(frame.descriptor(step.source))[0] / comm.size, toOthers = 0;
  for (int32_t r = 0; r < comm.size; ++r) {
    int64_t rows = send ? send[2 * r + 1] - send[2 * r] : block, bytes = rows * int64_t(rowBytes(frame, step.source));
    comm.sent[size_t(r)] += uint64_t(bytes);
    toOthers += r == comm.rank ? 0 : bytes;
  }
  return toOthers;
}

moe_status *moert::tellOnHost(Comm &comm, const void *own, void *all, size_t bytes) {
  for (int32_t r = 0; r < comm.size; ++r) {
    comm.send[size_t(r)] = {const_cast<void *>(own), bytes};
    comm.receive[size_t(r)] = {static_cast<char *>(all) + size_t(r) * bytes, bytes};
  }
  return comm.exchange(nullptr);
}

namespace {

/// What ranks have to agree on.
struct Exchanged {
  int64_t rowBytes, blockRows; ///< -1 rows where bounds say how many
  bool operator!=(const Exchanged &other) const { return rowBytes != other.rowBytes || blockRows != other.blockRows; }
  std::string text() const {
    std::string rows = "rows of " + std::to_string(rowBytes) + " bytes ";
    return rows + (blockRows < 0 ? "by bounds" : "in blocks of " + std::to_string(blockRows));
  }
};

} // namespace

static moe_status *findExchanges(const Entry &entry, const Call &call, std::vector<Exchanged> &found) {
  std::vector<int64_t> values(entry.exprs.size());
  MOERT_TRY(checkInputs(entry, call.inputs, call.numInputs, values.data()));
  for (const Step &step : entry.steps) {
    if (step.kind != Step::AllToAll)
      continue;
    // Of one row.
    Buffer row = entry.buffers[step.source];
    int64_t rows = values[row.dims[0]];
    std::copy(row.dims + 1, row.dims + row.rank, row.dims);
    --row.rank;
    uint64_t bytes = 0;
    MOERT_TRY(bufferBytes(row, values.data(), step.source, bytes));
    found.push_back({int64_t(bytes), step.send < 0 ? rows / int64_t(entry.ranks) : -1});
  }
  return nullptr;
}

moe_status *moert::compareExchanges(const Entry &entry, const Call &call, const Tell &tell) {
  std::vector<Exchanged> own;
  MOERT_TRY(findExchanges(entry, call, own));
  auto count = int64_t(own.size());
  std::vector<int64_t> counts(entry.ranks);
  MOERT_TRY(tell(&count, counts.data(), sizeof(count)));
  for (size_t r = 1; r < counts.size(); ++r)
    if (counts[r] != counts[0])
      return MOERT_ERROR(MOE_COMM_FAILED,
                         "ranks disagree: rank %zu would exchange rows %lld times where rank 0 does %lld times", r,
                         (long long)counts[r], (long long)counts[0]);
  std::vector<Exchanged> all(own.size() * entry.ranks);
  MOERT_TRY(tell(own.data(), all.data(), own.size() * sizeof(Exchanged)));
  for (size_t i = own.size(); i < all.size(); ++i)
    if (const Exchanged &first = all[i % own.size()]; all[i] != first)
      return MOERT_ERROR(MOE_COMM_FAILED, "ranks disagree: rank %zu would exchange %s where rank 0 exchanges %s",
                         i / own.size(), all[i].text().c_str(), first.text().c_str());
  return nullptr;
}

moe_status *CommUse::take() {
  if (comm && comm->busy.exchange(true))
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "comm is in use by another enqueue; the order of exchanges would be lost");
  taken = comm != nullptr;
  return nullptr;
}

moe_status *CommUse::finish(moe_status *status) const {
  if (!status || !taken)
    return status;
  comm->fail(("rank " + std::to_string(comm->rank) + ": " + moe_status_message(status)).c_str());
  return status;
}
