// Starts our Node with its own loader and libraries, so that the image around it may have any libc or none. Linked
// statically; a shell script would drop variables whose names no shell takes, such as spring.profiles.active.
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher.h" // generated: NODE_ARGUMENTS, KEPT_VARIABLES, KEPT_PREFIX

static const char *const node_arguments[] = {NODE_ARGUMENTS};
static const char *const kept_variables[] = {KEPT_VARIABLES};
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

extern char **environ;

static void fail(const char *what) {
  perror(what);
  exit(127);
}

static char *joined(const char *first, const char *second) {
  char *text = malloc(strlen(first) + strlen(second) + 1);
  if (text == NULL) fail("kruntimes: memory");
  return strcat(strcpy(text, first), second);
}

// What the image sets for the loader and the Node of its own programs must not reach ours; the executor gives it back to
// what it starts.
static void set_aside(void) {
  for (char **entry = environ; *entry != NULL; entry++) {
    for (size_t i = 0; i < COUNT(kept_variables); i++) {
      size_t length = strlen(kept_variables[i]);
      if (strncmp(*entry, kept_variables[i], length) == 0 && (*entry)[length] == '=') {
        *entry = joined(KEPT_PREFIX, *entry);
        break;
      }
    }
  }
}

int main(int count, char **arguments) {
  char self[PATH_MAX + 1];
  ssize_t length = readlink("/proc/self/exe", self, PATH_MAX);
  if (length < 0) fail("kruntimes: /proc/self/exe");
  self[length] = '\0';
  const char *here = dirname(self);

  char **command = calloc(5 + COUNT(node_arguments) + (size_t)count, sizeof(char *));
  if (command == NULL) fail("kruntimes: memory");
  size_t next = 0;
  command[next++] = joined(here, "/lib/ld.so");
  command[next++] = "--library-path";
  command[next++] = joined(here, "/lib");
  command[next++] = joined(here, "/node");
  for (size_t i = 0; i < COUNT(node_arguments); i++) command[next++] = (char *)node_arguments[i];
  command[next++] = joined(here, "/app/kruntimes.mjs");
  for (int i = 1; i < count; i++) command[next++] = arguments[i];

  set_aside();
  execv(command[0], command);
  fail(command[0]);
}
