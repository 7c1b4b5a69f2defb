#include "nereus/text/chat_template.h"

#include "nereus/text/jinja_failure.h"
#include "nereus/text/jinja_interpreter.h"
#include "nereus/text/jinja_parser.h"
#include "nereus/text/utf8.h"

namespace nereus::text {
namespace {

/// The chat's first `count` messages as text.
Result<std::string> render_first(const ChatTemplate& chat_template, const OrderedJson& variables,
                                 size_t count, bool generation_prompt, const RenderOptions& options) {
  OrderedJson cut = variables;
  auto& messages = cut["messages"].get_ref<OrderedJson::array_t&>();
  messages.resize(count);
  cut["add_generation_prompt"] = generation_prompt;
  return chat_template.render(cut, options);
}

std::string role_of(const OrderedJson& message) {
  const auto role = message.is_object() ? message.find("role") : message.end();
  return role != message.end() && role->is_string() ? role->get<std::string>() : std::string();
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, std::string_view name) {
  if (!valid_utf8(source)) return fail("{}: the template is not UTF-8", name);
  try {
    return ChatTemplate(std::make_shared<const jinja::Template>(jinja::parse(source, name)));
  } catch (const jinja::Failure& failure) {
    return fail("{}:{}: {}", name, failure.line, failure.message);
  }
}

Result<std::string> ChatTemplate::render(const OrderedJson& variables, const RenderOptions& options) const {
  jinja::Interpreter interpreter(*parsed_, options);
  try {
    return interpreter.run(variables);
  } catch (const jinja::Failure& failure) {
    return fail("{}:{}: {}", name(), interpreter.line(), failure.message);
  }
}

const std::string& ChatTemplate::name() const {
  return parsed_->name;
}

Result<bool> prefix_preserving(const ChatTemplate& chat_template, const OrderedJson& variables,
                               const RenderOptions& options) {
  const auto messages = variables.is_object() ? variables.find("messages") : variables.end();
  if (messages == variables.end() || !messages->is_array()) {
    return fail("{}: expected an array 'messages' among the variables", chat_template.name());
  }
  bool started = false;  // a system message alone is no chat, and some templates refuse it
  for (size_t count = 1; count < messages->size(); ++count) {
    started = started || role_of((*messages)[count - 1]) != "system";
    if (!started) continue;
    const bool answered = role_of((*messages)[count]) == "assistant";
    const auto shorter = render_first(chat_template, variables, count, answered, options);
    if (!shorter) return pass(shorter);
    const auto longer = render_first(chat_template, variables, count + 1, false, options);
    if (!longer) return pass(longer);
    if (!longer->starts_with(*shorter)) return false;
  }
  return true;
}

}  // namespace nereus::text
