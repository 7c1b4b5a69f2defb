#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "nereus/cli/commands.h"
#include "nereus/cluster/cluster_file.h"
#include "nereus/formats/atomic_file.h"
#include "nereus/plan/job_file.h"
#include "nereus/plan/what_if.h"

namespace nereus::cli {

namespace {

struct Options {
  std::filesystem::path cluster, job, page;
  std::vector<std::string> what_if;
  plan::SearchOptions search;
  bool explain = false, json = false, reference = false;
};

std::string rendered(const Options& options, const plan::Report& now,
                     const std::optional<plan::WhatIfReport>& then) {
  if (options.json && then) return plan::what_if_json(now, *then).dump(2) + "\n";
  if (options.json) return plan::report_json(now).dump(2) + "\n";
  const std::string text = plan::report_text(now, options.explain);
  return then ? text + plan::what_if_text(now, *then, options.explain) : text;
}

Result<bool> plan_job(const Options& options) {
  const plan::Calibration calibration;
  const SteadyClock clock;
  const auto what_if = plan::parse_what_if(options.what_if);
  if (!what_if) return pass(what_if);
  const auto inputs = plan::read_inputs(options.cluster, options.job);
  if (!inputs) return pass(inputs);
  const auto now = plan::make_report(inputs->cluster, inputs->job, calibration, options.search, clock);
  std::optional<plan::WhatIfReport> then;
  if (!options.what_if.empty()) {
    const auto other = plan::read_inputs(options.cluster, options.job, *what_if);
    if (!other) return pass(other);
    then = plan::answer(*what_if, *other, now, calibration, options.search, clock);
  }
  std::cout << rendered(options, now, then);
  if (!options.page.empty()) {
    const auto written = formats::write_file_atomically(options.page, plan::report_html(now, then));
    if (!written) return pass(written);
  }
  return !now.plans.empty();
}

int run(Options options) {
  if (options.reference) {
    std::cout << cluster::cluster_reference() << plan::job_reference();
    return kSuccess;
  }
  options.search.explain = options.explain || options.json || !options.page.empty() ? 400 : 0;
  const auto fits = plan_job(options);
  if (!fits) return report(pass(fits));
  return *fits ? kSuccess : kFailure;
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("plan", "Say how a job is best run on a cluster, and why");
  command->footer(
      "  nereus plan cluster.toml job.toml                         the best plan, its memory and its time\n"
      "  nereus plan cluster.toml job.toml --explain --top 3       what bounds it, and what was set aside\n"
      "  nereus plan cluster.toml job.toml --what-if devices=64 mean_length=4096\n"
      "  nereus plan cluster.toml job.toml --report plan.html      a page with charts\n\n"
      "docs/cluster-files.md has the keys of both files. Exit code 1: no plan fits.");
  auto* reference =
      command->add_flag("--print-reference", options->reference, "Print the keys of both files");
  auto* cluster = command->add_option("cluster", options->cluster, "Cluster file")->option_text("CLUSTER");
  auto* job = command->add_option("job", options->job, "Planner's job file")->option_text("JOB");
  command->add_flag("--explain", options->explain,
                    "Also what bounds each stage, and which plans were set aside");
  command->add_option("--top", options->search.top, "Best plans to print")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--what-if", options->what_if, "The same with other values, beside it")
      ->option_text("NAME=VALUE ...");
  command->add_option("--deadline", options->search.deadline, "Seconds that the search may take")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON: bytes, seconds and tokens");
  command->add_option("--report", options->page, "Write a page with charts")->option_text("FILE.html");
  command->callback([=, &action] {
    if (reference->count() == 0 && (cluster->count() == 0 || job->count() == 0))
      throw CLI::RequiredError("CLUSTER and JOB");
    action = [options] { return run(*options); };
  });
}

}  // namespace nereus::cli
