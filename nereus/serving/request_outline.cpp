#include "nereus/serving/request_outline.h"

#include <algorithm>
#include <utility>

#include "nereus/base/json.h"
#include "nereus/serving/routing.h"

namespace nereus::serving {

namespace {

constexpr int kMaxDepth = 256;

/// The prompt as it comes: a text, token ids, or a list whose first element is one of these.
class PromptReader {
 public:
  void text(std::string& value) {
    if (depth_ == 0 || (depth_ == 1 && elements_ == 0 && !flat_)) {
      text_ = std::move(value);
      has_text_ = true;
    } else {
      unusable_ = unusable_ || elements_ == 0;
    }
    end_element();
  }
  void number(int64_t value) {
    const bool own = depth_ == 1 && (elements_ == 0 || flat_);
    flat_ = flat_ || own;
    if (own || (depth_ == 2 && elements_ == 0)) ids_.push_back(static_cast<int32_t>(value));
    end_element();
  }
  /// What is neither.
  void other() {
    unusable_ = unusable_ || elements_ == 0;
    end_element();
  }
  void begin_list() {
    unusable_ = unusable_ || flat_;
    ++depth_;
  }
  void end_list() {
    --depth_;
    end_element();
  }

  std::vector<uint64_t> blocks(const std::string& model, size_t block_tokens, size_t block_bytes) const {
    if (unusable_) return {};
    return has_text_ ? text_block_hashes(model, text_, block_bytes) : block_hashes(model, ids_, block_tokens);
  }

 private:
  void end_element() {
    if (depth_ == 1 && !flat_) ++elements_;
  }

  std::string text_;
  std::vector<int32_t> ids_;
  int depth_ = 0;        // of lists
  size_t elements_ = 0;  // of the outer list that have ended
  bool has_text_ = false, flat_ = false, unusable_ = false;
};

/// Called by nlohmann's parser, value by value.
class OutlineReader {
 public:
  bool null() { return literal("null"); }
  bool boolean(bool value) { return literal(value ? "true" : "false"); }
  bool number_integer(int64_t value) { return integer(value); }
  bool number_unsigned(uint64_t value) { return integer(static_cast<int64_t>(value)); }
  bool number_float(double, const std::string& text) { return literal(text); }
  bool binary(Json::binary_t&) { return false; }
  bool string(std::string& value) {
    if (field_ == Field::model && depth_ == 1) model_ = std::move(value);
    if (field_ == Field::messages) chat_.append(value).push_back('\n');
    if (field_ == Field::prompt && !in_object_) prompt_.text(value);
    return any();
  }
  bool key(std::string& value) {
    if (depth_ > 1) {
      if (field_ == Field::messages) chat_.append(value).push_back(':');
      return true;
    }
    field_ = value == "model"      ? Field::model
             : value == "prompt"   ? Field::prompt
             : value == "messages" ? Field::messages
                                   : Field::none;
    bool& seen = seen_[static_cast<size_t>(field_)];
    if (field_ != Field::none && std::exchange(seen, true))
      error_ = fmt::format("\"{}\" is there twice", value);
    return error_.empty();
  }
  bool start_object(size_t) {
    if (depth_ == 0) object_ = true;
    if (field_ == Field::prompt) ++in_object_;
    return enter();
  }
  bool end_object() {
    --depth_;
    if (field_ == Field::prompt && depth_ > 0 && --in_object_ == 0) prompt_.other();
    return true;
  }
  bool start_array(size_t) {
    if (field_ == Field::prompt && !in_object_) prompt_.begin_list();
    if (field_ == Field::messages && depth_ == 1) is_chat_ = true;
    return enter();
  }
  bool end_array() {
    --depth_;
    if (field_ == Field::prompt && !in_object_) prompt_.end_list();
    return true;
  }
  bool parse_error(size_t, const std::string&, const Json::exception& error) {
    std::string_view what = error.what();
    what.remove_prefix(std::min(what.find("] ") + 2, what.size()));
    error_ = fmt::format("not valid JSON: {}", what);
    return false;
  }

  Result<RequestOutline> outline(size_t block_tokens, size_t block_bytes) {
    if (error_.empty() && !object_) error_ = "expected a JSON object";
    if (!error_.empty()) return fail("request: {}", error_);
    RequestOutline result{std::move(model_), {}};
    result.blocks = is_chat_ ? text_block_hashes(result.model, chat_, block_bytes)
                             : prompt_.blocks(result.model, block_tokens, block_bytes);
    return result;
  }

 private:
  enum class Field : uint8_t { none, model, prompt, messages };

  bool literal(std::string_view text) {
    if (text != "null") refuse_model();
    if (field_ == Field::messages) chat_.append(text).push_back('\n');
    if (field_ == Field::prompt && !in_object_) prompt_.other();
    return any();
  }
  bool integer(int64_t value) {
    refuse_model();
    if (field_ == Field::messages) chat_.append(std::to_string(value)).push_back('\n');
    if (field_ == Field::prompt && !in_object_) prompt_.number(value);
    return any();
  }
  /// A value that is no text: who would read it as the base model would answer for another.
  void refuse_model() {
    if (field_ == Field::model && depth_ == 1) error_ = "\"model\": expected a text";
  }
  /// A value that is no container; a lone one is no object.
  bool any() const { return depth_ > 0 && error_.empty(); }
  bool enter() {
    refuse_model();
    if (++depth_ > kMaxDepth) error_ = fmt::format("JSON nested deeper than {} levels", kMaxDepth);
    return error_.empty();
  }

  Field field_ = Field::none;  // of the outermost object, that is being read
  bool seen_[4] = {};
  int depth_ = 0, in_object_ = 0;  // in_object_: objects within the prompt, which have no business there
  bool object_ = false, is_chat_ = false;
  std::string model_, chat_, error_;
  PromptReader prompt_;
};

}  // namespace

Result<RequestOutline> read_outline(std::string_view body, size_t block_tokens, size_t block_bytes) {
  OutlineReader reader;
  (void)Json::sax_parse(body.begin(), body.end(), &reader);
  return reader.outline(block_tokens, block_bytes);
}

}  // namespace nereus::serving
