#include "nereus/tasks/jsonl_dataset.h"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

#include "tests/tasks/temporary_folder.h"

namespace nereus::tasks {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(JsonlDataset, TextsMessagesAndColumns) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "d.jsonl",
      "\xEF\xBB\xBF{\"prompt\": \"2 + 2 =\", \"answer\": 4, \"a\": {\"z\": 1, \"b\": 2}}\r\n"
      "\n   \n"
      "{\"answer\": \"x\", \"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}\n"
      "{\"prompt\": [{\"role\": \"system\", \"content\": \"\"}, {\"role\": \"user\", \"content\": \"ä\"}]}");
  const auto dataset = open_jsonl_dataset(path);
  ASSERT_TRUE(dataset) << dataset.error().message;
  ASSERT_EQ((*dataset)->size(), 3U);
  EXPECT_THAT((*dataset)->description(), EndsWith("d.jsonl (3 prompts)"));

  const auto text = (*dataset)->at(0);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_FALSE(text->is_chat());
  EXPECT_EQ(text->prompt, "2 + 2 =");
  EXPECT_EQ(text->columns.dump(), R"({"answer":4,"a":{"z":1,"b":2}})") << "columns keep their order";
  EXPECT_THAT(text->source, EndsWith("d.jsonl:1"));

  const auto chat = (*dataset)->at(1);
  ASSERT_TRUE(chat);
  EXPECT_TRUE(chat->is_chat());
  EXPECT_EQ(chat->prompt[0]["content"], "Hi");
  EXPECT_EQ(chat->columns.dump(), R"({"answer":"x"})");
  EXPECT_EQ(chat->id, 1U);
  EXPECT_THAT(chat->source, EndsWith("d.jsonl:4")) << "blank lines count";

  const auto last = (*dataset)->at(2);  // without a newline at the end of the file
  ASSERT_TRUE(last);
  EXPECT_EQ(last->prompt[1]["content"], "ä");
  EXPECT_TRUE(last->columns.empty());
}

struct BadLine {
  const char* line;
  const char* message;
};

TEST(JsonlDataset, BadLinesAreNamed) {
  const BadLine cases[] = {
      {"{\"prompt\": \"x\"", "not valid JSON"},
      {"[1]", "expected an object, not array"},
      {"\"text\"", "expected an object, not string"},
      {"{\"question\": \"x\"}", "expected a column \"prompt\" or \"messages\""},
      {"{\"prompt\": \"x\", \"messages\": []}", "expected only one of \"prompt\" or \"messages\""},
      {"{\"prompt\": \"\"}", "\"prompt\" is empty"},
      {"{\"prompt\": 7}", "expected \"prompt\" to be a text or an array of messages, not number"},
      {"{\"messages\": \"x\"}", "expected \"messages\" to be an array of messages, not string"},
      {"{\"messages\": []}", "\"messages\" has no messages"},
      {"{\"messages\": [\"x\"]}", "message 1: expected an object with \"role\" and \"content\""},
      {"{\"messages\": [{\"content\": \"x\"}]}", "message 1: expected a text \"role\""},
      {"{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}, {\"role\": \"robot\", \"content\": "
       "\"x\"}]}",
       "message 2: unknown role \"robot\"; expected one of system, developer, user, assistant, tool"},
      {"{\"messages\": [{\"role\": \"user\"}]}", "message 1: expected \"content\", a text"},
      {"{\"messages\": [{\"role\": \"user\", \"content\": 1}]}",
       "message 1: expected \"content\" to be a text, not number"},
      {"{\"prompt\": \"\xff\"}", "not valid JSON"},
  };
  const TemporaryFolder folder;
  for (const BadLine& one : cases) {
    const auto path = folder.write(
        "bad.jsonl", fmt::format("{{\"prompt\": \"fine\"}}\n{}\n{{\"prompt\": \"fine\"}}\n", one.line));
    const auto dataset = open_jsonl_dataset(path);
    ASSERT_FALSE(dataset) << one.line;
    EXPECT_THAT(dataset.error().message, HasSubstr("bad.jsonl:2: ")) << one.line;
    EXPECT_THAT(dataset.error().message, HasSubstr(one.message)) << one.line;
  }
}

TEST(JsonlDataset, BadFiles) {
  const TemporaryFolder folder;
  const auto message = [](const std::filesystem::path& path) {
    const auto dataset = open_jsonl_dataset(path);
    return dataset ? std::string("opened") : dataset.error().message;
  };
  EXPECT_THAT(message(folder.write("empty.jsonl", "")),
              HasSubstr("empty.jsonl: has no samples; expected one JSON object a line"));
  EXPECT_THAT(message(folder.write("blank.jsonl", "\n \n")), HasSubstr("blank.jsonl: has no samples"));
  EXPECT_THAT(message(folder.path() / "none.jsonl"), HasSubstr("none.jsonl: cannot be opened: No such file"));
  EXPECT_THAT(message(folder.path()), HasSubstr("is a folder; expected a JSON Lines file"));
}

TEST(JsonlDataset, AFileThatChangesUnderUsIsAnErrorNotACrash) {
  const TemporaryFolder folder;
  const auto path = folder.write("d.jsonl", "{\"prompt\": \"one\"}\n{\"prompt\": \"two\"}\n");
  const auto dataset = open_jsonl_dataset(path);
  ASSERT_TRUE(dataset);
  std::filesystem::resize_file(path, 25);
  EXPECT_TRUE((*dataset)->at(0));
  const auto gone = (*dataset)->at(1);
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message, HasSubstr("d.jsonl:2: the file became shorter since it was opened"));
}

TEST(JsonlDataset, SeveralThreadsMayRead) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 200; ++i) text += fmt::format("{{\"prompt\": \"p{}\", \"n\": {}}}\n", i, i);
  const auto dataset = open_jsonl_dataset(folder.write("d.jsonl", text));
  ASSERT_TRUE(dataset);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < 200; ++i) {
        const auto sample = (*dataset)->at(i);
        ASSERT_TRUE(sample);
        ASSERT_EQ(sample->columns["n"], i);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(JsonlDataset, TheExamplesOpen) {
  for (const char* name : {"school.jsonl", "school_held_out.jsonl"}) {
    const auto dataset =
        open_jsonl_dataset(std::filesystem::path(NEREUS_SOURCE_DIR) / "examples/data" / name);
    ASSERT_TRUE(dataset) << dataset.error().message;
    EXPECT_GE((*dataset)->size(), 10U);
    for (uint64_t i = 0; i < (*dataset)->size(); ++i)
      EXPECT_TRUE((*dataset)->at(i)->columns.contains("answer"));
  }
}

}  // namespace
}  // namespace nereus::tasks
