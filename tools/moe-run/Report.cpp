//===- Report.cpp ---------------------------------------------------------------------===//
//
// Works out where everything is on the page; what it looks like is in report.html.
//
//===----------------------------------------------------------------------===//
#include "Report.h"
#include "report.html.h"

#include <kainjow/mustache.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace moe_run;
using kainjow::mustache::data;

namespace {

/// Both charts below the time line have their plots here, in units of report.html.
constexpr double kLeft = 52, kRight = 500, kTop = 10, kBottom = 310;
constexpr double kLineLeft = 52, kLineRight = 1010;
/// Half the height of a line of text.
constexpr double kHalfLine = 4;

std::string format(const char *form, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), form, value);
  return text;
}
std::string format(const char *form, std::optional<double> value) { return value ? format(form, *value) : "-"; }
std::string place(double value) { return format("%.2f", value); }

std::string duration(double microseconds) {
  return microseconds < 1000 ? format("%.3g us", microseconds) : format("%.4g ms", microseconds / 1000);
}

data object(std::initializer_list<std::pair<const char *, std::string>> fields) {
  data result;
  for (const auto &[name, value] : fields)
    result.set(name, value);
  return result;
}

data list() { return data(data::type::list); }

/// Distance of at most so many marks from 0 to `most`: 1, 2 or 5 times a power of ten.
double markDistance(double most, int marks) {
  double power = std::pow(10, std::floor(std::log10(most / marks)));
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power * marks >= most)
      return factor * power;
  return 10 * power;
}

/// One colour for each name; grey for what is no kernel.
std::vector<std::string> chooseColors(const std::vector<Step> &steps) {
  static constexpr const char *colors[] = {"#33608c", "#b4413c", "#2f7f4f", "#8a6d1d", "#7d3c8c", "#1f8296", "#a05a2c"};
  std::vector<std::string> names, result;
  for (const Step &step : steps) {
    if (step.kind != MOE_STEP_LAUNCH) {
      result.emplace_back("#7a8793");
      continue;
    }
    size_t i = size_t(std::find(names.begin(), names.end(), step.name) - names.begin());
    if (i == names.size())
      names.push_back(step.name);
    result.emplace_back(colors[i % std::size(colors)]);
  }
  return result;
}

data makeFacts(const Trace &trace) {
  int64_t flops = 0, bytes = 0;
  double busy = 0;
  for (const Step &step : trace.steps) {
    flops += step.flops.value_or(0);
    bytes += step.bytes.value_or(0);
    busy += step.time();
  }
  data facts = list();
  auto add = [&](const std::string &value, const char *what) { facts << object({{"value", value}, {"what", what}}); };
  add(duration(trace.deviceTime()), "on the device");
  add(duration(busy), "of it in steps");
  if (double time = trace.timeIn(MOE_STEP_EXCHANGE))
    add(duration(time), "of these in exchanges");
  if (trace.hasHost())
    add(duration(trace.enqueued), "for the host to enqueue");
  // Programs by hand need not say what they cost.
  if (flops > 0)
    add(withUnit(double(flops), "FLOP"), "at most");
  if (bytes > 0)
    add(withUnit(double(bytes), "B"), "moved at most");
  if (flops > 0 && busy > 0)
    add(format("%.3g TFLOP/s", double(flops) / busy * 1e-6), "over all steps");
  return facts;
}

/// Rows of the table and slices of the time line.
data makeSteps(const Trace &trace, const std::vector<std::string> &colors, double last) {
  data steps = list();
  double busy = std::accumulate(trace.steps.begin(), trace.steps.end(), 0.0,
                                [](double sum, const Step &step) { return sum + step.time(); });
  auto x = [&](double time) { return kLineLeft + time / last * (kLineRight - kLineLeft); };
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    const Step &step = trace.steps[i];
    double width = std::max(x(step.end) - x(step.begin), 0.5);
    std::string number = std::to_string(i);
    auto share = trace.ceilings.share(step);
    auto count = [](std::optional<int64_t> n, const char *unit) { return n ? withUnit(double(*n), unit) : "-"; };
    std::string intensity = step.flops && step.bytes.value_or(0) > 0
                                ? format("%.3g", double(*step.flops) / double(*step.bytes))
                                : std::string("-");
    data row = object({{"number", number},
                       {"name", step.name},
                       {"color", colors[i]},
                       {"time", duration(step.time())},
                       {"part", busy > 0 ? format("%.1f%%", step.time() / busy * 100) : std::string("-")},
                       {"flops", count(step.flops, "")},
                       {"bytes", count(step.bytes, "B")},
                       {"intensity", intensity},
                       {"tflops", format("%.3g", step.tflops())},
                       {"tbs", format("%.3g", step.tbs())},
                       {"share", format("%.1f%%", share ? std::optional(*share * 100) : std::nullopt)},
                       {"x", place(x(step.begin))},
                       {"width", place(width)},
                       {"middle", place(x(step.begin) + width / 2)},
                       {"hostX", place(x(step.hostBegin))},
                       {"hostWidth", place(std::max(x(step.hostEnd) - x(step.hostBegin), 0.5))},
                       {"hostTime", duration(step.hostEnd - step.hostBegin)}});
    // About seven units for a letter.
    std::string whole = number + " " + step.name;
    if (double(whole.size()) * 7 < width)
      row.set("label", whole);
    else if (double(number.size()) * 7 + 4 < width)
      row.set("label", number);
    else
      row.set("label", data(data::type::bool_false));
    steps << row;
  }
  return steps;
}

/// What went to each other rank, and how fast if all time in exchanges was for it.
data makeLinks(const Trace &trace) {
  data links = list();
  double time = trace.timeIn(MOE_STEP_EXCHANGE);
  for (size_t peer = 0; peer < trace.sent.size(); ++peer)
    if (int32_t(peer) != trace.rank)
      links << object({{"peer", std::to_string(peer)},
                       {"bytes", withUnit(double(trace.sent[peer]), "B")},
                       {"rate", time > 0 ? format("%.3g", double(trace.sent[peer]) / time * 1e-3) : std::string("-")}});
  return links;
}

data makeTicks(double last) {
  data ticks = list();
  double distance = markDistance(last, 12);
  for (int i = 0; i * distance <= last; ++i)
    ticks << object({{"x", place(kLineLeft + i * distance / last * (kLineRight - kLineLeft))},
                     {"label", i ? duration(i * distance) : "0"}});
  return ticks;
}

/// A logarithmic axis over whole decades.
struct LogAxis {
  double from, to; ///< places of the ends
  double low = INFINITY, high = -INFINITY;

  void cover(double value) {
    low = std::min(low, std::floor(std::log10(value)));
    high = std::max(high, std::max(std::ceil(std::log10(value)), std::floor(std::log10(value)) + 1));
  }
  double at(double value) const { return from + (std::log10(value) - low) / (high - low) * (to - from); }
  data marks() const {
    data result = list();
    for (int decade = int(low); decade <= int(high); ++decade) {
      double value = std::pow(10, decade);
      result << object(
          {{"at", place(at(value))}, {"textAt", place(at(value) + kHalfLine)}, {"label", format("%g", value)}});
    }
    return result;
  }
};

void makeRoofline(const Trace &trace, const std::vector<std::string> &colors, data &page) {
  LogAxis x{kLeft, kRight}, y{kBottom, kTop};
  struct Dot {
    size_t step;
    double x, y;
  };
  std::vector<Dot> found;
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    const Step &step = trace.steps[i];
    if (step.flops.value_or(0) <= 0 || step.bytes.value_or(0) <= 0 || step.time() <= 0)
      continue;
    found.push_back({i, double(*step.flops) / double(*step.bytes), *step.tflops()});
    x.cover(found.back().x);
    y.cover(found.back().y);
  }
  if (trace.ceilings.known()) {
    double ridge = *trace.ceilings.tflops / *trace.ceilings.tbs;
    x.cover(ridge);
    x.cover(ridge * 9); // some of the level part
    y.cover(*trace.ceilings.tflops);
    double begin = std::pow(10, x.low), end = std::pow(10, x.high);
    page.set("ceiling", "M" + place(x.at(begin)) + " " + place(y.at(begin * *trace.ceilings.tbs)) + " L" +
                            place(x.at(ridge)) + " " + place(y.at(*trace.ceilings.tflops)) + " L" + place(x.at(end)) +
                            " " + place(y.at(*trace.ceilings.tflops)));
  } else {
    page.set("ceiling", data(data::type::bool_false));
  }
  data dots = list();
  for (const Dot &dot : found) {
    const Step &step = trace.steps[dot.step];
    auto share = trace.ceilings.share(step);
    std::string tip = format("%.3g flop / byte, ", dot.x) + format("%.3g TFLOP/s", dot.y);
    if (share)
      tip += format(", %.1f%% of the roofline", *share * 100);
    dots << object({{"x", place(x.at(dot.x))},
                    {"y", place(y.at(dot.y))},
                    {"textAt", place(y.at(dot.y) + kHalfLine)},
                    {"color", colors[dot.step]},
                    {"number", std::to_string(dot.step)},
                    {"name", step.name},
                    {"tip", tip}});
  }
  page.set("dots", dots);
  bool empty = x.low > x.high;
  page.set("xs", empty ? list() : x.marks());
  page.set("ys", empty ? list() : y.marks());
  page.set("rooflineNote",
           std::string(found.empty() ? "No step says that it computes." : "A dot for each step that computes.") +
               (trace.ceilings.known() ? ""
                                       : " What this device can do is not known; say it with "
                                         "--peak-tflops and --peak-tbs."));
}

/// The bars of a step that finds the rows of each group.
data makeExperts(const Step &step) {
  const std::vector<int64_t> &rows = step.rows;
  int64_t most = std::max<int64_t>(1, *std::max_element(rows.begin(), rows.end()));
  int64_t total = std::accumulate(rows.begin(), rows.end(), int64_t(0));
  double mean = double(total) / double(rows.size());
  auto y = [&](double value) { return kBottom - value / double(most) * (kBottom - kTop); };
  double pitch = (kRight - kLeft) / double(rows.size()), width = pitch * (pitch > 3 ? 0.8 : 1);
  data bars = list(), xs = list(), ys = list();
  for (size_t g = 0; g < rows.size(); ++g)
    bars << object({{"x", place(kLeft + double(g) * pitch + (pitch - width) / 2)},
                    {"y", place(y(double(rows[g])))},
                    {"width", place(width)},
                    {"height", place(kBottom - y(double(rows[g])))},
                    {"group", std::to_string(g)},
                    {"rows", std::to_string(rows[g])}});
  auto groupMarks = size_t(std::max(1.0, markDistance(double(rows.size()), 12)));
  for (size_t g = 0; g < rows.size(); g += groupMarks)
    xs << object({{"at", place(kLeft + (double(g) + 0.5) * pitch)}, {"label", std::to_string(g)}});
  auto rowMarks = int64_t(std::max(1.0, markDistance(double(most), 6)));
  for (int64_t value = 0; value <= most; value += rowMarks)
    ys << object({{"at", place(y(double(value)))},
                  {"textAt", place(y(double(value)) + kHalfLine)},
                  {"label", std::to_string(value)}});
  data experts = object({{"mean", place(y(mean))},
                         {"note", step.name + ": " + std::to_string(total) + " rows in " + std::to_string(rows.size()) +
                                      " groups, of which " + std::to_string(std::count(rows.begin(), rows.end(), 0)) +
                                      " are empty; the largest has " + format("%.2f", total ? double(most) / mean : 0) +
                                      " times the mean"}});
  experts.set("bars", bars);
  experts.set("xs", xs);
  experts.set("ys", ys);
  return experts;
}

} // namespace

void moe_run::writeReport(const std::string &path, const Trace &trace) {
  std::vector<std::string> colors = chooseColors(trace.steps);
  double last = std::max(trace.steps.empty() ? 0 : trace.steps.back().end, std::max(trace.enqueued, 1e-3));
  data page = object({{"program", trace.program}, {"entry", trace.entry}, {"device", trace.device}});
  if (trace.ceilings.known())
    page.set("ceilings",
             object({{"tflops", format("%g", *trace.ceilings.tflops)}, {"tbs", format("%g", *trace.ceilings.tbs)}}));
  else
    page.set("ceilings", data(data::type::bool_false));
  page.set("host", data(trace.hasHost() ? data::type::bool_true : data::type::bool_false));
  page.set("facts", makeFacts(trace));
  page.set("steps", makeSteps(trace, colors, last));
  page.set("ticks", makeTicks(last));
  bool hasLinks = trace.sent.size() > 1;
  page.set("hasLinks", data(hasLinks ? data::type::bool_true : data::type::bool_false));
  page.set("rank", std::to_string(trace.rank));
  page.set("links", makeLinks(trace));
  makeRoofline(trace, colors, page);
  data experts = list();
  for (const Step &step : trace.steps)
    if (!step.rows.empty())
      experts << makeExperts(step);
  page.set("experts", experts);
  kainjow::mustache::mustache form(kReport);
  writeText(path, form.render(page));
}
