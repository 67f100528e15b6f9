// Parts of a report as JSON: the JSON format is made of them, and so is what the HTML page shows.
#pragma once

#include "report/report.h"

#include <nlohmann/json.hpp>

namespace luthier::report {

/// Integers exact to 64 bits. JSON has no infinity and no NaN; what it cannot say as a number stays text.
nlohmann::ordered_json toJson(const Cell &cell);
nlohmann::ordered_json toJson(const Account &account);
nlohmann::ordered_json toJson(const Process &process);

/// `indent` below 0: in one line.
std::string dump(const nlohmann::ordered_json &json, int indent);

} // namespace luthier::report
