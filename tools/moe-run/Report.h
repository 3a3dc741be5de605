//===- Report.h - a page about a run ------------------------------------------------===//
#ifndef MOE_RUN_REPORT_H
#define MOE_RUN_REPORT_H

#include "Trace.h"

namespace moe_run {

/// Writes one page of HTML that needs nothing else: steps on a time line, roofline, rows of each group, table.
void writeReport(const std::string &path, const Trace &trace);

} // namespace moe_run

#endif
