//===- Ranks.cpp - how the ranks of a custom call find each other ----------------------===//
#include "Ranks.h"

#include <chrono>
#include <cstdlib>

using namespace moert::xla;

/// $MOE_COMM_TIMEOUT_MS, or what the runtime has where that is no number.
static moe_comm_options options() {
  const char *chosen = std::getenv("MOE_COMM_TIMEOUT_MS");
  long timeout = chosen ? std::strtol(chosen, nullptr, 10) : 0;
  return {sizeof(moe_comm_options), timeout > 0 && timeout <= UINT32_MAX ? uint32_t(timeout) : 0};
}

static CommRef own(moe_comm *comm) { return {comm, moe_comm_release}; }

struct moert::xla::DeviceComms {
  std::mutex mutex;
  uint8_t id[MOE_COMM_ID_BYTES];
  bool hasId = false, failed = false;
  std::vector<CommRef> comms;

  Failure find(int32_t rank, int32_t device, CommRef &comm);
  /// Those of these devices, in this order.
  static std::shared_ptr<DeviceComms> of(const std::vector<int32_t> &devices);
};

std::shared_ptr<DeviceComms> DeviceComms::of(const std::vector<int32_t> &devices) {
  static std::mutex mutex;
  // Never destroyed: XLA's threads may outlive static objects.
  static auto &all = *new std::map<std::vector<int32_t>, std::shared_ptr<DeviceComms>>;
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<DeviceComms> &found = all[devices];
  bool failed = false;
  if (found) {
    std::lock_guard<std::mutex> inner(found->mutex);
    failed = found->failed;
  }
  if (!found || failed) {
    found = std::make_shared<DeviceComms>();
    found->comms.resize(devices.size());
  }
  return found;
}

Failure DeviceComms::find(int32_t rank, int32_t device, CommRef &comm) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    comm = comms[size_t(rank)];
    if (comm)
      return {};
    if (!hasId)
      if (Failure failure = moe_comm_unique_id(id))
        return failure;
    hasId = true;
  }
  // Unlocked: it returns when all ranks have called it.
  moe_comm *made = nullptr;
  moe_comm_options with = options();
  if (Failure failure = moe_comm_create_nccl(id, rank, int32_t(comms.size()), device, &with, &made))
    return failure;
  comm = own(made);
  std::lock_guard<std::mutex> lock(mutex);
  comms[size_t(rank)] = comm;
  return {};
}

Failure Ranks::check(Place place) const {
  if (place.rank >= 0 && place.rank < size)
    return {};
  return {MOE_INVALID_ARGUMENT,
          "the custom call runs on rank " + std::to_string(place.rank) + " of " + std::to_string(size)};
}

bool Ranks::knows(int32_t device, Place &place) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = places.find(device);
  if (found != places.end())
    place = found->second;
  return found != places.end();
}

void Ranks::learn(int32_t device, Place place) {
  std::lock_guard<std::mutex> lock(mutex);
  places[device] = place;
}

Failure Ranks::findLocal(Place place, int64_t run, CommRef &comm) {
  if (Failure failure = check(place))
    return failure;
  std::lock_guard<std::mutex> lock(mutex);
  Row &row = rows[place.row];
  // A rank that begins a run has seen all others into their last exchange of the run before: nobody needs what goes.
  if (row.comms.empty() || row.run != run) {
    std::vector<moe_comm *> made(static_cast<size_t>(size));
    moe_comm_options with = options();
    if (Failure failure = moe_comm_create_local(size, &with, made.data()))
      return failure;
    row.comms.clear();
    for (moe_comm *one : made)
      row.comms.push_back(own(one));
    row.run = run;
  }
  comm = row.comms[size_t(place.rank)];
  return {};
}

Failure Ranks::meet(Row &row, Place place, int64_t run, int32_t device, std::unique_lock<std::mutex> &lock) {
  if (row.run != run) {
    row.run = run;
    row.failure.clear();
    row.devices.assign(size_t(size), -1);
    row.deviceComms = nullptr;
  }
  auto fail = [&](const std::string &message) {
    if (row.failure.empty())
      row.failure = message;
    changed.notify_all();
  };
  int32_t &mine = row.devices[size_t(place.rank)];
  if (mine >= 0 && mine != device)
    fail("rank " + std::to_string(place.rank) + " is on devices " + std::to_string(mine) + " and " +
         std::to_string(device) + ": all axes of the mesh must be manual");
  mine = device;
  changed.notify_all();
  auto missing = [&] {
    for (int32_t rank = 0; rank < size; ++rank)
      if (row.devices[size_t(rank)] < 0)
        return rank;
    return -1;
  };
  uint32_t limit = options().timeout_ms ? options().timeout_ms : 30000;
  if (!changed.wait_for(lock, std::chrono::milliseconds(limit),
                        [&] { return row.run != run || !row.failure.empty() || missing() < 0; }))
    fail("rank " + std::to_string(missing()) + " did not come within " + std::to_string(limit) + " ms of rank " +
         std::to_string(place.rank));
  if (row.run != run)
    return {MOE_COMM_FAILED, "rank " + std::to_string(place.rank) + " is late: the others have begun another run"};
  if (!row.failure.empty())
    return {MOE_COMM_FAILED, row.failure};
  if (!row.deviceComms)
    row.deviceComms = DeviceComms::of(row.devices);
  return {};
}

Failure Ranks::findDevice(Place place, int64_t run, int32_t device, CommRef &comm) {
  if (Failure failure = check(place))
    return failure;
  std::shared_ptr<DeviceComms> found;
  {
    std::unique_lock<std::mutex> lock(mutex);
    Row &row = rows[place.row];
    found = row.deviceComms;
    // All ranks see the failure of a run before the next one begins.
    if (!found || (!row.failure.empty() && row.run != run))
      if (Failure failure = meet(row, place, run, device, lock))
        return failure;
    found = row.deviceComms;
  }
  return found->find(place.rank, device, comm);
}

void Ranks::fail(Place place, int64_t run, const CommRef &comm) {
  std::lock_guard<std::mutex> lock(mutex);
  Row &row = rows[place.row];
  if (!row.deviceComms)
    return; // the ranks meet again already
  std::lock_guard<std::mutex> inner(row.deviceComms->mutex);
  if (row.deviceComms->comms[size_t(place.rank)] != comm)
    return;
  row.deviceComms->failed = true;
  row.failure = "an exchange has failed";
  row.run = run;
}
