//===- Trace.cpp ----------------------------------------------------------------------===//
#include "Trace.h"
#include "Arrays.h"
#include "Ranks.h"
#include "ceilings.json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

using namespace moe_run;
using nlohmann::json;

std::optional<double> Ceilings::share(const Step &step) const {
  if (!known() || !step.flops || !step.bytes || step.time() <= 0)
    return std::nullopt;
  return std::max(double(*step.flops) / *tflops, double(*step.bytes) / *tbs) * 1e-6 / step.time();
}

Ceilings moe_run::findCeilings(const std::string &device) {
  static const json known = json::parse(kCeilings);
  auto found = known.find(device);
  if (found == known.end())
    return {};
  return {found->at("tflops").get<double>(), found->at("tbs").get<double>()};
}

std::vector<Step> moe_run::traceSteps(const std::function<void(moe_step_function report, void *user)> &run) {
  std::vector<Step> steps;
  run(
      [](void *user, const moe_step *step) {
        auto known = [](int64_t n) { return n < 0 ? std::nullopt : std::optional(n); };
        static_cast<std::vector<Step> *>(user)->push_back({step->name,
                                                           step->kind,
                                                           step->begin,
                                                           step->end,
                                                           step->host_begin,
                                                           step->host_end,
                                                           known(step->flops),
                                                           known(step->bytes),
                                                           {step->rows, step->rows + step->num_groups}});
      },
      &steps);
  return steps;
}

//===----------------------------------------------------------------------===//
// The trace file
//===----------------------------------------------------------------------===//

static json name(int track, const char *what, const std::string &text) {
  return {{"ph", "M"}, {"pid", 1}, {"tid", track}, {"name", what}, {"args", {{"name", text}}}};
}

static json slice(int track, const std::string &name, const char *category, double begin, double end) {
  return {{"ph", "X"},       {"pid", 1},    {"tid", track},       {"name", name},
          {"cat", category}, {"ts", begin}, {"dur", end - begin}, {"args", json::object()}};
}

void moe_run::writeTrace(const std::string &path, const Trace &trace) {
  enum { kDevice = 1, kHost = 2 };
  static constexpr const char *kinds[] = {"launch", "fill", "copy", "exchange"};
  json events = {name(kDevice, "process_name", trace.device), name(kDevice, "thread_name", "kernels"),
                 name(kHost, "thread_name", "host: enqueue")};
  events.push_back(slice(kHost, "enqueue", "host", 0, trace.enqueued));
  for (const Step &step : trace.steps) {
    json event = slice(kDevice, step.name, kinds[step.kind], step.begin, step.end);
    auto put = [&](const char *key, auto value) {
      if (value)
        event["args"][key] = *value;
    };
    put("flops", step.flops);
    put("bytes", step.bytes);
    put("TFLOP/s", step.tflops());
    put("TB/s", step.tbs());
    put("share of roofline", trace.ceilings.share(step));
    if (!step.rows.empty())
      event["args"]["rows"] = step.rows;
    events.push_back(event);
    events.push_back(slice(kHost, step.name, "host", step.hostBegin, step.hostEnd));
  }
  json other = {{"program", trace.program}, {"entry", trace.entry}};
  for (int kind = 0; kind < int(std::size(kinds)); ++kind)
    if (double time = trace.timeIn(moe_step_kind(kind)))
      other["us by kind"][kinds[kind]] = time;
  if (!trace.sent.empty())
    other.update({{"rank", trace.rank}, {"bytes sent to each rank", trace.sent}});
  if (trace.ceilings.known())
    other.update({{"peak TFLOP/s", *trace.ceilings.tflops}, {"peak TB/s", *trace.ceilings.tbs}});
  json file = {{"displayTimeUnit", "ns"}, {"otherData", other}, {"traceEvents", events}};
  // Names come from the program, which may hold any bytes.
  writeText(path, file.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string moe_run::withUnit(double value, const char *unit) {
  static constexpr const char *prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t i = 0;
  for (; value >= 999.5 && i + 1 < std::size(prefixes); ++i)
    value /= 1000;
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f %s%s",
                i == 0 || value >= 99.95 ? 0
                : value >= 9.995         ? 1
                                         : 2,
                value, prefixes[i], unit);
  return text;
}

void moe_run::writeText(const std::string &path, const std::string &text) {
  std::ofstream stream(path, std::ios::binary);
  if (!stream || !(stream << text) || !stream.flush())
    throw Error("cannot write '" + path + "': " + std::strerror(errno));
}

static std::string format(const char *form, std::optional<double> value) {
  char text[64] = "-";
  if (value)
    std::snprintf(text, sizeof(text), form, *value);
  return text;
}

void moe_run::printSteps(const std::vector<std::vector<Step>> &runs, const Ceilings &ceilings) {
  std::vector<Step> steps = runs.front();
  size_t width = 4;
  double total = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    std::vector<double> times;
    for (const std::vector<Step> &run : runs)
      times.push_back(run[i].time());
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    steps[i].end = steps[i].begin + times[times.size() / 2];
    total += steps[i].time();
    width = std::max(width, steps[i].name.size());
  }
  print("%-*s %10s %6s %10s %10s %8s %8s %8s\n", int(width), "step", "us", "time", "flops", "bytes", "TFLOP/s", "TB/s",
        "roofline");
  for (const Step &step : steps) {
    auto count = [](std::optional<int64_t> n) { return n ? withUnit(double(*n), "") : "-"; };
    auto share = ceilings.share(step);
    print("%-*s %10.2f %5.1f%% %10s %10s %8s %8s %8s\n", int(width), step.name.c_str(), step.time(),
          total > 0 ? step.time() / total * 100 : 0, count(step.flops).c_str(), count(step.bytes).c_str(),
          format("%.3g", step.tflops()).c_str(), format("%.3g", step.tbs()).c_str(),
          format("%.1f%%", share ? std::optional(*share * 100) : std::nullopt).c_str());
  }
}
