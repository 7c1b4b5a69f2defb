#include "nereus/simulator/availability.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "nereus/base/json.h"
#include "nereus/base/random.h"

namespace nereus::simulator {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

/// A line with its number, cut at commas.
struct Row {
  int64_t number = 0;
  std::vector<std::string_view> fields;
};

std::vector<Row> rows_of(std::string_view text) {
  std::vector<Row> rows;
  int64_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    Row row{number, {}};
    while (true) {
      const size_t comma = line.find(',');
      row.fields.push_back(trimmed(line.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      line.remove_prefix(comma + 1);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

template <class Number>
bool read_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// "A<separator>B<separator>C" as three numbers.
bool read_three(std::string_view text, char separator, int64_t (&values)[3]) {
  for (int i = 0; i < 3; ++i) {
    const size_t end = i < 2 ? text.find(separator) : text.size();
    if (end == std::string_view::npos || !read_number(text.substr(0, end), values[i]) || values[i] < 0)
      return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

std::vector<Reading> without_repeats(const std::vector<Reading>& all) {
  std::vector<Reading> kept;
  for (const auto& reading : all)
    if (kept.empty() || kept.back().count != reading.count || &reading == &all.back())
      kept.push_back(reading);
  return kept;
}

/// Seconds since 1970 of a civil date and time (days by the algorithm of Hinnant, "chrono-compatible
/// low-level date algorithms").
bool read_moment(std::string_view date, std::string_view time, double& seconds) {
  int64_t d[3] = {}, t[3] = {};
  if (!read_three(date, '-', d) || !read_three(time, ':', t)) return false;
  if (d[1] < 1 || d[1] > 12 || d[2] < 1 || d[2] > 31 || t[0] > 23 || t[1] > 59 || t[2] > 60) return false;
  const int64_t year = d[0] - (d[1] <= 2 ? 1 : 0);
  const int64_t era = year / 400, of_era = year % 400;
  const int64_t of_year = (153 * (d[1] + (d[1] > 2 ? -3 : 9)) + 2) / 5 + d[2] - 1;
  const int64_t days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
  seconds = static_cast<double>(days * 86400 + t[0] * 3600 + t[1] * 60 + t[2]);
  return true;
}

/// Times never run backwards, the first is 0, repeats are dropped but for the last, which says how long the
/// trace is.
std::vector<Reading> ordered(const std::vector<Reading>& raw) {
  std::vector<Reading> readings;
  double latest = raw.empty() ? 0 : raw.front().time;
  const double start = latest;
  for (const auto& reading : raw) {
    latest = std::max(latest, reading.time);
    if (!readings.empty() && readings.back().time == latest - start)
      readings.back().count = reading.count;
    else
      readings.push_back({latest - start, reading.count});
  }
  return without_repeats(readings);
}

using Readings = Result<std::vector<Reading>>;

Readings parse_log(const std::vector<Row>& rows, const std::string& source) {
  std::vector<Reading> readings;
  for (const auto& row : rows) {
    Reading reading;
    if (row.fields.size() != 3 || !read_moment(row.fields[0], row.fields[1], reading.time) ||
        !read_number(row.fields[2], reading.count) || reading.count < 0)
      return fail("{}:{}: expected \"YYYY-MM-DD, HH:MM:SS, count\"", source, row.number);
    readings.push_back(reading);
  }
  return readings;
}

Readings parse_events(const std::vector<Row>& rows, const std::string& source) {
  std::vector<Reading> readings;
  std::set<std::string_view> nodes;
  for (const auto& row : rows) {
    double milliseconds = 0;
    if (row.fields.size() != 3 || !read_number(row.fields[0], milliseconds) || !(milliseconds >= 0) ||
        (row.fields[1] != "add" && row.fields[1] != "remove"))
      return fail("{}:{}: expected \"MILLISECONDS,add|remove,NODE\"", source, row.number);
    const bool added = row.fields[1] == "add";
    if (added ? !nodes.insert(row.fields[2]).second : nodes.erase(row.fields[2]) == 0)
      return fail("{}:{}: node {} is {}", source, row.number, row.fields[2],
                  added ? "added while it is there" : "removed while it is not there");
    readings.push_back({milliseconds / 1000, static_cast<int32_t>(nodes.size())});
  }
  return readings;
}

Readings parse_csv(std::vector<Row> rows, const std::string& source) {
  double ignored = 0;
  if (!rows.empty() && !read_number(rows.front().fields[0], ignored)) rows.erase(rows.begin());
  std::vector<Reading> readings;
  for (const auto& row : rows) {
    Reading reading;
    if (row.fields.size() != 2 || !read_number(row.fields[0], reading.time) || !(reading.time >= 0) ||
        !read_number(row.fields[1], reading.count) || reading.count < 0)
      return fail("{}:{}: expected \"SECONDS,COUNT\"", source, row.number);
    readings.push_back(reading);
  }
  return readings;
}

Readings parse_json_list(std::string_view text, const std::string& source) {
  const auto json = parse_json(text, source);
  if (!json) return pass(json);
  if (!json->is_array()) return fail("{}: expected a list of {{\"Time\": seconds, \"GPUs\": count}}", source);
  std::vector<Reading> readings;
  for (const auto& item : *json) {
    const bool good = item.is_object() && item.contains("Time") && item["Time"].is_number() &&
                      item.contains("GPUs") && item["GPUs"].is_number_integer() && item["GPUs"] >= 0 &&
                      item["GPUs"] <= 10'000'000;
    if (!good)
      return fail("{}: entry {}: expected {{\"Time\": seconds, \"GPUs\": count}}", source, readings.size());
    readings.push_back({item["Time"].get<double>(), item["GPUs"].get<int32_t>()});
  }
  return readings;
}

}  // namespace

Result<TraceFormat> trace_format(std::string_view text, const std::string& source) {
  const std::string_view start = trimmed(text);
  if (!start.empty() && (start.front() == '[' || start.front() == '{')) return TraceFormat::json;
  const auto rows = rows_of(text);
  if (rows.empty()) return fail("{}: holds no readings", source);
  const auto& fields = rows.front().fields;
  if (fields.size() == 2) return TraceFormat::csv;
  if (fields.size() == 3 && (fields[1] == "add" || fields[1] == "remove")) return TraceFormat::events;
  if (fields.size() == 3) return TraceFormat::log;
  return fail(
      "{}:{}: expected \"SECONDS,COUNT\", \"YYYY-MM-DD, HH:MM:SS, COUNT\", \"MILLISECONDS,add|remove,NODE\" "
      "or JSON",
      source, rows.front().number);
}

Result<std::vector<Reading>> parse_availability(std::string_view text, const std::string& source) {
  const auto format = trace_format(text, source);
  if (!format) return pass(format);
  Readings raw;
  switch (*format) {
    case TraceFormat::log:
      raw = parse_log(rows_of(text), source);
      break;
    case TraceFormat::events:
      raw = parse_events(rows_of(text), source);
      break;
    case TraceFormat::json:
      raw = parse_json_list(text, source);
      break;
    case TraceFormat::csv:
      raw = parse_csv(rows_of(text), source);
      break;
  }
  if (!raw) return raw;
  if (raw->empty()) return fail("{}: holds no readings", source);
  return ordered(*raw);
}

Result<std::vector<Reading>> read_availability(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("{}: cannot be read: expected a trace of availability", path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return parse_availability(text.str(), path.string());
}

std::vector<Reading> generate_availability(const GeneratedAvailability& options, uint64_t seed) {
  RandomStream random(seed, 0xa7a11);
  const auto span = static_cast<uint64_t>(options.high - options.low + 1);
  const auto draw = [&] { return options.low + static_cast<int32_t>(random.below(span)); };
  std::vector<Reading> readings{{0, options.high}};
  double time = 0;
  while (options.low < options.high) {
    time -= options.mean_seconds * std::log(1 - random.uniform());
    if (time >= options.duration) break;
    readings.push_back({time, draw()});
  }
  return ordered(readings);
}

std::vector<Reading> whole_machines(const std::vector<Reading>& readings, int32_t devices_each,
                                    int32_t most) {
  std::vector<Reading> machines;
  for (const auto& reading : readings)
    machines.push_back({reading.time, std::min(reading.count / devices_each, most)});
  return without_repeats(machines);
}

Availability::Availability(std::vector<Reading> readings) : readings_(std::move(readings)) {
  const size_t count = readings_.size();
  duration_ = readings_.back().time;
  // What was read last lasts as long as others did on average.
  if (count > 1 && readings_[count - 2].count != readings_[count - 1].count)
    duration_ += duration_ / static_cast<double>(count - 1);
}

double Availability::inside(double time) const {
  if (duration_ <= 0) return 0;
  const double place = std::fmod(time, 2 * duration_);
  return place <= duration_ ? place : 2 * duration_ - place;
}

int32_t Availability::count(double time) const {
  const double place = inside(time);
  const auto after = std::upper_bound(readings_.begin(), readings_.end(), place,
                                      [](double t, const Reading& reading) { return t < reading.time; });
  return std::prev(after)->count;
}

double Availability::next_change(double time) const {
  if (readings_.size() < 2) return std::numeric_limits<double>::infinity();
  const double period = 2 * duration_, lap = std::floor(time / period) * period;
  double best = std::numeric_limits<double>::infinity();
  const auto look = [&](double moment) {
    if (moment > time && moment < best && count(moment + 1e-6) != count(moment - 1e-6)) best = moment;
  };
  for (const double start : {lap, lap + period}) {
    for (size_t i = 1; i < readings_.size(); ++i) look(start + readings_[i].time);
    // Read backwards, a reading ends where it began; the last and the first have no jump there.
    for (size_t i = readings_.size(); i-- > 1;) look(start + period - readings_[i].time);
  }
  return best;
}

}  // namespace nereus::simulator
