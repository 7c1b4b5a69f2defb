#include "nereus/tasks/command_reward.h"

#include <gmock/gmock.h>

#include <chrono>

#include "tests/tasks/scored.h"
#include "tests/tasks/temporary_folder.h"

namespace nereus::tasks {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using testing::SizeIs;

/// A loop around `body`, which sees `r` (the request), `n` (how many came before) and prints what it likes.
std::string python(const std::string& body) {
  return "import json, os, sys, time\nn = 0\nfor line in sys.stdin:\n    r = json.loads(line)\n    " + body +
         "\n    n += 1\n";
}

/// The usual answer: the length of the completion.
const char* const kAnswer = "print(json.dumps({'id': r['id'], 'reward': len(r['completion'])}))";

CommandOptions options_for(std::vector<std::string> command) {
  CommandOptions options;
  options.command = std::move(command);
  options.timeout_s = 10;
  options.retries = 0;
  return options;
}

class CommandRewardTest : public testing::Test {
 protected:
  std::unique_ptr<Reward> reward(const std::string& script, OnError on_error = OnError::stop, int retries = 0,
                                 double timeout_s = 10) {
    folder_.write("reward.py", script);
    CommandOptions options = options_for({"python3", "-S", "reward.py"});  // -S: starts faster
    options.on_error = on_error;
    options.retries = retries;
    options.timeout_s = timeout_s;
    return value_or_throw(make_command_reward("mine", options, folder_.path()));
  }

  TemporaryFolder folder_;
};

TEST_F(CommandRewardTest, ScoresAndStaysAlive) {
  const auto mine = reward(python("print(json.dumps({'id': r['id'], 'reward': n + 0.5}))"));
  EXPECT_EQ(mine->name(), "mine");
  Scored scored;
  scored.add("a").add("b");
  const auto first = mine->score(scored.inputs()), second = mine->score(scored.inputs());
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(second);
  EXPECT_THAT(*first, ElementsAre(0.5, 1.5));
  EXPECT_THAT(*second, ElementsAre(2.5, 3.5)) << "the same process";
  const auto nothing = mine->score({});
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->empty());
}

TEST_F(CommandRewardTest, TheRequestHasAllThereIs) {
  const auto mine =
      reward(python("open('seen', 'w').write(line); print(json.dumps({'id': r['id'], 'reward': 1}))"));
  Scored scored;
  ASSERT_TRUE(mine->score(scored.add("two\nlines \"ä\"\xff", {{"z", 1}, {"answer", {1, nullptr}}}).inputs()));
  EXPECT_EQ(
      folder_.read("seen"),
      R"({"id":0,"prompt":"What is it?","completion":"two\nlines \"ä\"�","finish":"stop","num_tokens":3,)"
      R"("columns":{"z":1,"answer":[1,null]}})"
      "\n");
}

TEST_F(CommandRewardTest, AnswersMayComeInAnyOrderAndBeNullOrBoolean) {
  const auto mine = reward(
      "import json, sys\n"
      "ids = [json.loads(sys.stdin.readline())['id'] for _ in range(4)]\n"
      "for id, reward in reversed(list(zip(ids, [1, None, True, False]))): print(json.dumps({'id': id, "
      "'reward': reward, 'note': 'x'}))\n"
      "sys.stdin.read()\n");
  Scored scored;
  scored.add("a").add("b").add("c").add("d");
  const auto values = mine->score(scored.inputs());
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_THAT(*values, ElementsAre(Optional(1.0), std::nullopt, Optional(1.0), Optional(0.0)));
}

TEST_F(CommandRewardTest, MoreThanAPipeHoldsBothWays) {
  const auto mine =
      reward(python("print(json.dumps({'id': r['id'], 'reward': len(r['completion']), 'echo': "
                    "r['completion']})); sys.stderr.write('e' * 5000)"));
  Scored scored;
  for (int i = 0; i < 64; ++i) scored.add(std::string(static_cast<size_t>(20000 + i), 'x'));
  const auto values = mine->score(scored.inputs());
  ASSERT_TRUE(values) << values.error().message;
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ((*values)[i], 20000.0 + static_cast<double>(i));
}

TEST_F(CommandRewardTest, ACommandThatReadsEverythingFirst) {
  const auto mine = reward(
      "import json, sys\n"
      "rs = [json.loads(sys.stdin.readline()) for _ in range(64)]\n"
      "for r in rs: print(json.dumps({'id': r['id'], 'reward': 1}))\n");
  Scored scored;
  for (int i = 0; i < 64; ++i) scored.add(std::string(5000, 'x'));
  const auto values = mine->score(scored.inputs());
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_THAT(*values, SizeIs(64));
}

TEST_F(CommandRewardTest, ACrashNamesCommandStatusAndLastWords) {
  const auto mine =
      reward(python(std::string(kAnswer) + "\n    if n == 1: raise ValueError('no such unit')"));
  Scored scored;
  scored.add("a").add("b").add("c");
  const auto message = error_of(mine->score(scored.inputs()));
  EXPECT_THAT(message, AllOf(HasSubstr("reward \"mine\": `python3 -S reward.py` exited with status 1; 2 of 3 "
                                       "completions were answered"),
                             HasSubstr("its standard error ends with:\n    Traceback"),
                             HasSubstr("\n    ValueError: no such unit")));
}

TEST_F(CommandRewardTest, AfterAFailedCallTheNextStartsItAgain) {
  const auto mine = reward(python("if r['completion'] == 'die': os._exit(9)\n    " + std::string(kAnswer)));
  Scored bad, good;
  EXPECT_THAT(error_of(mine->score(bad.add("die").inputs())), HasSubstr("exited with status 9"));
  const auto values = mine->score(good.add("fine").inputs());
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_THAT(*values, ElementsAre(4.0));
}

TEST_F(CommandRewardTest, RetriesStartItAgainWithinACallAndAskForTheRestOnly) {
  const std::string once =
      "if n == 1 and not os.path.exists('died'): open('died', 'w'); os.kill(os.getpid(), 9)\n    "
      "open('asked', 'a').write(r['completion'])\n    ";
  const auto mine = reward(python(once + kAnswer), OnError::stop, 1);
  Scored scored;
  scored.add("a").add("bb").add("ccc");
  const auto values = mine->score(scored.inputs());
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_THAT(*values, ElementsAre(1.0, 2.0, 3.0));
  EXPECT_EQ(folder_.read("asked"), "abbccc");
  EXPECT_THAT(mine->take_warnings(),
              ElementsAre(AllOf(HasSubstr("was killed by signal 9 (Killed)"), HasSubstr("started again"))));
}

TEST_F(CommandRewardTest, RetriesAreBounded) {
  const auto mine = reward(python("open('starts', 'a').write('x'); os._exit(1)"), OnError::stop, 2);
  Scored scored;
  EXPECT_THAT(error_of(mine->score(scored.add("a").inputs())), HasSubstr("exited with status 1; 0 of 1"));
  EXPECT_EQ(folder_.read("starts"), "xxx");
}

TEST_F(CommandRewardTest, AHangIsEndedAfterTheLimit) {
  const std::string script =
      "while read -r line; do id=${line#*:}; id=${id%%,*}\n"
      "case $line in *hang*) echo thinking >&2; sleep 60;; esac\n"
      "echo \"{\\\"id\\\": $id, \\\"reward\\\": 3}\"; done";
  CommandOptions options = options_for({"sh", "-c", script});
  options.retries = 5;
  options.timeout_s = 1;
  const auto mine = value_or_throw(make_command_reward("mine", options, folder_.path()));
  Scored bad, good;
  bad.add("a").add("hang").add("c");
  const auto start = std::chrono::steady_clock::now();
  const auto message = error_of(mine->score(bad.inputs()));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << "a hang is not tried again";
  EXPECT_THAT(message,
              AllOf(HasSubstr("did not answer within 1 s and was ended; 1 of 3 completions were answered"),
                    HasSubstr("its standard error ends with:\n    thinking")));
  const auto values = mine->score(good.add("xyz").inputs());
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_THAT(*values, ElementsAre(3.0)) << "the next call starts it again";
}

TEST_F(CommandRewardTest, ACommandThatIgnoresItsInputIsAHang) {
  CommandOptions options = options_for({"sleep", "60"});
  options.timeout_s = 0.3;
  const auto mine = value_or_throw(make_command_reward("mine", options, folder_.path()));
  Scored scored;
  for (int i = 0; i < 20; ++i) scored.add(std::string(20000, 'x'));
  EXPECT_THAT(error_of(mine->score(scored.inputs())), HasSubstr("`sleep 60` did not answer within 0.3 s"));
}

struct Nonsense {
  std::string output;
  const char* message;
};

TEST_F(CommandRewardTest, NonsenseNamesTheLine) {
  const Nonsense cases[] = {
      {"checking...", "line 1: not valid JSON"},
      {"checking...", "it wrote \"checking...\"; print what is no answer to standard error"},
      {"\n{\"id\": 0, \"reward\": NaN}", "line 2: not valid JSON"},
      {R"({"id": 0, "reward": Infinity})", "line 1: not valid JSON"},
      {R"({"id": 0, "reward": 1e999})", "line 1: not valid JSON"},
      {R"({"id": 0, "reward": "1"})",
       R"(line 1: expected "reward" to be a number or null, not "{"id": 0, "reward": "1"}")"},
      {R"({"id": 0, "reward": [1]})", "expected \"reward\" to be a number or null"},
      {R"({"id": 0})", R"(line 1: expected {"id": ..., "reward": ...}, not "{"id": 0}")"},
      {R"({"reward": 1})", "line 1: expected {\"id\""},
      {"[1]", "line 1: expected {\"id\""},
      {R"({"id": 999, "reward": 1})", "line 1: id 999 is not one that waits for an answer"},
      {R"({"id": "0", "reward": 1})", "line 1: id \"0\" is not one that waits"},
      {R"({"id": -1, "reward": 1})", "line 1: id -1 is not one that waits"},
      {std::string(2000000, 'x'), "a line of more than 1048576 bytes: \"xxx"},
  };
  for (const Nonsense& one : cases) {
    folder_.write("output", one.output + "\n");
    const std::vector<std::string> command = {"sh", "-c", "cat output; cat >/dev/null"};
    const auto mine = value_or_throw(make_command_reward("mine", options_for(command), folder_.path()));
    Scored scored;
    const auto message = error_of(mine->score(scored.add("a").inputs()));
    EXPECT_THAT(message, AllOf(HasSubstr("reward \"mine\": output of `sh -c"), HasSubstr(one.message)));
  }
}

// All but the first reward are silently ignored [trl 2839].
TEST_F(CommandRewardTest, Fault37_TooManyOrTooFewAnswersAreErrors) {
  Scored scored;
  scored.add("a").add("b");
  const std::string answer(kAnswer);
  EXPECT_THAT(error_of(reward(python(answer + "; " + answer))->score(scored.inputs())),
              HasSubstr("line 2: id 0 is not one that waits"));
  EXPECT_THAT(
      error_of(
          reward(
              python("sys.stdout.write(2 * (json.dumps({'id': r['id'], 'reward': 1}) + '\\n') if n else '')"))
              ->score(scored.inputs())),
      HasSubstr("is not one that waits"));
  EXPECT_THAT(error_of(reward(python(answer + "\n    sys.exit()"))->score(scored.inputs())),
              HasSubstr("exited with status 0; 1 of 2 completions were answered"));
}

TEST_F(CommandRewardTest, WhatComesAfterTheLastAnswerIsAnError) {
  const auto mine =
      reward(python("sys.stdout.write(json.dumps({'id': r['id'], 'reward': 1}) + '\\nchatter')"));
  Scored scored;
  EXPECT_THAT(error_of(mine->score(scored.add("a").inputs())),
              HasSubstr("all 1 completions were answered, but it went on with \"chatter\""));
}

// One absent reward poisons the batch [ms-swift 8123].
TEST_F(CommandRewardTest, Fault36_WithAbsentAFailureCostsTheUnansweredOnly) {
  const auto mine = reward(python("if r['completion'] == 'die': os._exit(9)\n    " + std::string(kAnswer)),
                           OnError::absent);
  Scored scored;
  scored.add("a").add("die").add("ccc");
  const auto values = mine->score(scored.inputs());
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_THAT(*values, ElementsAre(Optional(1.0), std::nullopt, std::nullopt));
  EXPECT_THAT(mine->take_warnings(), ElementsAre(AllOf(HasSubstr("exited with status 9"),
                                                       HasSubstr("2 completions have no such reward"))));
}

TEST_F(CommandRewardTest, AbsentDoesNotHideACommandThatNeverAnswers) {
  const auto mine = reward(python("os._exit(9)"), OnError::absent);
  Scored scored;
  scored.add("a");
  EXPECT_TRUE(mine->score(scored.inputs()));
  EXPECT_TRUE(mine->score(scored.inputs()));
  EXPECT_THAT(error_of(mine->score(scored.inputs())),
              AllOf(HasSubstr("3 calls in a row without an answer"), HasSubstr("exited with status 9")));
}

TEST_F(CommandRewardTest, BadOptions) {
  const auto message = [&](CommandOptions options) {
    return error_of(make_command_reward("mine", options, folder_.path()));
  };
  CommandOptions options = options_for({"cat"});
  options.timeout_s = 0;
  EXPECT_EQ(message(options), "reward \"mine\": expected timeout_s above 0, not 0");
  options.timeout_s = 1;
  options.retries = -1;
  EXPECT_EQ(message(options), "reward \"mine\": expected retries of 0 or more, not -1");
  options.retries = 0;
  options.command = {"no-such-program"};
  EXPECT_THAT(message(options), HasSubstr("reward \"mine\": command \"no-such-program\": not found in PATH"));
}

TEST_F(CommandRewardTest, TheExampleWorks) {
  const auto example = make_command_reward("example", options_for({"python3", "reward.py"}),
                                           std::filesystem::path(NEREUS_SOURCE_DIR) / "examples");
  ASSERT_TRUE(example) << example.error().message;
  Scored scored;
  scored.add("42")
      .add("The answer to it is certainly 42.")
      .add("21")
      .add("no idea what this could be")
      .add("7", OrderedJson::object());
  const auto values = (*example)->score(scored.inputs());
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_THAT(*values,
              ElementsAre(Optional(1.1), Optional(1.0), Optional(0.35), Optional(0.0), std::nullopt));
}

}  // namespace
}  // namespace nereus::tasks
