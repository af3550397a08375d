// SPDX-License-Identifier: Apache-2.0
// See check_plan.h.
#include "compiler/driver/check_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "compiler/certificate/check_certificate.h"
#include "compiler/certificate/compare_problems.h"
#include "compiler/driver/stated_costs.h"
#include "compiler/request/stated_options.h"
#include "compiler/search/certificate.h"
#include "runtime/package/content_hash.h"

namespace collage::driver {
namespace {

using certificate::About;
using certificate::CertificateFile;
using support::Code;
using Files = std::vector<std::pair<std::string, std::string>>;

/// Returns the hash of the file and of those that its constants come from.
std::string hash_of_model(const request::ModelFile& model) {
  runtime::ContentHash hash;
  std::vector<std::filesystem::path> paths = {model.path};
  paths.insert(paths.end(), model.weights.begin(), model.weights.end());
  std::vector<char> piece(size_t{1} << 20);
  for (const std::filesystem::path& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    while (stream) {
      stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
      hash.add({piece.data(), static_cast<size_t>(stream.gcount())});
    }
  }
  return hash.finish();
}

/// Names and hashes of all texts that were read, but for the model's.
Files files_read(const support::SourceManager& sources, const std::filesystem::path& model) {
  Files files;
  for (size_t i = 0; i < sources.count(); ++i) {
    const support::FileId id{static_cast<int>(i)};
    const std::string name(sources.name(id));
    if (name.starts_with('<') || std::filesystem::path(name) == model) continue;
    const std::string_view text = sources.text(id);
    files.emplace_back(std::filesystem::path(name).filename().string(), runtime::content_hash(text, 1));
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

/// A file that was read and is not among those of the certificate, or the other way round, but for those that are still
/// to be read; empty: there is none.
std::string other_files(const Files& stated, const Files& read, const std::vector<std::string>& later) {
  const auto has = [](const Files& files, const auto& file) {
    return std::find(files.begin(), files.end(), file) != files.end();
  };
  for (const auto& file : read) {
    if (has(stated, file)) continue;
    const bool has_name =
        std::any_of(stated.begin(), stated.end(), [&](const auto& other) { return other.first == file.first; });
    return has_name ? fmt::format("`{}` is not the file that the certificate was made with", file.first)
                    : fmt::format("the certificate was made without `{}`", file.first);
  }
  for (const auto& file : stated) {
    const bool is_later = std::any_of(later.begin(), later.end(), [&](const std::string& path) {
      return std::filesystem::path(path).filename() == file.first;
    });
    if (has(read, file) || is_later) continue;
    return fmt::format("it was made with `{}`, which is not among the rules that are given", file.first);
  }
  return "";
}

class PlanChecker {
 public:
  explicit PlanChecker(const PlanCheckOptions& options) : options_(options) {}

  PlanCheck run(const std::string& model, const std::vector<std::string>& rules, const std::string& path) {
    PlanCheck result;
    judge(model, rules, path, result);
    result.diagnostics = diags_.render();
    return result;
  }

 private:
  bool refuse(const std::string& path, const std::string& why) {
    diags_.error_at(Code::CertificateRefuted, path, "{}", why);
    return false;
  }

  bool judge(const std::string& model, const std::vector<std::string>& rules, const std::string& path,
             PlanCheck& result) {
    std::optional<CertificateFile> stated = read(path);
    if (!stated) return false;
    const About& about = stated->about;
    if (!about.exists()) return refuse(path, "it does not say what it is about");
    request::Request request;
    request.model.path = model;
    request.model.allows_outside = options_.allows_outside;
    request.settings.allows_outside = options_.allows_outside;
    request.settings.allows_code = options_.allows_code;
    request.rules = rules.empty() ? request::default_rules() : rules;
    request.settings.costs.mode = request::CostMode::Estimate;
    request.settings.cache = "";
    for (const auto& [flag, values] : about.options) {
      if (flag == "--calibrate")
        return refuse(path, "it is of a model that was quantised, which is not made again here");
    }
    if (const std::string why = request::set_stated_options(about.options, request); !why.empty())
      return refuse(path, why);
    // Options have no order in the file.
    const std::vector<std::string> meant = request::in_words(about.options);
    if (!std::is_permutation(meant.begin(), meant.end(), about.words.begin(), about.words.end()))
      return refuse(path, "its words are not those of the options it states");

    support::SourceManager sources;
    support::Diagnostics diags(sources);
    const bool is_made = make_again(request, *stated, path, sources, diags, result);
    if (diags.has_errors()) {
      result.text += diags.render();
      refuse(path, "its problem cannot be made again");
    }
    return is_made;
  }

  std::optional<CertificateFile> read(const std::string& path) {
    const runtime::Result<support::FileId> id = sources_.load(path);
    if (!id) return diags_.error_at(Code::CannotRead, path, "cannot read: {}", id.message());
    runtime::Result<CertificateFile> file = certificate::read_certificate(sources_.text(*id));
    if (!file) return diags_.error_at(Code::BadCertificate, path, "{}", file.message());
    return std::move(*file);
  }

  bool make_again(const request::Request& request, const CertificateFile& stated, const std::string& path,
                  support::SourceManager& sources, support::Diagnostics& diags, PlanCheck& result) {
    std::optional<request::ModelFile> model = request::read_model_file(request.model, sources, diags);
    if (!model) return false;
    if (hash_of_model(*model) != stated.about.model) {
      return refuse(path,
                    fmt::format("it is of another model than `{}`: its files have another hash", request.model.path));
    }
    const std::filesystem::path model_path = model->path;
    std::shared_ptr<const request::RuleFiles> rules =
        request::read_rule_files(request.rules, sources, diags, request.settings.allows_outside);
    if (rules == nullptr) return false;
    // Placement files are read later.
    const request::PlacementRequest& placement = request.placement;
    if (std::string why =
            other_files(stated.about.files, files_read(sources, model_path), {placement.follow, placement.consider});
        !why.empty()) {
      return refuse(path, why);
    }
    std::unique_ptr<compilation::Compilation> compilation =
        compilation::Compilation::open(std::move(*model), std::move(rules), request.settings, diags);
    passes::PassOptions passes;
    passes.disabled = request.passes.disabled;
    if (compilation == nullptr || !compilation->run_passes(passes, diags)) return false;
    StatedCosts costs(stated, compilation->graph());
    if (stated.about.is_measured && request.settings.objective->price == nullptr) compilation->take_costs_from(costs);
    StageClock clock;
    const Output output;
    Command command{request, output, sources, diags, clock, *compilation};
    const std::optional<compilation::Candidates> candidates = read_candidates(command);
    if (!candidates) return false;
    if (std::string why = other_files(stated.about.files, files_read(sources, model_path), {}); !why.empty()) {
      return refuse(path, why);
    }
    return compare(stated, *candidates, compilation->search_input(*candidates), costs.not_found(), path, result);
  }

  bool compare(const CertificateFile& stated, const compilation::Candidates& candidates,
               const search::SearchInput& input, size_t not_measured, const std::string& path, PlanCheck& result) {
    const runtime::Result<CertificateFile> made = certificate::read_certificate(to_json(search::stated_problem(input)));
    if (!made) return refuse(path, made.message());
    const bool is_measured = stated.about.is_measured;
    certificate::Comparison comparison;
    // Rules that ask for it are measured, and what the host runs.
    comparison.is_trusted = [&](place::CandidateId c) {
      const place::Problem& problem = candidates.built.problem;
      const place::Owner& owner = problem.owners[problem.candidates[c].owner];
      return is_measured && (candidates.built.origin(c).measured || owner.backend == place::kHostBackend);
    };
    comparison.trusts_conversions = is_measured;
    const auto& options = stated.about.options;
    comparison.may_add = std::any_of(options.begin(), options.end(),
                                     [](const auto& option) { return option.first == "--candidate-placement"; });
    const certificate::Compared compared = certificate::compare_problems(stated, *made, comparison);
    if (!compared.difference.empty()) return refuse(path, compared.difference);
    const runtime::Result<certificate::Judgement> judgement = certificate::check_certificate(stated);
    if (!judgement) return refuse(path, judgement.message());
    result.verdict = judgement->shows_claim(stated) ? PlanCheck::Verdict::Proven : PlanCheck::Verdict::NotProven;
    result.text =
        fmt::format("about       this model and these {} files, by their hashes; the problem was made again\n",
                    stated.about.files.size());
    result.text += certificate::report(stated, *judgement);
    result.text += "trusted     how this build matches rules, evaluates their costs and makes conversions\n";
    if (is_measured) {
      result.text +=
          fmt::format("            {} measured costs of candidates, and those of conversions: as it states them\n",
                      compared.trusted_costs);
      if (not_measured > 0) {
        result.text +=
            fmt::format("            {} candidates that could not be measured: as it leaves them out\n", not_measured);
      }
    }
    if (compared.added > 0) {
      result.text +=
          fmt::format("            {} partitions of the placement file: as it states them\n", compared.added);
    }
    return true;
  }

  const PlanCheckOptions options_;
  support::SourceManager sources_;  ///< of the certificate
  support::Diagnostics diags_{sources_};
};

}  // namespace

PlanCheck check_plan(const std::string& model, const std::vector<std::string>& rules, const std::string& certificate,
                     const PlanCheckOptions& options) {
  return PlanChecker(options).run(model, rules, certificate);
}

certificate::About about(const Command& command, bool is_measured) {
  About about;
  const request::ModelFile& model = command.compilation.file();
  about.model = hash_of_model(model);
  about.files = files_read(command.sources, model.path);
  about.options = request::stated_options(command.request);
  about.words = request::in_words(about.options);
  about.is_measured = is_measured;
  return about;
}

}  // namespace collage::driver
