#include "nereus/metrics/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace nereus::metrics {
namespace {

constexpr TerminalOptions kLive{.live = true, .color = false, .unicode = true, .width = 11, .file = -1};

TEST(Terminal, DrawsAgainInPlaceWithinTheWidth) {
  std::ostringstream out;
  Terminal terminal(out, kLive);
  terminal.draw({"0123456789abc", "two"});
  EXPECT_EQ(out.str(), "0123456789\ntwo\n");
  out.str("");
  terminal.draw({"new"});
  EXPECT_EQ(out.str(), "\x1b[2A\r\x1b[Jnew\n");
}

TEST(Terminal, LastingTextStaysAboveTheBlock) {
  std::ostringstream out;
  Terminal terminal(out, kLive);
  terminal.draw({"block"});
  terminal.print("a warning that is long and stays whole");
  terminal.draw({"block"});
  EXPECT_EQ(out.str(), "block\n\x1b[1A\r\x1b[Ja warning that is long and stays whole\nblock\n");
}

TEST(Terminal, KeptBlockIsNotErased) {
  std::ostringstream out;
  Terminal terminal(out, kLive);
  terminal.draw({"last"});
  terminal.keep();
  terminal.print("after");
  EXPECT_EQ(out.str(), "last\nafter\n");
}

TEST(Terminal, WithoutATerminalOnlyLastingText) {
  std::ostringstream out;
  Terminal terminal(out, {});
  terminal.draw({"block"});
  terminal.print("line");
  EXPECT_EQ(out.str(), "line\n");
  EXPECT_EQ(terminal.paint("32", "x"), "x");
}

TEST(Columns, CountsCharactersNotBytesNorColours) {
  EXPECT_EQ(columns("abc"), 3U);
  EXPECT_EQ(columns("█é"), 2U);
  EXPECT_EQ(columns("\x1b[1mab\x1b[0m"), 2U);
}

TEST(Cut, KeepsCharactersAndColoursWhole) {
  EXPECT_EQ(cut("█████", 3), "███");
  EXPECT_EQ(cut("\x1b[1mabcd\x1b[0m", 2), "\x1b[1mab\x1b[0m");
  EXPECT_EQ(cut("ab", 5), "ab");
  EXPECT_EQ(cut("é", 0), "");
}

/// A pseudo-terminal, and the environment as it was afterwards.
class DetectTest : public testing::Test {
 protected:
  DetectTest() {
    for (const char* name : {"NO_COLOR", "TERM", "LC_ALL", "LC_CTYPE", "LANG"}) ::unsetenv(name);
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    ::grantpt(master_);
    ::unlockpt(master_);
    slave_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    const winsize size{24, 132, 0, 0};
    ::ioctl(slave_, TIOCSWINSZ, &size);
  }
  ~DetectTest() override {
    ::close(slave_);
    ::close(master_);
  }
  int master_ = -1, slave_ = -1;
};

TEST_F(DetectTest, ATerminal) {
  ::setenv("LANG", "de_DE.UTF-8", 1);
  const auto options = TerminalOptions::detect(slave_);
  EXPECT_TRUE(options.live);
  EXPECT_TRUE(options.color);
  EXPECT_TRUE(options.unicode);
  std::ostringstream out;
  EXPECT_EQ(Terminal(out, options).width(), 132);
  const winsize narrow{24, 40, 0, 0};
  ::ioctl(slave_, TIOCSWINSZ, &narrow);
  EXPECT_EQ(Terminal(out, options).width(), 40) << "followed as the window changes";
}

TEST_F(DetectTest, NoColorDumbAndPlainLocales) {
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(TerminalOptions::detect(slave_).color);
  EXPECT_TRUE(TerminalOptions::detect(slave_).live);
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(TerminalOptions::detect(slave_).live);
  ::setenv("LANG", "en_US.UTF-8", 1);
  ::setenv("LC_ALL", "C", 1);
  EXPECT_FALSE(TerminalOptions::detect(slave_).unicode) << "LC_ALL comes first";
}

TEST_F(DetectTest, APipeIsNoTerminal) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_FALSE(TerminalOptions::detect(ends[1]).live);
  EXPECT_FALSE(TerminalOptions::detect(ends[1]).color);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace nereus::metrics
