#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "nereus/cli/commands.h"
#include "nereus/metrics/count_progress.h"
#include "nereus/simulator/policies.h"
#include "nereus/simulator/run.h"
#include "nereus/simulator/scenario_file.h"

namespace nereus::cli {

namespace {

struct Options {
  simulator::RunOptions run;
  int64_t seeds = 0;
  bool json = false, reference = false;
};

/// The bar has to know how many runs there are, which the first call says.
std::function<void(const std::string&, uint64_t, int64_t, int64_t)> progress_on(
    std::optional<metrics::CountProgress>& bar, const Clock& clock) {
  return [&bar, &clock](const std::string&, uint64_t, int64_t done, int64_t all) {
    if (!bar)
      bar.emplace(std::cerr, clock, metrics::TerminalOptions::detect(STDERR_FILENO), "simulating", all);
    bar->update(done);
  };
}

int run(Options options) {
  if (options.reference) {
    std::cout << simulator::scenario_reference();
    return kSuccess;
  }
  if (options.seeds > 0) options.run.seeds = options.seeds;
  const SteadyClock clock;
  std::optional<metrics::CountProgress> bar;
  options.run.progress = progress_on(bar, clock);
  const auto result = simulator::run(options.run);
  if (bar) bar->end();
  if (!result) return report(pass(result));
  std::cout << (options.json ? simulator::report_json(*result).dump(2) + "\n"
                             : simulator::report_text(*result));
  return kSuccess;
}

std::string policies() {
  std::string text = "\nPolicies:\n";
  for (const auto& policy : simulator::known_policies())
    text += fmt::format("  {:<20} {}\n", policy.name, policy.what);
  return text;
}

}  // namespace

void add_simulate(CLI::App& app, const config::Overrides& overrides, Action& action) {
  auto options = std::make_shared<Options>();
  options->run.overrides = overrides;
  CLI::App* command = app.add_subcommand("simulate", "Judge policies of planning in a simulated world");
  command->footer(
      "  nereus simulate examples/adapt-a100.toml                     every policy, every seed of the file\n"
      "  nereus simulate FILE --policy adaptive oracle --seeds 2      some of them\n"
      "  nereus simulate FILE --report out.html                       a page with charts\n"
      "  nereus simulate FILE --world.noise 0.1                       any key of the file can be set\n" +
      policies() + "\ndocs/simulator.md has the keys of the file.");
  auto* reference = command->add_flag("--print-reference", options->reference, "Print the keys of the file");
  auto* file = command->add_option("file", options->run.file, "Scenario")->option_text("FILE");
  command->add_option("--policy", options->run.policies, "Policies to run, in place of the file's")
      ->option_text("NAME");
  command->add_option("--seeds", options->seeds, "Worlds to run each in, in place of the file's number")
      ->check(CLI::Range(1, 10000))
      ->option_text("N");
  command->add_flag("--json", options->json, "Print JSON: seconds and bytes");
  command->add_option("--report", options->run.html, "Write a page with charts")->option_text("FILE.html");
  command->callback([=, &action] {
    if (reference->count() == 0 && file->count() == 0) throw CLI::RequiredError("FILE");
    action = [options] { return run(*options); };
  });
}

}  // namespace nereus::cli
