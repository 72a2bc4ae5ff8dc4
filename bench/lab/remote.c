// SPDX-License-Identifier: Apache-2.0
//
// Starts programs on other hosts of the laboratory, which have no ssh and need no secrets from each
// other: what mpirun takes for its agent (plm_rsh_agent).
//
//   remote serve             executes what others ask for
//   remote HOST WORD...      has the server on HOST, an IPv4 address, execute the words by a shell;
//                            shows what they show; ends when they do, with their status
//
// A request is a line; the answer is what the command shows, and its status in a last byte.
#include <arpa/inet.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kPort = 9514, kMostBytes = 65536, kPatienceSeconds = 30 };

static struct sockaddr_in place(const char *host) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  if (inet_pton(AF_INET, host, &at.sin_addr) != 1) {
    fprintf(stderr, "remote: '%s' is no IPv4 address\n", host);
    exit(2);
  }
  return at;
}

/// Executes what comes in a line, and answers.
static void execute(int line) {
  static char command[kMostBytes];
  size_t length = 0;
  while (length < sizeof command && read(line, command + length, 1) == 1) {
    if (command[length] == '\n') break;
    ++length;
  }
  if (length == sizeof command || command[length] != '\n') return;
  command[length] = 0;
  const pid_t child = fork();
  if (child == 0) {
    dup2(line, 1);
    dup2(line, 2);
    close(line);
    execl("/bin/sh", "sh", "-c", command, NULL);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const char last = (char)(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  if (write(line, &last, 1) != 1) fputs("remote: who asked has gone\n", stderr);
}

static int serve(void) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const struct sockaddr_in own = place("0.0.0.0");
  if (bind(listener, (const struct sockaddr *)&own, sizeof own) != 0 || listen(listener, 16) != 0) {
    perror("remote: serve");
    return 1;
  }
  signal(SIGCHLD, SIG_IGN);
  for (;;) {
    const int line = accept(listener, NULL, NULL);
    if (line < 0) continue;
    if (fork() == 0) {
      signal(SIGCHLD, SIG_DFL);
      close(listener);
      execute(line);
      _exit(0);
    }
    close(line);
  }
}

/// Hosts boot side by side, so its server may not be there yet.
static int connect_to(const char *host) {
  const struct sockaddr_in at = place(host);
  for (int second = 0;; ++second) {
    const int line = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(line, (const struct sockaddr *)&at, sizeof at) == 0) return line;
    if (second == kPatienceSeconds) {
      fprintf(stderr, "remote: no server on %s: ", host);
      perror(NULL);
      exit(1);
    }
    close(line);
    sleep(1);
  }
}

static int ask(const char *host, char **words) {
  const int line = connect_to(host);
  for (; *words != NULL; ++words) dprintf(line, "%s%c", *words, words[1] == NULL ? '\n' : ' ');
  // All but the last byte is to be shown; which is the last is known when the end has come.
  static char bytes[kMostBytes];
  ssize_t count;
  int status = -1;
  while ((count = read(line, bytes, sizeof bytes)) > 0) {
    if (status >= 0) putchar(status);
    fwrite(bytes, 1, (size_t)count - 1, stdout);
    fflush(stdout);
    status = (unsigned char)bytes[count - 1];
  }
  return status < 0 ? 1 : status;
}

int main(int count, char **words) {
  if (count == 2 && strcmp(words[1], "serve") == 0) return serve();
  if (count >= 3) return ask(words[1], words + 2);
  fputs("usage: remote serve | remote HOST WORD...\n", stderr);
  return 2;
}
