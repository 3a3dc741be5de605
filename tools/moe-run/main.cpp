//===- main.cpp - moe-run: runs a .moe on the CPU or a GPU -----------------------------------===//
#include "Arrays.h"
#include "Check.h"
#include "Convert.h"
#include "Device.h"
#include "Ranks.h"
#include "Report.h"
#include "Trace.h"
#include "moert/moert.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <set>

using namespace moe_run;

namespace {

/// Of which --bench takes the median of each step.
constexpr uint32_t kMostTracedRuns = 5;

struct Options {
  std::string program, entry, output, expected, trace, report;
  Ceilings ceilings;
  std::vector<std::string> inputs;
  Tolerance tolerance;
  bool bench = false, graph = false;
  int32_t device = 0;
  uint32_t warmup = 3, repeat = 20, threads = 0;
  RankOptions ranks;
};

/// Memory of a device.
class Memory {
public:
  Memory(Device &device, size_t bytes) : device(device), data(device.allocate(bytes)) {}
  Memory(Memory &&other) noexcept : device(other.device), data(other.data) { other.data = nullptr; }
  ~Memory() {
    if (data)
      device.free(data);
  }
  void *get() const { return data; }

private:
  Device &device;
  void *data;
};

/// An input or output of the entry with its memory.
struct Tensor {
  moe_argument_info info;
  std::string name; ///< the argument's, or "in0", "out0", ...
  std::vector<int64_t> shape;
  size_t bytes;
  Memory memory;

  moe_buffer buffer() const { return {memory.get(), bytes, info.dtype, int32_t(shape.size()), shape.data(), nullptr}; }
};

size_t bytesOf(const std::vector<int64_t> &shape, moe_dtype dtype) {
  size_t bytes = moe_dtype_size(dtype);
  for (int64_t size : shape)
    if (__builtin_mul_overflow(bytes, size_t(size), &bytes))
      throw Error("an output passes 64 bits");
  return bytes;
}

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// `named` gets the names that were given one by one; a .npz may hold more than this entry takes.
std::map<std::string, Array> readInputs(const std::vector<std::string> &options, std::set<std::string> &named) {
  std::map<std::string, Array> arrays;
  for (const std::string &option : options) {
    size_t equals = option.find('=');
    if (equals != std::string::npos && endsWith(option, ".npy"))
      arrays[*named.insert(option.substr(0, equals)).first] = readNpy(option.substr(equals + 1));
    else if (endsWith(option, ".npz"))
      for (auto &[name, array] : readNpz(option))
        arrays[name] = std::move(array);
    else
      throw Error("--input '" + option + "' is neither a .npz file nor name=file.npy");
  }
  return arrays;
}

/// The array for argument number i: its name, or `prefix` and number.
const Array *findArray(const std::map<std::string, Array> &arrays, const std::string &name, const std::string &number) {
  auto found = name.empty() ? arrays.end() : arrays.find(name);
  if (found == arrays.end())
    found = arrays.find(number);
  return found == arrays.end() ? nullptr : &found->second;
}

std::string eitherName(const std::string &name, const std::string &number) {
  return "'" + name + "'" + (name == number ? "" : " or '" + number + "'");
}

std::string namesOf(const std::map<std::string, Array> &arrays) {
  std::string names;
  for (const auto &[name, array] : arrays)
    names += (names.empty() ? "'" : ", '") + name + "'";
  return names.empty() ? "none" : names;
}

uint32_t chooseEntry(const moe_program *program, const std::string &name) {
  uint32_t entry = 0;
  if (!name.empty()) {
    check(moe_program_find(program, name.c_str(), &entry));
    return entry;
  }
  uint32_t n = moe_program_num_entries(program);
  if (n == 1)
    return 0;
  std::string names;
  for (uint32_t i = 0; i < n; ++i) {
    moe_entry_info info{};
    info.struct_size = sizeof(info);
    check(moe_program_entry(program, i, &info));
    names += std::string(" '") + info.name + "'";
  }
  throw Error("the program has " + std::to_string(n) + " entries; choose one with --entry:" + names);
}

/// Every array called outN is to be one of the outputs, so that an expectation too many is no silent success.
void checkNoneIsLeft(const Options &options, const std::map<std::string, Array> &expected,
                     const std::set<std::string> &compared, const std::vector<Tensor> &inputs) {
  for (const auto &entry : expected) {
    const std::string &name = entry.first;
    bool numbered = name.size() > 3 && name.compare(0, 3, "out") == 0 &&
                    name.find_first_not_of("0123456789", 3) == std::string::npos;
    bool isInput = std::any_of(inputs.begin(), inputs.end(), [&](const Tensor &tensor) { return tensor.name == name; });
    if (numbered && !isInput && !compared.count(name))
      throw Error("'" + options.expected + "' has an array '" + name + "', which is compared with no output");
  }
}

void bench(const Options &options, Device &device, const std::function<void()> &run, bool isCuda) {
  std::vector<double> times = device.time(run, options.warmup, options.repeat);
  std::sort(times.begin(), times.end());
  size_t n = times.size();
  std::string how = isCuda            ? options.graph ? "on device " + std::to_string(options.device) + " by a graph"
                                                      : "on device " + std::to_string(options.device)
                    : options.threads ? "with " + std::to_string(options.threads) + " threads"
                                      : "with a thread for each core";
  print("time: median %.4f ms, min %.4f, max %.4f of %zu runs %s\n", (times[(n - 1) / 2] + times[n / 2]) / 2,
        times.front(), times.back(), n, how.c_str());
}

using Program = std::unique_ptr<moe_program, void (*)(moe_program *)>;

Program loadProgram(const std::string &path) {
  moe_program *program = nullptr;
  check(moe_program_load_file(path.c_str(), &program));
  return {program, moe_program_release};
}

/// To each rank so far.
std::vector<uint64_t> bytesSent(const moe_comm *comm) {
  std::vector<uint64_t> sent(size_t(moe_comm_size(comm)));
  for (size_t peer = 0; peer < sent.size(); ++peer)
    check(moe_comm_sent(comm, int32_t(peer), &sent[peer]));
  return sent;
}

/// False if a check failed.
bool runProgram(const Program &program, Options options, moe_comm *comm) {
  for (std::string &input : options.inputs)
    input = withRank(input, comm);
  options.output = withRank(options.output, comm);
  options.expected = withRank(options.expected, comm);
  options.trace = withRank(options.trace, comm);
  options.report = withRank(options.report, comm);

  uint32_t entry = chooseEntry(program.get(), options.entry);
  std::string target = moe_program_target(program.get());
  std::unique_ptr<Device> device = openDevice(target, options.device);
  moe_entry_info info{};
  info.struct_size = sizeof(info);
  check(moe_program_entry(program.get(), entry, &info));

  std::set<std::string> named;
  std::map<std::string, Array> arrays = readInputs(options.inputs, named);
  std::vector<Tensor> inputs, outputs;
  std::vector<moe_buffer> inputBuffers, outputBuffers;
  for (uint32_t i = 0; i < info.num_inputs; ++i) {
    moe_argument_info argument;
    check(moe_program_input(program.get(), entry, i, &argument));
    std::string number = "in" + std::to_string(i), name = argument.name[0] ? argument.name : number;
    const Array *array = findArray(arrays, argument.name, number);
    if (!array)
      throw Error("no array " + eitherName(name, number) + " was given for input " + std::to_string(i) + "; there is " +
                  namesOf(arrays));
    named.erase(name);
    named.erase(number);
    std::vector<uint8_t> bytes = toProgram("input " + std::to_string(i) + " '" + name + "'", *array, argument.dtype);
    Tensor &tensor =
        inputs.emplace_back(Tensor{argument, name, array->shape, bytes.size(), Memory(*device, bytes.size())});
    device->upload(tensor.memory.get(), bytes.data(), bytes.size());
  }
  if (!named.empty())
    throw Error("--input names '" + *named.begin() + "', but entry '" + info.name + "' has no such input");
  for (const Tensor &tensor : inputs)
    inputBuffers.push_back(tensor.buffer());
  for (uint32_t i = 0; i < info.num_outputs; ++i) {
    moe_argument_info argument;
    check(moe_program_output(program.get(), entry, i, &argument));
    std::string number = "out" + std::to_string(i), name = argument.name[0] ? argument.name : number;
    std::vector<int64_t> shape(MOE_MAX_RANK);
    check(moe_output_shape(program.get(), entry, inputBuffers.data(), inputBuffers.size(), i, shape.data()));
    shape.resize(size_t(argument.rank));
    size_t bytes = bytesOf(shape, argument.dtype);
    outputs.push_back(Tensor{argument, name, shape, bytes, Memory(*device, bytes)});
  }
  for (const Tensor &tensor : outputs)
    outputBuffers.push_back(tensor.buffer());

  size_t workspaceBytes = 0, align = 0;
  check(moe_workspace_query(program.get(), entry, inputBuffers.data(), inputBuffers.size(), &workspaceBytes, &align));
  Memory workspace(*device, workspaceBytes);
  moe_options sessionOptions{sizeof(sessionOptions), options.threads, nullptr};
  moe_session *rawSession = nullptr;
  check(moe_session_create(program.get(), options.device, &sessionOptions, &rawSession));
  std::unique_ptr<moe_session, void (*)(moe_session *)> session(rawSession, moe_session_release);

  if (comm)
    check(moe_session_connect(session.get(), entry, inputBuffers.data(), inputBuffers.size(), comm, device->stream()));
  std::function<void()> run = [&] {
    check(moe_enqueue(session.get(), entry, inputBuffers.data(), inputBuffers.size(), outputBuffers.data(),
                      outputBuffers.size(), workspace.get(), workspaceBytes, comm, device->stream()));
  };
  std::function<void()> start = run;
  if (options.graph)
    start = device->capture(run);
  start();
  device->synchronize();
  if (comm) // an exchange on a device may have failed after its enqueue
    check(moe_comm_status(comm));
  moe_fault faults[MOE_NUM_FAULT_KINDS];
  size_t numFaults = MOE_NUM_FAULT_KINDS;
  check(moe_session_poll(session.get(), workspace.get(), faults, &numFaults));
  for (size_t i = 0; i < numFaults; ++i)
    print("fault %s: %lld times, first at row %lld: value %lld, limit %lld\n", moe_fault_name(faults[i].kind),
          (long long)faults[i].count, (long long)faults[i].row, (long long)faults[i].value, (long long)faults[i].limit);

  std::vector<std::pair<std::string, Array>> results;
  for (const Tensor &tensor : outputs) {
    std::vector<uint8_t> bytes(tensor.bytes);
    device->download(bytes.data(), tensor.memory.get(), bytes.size());
    results.emplace_back(tensor.name, fromProgram(bytes.data(), tensor.shape, tensor.info.dtype));
  }
  if (!options.output.empty())
    writeNpz(options.output, results);

  bool good = true;
  if (!options.expected.empty()) {
    std::map<std::string, Array> expected = readNpz(options.expected);
    std::set<std::string> compared;
    for (size_t i = 0; i < results.size(); ++i) {
      std::string number = "out" + std::to_string(i);
      const Array *array = findArray(expected, outputs[i].info.name, number);
      if (!array)
        throw Error("'" + options.expected + "' has no array " + eitherName(results[i].first, number) + " for output " +
                    std::to_string(i) + "; there is " + namesOf(expected));
      compared.insert(expected.count(outputs[i].info.name) ? outputs[i].info.name : number);
      std::string what = number == results[i].first ? number : number + " '" + results[i].first + "'";
      good &= moe_run::check(what, results[i].second, *array, options.tolerance);
    }
    checkNoneIsLeft(options, expected, compared, inputs);
  }

  auto traced = [&] {
    return traceSteps([&](moe_step_function report, void *user) {
      check(moe_enqueue_traced(session.get(), entry, inputBuffers.data(), inputBuffers.size(), outputBuffers.data(),
                               outputBuffers.size(), workspace.get(), workspaceBytes, comm, device->stream(), report,
                               user));
    });
  };
  Ceilings ceilings = findCeilings(device->name());
  if (options.ceilings.tflops)
    ceilings.tflops = options.ceilings.tflops;
  if (options.ceilings.tbs)
    ceilings.tbs = options.ceilings.tbs;
  if (options.bench) {
    bench(options, *device, start, target == "cuda");
    std::vector<std::vector<Step>> runs;
    for (uint32_t i = 0; i < std::min(options.repeat, kMostTracedRuns); ++i)
      runs.push_back(traced());
    printSteps(runs, ceilings);
  }
  if (!options.trace.empty() || !options.report.empty()) {
    std::vector<uint64_t> before = bytesSent(comm);
    Trace trace{
        options.program, info.name, device->name(), ceilings, traced(), 0, std::max(moe_comm_rank(comm), 0), {}};
    trace.sent = bytesSent(comm);
    for (size_t peer = 0; peer < before.size(); ++peer)
      trace.sent[peer] -= before[peer];
    if (!trace.steps.empty())
      trace.enqueued = trace.steps.back().hostEnd;
    if (!options.trace.empty())
      writeTrace(options.trace, trace);
    if (!options.report.empty())
      writeReport(options.report, trace);
  }
  return good;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Runs an entry of a .moe program on the CPU or a GPU, as it was compiled for.");
  app.set_version_flag("--version", std::string("moe-run ") + moe_version());
  app.add_option("program", options.program, "the .moe file")->required();
  app.add_option("--entry", options.entry, "the entry to run, if there are several");
  app.add_option("--input", options.inputs,
                 "a .npz whose arrays bear the inputs' names or in0, in1, ..., or name=file.npy; may be repeated. "
                 "f32 arrays are rounded for bf16 and f16 inputs; every other type must be the program's")
      ->allow_extra_args(false);
  app.add_option("--output", options.output,
                 "writes the outputs to this .npz under their names or out0, out1, ...; bf16 becomes f32");
  auto *expected = app.add_option("--check", options.expected,
                                  "compares with this .npz and fails if an output is too far off or missing");
  auto *ofMax = app.add_option("--rtol-of-max", options.tolerance.rtolOfMax,
                               "largest error, relative to the output's largest expected magnitude (default 1e-5)")
                    ->check(CLI::NonNegativeNumber)
                    ->needs(expected);
  app.add_option("--atol", options.tolerance.atol, "largest error of an element: atol + rtol * |expected|")
      ->check(CLI::NonNegativeNumber)
      ->needs(expected)
      ->excludes(ofMax);
  app.add_option("--rtol", options.tolerance.rtol, "see --atol")
      ->check(CLI::NonNegativeNumber)
      ->needs(expected)
      ->excludes(ofMax);
  auto *benchFlag = app.add_flag("--bench", options.bench, "times the run, and each of its steps");
  app.add_option("--warmup", options.warmup, "untimed runs before those that count")
      ->needs(benchFlag)
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "timed runs")
      ->needs(benchFlag)
      ->check(CLI::Range(1u, 1000000u))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "cpu: worker threads; 0 is one for each core")->capture_default_str();
  auto *ranks =
      app.add_option("--ranks", options.ranks.threads,
                     "runs this many ranks as threads, on cuda each on a GPU of its own, from --device on; {rank} in a "
                     "file's name is the rank's number")
          ->check(CLI::Range(1, 1024));
  app.add_option("--store", options.ranks.store,
                 "runs one rank of those that torchrun or mpirun started, which find each other in this folder, empty "
                 "at first, or at tcp://host:port of rank 0, or with env:// at MASTER_ADDR and MASTER_PORT; on cuda "
                 "the GPU is --device plus the rank's number on its host")
      ->excludes(ranks);
  app.add_option("--timeout-ms", options.ranks.timeoutMs, "how long ranks wait for each other; 0 is 30000")
      ->capture_default_str();
  app.add_option("--device", options.device, "cuda: number of the GPU")->capture_default_str();
  app.add_flag("--graph", options.graph, "cuda: captures the run in a CUDA graph, and replays it");
  app.add_option("--trace", options.trace,
                 "writes a Chrome trace of one more run, which Perfetto loads: each launch, fill and copy");
  app.add_option("--report", options.report, "writes a page of HTML about the same run");
  app.add_option("--peak-tflops", options.ceilings.tflops, "TFLOP/s that the device can do; else known for some GPUs")
      ->check(CLI::PositiveNumber);
  app.add_option("--peak-tbs", options.ceilings.tbs, "TB/s that its memory can do; else known for some GPUs")
      ->check(CLI::PositiveNumber);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? 1 : 0;
  }
  try {
    Program program = loadProgram(options.program);
    options.ranks.onGpus = std::string(moe_program_target(program.get())) == "cuda";
    options.ranks.device = options.device;
    bool good = runRanks(options.ranks, [&](moe_comm *comm, int32_t device) {
      Options ofRank = options;
      ofRank.device = device;
      return runProgram(program, ofRank, comm);
    });
    if (std::fflush(stdout) || std::ferror(stdout))
      throw Error(std::string("cannot write to standard output: ") + std::strerror(errno));
    return good ? 0 : 1;
  } catch (const std::exception &error) {
    std::fflush(stdout);
    std::fprintf(stderr, "moe-run: error: %s\n", error.what());
    return 1;
  }
}
